"""Templates among the jobs, queues and dead letters as users see them, and reruns."""

from __future__ import annotations

import pytest

from shunter.model.errors import Conflict, NotFound
from shunter.model.protocol.worker_messages import Ended
from shunter.model.rest.job_views import FollowLine
from shunter.ports.admin import DeadLetterSelector, DispatchRequest, QueueChange
from shunter.ports.jobs import JobQuery, LogQuery, TaskQuery
from shunter.ports.principals import JobReference, TaskReference
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario

DAILY = {"cron": "0 1 * * *", "timezone": "Europe/Berlin"}
ONCE = {"policy": "on-failure", "max": 1, "delay": "1s"}


async def run_until_idle(harness: GatewayHarness, node: int, bad: set[int] | None = None) -> None:
    """Run all that there is to its end; these tasks fail until they give up."""
    while True:
        await harness.settle(2)
        orders = harness.orders()
        if not orders:
            return
        for _, order in orders:
            now_ms = int(VirtualClock().now() * 1000)
            exits = [int(index in (bad or ())) for index in range(order.first, order.last + 1)]
            times = [now_ms] * len(exits), [now_ms] * len(exits)
            ended = Ended(order.job, order.group, order.attempt, order.first, exits, *times, 1, 0, "")
            await harness.report(node, ended=[ended])


def test_a_template_without_runs_has_no_tasks_whose_log_could_be_read() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.run("ingest", parameters={})
        with pytest.raises(NotFound, match="job 'ingest' has not run yet: runs when dispatched"):
            await harness.gateway.streams.read_log(reference("ingest"), TaskReference(0), LogQuery())
        with pytest.raises(NotFound, match="has not run yet"):
            await harness.gateway.tasks.get(reference("ingest"), TaskReference(0))

    run_scenario(scenario)


def test_a_template_stands_among_the_jobs_until_it_has_runs() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        submitted = await harness.run("nightly", schedule=DAILY)
        assert (submitted.run, submitted.created) == (0, True)
        job = await harness.gateway.jobs.get(reference("nightly"))
        assert (job.state, job.run, job.id, job.counts) == ("scheduled", 0, submitted.id, {})
        assert job.reason == "runs next at 2023-11-15T00:00:00.000Z, schedule '0 1 * * *' in Europe/Berlin"
        assert job == await harness.gateway.jobs.get(JobReference("default", id=submitted.id))
        await harness.run("plain")
        page = await harness.gateway.jobs.page(JobQuery("default"))
        assert ([view.name for view in page.items], page.total) == (["plain", "nightly"], 2)
        pending = await harness.gateway.jobs.page(JobQuery("default", ("pending",)))
        assert [view.name for view in pending.items] == ["plain"]
        assert (await harness.gateway.tasks.page(reference("nightly"), TaskQuery())).items == []
        lines: list[FollowLine] = [
            line async for line in await harness.gateway.streams.follow_job(reference("nightly"), "end")
        ]
        assert [line.end is not None for line in lines] == [False, True]
        assert (await harness.gateway.explain.why(reference("nightly"))).sentence.startswith(
            "nightly is scheduled: runs"
        )
        with pytest.raises(Conflict, match="is a template; delete it"):
            await harness.gateway.jobs.stop(reference("nightly"), None, False)

        run = await harness.gateway.templates.dispatch(DispatchRequest("default", "nightly", {}))
        assert (await harness.gateway.jobs.get(reference("nightly"))).id == run.id

    run_scenario(scenario)


def test_templates_are_listed_with_their_last_run_and_the_next() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        await harness.run("nightly", schedule=DAILY)
        await harness.run("render", parameters={"required": ["input"], "optional": {"quality": "high"}})
        await harness.run("other", schedule=DAILY, namespace="film")
        await harness.gateway.templates.dispatch(DispatchRequest("default", "render", {"input": "a"}))
        await harness.settle()
        nightly, render = (await harness.gateway.templates.page("default", 10, None)).items
        assert (nightly.state, nightly.next_at, nightly.last_run) == ("scheduled", "2023-11-15T00:00:00.000Z", None)
        assert (render.state, render.required, render.optional) == ("dispatchable", ["input"], {"quality": "high"})
        assert (render.last_run, render.last_state, render.unfinished) == (1, "pending", 1)
        await run_until_idle(harness, node)
        assert (await harness.gateway.templates.get("default", "render")).last_state == "succeeded"
        assert (await harness.gateway.templates.pause("default", "nightly", True)).next_at is None
        first = await harness.gateway.templates.page(None, 2, None)
        assert (len(first.items), first.total) == (2, 3)
        assert [view.name for view in (await harness.gateway.templates.page(None, 2, first.next)).items] == ["other"]
        await harness.gateway.templates.delete("default", "nightly")
        with pytest.raises(NotFound):
            await harness.gateway.templates.get("default", "nightly")

    run_scenario(scenario)


def test_a_queue_shows_what_waits_and_runs_in_it() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join(cpu=1)
        await harness.run("a", 3, queue="film")
        queue = await harness.gateway.queues.patch("film", QueueChange(running_max=1, strict=True))
        assert (queue.queued, queue.running, queue.running_max, queue.queued_max) == (2, 1, 1, None)
        assert [view.name for view in (await harness.gateway.queues.page()).items] == ["default", "film"]
        assert await harness.gateway.queues.purge("film") == 2
        assert (await harness.gateway.queues.patch("film", QueueChange(running_max=0))).running_max is None
        await harness.gateway.queues.delete("film")
        with pytest.raises(NotFound, match="queue 'night' does not exist"):
            await harness.gateway.queues.get("night")

    run_scenario(scenario)


def test_a_held_job_says_so_and_an_ended_one_cannot_be_held() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        await harness.run("work", hold=True)
        job = await harness.gateway.jobs.get(reference("work"))
        assert job.terms is not None and job.terms.held and job.terms.waits_for == []
        assert (await harness.gateway.jobs.hold(reference("work"), False)).terms is not None
        await run_until_idle(harness, node)
        with pytest.raises(Conflict, match="'work' has succeeded; only unfinished jobs"):
            await harness.gateway.jobs.hold(reference("work"), True)

    run_scenario(scenario)


def test_a_retry_runs_all_of_a_finished_job_or_what_did_not_succeed() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=8)
        await harness.run("work", 6)
        with pytest.raises(Conflict, match="has not ended"):
            await harness.gateway.jobs.retry(reference("work"), False, None)
        await run_until_idle(harness, node, {1, 4})
        again = await harness.gateway.jobs.retry(reference("work"), True, "key")
        assert (again.run, again.count) == (2, 2)
        assert (await harness.gateway.jobs.retry(reference("work"), True, "key")).id == again.id
        await harness.settle()
        [(_, order)] = harness.orders()
        assert (order.count, order.shown) == (6, [1, 4])
        await harness.end(node, order)
        with pytest.raises(Conflict, match="all tasks of work@2 succeeded"):
            await harness.gateway.jobs.retry(reference("work"), True, None)
        assert (await harness.gateway.jobs.retry(JobReference("default", "work", 1), False, None)).count == 6

    run_scenario(scenario)


def test_a_retry_of_a_job_of_several_groups_leaves_out_those_that_succeeded() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=8)
        groups = [{"name": "a"}, {"name": "b", "count": 2, "after": [{"group": "a"}]}]
        document = {
            "apiVersion": "shunter.dev/v1", "kind": "Job", "metadata": {"name": "flow"},
            "spec": {"command": ["/bin/true"], "groups": groups},
        }  # fmt: skip
        await harness.gateway.jobs.submit([document], namespace="default", key=None)
        await run_until_idle(harness, node, {1})
        again = await harness.gateway.jobs.retry(reference("flow"), True, None)
        assert (again.count, again.counts) == (1, {"assigned": 1})

    run_scenario(scenario)


def test_dead_letters_are_replayed_as_one_run_of_each_job() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=8)
        await harness.run("a", 4, restart=ONCE)
        await harness.run("b", 2, restart=ONCE)
        await run_until_idle(harness, node, {1, 2})
        page = await harness.gateway.dead_letters.page("default", None, 2, None)
        assert (page.total, len(page.items)) == (3, 2)
        assert len((await harness.gateway.dead_letters.page("default", None, 2, page.next)).items) == 1
        assert {view.name for view in page.items} <= {"a@1/1", "a@1/2", "b@1/1"}
        replayed = await harness.gateway.dead_letters.replay(DeadLetterSelector("default"))
        assert sorted((run.name, run.run) for run in replayed.items) == [("a", 2), ("b", 2)]
        assert (await harness.gateway.dead_letters.page(None, None, 9, None)).total == 0
        await run_until_idle(harness, node, {0, 1})
        assert (await harness.gateway.dead_letters.page(None, "a", 9, None)).total == 2

    run_scenario(scenario)


def test_letters_of_a_job_that_runs_are_left_unless_they_are_named() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=8)
        await harness.run("a", 2, restart=ONCE)
        await run_until_idle(harness, node, {1})
        await harness.run("a", 2, hold=True)
        assert (await harness.gateway.dead_letters.replay(DeadLetterSelector("default"))).left == 1
        with pytest.raises(Conflict, match="run 2 of job 'a' has not ended"):
            await harness.gateway.dead_letters.replay(DeadLetterSelector("default", job="a"))
        with pytest.raises(NotFound, match="dead letter 99 does not exist"):
            await harness.gateway.dead_letters.purge(DeadLetterSelector("default", (99,)))
        assert await harness.gateway.dead_letters.purge(DeadLetterSelector("default")) == 1

    run_scenario(scenario)
