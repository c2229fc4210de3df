"""Where things are in etcd, and what a copy of them says. Called by the other modules of this package.

- PREFIX/managers/leader: the name of the manager that leads
- PREFIX/managers/first-term: what is added to revisions to give terms; there only if etcd once lost its data
- PREFIX/managers/names/NAME: what a manager announces"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from shunter.ports.coordination import ManagerRecord


@dataclass(frozen=True, slots=True)
class Entry:
    value: bytes
    create_revision: int
    mod_revision: int
    lease: int


class Keys:
    def __init__(self, prefix: str) -> None:
        self.managers = f"{prefix}/managers/".encode()  # the leader's key and all names
        self.leader = self.managers + b"leader"
        self.first_term = self.managers + b"first-term"
        self.names = self.managers + b"names/"

    def manager(self, name: str) -> bytes:
        return self.names + name.encode()


@dataclass(frozen=True, slots=True)
class RegisteredManagers:
    """Who is registered and who leads, at one moment."""

    managers: tuple[ManagerRecord, ...] = ()
    leader: ManagerRecord | None = None
    term: int = 0  # of the leader


def read_managers(keys: Keys, entries: Mapping[bytes, Entry]) -> RegisteredManagers:
    """The leader may have no record: it registers, and its lease may be younger or older than its registration."""
    records = {}
    for key in sorted(entries):
        if key.startswith(keys.names):
            record = _decode(key[len(keys.names) :].decode(errors="replace"), entries[key].value)
            records[record.name] = record
    leader = entries.get(keys.leader)
    if leader is None:
        return RegisteredManagers(tuple(records.values()))
    name = leader.value.decode(errors="replace")
    term = read_first_term(entries.get(keys.first_term)) + leader.create_revision
    return RegisteredManagers(tuple(records.values()), records.get(name) or ManagerRecord(name), term)


def read_first_term(entry: Entry | None) -> int:
    """The number that is added to revisions."""
    return int(entry.value) if entry is not None and entry.value.isdigit() else 0


def encode_record(record: ManagerRecord) -> bytes:
    return msgspec.json.encode(record)


def _decode(name: str, value: bytes) -> ManagerRecord:
    """A newer manager may announce what we do not know; a record that cannot be read still says that it exists."""
    try:
        return msgspec.json.decode(value, type=ManagerRecord)
    except msgspec.MsgspecError:
        return ManagerRecord(name)
