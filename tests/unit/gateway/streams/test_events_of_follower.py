"""Streams of events at a manager that follows another one, and is behind: it knows no node of the rounds to come."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from shunter.adapters.memory.store import MemoryStore
from shunter.engine.engine import Engine
from shunter.engine.settings import EngineSettings
from shunter.gateway.scope import cluster_scope
from shunter.gateway.streams.events import Events
from shunter.model.errors import NotLeader
from shunter.model.rest.cluster_views import EventView
from shunter.planning.planner import build_policy
from shunter.ports.admin import EventPosition, EventQuery
from shunter.ports.store import LoggedRound
from shunter.simulation.runtime.loop import VirtualClock, run_virtual
from tests.unit.engine.harness import RecordingWorkers
from tests.unit.gateway.harness import GatewayHarness, read_all
from tests.unit.gateway.streams.test_events import decoded

BEGINNING = EventPosition(0)


class InterruptedStore(MemoryStore):
    """Something happens while it reads the rounds after a version."""

    def __init__(self) -> None:
        super().__init__()
        self.interruptions: dict[int, Callable[[], Awaitable[None]]] = {}

    async def rounds_after(self, version: int, limit: int) -> list[LoggedRound]:
        found = await super().rounds_after(version, limit)
        if (interrupt := self.interruptions.pop(version, None)) is not None:
            await interrupt()
        return found


class Follower:
    """An engine that follows the harness's store only when it is told to."""

    def __init__(self, store: InterruptedStore) -> None:
        self.store = store
        self.engine = Engine(
            store=store, workers=RecordingWorkers(), policy=build_policy("bin-pack"), clock=VirtualClock(),
            random=random.Random(1),
        )  # fmt: skip
        self.events = Events(self.engine, store, cluster_scope(self.engine))

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.engine.follow())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def run_behind(scenario: Callable[[GatewayHarness, Follower], Coroutine[Any, Any, None]]) -> None:
    """The follower has one job, and no node. The leader has committed more since: its second job ran on one."""

    async def main(_: random.Random) -> None:
        store = InterruptedStore()
        harness, follower = GatewayHarness(store, EngineSettings()), Follower(store)
        await harness.open()
        await harness.run("early")
        async with follower.following():
            await harness.settle(1.0)
        node = await harness.join()
        await harness.run_to_end(node, "late")
        assert follower.engine.state.version < harness.engine.state.version
        await scenario(harness, follower)

    run_virtual(main, 1)


async def committed_events(harness: GatewayHarness) -> list[EventView]:
    return (await harness.gateway.events.page(EventQuery(limit=1000))).items


def test_a_stream_tells_what_the_follower_has_and_the_rest_when_it_has_it() -> None:
    async def scenario(harness: GatewayHarness, follower: Follower) -> None:
        known = follower.engine.state.version
        chunks: list[bytes] = []
        stream = await follower.events.subscribe(EventQuery(after=BEGINNING))
        reading = asyncio.create_task(read_all(stream, chunks))
        await harness.settle(1.0)
        everything = await committed_events(harness)
        assert decoded(chunks) == [each for each in everything if int(each.id.partition("-")[0]) <= known]
        async with follower.following():
            await harness.settle(1.0)
        assert not reading.done()
        reading.cancel()
        assert decoded(chunks) == everything

    run_behind(scenario)


def test_stored_events_end_where_the_state_of_the_follower_ends() -> None:
    async def scenario(harness: GatewayHarness, follower: Follower) -> None:
        known = follower.engine.state.version
        found = [each async for each in follower.events.stored(EventQuery(after=BEGINNING))]
        everything = await committed_events(harness)
        assert found == [each for each in everything if int(each.id.partition("-")[0]) <= known]

    run_behind(scenario)


def test_a_stream_after_a_position_that_the_follower_lacks_waits_for_it_and_repeats_nothing() -> None:
    async def scenario(harness: GatewayHarness, follower: Follower) -> None:
        everything = await committed_events(harness)
        version, _, number = everything[-2].id.partition("-")
        query = EventQuery(after=EventPosition(int(version), int(number)))
        with pytest.raises(NotLeader, match=f"not yet {version}"):
            await follower.events.subscribe(query)
        chunks: list[bytes] = []
        async with follower.following():
            reading = asyncio.create_task(read_all(await follower.events.subscribe(query), chunks))
            await harness.settle(1.0)
        reading.cancel()
        assert decoded(chunks) == everything[-1:]

    run_behind(scenario)


def test_a_stream_misses_nothing_if_the_state_is_loaded_again_while_it_reads() -> None:
    """A follower far behind loads a snapshot: the rounds in between are published to nobody."""

    async def scenario(harness: GatewayHarness, follower: Follower) -> None:
        async def load_again() -> None:
            follower.engine.replica.discard()
            await follower.engine.replica.catch_up()

        follower.store.interruptions[follower.engine.state.version] = load_again
        chunks: list[bytes] = []
        reading = asyncio.create_task(read_all(await follower.events.subscribe(EventQuery(after=BEGINNING)), chunks))
        await harness.settle(1.0)
        reading.cancel()
        assert not follower.store.interruptions
        assert decoded(chunks) == await committed_events(harness)

    run_behind(scenario)
