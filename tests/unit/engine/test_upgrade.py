"""A rolling upgrade: a leader writes only what every manager can read, and raises the format when all of them can.

The newer program of these tests is today's, with some of what it stores declared to be of a second format."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest

from shunter import __version__
from shunter.adapters.memory.store import MemoryStore
from shunter.engine import changes as c
from shunter.engine.changes.formats import FIRST_FORMAT, Formats
from shunter.engine.read.events import render
from shunter.engine.recovery import load_state
from shunter.engine.round import Round
from shunter.engine.settings import EngineSettings
from shunter.engine.state.snapshot_writer import make_snapshot
from shunter.engine.state.snapshots import load
from shunter.engine.state.state import State
from shunter.model.errors import Failed, FormatClosed, NewerFormat, StoreFailed, Unavailable
from shunter.model.job.spec import GroupSpec
from shunter.ports.coordination import ManagerRecord
from shunter.ports.store import Commit, Snapshot
from shunter.simulation.runtime.loop import run_virtual
from tests.unit.engine.harness import spec
from tests.unit.engine.managers import Manager, TestElection

SECOND = FIRST_FORMAT + 1
SINCE: dict[Any, int] = {c.ClusterSet: SECOND, (GroupSpec, "parallel_max"): SECOND, "moves": SECOND}
OLD, NEW = Formats(FIRST_FORMAT, SINCE), Formats(SECOND, SINCE)
SETTLE_S = EngineSettings().format_settle_s
A, B = ManagerRecord("a", format=SECOND), ManagerRecord("b", format=SECOND)
OLD_B = ManagerRecord("b", format=FIRST_FORMAT)
SETTING = {"policy": "spread"}


def run(scenario: Callable[[MemoryStore, TestElection], Coroutine[Any, Any, None]]) -> None:
    async def main(_: random.Random) -> None:
        await scenario(MemoryStore(), TestElection())

    run_virtual(main, 1)


async def start(store: MemoryStore, election: TestElection, formats: Formats = NEW) -> Manager:
    manager = Manager(store, election, formats)
    await manager.leads.wait()
    return manager


async def write_old_store(store: MemoryStore) -> None:
    """Something was committed before there were formats."""
    epoch = await store.begin_epoch()
    await store.commit(Commit(epoch, 1, 0.0, c.encode_round([c.QueueSet("q", False, False, 0, 0, 0)])))


async def commit_next(store: MemoryStore, *changes: c.Change) -> None:
    epoch, version = await store.begin_epoch(100), await store.last_version() + 1
    await store.commit(Commit(epoch, version, 0.0, c.encode_round(list(changes))))


async def kinds_of_rounds(store: MemoryStore) -> list[list[str]]:
    rounds = await store.rounds_after(0, 1_000)
    return [[type(change).__name__ for change in c.decode_round(each.body)] for each in rounds]


# ---- when the format is raised ----


def test_a_new_store_gets_the_format_with_the_first_request() -> None:
    async def scenario(store: MemoryStore, election: TestElection) -> None:
        election.registered = [A]
        manager = await start(store, election)
        await asyncio.sleep(2 * SETTLE_S)
        assert await store.last_version() == 0
        await manager.engine.set_settings(SETTING)
        assert await kinds_of_rounds(store) == [["FormatRaised", "ClusterSet"]]

    run(scenario)


def test_a_manager_that_is_alone_raises_it_at_once() -> None:
    async def scenario(store: MemoryStore, election: TestElection) -> None:
        await write_old_store(store)
        manager = Manager(store, election, NEW)
        manager.running.cancel()  # before it joins the others
        engine = manager.engine
        await engine.start()
        running = asyncio.create_task(engine.run())
        await asyncio.sleep(0.1)
        assert engine.state.format.active == SECOND
        [raised] = c.decode_round((await store.rounds_after(1, 1))[0].body)
        assert raised == c.FormatRaised(SECOND, __version__, raised.at_ms)  # type: ignore[union-attr]
        [event] = render(2, 0.0, [raised], str)
        assert (event.type, event.name) == ("cluster.format_raised", "2")
        running.cancel()

    run(scenario)


def test_it_is_raised_only_when_every_manager_knew_it_for_some_time() -> None:
    async def scenario(store: MemoryStore, election: TestElection) -> None:
        await write_old_store(store)
        election.registered = [A, OLD_B]
        manager = await start(store, election)
        await asyncio.sleep(2 * SETTLE_S)
        election.registered = [A]  # the other one restarts
        await asyncio.sleep(SETTLE_S / 2)
        election.registered = [A, OLD_B]  # and was not upgraded
        await asyncio.sleep(2 * SETTLE_S)
        assert manager.engine.state.format.active == FIRST_FORMAT
        election.registered = [A, B]
        await asyncio.sleep(SETTLE_S - 2)
        assert manager.engine.state.format.active == FIRST_FORMAT
        await asyncio.sleep(5)
        assert manager.engine.state.format.active == SECOND

    run(scenario)


@pytest.mark.parametrize("registered", [[], [A, ManagerRecord("b")]])
def test_it_is_not_raised_while_a_manager_does_not_say_what_it_knows(registered: list[ManagerRecord]) -> None:
    async def scenario(store: MemoryStore, election: TestElection) -> None:
        await write_old_store(store)
        election.registered = registered
        manager = await start(store, election)
        await asyncio.sleep(3 * SETTLE_S)
        assert manager.engine.state.format.active == FIRST_FORMAT

    run(scenario)


# ---- what a leader writes before that ----


def test_requests_that_need_it_are_refused_until_then_and_change_nothing() -> None:
    async def scenario(store: MemoryStore, election: TestElection) -> None:
        await write_old_store(store)
        election.registered = [A, OLD_B]
        engine = (await start(store, election)).engine
        with pytest.raises(Unavailable, match="ClusterSet needs a newer format of the store than 1"):
            await engine.set_settings(SETTING)
        with pytest.raises(Unavailable, match=r"GroupSpec.parallel_max needs a newer format"):
            await engine.submit([spec("new", parallel_max=1)], "tester")
        assert await store.last_version() == 1
        await engine.submit([spec("old")], "tester")
        election.registered = [A, B]
        await asyncio.sleep(SETTLE_S + 2)
        await engine.set_settings(SETTING)
        await engine.submit([spec("new", parallel_max=1)], "tester")
        assert engine.state.format.allows(c.ClusterSet)

    run(scenario)


def test_a_half_decided_request_that_needs_it_is_our_mistake() -> None:
    def decide(round: Round) -> None:
        round.record(c.QueueSet("r", False, False, 0, 0, 0))
        round.record(c.ClusterSet("policy", "spread", 0))

    async def scenario(store: MemoryStore, election: TestElection) -> None:
        await write_old_store(store)
        election.registered = [A, OLD_B]
        engine = (await start(store, election)).engine
        with pytest.raises((Unavailable, Failed)):
            await engine.ask(decide)
        await asyncio.sleep(1)
        assert await store.last_version() == 1
        assert set(engine.state.queues.queues) == {"q"}

    run(scenario)


def test_a_new_field_may_be_written_while_it_has_its_default() -> None:
    state = State(NEW)
    for group in (spec("a").groups[0], spec("b", parallel_max=2).groups[0]):
        groups = msgspec.Raw(msgspec.msgpack.encode((group,)))
        change = c.JobSubmitted(1, "default", "a", 1, "batch", 50, {}, "u", 0, groups)
        if not group.parallel_max:
            state.format.check(change)
            continue
        with pytest.raises(FormatClosed, match=r"GroupSpec\.parallel_max"):
            state.format.check(change)
        state.apply(c.FormatRaised(SECOND, "9.9.9", 0))
        state.format.check(change)


def test_a_snapshot_has_only_the_registries_of_its_format() -> None:
    state = State(NEW)
    registries = msgspec.msgpack.decode(make_snapshot(state).body)[11]
    assert set(state.registries) - set(registries) == {"moves"}
    state.apply(c.FormatRaised(SECOND, "9.9.9", 0))
    snapshot = make_snapshot(state)
    assert set(msgspec.msgpack.decode(snapshot.body)[11]) == set(state.registries)
    loaded = load(snapshot, NEW)
    assert (loaded.format.active, loaded.format.raised_by) == (SECOND, "9.9.9")


# ---- managers that are too old ----


def test_an_old_manager_does_not_open_a_newer_store_and_says_what_to_install() -> None:
    async def scenario(store: MemoryStore, _election: TestElection) -> None:
        await write_old_store(store)
        await commit_next(store, c.FormatRaised(SECOND, "9.9.9", 0))
        with pytest.raises(NewerFormat) as refused:
            await load_state(store, OLD)
        assert refused.value.detail == (
            "the store has format 2, and this Shunter reads up to 1; install Shunter 9.9.9 or newer here"
        )
        state = await load_state(store, NEW)
        await store.save_snapshot(await store.leading_epoch(), make_snapshot(state))
        with pytest.raises(NewerFormat, match=r"9\.9\.9"):
            await load_state(store, OLD)

    run(scenario)


def test_an_old_manager_names_the_format_even_if_it_cannot_decode_the_rest() -> None:
    async def scenario(store: MemoryStore, _election: TestElection) -> None:
        await write_old_store(store)
        epoch = await store.begin_epoch()
        unknown = [[51, SECOND, "9.9.9", 0, "a field of later"], [250, "a kind of later"]]
        await store.commit(Commit(epoch, 2, 0.0, msgspec.msgpack.encode(unknown)))
        with pytest.raises(NewerFormat, match=r"9\.9\.9"):
            await load_state(store, OLD)

    run(scenario)


def test_a_snapshot_that_an_old_manager_cannot_decode_names_the_format_too() -> None:
    state = State(NEW)
    state.apply(c.FormatRaised(SECOND, "9.9.9", 0))
    fields = msgspec.msgpack.decode(make_snapshot(state).body)
    fields[1] = "not a number any more"
    body = msgspec.msgpack.encode(fields)
    with pytest.raises(NewerFormat, match=r"9\.9\.9"):
        load(Snapshot(1, body), OLD)
    with pytest.raises(msgspec.ValidationError):
        load(Snapshot(1, body), NEW)


def test_what_no_format_explains_is_damage() -> None:
    async def scenario(store: MemoryStore, _election: TestElection) -> None:
        for version, body in enumerate((b"", b"\x90", msgspec.msgpack.encode([[250, 1]])), start=1):
            await store.commit(Commit(await store.begin_epoch(), version, 0.0, body))
        with pytest.raises(StoreFailed, match="damaged at version 1"):
            await load_state(store, OLD)

    run(scenario)


def test_an_old_follower_stops_with_the_reason_and_answers_no_reads() -> None:
    async def scenario(store: MemoryStore, election: TestElection) -> None:
        await write_old_store(store)
        election.registered = [A]
        leader = await start(store, election)
        follower = Manager(store, election, OLD)
        await follower.engine.wait_committed()
        await asyncio.sleep(2 * SETTLE_S)
        with pytest.raises(NewerFormat, match=f"install Shunter {__version__} or newer here"):
            await follower.running
        with pytest.raises(NewerFormat, match="install Shunter"):
            await follower.engine.wait_committed()
        await leader.engine.submit([spec("a")], "tester")

    run(scenario)


def test_an_old_manager_that_is_elected_resigns_and_stops() -> None:
    async def scenario(store: MemoryStore, election: TestElection) -> None:
        await write_old_store(store)
        await commit_next(store, c.FormatRaised(SECOND, "9.9.9", 0))
        manager = Manager(store, election, OLD)
        with pytest.raises(NewerFormat):
            await manager.running
        assert manager.times_led == 0
        election.registered = [A]
        await start(store, election)

    run(scenario)
