"""Homes that released versions wrote open unchanged. `write_home` wrote them, and the contents that must be found.

If a test fails, homes of users would be read differently than they were written: fix the code that reads them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from shunter.adapters.sqlite.store import SqliteStore
from shunter.engine.recovery import load_state
from shunter.engine.state.fingerprints.fingerprint import fingerprint
from shunter.engine.state.snapshot_writer import make_snapshot
from shunter.engine.state.snapshots import load
from shunter.engine.state.state import State
from tests.upgrade.home_files import FOLDER, by_field, describe, logged_changes, longest_of_each_kind, restore

VERSIONS = ("0.2.0",)


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def store(version: str, tmp_path: Path) -> AsyncIterator[SqliteStore]:
    restore(version, tmp_path / "store.db")
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    yield store
    await store.close()


def read_json(name: str) -> Any:
    return json.loads((FOLDER / name).read_text("utf-8"))


async def test_every_round_decodes_and_says_what_it_said(store: SqliteStore, version: str) -> None:
    found = longest_of_each_kind(await logged_changes(store))
    expected = read_json(f"changes-{version}.json")
    assert list(found) == list(expected)
    for kind, fields in expected.items():
        said = by_field(found[kind])
        assert {name: said.get(name) for name in fields} == fields, kind


async def test_the_snapshot_is_the_state_that_the_rounds_before_it_give(store: SqliteStore) -> None:
    snapshot = await store.snapshot()
    assert snapshot is not None
    assert 0 < snapshot.version < await store.last_version()
    assert fingerprint(load(snapshot)) == fingerprint(await _replay(store, snapshot.version))


async def test_recovery_and_a_snapshot_of_its_own_give_the_state_of_all_rounds(store: SqliteStore) -> None:
    expected = fingerprint(await _replay(store, await store.last_version()))
    state = await load_state(store)
    assert fingerprint(state) == expected
    assert fingerprint(load(make_snapshot(state))) == expected


async def test_its_contents_are_as_they_were(store: SqliteStore, version: str) -> None:
    state = await load_state(store)
    found = json.loads(json.dumps(await describe(store, state)))
    assert found == read_json(f"contents-{version}.json")


async def _replay(store: SqliteStore, last: int) -> State:
    """From nothing, without the snapshot."""
    state, rounds = State(), await logged_changes(store)
    for version in range(1, last + 1):
        for change in rounds[version]:
            state.apply(change)
        state.version = version
    return state
