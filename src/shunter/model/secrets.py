"""Secrets: limits, names, and how an encrypted value is bound to its name. Used by the engine, the gateway and the
adapter that encrypts."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

SECRETS_MAX = 10_000
VALUE_SIZE_MAX = 64 * 2**10  # bytes
VALUES_BYTES_MAX = 64 * 2**20  # of all secrets together
INTERNAL_PREFIX = "."  # of secrets that the engine makes; users cannot write such names
# Of a node: its worker gives secrets to tasks. Workers before 0.3.0 would run them without.
ATTRIBUTE = "secrets"
REQUIRED = f"node.attributes.{ATTRIBUTE} == 'true'"  # the constraint of tasks with secrets
NOT_TEXT_FIX = "use `file` instead of `env`, or set a value that is text"


class SealedValue(msgspec.Struct, frozen=True, array_like=True):
    """An encrypted value. All of it may be stored and shown: only who has the key with this id can read the value."""

    key_id: str
    nonce: bytes
    ciphertext: bytes


def is_text(value: bytes) -> bool:
    """Whether it can be a variable: UTF-8 without zero bytes."""
    try:
        return "\0" not in value.decode()
    except UnicodeDecodeError:
        return False


def required_constraints(constraints: tuple[str, ...], secrets: Sequence[object]) -> tuple[str, ...]:
    """The constraints of a task with these secrets: a constraint, because every policy obeys those."""
    return (*constraints, REQUIRED) if secrets and REQUIRED not in constraints else constraints


def application_secret(job_id: int) -> str:
    """The name of the secret of an application's job, which goes away with the job."""
    return f"{INTERNAL_PREFIX}application-{job_id}"


def associated_data(namespace: str, name: str) -> bytes:
    """What the encryption authenticates besides the value: a ciphertext that is moved to another name cannot be
    opened."""
    return f"shunter secret 1\0{namespace}\0{name}".encode()
