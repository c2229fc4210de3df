"""Homes that earlier versions wrote, kept as SQL text by `scripts/dump_home.py`."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import msgspec

from shunter.engine import changes as c
from shunter.ports.store import Store

FOLDER = Path(__file__).parent


def restore(version: str, store: Path) -> None:
    """Make the store of that version's home, as a file."""
    connection = sqlite3.connect(store)
    try:
        connection.executescript((FOLDER / f"home-{version}.sql").read_text("utf-8"))
    finally:
        connection.close()


async def logged_changes(store: Store) -> dict[int, list[c.Change]]:
    """Every round of the log, decoded, by version."""
    rounds = await store.rounds_after(0, await store.last_version())
    return {logged.version: c.decode_round(logged.body) for logged in rounds}


def by_field(change: c.Change) -> dict[str, Any]:
    """What a change says, field by field, in values that JSON has."""
    fields = {
        name: msgspec.msgpack.decode(value) if isinstance(value, msgspec.Raw) else value
        for name, value in msgspec.structs.asdict(change).items()
    }
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(fields))
    return found


def longest_of_each_kind(rounds: dict[int, list[c.Change]]) -> dict[str, c.Change]:
    found: dict[str, c.Change] = {}
    for change in (change for changes in rounds.values() for change in changes):
        kind = type(change).__name__
        if kind not in found or len(c.encode_round([change])) > len(c.encode_round([found[kind]])):
            found[kind] = change
    return dict(sorted(found.items()))
