"""A store is copied between SQLite and PostgreSQL, and through a backup of either: everything arrives, or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from shunter.adapters.postgres.store import PostgresStore
from shunter.adapters.sqlite.store import SqliteStore
from shunter.app.home import Home
from shunter.app.storage.backup import back_up, restore
from shunter.app.storage.store_copy import copy_store
from shunter.model.errors import Conflict, Invalid
from shunter.ports.store import Commit, FinishedQuery, FinishedTasks, PastQuery, PastRecord, RollupRow, Snapshot, Store
from tests.contracts.store_samples import FOREVER, finished_job

TERM = 7
ROLLUPS = {60: [RollupRow(60, b"first"), RollupRow(120, b"second")], 3600: [RollupRow(0, b"hour")]}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return _new_home(tmp_path / "home")


def test_a_copy_to_postgresql_and_back_has_everything(home: Home, url: str, tmp_path: Path) -> None:
    epoch = asyncio.run(_write(SqliteStore(home.store)))
    tally = copy_store("sqlite", url, home)
    assert (tally.rounds, tally.finished_jobs, tally.past_schedulings, tally.last_version) == (2, 1201, 1, 4)
    asyncio.run(_expect(PostgresStore(url), epoch))
    back = _new_home(tmp_path / "back")
    copied_back = copy_store(url, "sqlite", back)
    assert copied_back.rounds == tally.rounds + 1, "the first store was used after it was copied"
    asyncio.run(_expect(SqliteStore(back.store), epoch, last_version=5))


@pytest.mark.parametrize("way", ["sqlite to postgresql", "postgresql to sqlite", "postgresql to postgresql"])
def test_a_backup_of_one_store_restores_into_the_other(way: str, home: Home, url: str, tmp_path: Path) -> None:
    source, _, target = way.partition(" to ")
    stores: dict[str, Callable[[Home, str], tuple[str, Store]]] = {
        "sqlite": lambda at, _: ("sqlite", SqliteStore(at.store)),
        "postgresql": lambda _, suffix: (url + suffix, PostgresStore(url + suffix)),
    }
    name, store = stores[source](home, "")
    epoch = asyncio.run(_write(store))
    home.token.write_text("secret")
    file = tmp_path / "backup.db"
    assert back_up(home, file, name).version == 4
    restored = _new_home(tmp_path / "restored")
    name, store = stores[target](restored, "_restored")
    assert restore(restored, file, name).version == 4
    assert restored.token.read_text() == "secret"
    asyncio.run(_expect(store, epoch))
    with pytest.raises(Conflict, match="already has a store"):
        restore(restored, file, name)
    assert {path.name for path in restored.folder.iterdir()} <= {"token", "store.db", "store.db-mark"}


def test_a_store_that_is_not_empty_is_left_alone(home: Home, url: str) -> None:
    asyncio.run(_write(SqliteStore(home.store)))
    asyncio.run(_begin(PostgresStore(url)))
    with pytest.raises(Conflict, match="already has a store"):
        copy_store("sqlite", url, home)
    with pytest.raises(Conflict, match="already exists"):
        copy_store(url, "sqlite", home)


def test_a_running_cluster_is_not_copied(home: Home, url: str) -> None:
    asyncio.run(_write(SqliteStore(home.store)))
    lock = home.lock()
    assert lock is not None
    with pytest.raises(Conflict, match="stop it with `shunter down`"):
        copy_store("sqlite", url, home)


@pytest.mark.parametrize(
    ("source", "target"),
    [("sqlite", "sqlite"), ("memory", "sqlite"), ("sqlite", "postgresql://me:hunter2@127.0.0.1/x")],
)
def test_a_copy_that_makes_no_sense_is_refused(source: str, target: str, home: Home) -> None:
    with pytest.raises(Invalid) as refusal:
        copy_store(source, target, home)
    assert "hunter2" not in str(refusal.value)


async def _begin(store: Store) -> int:
    await store.open()
    epoch = await store.begin_epoch(TERM)
    await store.close()
    return epoch


async def _write(store: Store) -> int:
    """A log whose beginning was cut, a snapshot, jobs of several months with tasks and labels, a deleted Scheduling."""
    await store.open()
    epoch = await store.begin_epoch(TERM)
    tasks = [FinishedTasks(0, first, 100, b"tasks %d" % first) for first in (0, 100)]
    jobs = [finished_job(id, ended_at=1.7e9 + 86400.0 * (id % 90)) for id in range(2, 1202)]
    rich = finished_job(1, labels={"b": "ü", "a": "1"}, tasks=tasks, ended_at=1.7e9)
    await store.commit(Commit(epoch, 1, 1.0, b"one", [rich, *jobs]))
    await store.commit(Commit(epoch, 2, 2.0, b"two", past=[PastRecord(5, "default", "night", 3.0, b"past")]))
    for version in (3, 4):
        await store.commit(Commit(epoch, version, 3.0, b"round %d" % version))
    await store.save_snapshot(epoch, Snapshot(3, bytes(5_000_000)))
    for tier_s in ROLLUPS:
        await store.save_rollups(epoch, tier_s, ROLLUPS[tier_s])
    await store.purge(epoch, replace(FOREVER, rounds_max=2), now=1.7e9)
    await store.close()
    return epoch


async def _expect(store: Store, old_epoch: int, last_version: int = 4) -> None:
    """Everything is there, and a manager can go on."""
    await store.open()
    assert (await store.first_version(), await store.last_version()) == (3, last_version)
    assert [round.body for round in (await store.rounds_after(2, 2))] == [b"round 3", b"round 4"]
    assert await store.snapshot() == Snapshot(3, bytes(5_000_000))
    assert await store.count_finished(FinishedQuery()) == 1201
    assert await store.count_finished(FinishedQuery(namespace="default", states=("succeeded",))) == 1201
    [rich] = await store.finished_jobs(FinishedQuery(labels=(("a", "1"), ("b", "ü"))))
    assert rich.id == 1
    assert [chunk.first for chunk in await store.finished_tasks(1, 0, 0, 199)] == [0, 100]
    assert await store.past_schedulings(PastQuery()) == [PastRecord(5, "default", "night", 3.0, b"past")]
    assert {tier_s: await store.rollups(tier_s, 0) for tier_s in ROLLUPS} == ROLLUPS
    epoch = await store.begin_epoch()  # with term 0: those of the original do not count here
    assert epoch > old_epoch + 1_000_000
    await store.commit(Commit(epoch, last_version + 1, 9.0, b"next"))
    await store.close()


def _new_home(folder: Path) -> Home:
    folder.mkdir()
    return Home(folder)
