"""Finding runs and reading them: live from memory, finished from the store, and nobody can tell the difference."""

from __future__ import annotations

import pytest

from shunter.model.errors import NotFound
from shunter.model.rest.views import JobView, TaskView
from shunter.ports.gateway import JobQuery, JobReference, LogQuery, TaskQuery, TaskReference
from tests.unit.gateway.harness import ANNA, GatewayStage, play, reference

EVERYWHERE = JobQuery(namespace=None, limit=1000)


def test_a_name_is_its_newest_run_and_a_number_an_older_one() -> None:
    async def scene(stage: GatewayStage) -> None:
        node = await stage.join()
        for _ in range(2):
            await stage.run_to_end(node, "job")
        third = await stage.run("job")
        found = [await stage.gateway.job(ANNA, reference("job", run)) for run in (None, 1, 2, 3)]
        assert [job.run for job in found] == [3, 1, 2, 3]
        assert [job.state for job in found] == ["pending", "succeeded", "succeeded", "pending"]
        assert (await stage.gateway.job(ANNA, JobReference("default", id=third.id))).run == 3
        runs = await stage.gateway.runs(ANNA, reference("job"), 2, None)
        assert ([job.run for job in runs.items], runs.total) == ([3, 2], 3)
        rest = await stage.gateway.runs(ANNA, reference("job"), 2, runs.next)
        assert ([job.run for job in rest.items], rest.next) == ([1], None)

    play(scene)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (reference("jbo"), "did you mean job?"),
        (reference("job", 9), "there is no job job@9 in namespace default"),
        (reference("job", namespace="film"), "in namespace film"),
        (JobReference("default", id=99), "there is no job with id 99"),
    ],
)
def test_what_is_not_there_is_said_in_words(wanted: JobReference, words: str) -> None:
    async def scene(stage: GatewayStage) -> None:
        await stage.run("job")
        with pytest.raises(NotFound) as missing:
            await stage.gateway.job(ANNA, wanted)
        assert words in missing.value.detail

    play(scene)


def test_pages_of_jobs_have_every_job_once_newest_first_wherever_it_is_kept() -> None:
    """D-11: live and finished ones mixed, in pages of any size."""

    async def scene(stage: GatewayStage) -> None:
        node = await stage.join(cpu=1)
        blocker = await stage.run("blocker")
        [(_, order)] = stage.orders()
        for number in range(6):
            await stage.run(f"waiting-{number}")
        await stage.end(node, order)
        expected = [job.id for job in (await stage.gateway.jobs(ANNA, EVERYWHERE)).items]
        assert expected == sorted(expected, reverse=True)
        assert blocker.id in expected
        for limit in (1, 2, 3, 7, 100):
            assert await all_pages(stage, limit) == expected

    play(scene)


def test_lists_are_filtered_alike_in_memory_and_in_the_store() -> None:
    """D-11: by state, label and namespace."""

    async def scene(stage: GatewayStage) -> None:
        node = await stage.join(cpu=1)
        await stage.run_to_end(node, "done", labels={"team": "film"})
        await stage.run_to_end(node, "broken", exit_code=1, labels={"team": "music"})
        await stage.run_to_end(node, "away", namespace="other", labels={"team": "film"})
        await stage.run("running", labels={"team": "film"})
        await stage.run("waiting", labels={"team": "music"})

        async def names(query: JobQuery) -> list[str]:
            page = await stage.gateway.jobs(ANNA, query)
            assert page.total == len(page.items)
            return [job.name for job in page.items]

        assert await names(JobQuery("default", labels=(("team", "film"),))) == ["running", "done"]
        assert await names(JobQuery(None, labels=(("team", "film"),))) == ["running", "away", "done"]
        assert await names(JobQuery("other")) == ["away"]
        assert await names(JobQuery("default", states=("failed",))) == ["broken"]
        assert await names(JobQuery("default", states=("pending",))) == ["waiting", "running"]
        assert await names(JobQuery("default", states=("failed", "pending"))) == ["waiting", "running", "broken"]

    play(scene)


def test_a_task_reads_the_same_before_and_after_its_job_has_ended() -> None:
    """C-10: the same index, state, attempt, node, exit code and times, from memory and from the store."""

    async def scene(stage: GatewayStage) -> None:
        node = await stage.join(cpu=1)
        submitted = await stage.run("job", count=3)
        seen: list[TaskView] = []
        while orders := stage.orders():
            for _, order in orders:
                await stage.end(node, order, exit_code=order.first)
                if submitted.id in stage.engine.state.jobs:
                    page = await stage.gateway.tasks(ANNA, reference("job"), TaskQuery(states=("succeeded", "failed")))
                    seen = page.items
        finished = (await stage.gateway.tasks(ANNA, reference("job"), TaskQuery())).items
        assert finished[: len(seen)] == seen
        assert [task.exit_code for task in finished] == [0, 1, 2]
        job: JobView = await stage.gateway.job(ANNA, reference("job"))
        assert (job.state, job.counts) == ("failed", {"succeeded": 1, "failed": 2})

    play(scene)


def test_pages_of_tasks_are_by_index_and_filtered_by_state() -> None:
    async def scene(stage: GatewayStage) -> None:
        node = await stage.join(cpu=4)
        await stage.run_to_end(node, "job", count=10)
        page = await stage.gateway.tasks(ANNA, reference("job"), TaskQuery(limit=4))
        assert ([task.index for task in page.items], page.next, page.total) == ([0, 1, 2, 3], "0.3", 10)
        page = await stage.gateway.tasks(ANNA, reference("job"), TaskQuery(limit=100, after="3"))
        assert ([task.index for task in page.items], page.next) == (list(range(4, 10)), None)
        none = await stage.gateway.tasks(ANNA, reference("job"), TaskQuery(states=("failed",)))
        assert (none.items, none.total) == ([], 0)
        with pytest.raises(NotFound, match="its tasks are 0 to 9"):
            await stage.gateway.task(ANNA, reference("job"), TaskReference(10))

    play(scene)


def test_a_task_that_runs_again_does_not_show_how_its_last_attempt_ended() -> None:
    async def scene(stage: GatewayStage) -> None:
        node = await stage.join()
        await stage.run("job", restart={"policy": "on-failure", "delay": "100ms"})
        [(_, order)] = stage.orders()
        await stage.end_task(node, order, 7, exit_code=3)
        await stage.settle(1.0)
        [(_, again)] = stage.orders()
        shown = await stage.gateway.task(ANNA, reference("job"), TaskReference(0))
        assert (shown.state, shown.attempt, shown.exit_code, shown.started_at) == ("assigned", 2, None, None)
        await stage.start_task(node, again, 8)
        shown = await stage.gateway.task(ANNA, reference("job"), TaskReference(0))
        assert (shown.state, shown.exit_code, shown.started_at is not None) == ("running", None, True)

    play(scene)


def test_every_attempt_is_kept_with_its_node_times_and_reason() -> None:
    """D-11: those that failed, those that were lost, and the last one."""

    async def scene(stage: GatewayStage) -> None:
        node = await stage.join()
        await stage.run("job", restart={"policy": "on-failure", "max": 1, "delay": "1s", "jitter": 0})
        [(_, order)] = stage.orders()
        await stage.lose(node, order, "the keeper died")
        [(_, order)] = stage.orders()
        await stage.end_task(node, order, 7, exit_code=5)
        await stage.settle(2.0)
        [(_, order)] = stage.orders()
        await stage.start_task(node, order, 8)
        live = (await stage.gateway.attempts(ANNA, reference("job"), TaskReference(0))).items
        assert [(each.attempt, each.state) for each in live] == [(1, "lost"), (2, "failed"), (3, "running")]
        await stage.end_task(node, order, 8)
        ended = (await stage.gateway.attempts(ANNA, reference("job"), TaskReference(0))).items
        assert ended[:2] == live[:2]
        assert [(each.state, each.exit_code, each.reason) for each in ended] == [
            ("lost", None, "the keeper died"), ("failed", 5, "exit code 5"), ("succeeded", 0, None),
        ]  # fmt: skip
        stage.writing.write(7, b"second")
        stage.writing.write(8, b"third")
        read = [
            await stage.gateway.read_log(ANNA, reference("job"), TaskReference(0), LogQuery(attempt=each))
            for each in (1, 2, 3)
        ]
        assert [piece.data for piece in read] == [b"", b"second", b"third"]
        with pytest.raises(NotFound, match="has no attempt 4"):
            await stage.gateway.read_log(ANNA, reference("job"), TaskReference(0), LogQuery(attempt=4))

    play(scene)


async def all_pages(stage: GatewayStage, limit: int) -> list[int]:
    found: list[int] = []
    after: str | None = None
    while True:
        page = await stage.gateway.jobs(ANNA, JobQuery(namespace=None, limit=limit, after=after))
        assert len(page.items) <= limit
        found += [job.id for job in page.items]
        after = page.next
        if after is None:
            return found
