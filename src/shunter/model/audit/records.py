"""Records of the audit log, and the lines that they are stored and exported as. Pure.

A line is the record as compact JSON, followed by its hash. The hash is SHA-256 over the 32 bytes of the hash before it
and the JSON without `hash`. So a change of any record, its removal or another order changes every hash after it."""

from __future__ import annotations

import hashlib
import re

import msgspec

GENESIS = bytes(32)  # the hash before the first record
NAMES_MAX = 20  # in one record
NAME_SIZE_MAX = 300
LINE_SIZE_MAX = 256 * 2**10
REFUSED = "refused"  # the operation of a record that counts refused requests
CHECKPOINT = "checkpoint"  # and of one that retention leaves
_HASH = re.compile(rb'^(\{.+),"hash":"([0-9a-f]{64})"\}$', re.DOTALL)


class RefusedRequests(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How often one source was refused the same within a minute. An empty source stands for further ones."""

    source: str
    status: int
    count: int
    operation: str = ""
    user: str = ""
    tenant: str = ""
    key: str = ""


class Checkpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Retention dropped the records up to this one, whose hash is needed to check the next."""

    through: int
    hash: str


class AuditRecord(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """Who did what, from where, and the version of the cluster's state that has it."""

    number: int
    at: str
    operation: str
    user: str = ""
    tenant: str = ""
    key: str = ""  # the id of the API key
    transport: str = ""
    source: str = ""  # the address of the client
    names: list[str] = []  # what was changed
    result: str = "ok"
    version: int = 0
    refused: list[RefusedRequests] = []
    checkpoint: Checkpoint | None = None


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AuditRecord)


def encode_record(record: AuditRecord) -> bytes:
    return _encoder.encode(record)


def next_hash(before: bytes, body: bytes) -> bytes:
    return hashlib.sha256(before + body).digest()


def join_line(body: bytes, hash: bytes) -> bytes:
    return b'%b,"hash":"%b"}\n' % (body[:-1], hash.hex().encode())


def split_line(line: bytes) -> tuple[AuditRecord, bytes, bytes]:
    """The record, its JSON as hashed, and the hash that it says it has. Raises ValueError."""
    found = _HASH.match(line.rstrip(b"\n"))
    if found is None or len(line) > LINE_SIZE_MAX:
        raise ValueError("it is not a line of an audit log")
    body = found[1] + b"}"
    try:
        record = _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from None
    return record, body, bytes.fromhex(found[2].decode())
