"""Jobs by what has no index: complete over all pages, in memory and in history, in each order."""

from __future__ import annotations

import pytest

from shunter.gateway.jobs import job_search
from shunter.gateway.tokens import ADMIN
from shunter.model.errors import Invalid
from shunter.ports.jobs import JobQuery
from shunter.ports.principals import Principal
from tests.unit.gateway.harness import GatewayHarness, run_scenario


async def names(harness: GatewayHarness, **query: object) -> list[str]:
    """Over all pages."""
    found: list[str] = []
    after = None
    while True:
        page = await harness.gateway.jobs.page(JobQuery(None, limit=2, after=after, **query))  # type: ignore[arg-type]
        found += [view.name for view in page.items]
        after = page.next
        if after is None:
            return found


async def submit_some(harness: GatewayHarness) -> None:
    node = await harness.join(cpu=1)
    for number in range(5):
        await harness.run_to_end(node, f"old-{number}", queue="night" if number % 2 else "default")
    for number, priority in enumerate((3, 9, 3, 5)):
        queue = "night" if number % 2 else "default"
        await harness.run(f"new-{number}", priority=priority, queue=queue, count=2, namespace="film")


def test_a_search_finds_the_same_jobs_on_any_pages() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await submit_some(harness)
        assert await names(harness, text="NEW") == ["new-3", "new-2", "new-1", "new-0"]
        assert await names(harness, text="-1") == ["new-1", "old-1"]
        assert await names(harness, queue="night") == ["new-3", "new-1", "old-3", "old-1"]
        assert await names(harness, queue="night", states=("succeeded",)) == ["old-3", "old-1"]
        assert await names(harness, user="anna", type="batch", text="old-4") == ["old-4"]
        assert await names(harness, user="ben") == []
        film = harness.local_gateway.for_caller(Principal("eve", ADMIN, namespace="film"), "listJobs")
        found = (await film.jobs.page(JobQuery(None, user="anna"))).items
        assert [view.name for view in found] == ["new-3", "new-2", "new-1", "new-0"]
        elsewhere = harness.local_gateway.for_caller(Principal("eve", ADMIN, namespace="art"), "listJobs")
        page = await elsewhere.jobs.page(JobQuery(None, user="anna"))
        assert (page.items, page.total) == ([], 0)
        assert await names(harness, since_ms=harness.engine.now_ms() + 1) == []
        assert len(await names(harness, since_ms=1)) == 9

    run_scenario(scenario)


def test_a_search_of_a_long_history_stops_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_search, "FINISHED_PAGE", 1)
    monkeypatch.setattr(job_search, "FINISHED_MAX", 2)

    async def scenario(harness: GatewayHarness) -> None:
        await submit_some(harness)
        page = await harness.gateway.jobs.page(JobQuery(None, text="old-0"))
        assert (page.items, page.partial) == ([], True)
        assert page.next is not None
        assert await names(harness, text="old-0") == ["old-0"]
        assert await names(harness, queue="night") == ["new-3", "new-1", "old-3", "old-1"]

    run_scenario(scenario)


def test_unfinished_jobs_come_in_other_orders() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await submit_some(harness)
        states = ("pending", "running")
        assert await names(harness, states=states, sort="oldest") == ["new-0", "new-1", "new-2", "new-3"]
        assert await names(harness, states=states, sort="name") == ["new-0", "new-1", "new-2", "new-3"]
        assert await names(harness, states=states, sort="priority") == ["new-1", "new-3", "new-0", "new-2"]
        with pytest.raises(Invalid, match="only unfinished jobs"):
            await names(harness, sort="name")
        with pytest.raises(Invalid, match="cursor of this order"):
            await harness.gateway.jobs.page(JobQuery(None, states=states, sort="priority", after="3:high"))

    run_scenario(scenario)
