"""Nobody stores something new without a format for it. See "Add a change kind" in CONTRIBUTING.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shunter.adapters.sqlite.store import SqliteStore
from shunter.engine import changes as c
from shunter.engine.changes.formats import FIRST_FORMAT, FORMAT, SINCE, Formats
from shunter.engine.recovery import load_state
from shunter.model.job.spec import GroupSpec
from tests.upgrade.home_files import FOLDER, restore
from tests.upgrade.stored import list_added, misplaced_fields, path_of

HINT = (
    "what managers store for one another has changed: raise FORMAT in engine/changes/formats.py, add what is new to"
    " SINCE, and run `python -m tests.upgrade.stored`"
)


@pytest.mark.parametrize("format", range(FIRST_FORMAT, FORMAT + 1))
def test_every_format_has_what_it_had_when_it_was_new(format: int) -> None:
    found = json.loads(json.dumps(list_added(format)))
    expected = json.loads(path_of(format).read_text("utf-8"))
    for name in sorted({*found, *expected}):
        assert found.get(name) == expected.get(name), f"{name}: {HINT}"


def test_what_is_newer_than_the_first_format_has_a_format_that_exists() -> None:
    assert all(FIRST_FORMAT < since <= FORMAT for since in SINCE.values())
    assert max(SINCE.values(), default=FIRST_FORMAT) == FORMAT, "nothing came with the newest format"


def test_new_fields_come_last_and_have_defaults() -> None:
    assert misplaced_fields() == []


def test_the_lists_see_new_kinds_new_fields_and_fields_in_the_wrong_place() -> None:
    second = Formats(2, {c.JobHeld: 2, (GroupSpec, "gang"): 2, (c.QueueSet, "name"): 2, "moves": 2})
    added = list_added(2, second)
    assert added == {
        "GroupSpec": ["gang: bool"],
        "JobHeld": ["tag 21", "int", "bool", "int", "str"],
        "QueueSet": ["tag 28", "str"],
        "registries": ["moves"],
    }
    assert "JobHeld" not in list_added(1, second)
    assert misplaced_fields(second)[0] == "QueueSet.name"


async def test_registries_are_dumped_as_the_first_format_has_them(tmp_path: Path) -> None:
    """Their dumps have no types that could be listed, so a home with something in each of them shows their shape."""
    restore("0.2.0", tmp_path / "store.db")
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    state = await load_state(store)
    await store.close()
    assert state.format.active == FIRST_FORMAT
    dumps = {name: registry.dump() for name, registry in state.registries.items() if state.format.allows(name)}
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(dumps))
    expected = json.loads((FOLDER / "registries-0.2.0.json").read_text("utf-8"))
    assert found.keys() == expected.keys()
    for name, dump in expected.items():
        assert found[name] == dump, f"{name}: {HINT}"
