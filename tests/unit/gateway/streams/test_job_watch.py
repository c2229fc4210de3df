"""Watching a job: every change of one run in order, resumable by a position, to the end."""

from __future__ import annotations

import asyncio

import pytest

from shunter.gateway.streams import event_hub
from shunter.model.errors import Conflict, Invalid, NotFound
from shunter.ports.admin import EventPosition
from shunter.ports.jobs import JobNews
from tests.unit.gateway.harness import GatewayHarness, read_all, reference, run_scenario

WHOLE = ["job.submitted", "tasks.placed", "tasks.succeeded", "job.succeeded"]


def types(news: list[JobNews]) -> list[str]:
    return [each.change.type for each in news if each.change is not None]


def position(text: str) -> EventPosition:
    version, _, number = text.partition("-")
    return EventPosition(int(version), int(number) if number else None)


async def watch(harness: GatewayHarness, name: str, after: str = "", run: int | None = None) -> list[JobNews]:
    news: list[JobNews] = []
    start = position(after) if after else None
    await read_all(await harness.gateway.streams.watch_job(reference(name, run), start), news)
    return news


def test_a_watch_shows_every_change_and_the_end() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        before = str(harness.engine.state.version)
        await harness.run("job")
        watching = asyncio.create_task(watch(harness, "job", before))
        await harness.settle()
        for _, order in harness.orders():
            await harness.end(node, order)
        news = await watching
        assert (news[0].job is not None, news[-1].end is not None) == (True, True)
        assert types(news) == WHOLE
        assert news[-1].end is not None and news[-1].end.state == "succeeded"

    run_scenario(scenario)


def test_a_watch_goes_on_after_any_of_its_positions() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        before = str(harness.engine.state.version)
        await harness.run_to_end(node, "job")
        await harness.run_to_end(node, "other")
        await harness.run_to_end(node, "job")
        whole = await watch(harness, "job", before, run=1)
        assert types(whole) == WHOLE, "of this run alone"
        for number, each in enumerate(whole[:-1]):
            again = await watch(harness, "job", each.position, run=1)
            assert [each.position for each in again[1:]] == [each.position for each in whole[number + 1 :]]
        assert types(await watch(harness, "job")) == [], "without a position: from now on"

    run_scenario(scenario)


def test_a_reader_that_was_dropped_misses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_hub, "BACKLOG_BYTES_MAX", 1)

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        before = str(harness.engine.state.version)
        await harness.run("job", 30)
        stream = await harness.gateway.streams.watch_job(reference("job"), position(before))
        news = [await anext(stream) for _ in range(3)]
        while orders := harness.orders():
            for _, order in orders:
                await harness.end(node, order)
                await asyncio.sleep(1.0)
        await read_all(stream, news)
        found = types(news)
        assert (found[:2], found[-1]) == (["job.submitted", "tasks.placed"], "job.succeeded")
        assert [each.position for each in news] == [each.position for each in await watch(harness, "job", before)]

    run_scenario(scenario)


def test_what_cannot_be_watched_is_refused_before_the_stream() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.run("job")
        with pytest.raises(NotFound, match="job 'nothing' does not exist"):
            await watch(harness, "nothing")
        with pytest.raises(Invalid, match="after: is ahead of the cluster"):
            await watch(harness, "job", "999999")
        await harness.run("nightly", schedule="@daily")
        with pytest.raises(Conflict, match="is a template"):
            await watch(harness, "nightly")

    run_scenario(scenario)
