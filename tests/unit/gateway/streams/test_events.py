"""Followers of events: from any position, without gaps, each event encoded once, and none of them stalls the others."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from shunter.gateway.streams import event_hub, events
from shunter.model.rest.cluster_views import EventView
from shunter.model.rest.event_stream import encode_event
from shunter.ports.admin import EventPosition, EventQuery
from tests.unit.gateway.harness import GatewayHarness, read_all, run_scenario


def test_events_are_told_once_each_from_any_position_on() -> None:
    """R-19: whatever event a client saw last, it gets the ones behind it, from the store and live, without a gap."""

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        await harness.run_to_end(node, "early")
        every = (await harness.gateway.events.page(EventQuery(limit=1000))).items
        for number, event in enumerate(every):
            version, _, place = event.id.partition("-")
            behind = EventQuery(after=EventPosition(int(version), int(place)))
            seen: list[bytes] = []
            reading = asyncio.create_task(read_all(await harness.gateway.events.subscribe(behind), seen))
            await harness.settle()
            assert [each.id for each in decoded(seen)] == [each.id for each in every[number + 1 :]]
            reading.cancel()
        live: list[bytes] = []
        reading = asyncio.create_task(read_all(await harness.gateway.events.subscribe(EventQuery()), live))
        await harness.settle()
        await harness.run_to_end(node, "late")
        assert {event.job for event in decoded(live)} == {"late"}
        assert len({event.id for event in decoded(live)}) == len(decoded(live))
        reading.cancel()

    run_scenario(scenario)


def test_a_follower_of_one_job_gets_its_events_only() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        queries = {
            "everything": EventQuery(),
            "namespace": EventQuery("default"),
            "one": EventQuery("default", "one"),
            "any-one": EventQuery(None, "one"),
            "elsewhere": EventQuery("film", "one"),
        }
        seen: dict[str, list[bytes]] = {name: [] for name in queries}
        readings = [
            asyncio.create_task(read_all(await harness.gateway.events.subscribe(query), seen[name]))
            for name, query in queries.items()
        ]
        await harness.settle()
        for name in ("one", "two"):
            await harness.run_to_end(node, name)
        await harness.settle(1.0)
        jobs = {name: {event.job for event in decoded(chunks)} for name, chunks in seen.items()}
        assert jobs == {
            "everything": {"one", "two"}, "namespace": {"one", "two"}, "one": {"one"}, "any-one": {"one"},
            "elsewhere": set(),
        }  # fmt: skip
        for reading in readings:
            reading.cancel()

    run_scenario(scenario)


def test_each_event_is_encoded_once_for_all_followers(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []

    def count(event: EventView) -> bytes:
        encoded.append(event.id)
        return encode_event(event)

    monkeypatch.setattr(event_hub, "encode_event", count)

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        seen: list[list[bytes]] = [[] for _ in range(20)]
        queries = [EventQuery(), EventQuery("default", "job")] * 10
        readings = [
            asyncio.create_task(read_all(await harness.gateway.events.subscribe(query), into))
            for query, into in zip(queries, seen, strict=True)
        ]
        await harness.settle()
        await harness.run_to_end(node, "job")
        await harness.settle(1.0)
        assert all(seen)
        assert len(encoded) == len(set(encoded)) == len(decoded(seen[0]))
        for reading in readings:
            reading.cancel()

    run_scenario(scenario)


def test_a_slow_follower_is_dropped_with_the_position_to_resume_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets what waits for it, then the position; following from there leaves nothing out and repeats nothing."""
    monkeypatch.setattr(event_hub, "BACKLOG_BYTES_MAX", 2_000)

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        slow = await harness.gateway.events.subscribe(EventQuery())
        first = asyncio.ensure_future(anext(slow))
        others: list[bytes] = []
        reading = asyncio.create_task(read_all(await harness.gateway.events.subscribe(EventQuery()), others))
        await harness.settle()
        for number in range(20):
            await harness.run_to_end(node, f"job-{number}")
            await harness.settle(0.1)
        held = [await first, *[chunk async for chunk in slow]]
        assert sum(map(len, held)) < 6_000
        *_, last = b"".join(held).strip().split(b"\n\n")
        assert b"too slowly" in last
        version = int(last.split(b"\n")[0].removeprefix(b"id: "))
        missing: list[bytes] = []
        position = EventPosition(version)
        resumed = asyncio.create_task(
            read_all(await harness.gateway.events.subscribe(EventQuery(after=position)), missing)
        )
        await harness.settle(1.0)
        assert ids(held) + ids(missing) == ids(others)
        for task in (resumed, reading):
            task.cancel()

    run_scenario(scenario)


def test_a_follower_that_joins_while_events_wait_gets_each_once() -> None:
    """Some rounds are in the store and not handed out yet: they come from one place only."""

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        everything: list[bytes] = []
        tasks = [asyncio.create_task(read_all(await harness.gateway.events.subscribe(EventQuery()), everything))]
        await harness.settle()
        start = EventPosition(harness.engine.committed_version)
        late: list[list[bytes]] = []
        for number in range(12):
            await harness.run_to_end(node, f"job-{number}")
            late.append([])
            query = EventQuery(after=start)
            tasks.append(asyncio.create_task(read_all(await harness.gateway.events.subscribe(query), late[-1])))
            await asyncio.sleep(0.004 * (number % 6))
        await harness.settle(1.0)
        for seen in late:
            assert ids(seen) == ids(everything)
        for task in tasks:
            task.cancel()

    run_scenario(scenario)


def test_nothing_is_rendered_while_nobody_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        stream = await harness.gateway.events.subscribe(EventQuery())
        reading = asyncio.create_task(read_all(stream, []))
        await harness.settle()
        reading.cancel()
        await harness.settle()
        monkeypatch.setattr(event_hub.EventHub, "_hand_out_all", fail)
        await harness.run_to_end(node, "job")

    run_scenario(scenario)


async def fail(*_: Any) -> None:
    raise AssertionError("nobody follows")


def decoded(chunks: list[bytes]) -> list[EventView]:
    lines = b"".join(chunks).split(b"\n")
    return [msgspec.json.decode(line[6:], type=EventView) for line in lines if line.startswith(b"data: ")]


def ids(chunks: list[bytes]) -> list[str]:
    return [event.id for event in decoded(chunks)]


def test_the_newest_events_come_first_over_all_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "ROUNDS_PER_READ", 2)
    monkeypatch.setattr(events, "NEWEST_ROUNDS_MAX", 3)

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=1)
        for name in ("a", "b", "c"):
            await harness.run_to_end(node, name)
        service = harness.gateway.events
        oldest = [event.id for event in (await service.page(EventQuery(limit=1000))).items]
        for types in ((), ("job.submitted",)):
            found: list[EventView] = []
            after = None
            while True:
                page = await service.page(EventQuery(limit=2, after=after, types=types, is_newest_first=True))
                found += page.items
                if page.next is None:
                    break
                version, _, number = page.next.partition("-")
                after = EventPosition(int(version), int(number))
            if types:
                assert [event.name.partition("@")[0] for event in found] == ["c", "b", "a"]
            else:
                assert [event.id for event in found] == oldest[::-1]

    run_scenario(scenario)
