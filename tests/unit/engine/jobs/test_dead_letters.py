"""Rules for exit codes, which restarts count, dead letters, and reruns."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.engine.jobs.finish import Summary
from shunter.engine.jobs.rerun import indexes_by_group, rerun_spec
from shunter.engine.state.registries import dead_letters
from shunter.model.errors import Conflict, Invalid, NotFound
from shunter.model.job.arrays import compress_indexes
from shunter.model.job.spec import (
    ExitRule,
    GroupAfter,
    GroupSpec,
    JobOptions,
    JobSpec,
    Restart,
    TaskSpec,
    array_values,
)
from shunter.model.protocol.worker_messages import Ended
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.engine.harness import Harness, run_scenario, spec

ONCE = Restart("on-failure", max=1, delay_s=1.0, jitter=0.0)


async def job_state(harness: Harness, name: str) -> str:
    job = await harness.store.finished_run("default", name, None)
    return job.state if job is not None else "unfinished"


@pytest.mark.parametrize(
    ("policy", "exit_code", "action", "outcome"),
    [
        ("on-failure", 3, "fail", "failed"), ("always", 3, "fail", "failed"), ("always", 0, "fail", "failed"),
        ("never", 3, "restart", "again"), ("on-failure", 0, "restart", "again"),
        ("never", 3, "succeed", "succeeded"), ("on-failure", 3, "succeed", "succeeded"),
        ("always", 0, "succeed", "succeeded"), ("never", 4, "succeed", "failed"), ("on-failure", 4, "fail", "again"),
    ],
)  # fmt: skip
def test_a_rule_for_an_exit_code_wins_over_the_policy(policy: str, exit_code: int, action: str, outcome: str) -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        rules = (ExitRule((3, 0), action),)
        await harness.submit(spec("work", restart=Restart(policy, delay_s=1.0, on_exit=rules)))
        [(_, order)] = harness.orders()
        await harness.end(node, order, exit_code)
        await harness.settle(2)
        assert (len(harness.orders()) == 1) == (outcome == "again")
        if outcome != "again":
            assert await job_state(harness, "work") == outcome

    run_scenario(scenario)


def test_a_task_that_succeeds_by_a_rule_keeps_its_exit_code() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        await harness.submit(spec("work", restart=Restart(on_exit=(ExitRule((3,), "succeed"),))))
        [(_, order)] = harness.orders()
        await harness.end(node, order, 3)
        finished = await harness.store.finished_run("default", "work", None)
        assert finished is not None
        summary = msgspec.msgpack.decode(finished.summary, type=Summary)
        assert (summary.view.state, summary.exit_code) == ("succeeded", 3)
        [event] = [event for event in await harness.events() if event.type == "tasks.succeeded"]
        assert (event.state, event.exit_code) == ("succeeded", 3)

    run_scenario(scenario)


def test_an_attempt_that_ran_long_makes_earlier_restarts_count_no_more() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        await harness.submit(spec("work", restart=ONCE))
        for seconds in (1, 700, 700, 1):
            await harness.settle(2)
            [(_, order)] = harness.orders()
            now_ms = int(VirtualClock().now() * 1000)
            times = [now_ms], [now_ms + seconds * 1000]
            await harness.settle(seconds)
            ended = Ended(order.job, order.group, order.attempt, order.first, [1], *times, 1, 0, "")
            await harness.report(node, ended=[ended])
        assert await job_state(harness, "work") == "failed"

    run_scenario(scenario)


async def run_failing(harness: Harness, node: int, bad: set[int]) -> None:
    """Run all that there is; these tasks fail until they give up."""
    while True:
        await harness.settle(2)
        orders = harness.orders()
        if not orders:
            return
        for _, order in orders:
            now_ms = int(VirtualClock().now() * 1000)
            indexes = range(order.first, order.last + 1)
            exits = [int(index in bad) for index in indexes]
            times = [now_ms] * len(exits), [now_ms] * len(exits)
            ended = Ended(order.job, order.group, order.attempt, order.first, exits, *times, 1, 0, "")
            await harness.report(node, ended=[ended])


def test_a_task_that_gave_up_after_its_restarts_is_a_dead_letter_and_others_are_not() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=8)
        await harness.submit(spec("work", 8, restart=ONCE), spec("never", 2))
        await run_failing(harness, node, {2, 5})
        letters = harness.engine.state.dead_letters.letters
        assert sorted((each.ref, each.index, each.exit_code) for each in letters.values()) == [
            ("default/work@1", 2, 1), ("default/work@1", 5, 1),
        ]  # fmt: skip
        await harness.engine.purge_dead([1], "me")
        assert list(letters) == [2]
        assert "dead.dropped" in [event.type for event in await harness.events()]
        with pytest.raises(NotFound, match="dead letter 1 does not exist"):
            await harness.engine.purge_dead([1], "me")

    run_scenario(scenario)


def test_the_list_of_dead_letters_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "DEAD_LETTERS_MAX", 3)

    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=8)
        await harness.submit(spec("work", 8, restart=ONCE))
        await run_failing(harness, node, set(range(8)))
        assert list(harness.engine.state.dead_letters.letters) == [6, 7, 8]

    run_scenario(scenario)


def test_a_replay_runs_just_the_dead_tasks_with_their_own_indexes_and_entries() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=8)
        original = spec("work", 4, restart=ONCE, entries=("a", "b", "c", "d"))
        await harness.submit(original)
        await run_failing(harness, node, {1, 3})
        chosen = indexes_by_group(
            (each.group, each.index) for each in harness.engine.state.dead_letters.letters.values()
        )
        runs = await harness.engine.replay([1, 2], [rerun_spec(original, chosen)], "me")
        await harness.settle()
        assert [run.run for run in runs] == [2]
        assert harness.engine.state.dead_letters.letters == {}
        [(_, order)] = harness.orders()
        assert (order.count, order.shown, order.entries) == (4, [1, 3], ["b", "d"])
        with pytest.raises(NotFound):
            await harness.engine.replay([1], [original], "me")

    run_scenario(scenario)


def test_a_job_that_has_not_ended_is_not_repeated() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.submit(spec("work"))
        with pytest.raises(Conflict, match="run 1 of job 'work' has not ended"):
            await harness.engine.start_run(rerun_spec(spec("work")), "me")

    run_scenario(scenario)


def test_a_repeat_waits_for_nothing_and_keeps_edges_among_what_it_repeats() -> None:
    def group(name: str, *after: str, count: int = 3) -> GroupSpec:
        edges = tuple(GroupAfter(each) for each in after)
        return GroupSpec(name, count, TaskSpec(("/bin/true",)), {"cpu": 1000}, after=edges)

    options = JobOptions(start_in_s=60.0, deadline_ms=5, held=True, timeout_s=7.0)
    job = JobSpec("default", "flow", (group("a"), group("b", "a"), group("c", "b", "a")), options=options)
    assert rerun_spec(job).options == JobOptions(timeout_s=7.0)
    part = rerun_spec(job, {"b": [2], "c": [0, 1, 2]})
    assert [(each.name, each.count, each.array, each.total) for each in part.groups] == [
        ("b", 1, ((2, 2, 1),), 3), ("c", 3, (), 0),
    ]  # fmt: skip
    assert [[edge.group for edge in each.after] for each in part.groups] == [[], ["b"]]


def test_a_repeat_of_a_repeat_still_knows_the_first_indexes() -> None:
    job = spec("work", 100, array=((10, 208, 2),))
    once = rerun_spec(job, {"main": [5, 6, 50]})
    twice = rerun_spec(once, {"main": [1, 2]})
    assert (twice.groups[0].array, twice.groups[0].total) == (((22, 110, 88),), 100)


@given(st.lists(st.integers(0, 99), min_size=1, max_size=99, unique=True), st.data())
def test_chosen_tasks_become_the_ranges_of_their_indexes(order: list[int], data: st.DataObject) -> None:
    array = compress_indexes(order)
    chosen = sorted(data.draw(st.sets(st.integers(0, len(order) - 1), min_size=1)))
    [group] = rerun_spec(spec("work", len(order), array=array), {"main": np.array(chosen)}).groups
    expected = array if len(chosen) == len(order) else compress_indexes(array_values(array, chosen))
    assert (group.array, group.count) == (expected, len(chosen))


def test_tasks_that_form_too_many_ranges_are_refused() -> None:
    scattered = np.flatnonzero(np.arange(3_000_000) % 5 < 2)
    with pytest.raises(Invalid, match="must have 1 to 512 parts"):
        rerun_spec(spec("work", 3_000_000), {"main": scattered})
