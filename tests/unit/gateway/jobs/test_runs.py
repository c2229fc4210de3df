"""Finding and reading runs: live from memory, finished from the store, with the same result."""

from __future__ import annotations

import pytest

from shunter.model.errors import NotFound
from shunter.model.rest.job_views import JobView, TaskView
from shunter.ports.jobs import JobQuery, LogQuery, TaskQuery
from shunter.ports.principals import JobReference, TaskReference
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario

ALL_NAMESPACES = JobQuery(namespace=None, limit=1000)


def test_a_name_is_its_newest_run_and_a_number_an_older_one() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        for _ in range(2):
            await harness.run_to_end(node, "job")
        third = await harness.run("job")
        found = [await harness.gateway.jobs.get(reference("job", run)) for run in (None, 1, 2, 3)]
        assert [job.run for job in found] == [3, 1, 2, 3]
        assert [job.state for job in found] == ["pending", "succeeded", "succeeded", "pending"]
        assert (await harness.gateway.jobs.get(JobReference("default", id=third.id))).run == 3
        runs = await harness.gateway.jobs.runs(reference("job"), 2, None)
        assert ([job.run for job in runs.items], runs.total) == ([3, 2], 3)
        rest = await harness.gateway.jobs.runs(reference("job"), 2, runs.next)
        assert ([job.run for job in rest.items], rest.next) == ([1], None)

    run_scenario(scenario)


def test_a_run_that_ended_in_the_store_already_is_listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store of a follower may be ahead of its state."""

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        await harness.run("job")
        state = harness.engine.state
        [live] = state.unfinished_runs("default", "job")
        [(_, order)] = harness.orders()
        await harness.end_task(node, order, 1)
        monkeypatch.setattr(state, "unfinished_runs", lambda *_: [live])
        runs = await harness.gateway.jobs.runs(reference("job"), 10, None)
        assert ([job.state for job in runs.items], runs.total) == (["succeeded"], 1)

    run_scenario(scenario)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (reference("jbo"), "did you mean job?"),
        (reference("job", 9), "job 'job@9' does not exist in namespace 'default'"),
        (reference("job", namespace="film"), "in namespace 'film'"),
        (JobReference("default", id=99), "job 99 does not exist"),
    ],
)
def test_what_is_not_there_is_said_in_words(wanted: JobReference, words: str) -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.run("job")
        with pytest.raises(NotFound) as missing:
            await harness.gateway.jobs.get(wanted)
        assert words in missing.value.detail

    run_scenario(scenario)


def test_pages_of_jobs_have_every_job_once_newest_first_wherever_it_is_kept() -> None:
    """D-11: live and finished ones mixed, in pages of any size."""

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=1)
        blocker = await harness.run("blocker")
        [(_, order)] = harness.orders()
        for number in range(6):
            await harness.run(f"waiting-{number}")
        await harness.end(node, order)
        expected = [job.id for job in (await harness.gateway.jobs.page(ALL_NAMESPACES)).items]
        assert expected == sorted(expected, reverse=True)
        assert blocker.id in expected
        for limit in (1, 2, 3, 7, 100):
            assert await all_pages(harness, limit) == expected

    run_scenario(scenario)


def test_lists_are_filtered_alike_in_memory_and_in_the_store() -> None:
    """D-11: by state, label and namespace."""

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=1)
        await harness.run_to_end(node, "done", labels={"team": "film"})
        await harness.run_to_end(node, "broken", exit_code=1, labels={"team": "music"})
        await harness.run_to_end(node, "away", namespace="other", labels={"team": "film"})
        await harness.run("running", labels={"team": "film"})
        await harness.run("waiting", labels={"team": "music"})

        async def names(query: JobQuery) -> list[str]:
            page = await harness.gateway.jobs.page(query)
            assert page.total == len(page.items)
            return [job.name for job in page.items]

        assert await names(JobQuery("default", labels=(("team", "film"),))) == ["running", "done"]
        assert await names(JobQuery(None, labels=(("team", "film"),))) == ["running", "away", "done"]
        assert await names(JobQuery("other")) == ["away"]
        assert await names(JobQuery("default", states=("failed",))) == ["broken"]
        assert await names(JobQuery("default", states=("pending",))) == ["waiting", "running"]
        assert await names(JobQuery("default", states=("failed", "pending"))) == ["waiting", "running", "broken"]

    run_scenario(scenario)


def test_a_task_reads_the_same_before_and_after_its_job_has_ended() -> None:
    """C-10: the same index, state, attempt, node, exit code and times, from memory and from the store."""

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=1)
        await harness.run("job", count=3)
        seen: list[TaskView] = []
        while orders := harness.orders():
            for _, order in orders:
                await harness.end(node, order, exit_code=order.first)
                if (await harness.gateway.jobs.get(reference("job"))).ended_at is None:
                    page = await harness.gateway.tasks.page(reference("job"), TaskQuery(states=("succeeded", "failed")))
                    seen = page.items
        finished = (await harness.gateway.tasks.page(reference("job"), TaskQuery())).items
        assert finished[: len(seen)] == seen
        assert [task.exit_code for task in finished] == [0, 1, 2]
        job: JobView = await harness.gateway.jobs.get(reference("job"))
        assert (job.state, job.counts) == ("failed", {"succeeded": 1, "failed": 2})

    run_scenario(scenario)


def test_pages_of_tasks_are_by_index_and_filtered_by_state() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=4)
        await harness.run_to_end(node, "job", count=10)
        page = await harness.gateway.tasks.page(reference("job"), TaskQuery(limit=4))
        assert ([task.index for task in page.items], page.next, page.total) == ([0, 1, 2, 3], "0.3", 10)
        page = await harness.gateway.tasks.page(reference("job"), TaskQuery(limit=100, after="3"))
        assert ([task.index for task in page.items], page.next) == (list(range(4, 10)), None)
        none = await harness.gateway.tasks.page(reference("job"), TaskQuery(states=("failed",)))
        assert (none.items, none.total) == ([], 0)
        with pytest.raises(NotFound, match="its tasks are 0 to 9"):
            await harness.gateway.tasks.get(reference("job"), TaskReference(10))

    run_scenario(scenario)


def test_a_task_that_runs_again_does_not_show_how_its_last_attempt_ended() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        await harness.run("job", restart={"policy": "on-failure", "delay": "100ms"})
        [(_, order)] = harness.orders()
        await harness.end_task(node, order, 7, exit_code=3)
        await harness.settle(1.0)
        [(_, again)] = harness.orders()
        shown = await harness.gateway.tasks.get(reference("job"), TaskReference(0))
        assert (shown.state, shown.attempt, shown.exit_code, shown.started_at) == ("assigned", 2, None, None)
        await harness.start_task(node, again, 8)
        shown = await harness.gateway.tasks.get(reference("job"), TaskReference(0))
        assert (shown.state, shown.exit_code, shown.started_at is not None) == ("running", None, True)

    run_scenario(scenario)


def test_every_attempt_is_kept_with_its_node_times_and_reason() -> None:
    """D-11: those that failed, those that were lost, and the last one."""

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        await harness.run("job", restart={"policy": "on-failure", "max": 1, "delay": "1s", "jitter": 0})
        [(_, order)] = harness.orders()
        await harness.report_lost(node, order, "the keeper died")
        [(_, order)] = harness.orders()
        await harness.end_task(node, order, 7, exit_code=5)
        await harness.settle(2.0)
        [(_, order)] = harness.orders()
        await harness.start_task(node, order, 8)
        live = (await harness.gateway.tasks.attempts(reference("job"), TaskReference(0))).items
        assert [(each.attempt, each.state) for each in live] == [(1, "lost"), (2, "failed"), (3, "running")]
        await harness.end_task(node, order, 8)
        ended = (await harness.gateway.tasks.attempts(reference("job"), TaskReference(0))).items
        assert ended[:2] == live[:2]
        assert [(each.state, each.exit_code, each.reason) for each in ended] == [
            ("lost", None, "the keeper died"), ("failed", 5, "exit code 5"), ("succeeded", 0, None),
        ]  # fmt: skip
        harness.log_workers.write(7, b"second")
        harness.log_workers.write(8, b"third")
        read = [
            await harness.gateway.streams.read_log(reference("job"), TaskReference(0), LogQuery(attempt=each))
            for each in (1, 2, 3)
        ]
        assert [piece.data for piece in read] == [b"", b"second", b"third"]
        with pytest.raises(NotFound, match="has no attempt 4"):
            await harness.gateway.streams.read_log(reference("job"), TaskReference(0), LogQuery(attempt=4))

    run_scenario(scenario)


async def all_pages(harness: GatewayHarness, limit: int) -> list[int]:
    found: list[int] = []
    after: str | None = None
    while True:
        page = await harness.gateway.jobs.page(JobQuery(namespace=None, limit=limit, after=after))
        assert len(page.items) <= limit
        found += [job.id for job in page.items]
        after = page.next
        if after is None:
            return found
