"""Dependencies between jobs and between groups; an unmet dependency cancels its dependents, and theirs."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from shunter.engine.jobs.dependencies import waits_for
from shunter.engine.jobs.finish import Summary
from shunter.engine.state.fingerprints.fingerprint import fingerprint
from shunter.model.errors import Invalid
from shunter.model.job.spec import After, GroupAfter, GroupSpec, JobOptions, JobSpec, TaskSpec
from tests.unit.engine.harness import Harness, run_scenario, spec


def after(*edges: After | str) -> JobOptions:
    return JobOptions(after=tuple(After(edge) if isinstance(edge, str) else edge for edge in edges))


async def final_state(harness: Harness, name: str) -> str:
    job = await harness.store.finished_run("default", name, None)
    assert job is not None
    return job.state


def job_with_groups(name: str, **groups: tuple[GroupAfter, ...]) -> JobSpec:
    return JobSpec(
        "default",
        name,
        tuple(
            GroupSpec(each, 1, TaskSpec(("/bin/true",)), {"cpu": 1000}, after=edges) for each, edges in groups.items()
        ),
    )


def test_a_job_starts_in_the_commit_that_ends_what_it_waits_for() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        _, second = await harness.submit(spec("fetch"), spec("render", options=after("fetch")))
        assert harness.counts(second.job_id) == {"waiting": 1}
        job = harness.engine.state.jobs[second.job_id]
        assert waits_for(harness.engine.state, job) == ["fetch@1 to have succeeded (it is pending)"]
        [(_, order)] = harness.orders()
        await harness.end(node, order)
        version = harness.engine.state.version
        [(_, order)] = harness.orders()
        assert order.job == second.job_id
        types = [event.type for event in await harness.events(version - 1)]
        assert types == ["tasks.succeeded", "job.succeeded", "job.unblocked", "tasks.unblocked", "tasks.placed"]

    run_scenario(scenario)


def test_jobs_of_one_submit_may_name_each_other_in_any_order() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join()
        chain = [spec(f"j{number}", options=after(f"j{number + 1}")) for number in range(400)]
        results = await harness.submit(*chain, spec("j400"))
        assert [result.name for result in results] == [f"j{number}" for number in range(401)]
        assert [order.job for _, order in harness.orders()] == [results[400].job_id]

    run_scenario(scenario)


def test_a_failure_cancels_the_whole_chain_behind_it_with_the_reason() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        await harness.submit(
            spec("a"), *(spec(f"b{n}", options=after("a" if n == 0 else f"b{n - 1}")) for n in range(50))
        )
        [(_, order)] = harness.orders()
        await harness.end(node, order, exit_code=3)
        assert not harness.engine.state.jobs
        assert await final_state(harness, "b0") == await final_state(harness, "b49") == "cancelled"
        finished = await harness.store.finished_run("default", "b0", None)
        assert finished is not None and b"a@1 has failed, but had to have succeeded" in finished.summary
        assert not harness.orders()

    run_scenario(scenario)


@pytest.mark.parametrize(
    ("when", "otherwise", "exit_code", "outcome"),
    [
        ("succeeded", "cancel", 0, "runs"), ("succeeded", "cancel", 1, "cancelled"), ("succeeded", "run", 1, "runs"),
        ("failed", "cancel", 0, "cancelled"), ("failed", "cancel", 1, "runs"), ("failed", "run", 0, "runs"),
        ("finished", "cancel", 0, "runs"), ("finished", "cancel", 1, "runs"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_late", [False, True])
def test_an_edge_settles_by_how_its_job_ended(
    when: str, otherwise: str, exit_code: int, outcome: str, is_late: bool
) -> None:
    """Whether the other job ends after the submit, or ended long before it."""

    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        waiting = spec("b", options=after(After("a", when, otherwise)))
        await harness.submit(spec("a"), *([] if is_late else [waiting]))
        [(_, order)] = harness.orders()
        await harness.end(node, order, exit_code=exit_code)
        if is_late:
            await harness.submit(waiting)
        orders = harness.orders()
        assert (len(orders) == 1) == (outcome == "runs")
        assert (harness.engine.state.find_job("default", "b") is None) == (outcome == "cancelled")

    run_scenario(scenario)


def test_a_stopped_job_counts_as_finished_but_neither_as_succeeded_nor_as_failed() -> None:
    async def scenario(harness: Harness) -> None:
        [a, *_] = await harness.submit(
            spec("a"),
            *(spec(when, options=after(After("a", when))) for when in ("succeeded", "failed", "finished")),
        )
        await harness.engine.stop_tasks(a.job_id, None, False)
        assert await final_state(harness, "succeeded") == await final_state(harness, "failed") == "cancelled"
        job = harness.engine.state.find_job("default", "finished")
        assert job is not None and harness.counts(job.id) == {"queued": 1}

    run_scenario(scenario)


def test_a_run_of_the_past_is_named_by_its_number() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        for exit_code in (0, 1, 0):
            await harness.submit(spec("a"))
            [(_, order)] = harness.orders()
            await harness.end(node, order, exit_code)
        await harness.submit(spec("good", options=after("a@1")))
        assert len(harness.orders()) == 1
        await harness.submit(spec("bad", options=after("a@2")))
        assert await final_state(harness, "bad") == "cancelled"
        with pytest.raises(Invalid, match=r"spec.after\[0\].job: run 'a@9' does not exist in namespace 'default'"):
            await harness.submit(spec("none", options=after("a@9")))

    run_scenario(scenario)


def test_edges_that_lead_nowhere_or_in_a_circle_are_refused_and_nothing_is_taken() -> None:
    async def scenario(harness: Harness) -> None:
        with pytest.raises(
            Invalid, match=r"items\[1\].spec.after\[0\].job: job 'nobody' does not exist in namespace 'default'"
        ):
            await harness.submit(spec("a"), spec("b", options=after("nobody")))
        with pytest.raises(Invalid, match="jobs depend on each other in a cycle: a -> c -> b -> a"):
            await harness.submit(
                spec("a", options=after("c")), spec("b", options=after("a")), spec("c", options=after("b"))
            )
        assert harness.engine.state.next_job == 1

    run_scenario(scenario)


def test_a_job_waits_for_all_its_edges_over_a_restart() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=1)
        [_, _, third] = await harness.submit(spec("a"), spec("b"), spec("c", options=after("a", "b")))
        [(_, order)] = harness.orders()
        await harness.end(node, order)
        assert harness.counts(third.job_id) == {"waiting": 1}
        await harness.engine._snapshots.save(harness.engine.epoch)
        assert await harness.recovered_fingerprint() == fingerprint(harness.engine.state)
        [(_, order)] = harness.orders()
        await harness.end(node, order)
        [(_, order)] = harness.orders()
        assert order.job == third.job_id

    run_scenario(scenario)


def test_a_stopped_job_that_waits_is_waited_for_no_more() -> None:
    async def scenario(harness: Harness) -> None:
        [a, b] = await harness.submit(spec("a"), spec("b", options=after("a")))
        await harness.engine.stop_tasks(b.job_id, None, False)
        assert await final_state(harness, "b") == "cancelled"
        assert harness.engine.state.edges.dependents(a.job_id) == []

    run_scenario(scenario)


def test_history_knows_which_run_an_edge_meant_and_how_that_ended() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        for exit_code in (1, 0):
            await harness.submit(spec("a"))
            [(_, order)] = harness.orders()
            await harness.end(node, order, exit_code)
        await harness.submit(spec("long"))
        [(_, long)] = harness.orders()
        await harness.submit(
            spec("never", options=after("a@1", "long")), spec("late", options=after("a", After("long", "finished")))
        )
        assert await edges_of(harness, "never") == [("a@1", False, "failed"), ("long@1", False, None)]
        await harness.engine._snapshots.save(harness.engine.epoch)
        assert await harness.recovered_fingerprint() == fingerprint(harness.engine.state)
        await harness.end(node, long, 3)
        [(_, order)] = harness.orders()
        await harness.end(node, order)
        assert await edges_of(harness, "late") == [("a@2", False, "succeeded"), ("long@1", False, "failed")]

    run_scenario(scenario)


async def edges_of(harness: Harness, name: str) -> list[tuple[str, bool, str | None]]:
    """The edges of a run that has ended, as history has them."""
    finished = await harness.store.finished_run("default", name, 1)
    assert finished is not None
    terms = msgspec.msgpack.decode(finished.summary, type=Summary).view.terms
    assert terms is not None and terms.waits_for == []
    return [(edge.name, edge.open, edge.outcome) for edge in terms.after]


def test_groups_run_in_the_order_of_their_edges() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=4)
        [job] = await harness.submit(
            job_with_groups(
                "flow", fetch=(), render=(GroupAfter("fetch"),), publish=(GroupAfter("render"), GroupAfter("fetch"))
            )
        )
        for name in ("fetch", "render", "publish"):
            [(_, order)] = harness.orders()
            assert harness.engine.state.jobs[job.job_id].task_sets[order.group].spec.name == name
            await harness.end(node, order)
        assert await final_state(harness, "flow") == "succeeded"

    run_scenario(scenario)


def test_a_group_whose_edge_can_come_true_no_more_is_left_out() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=4)
        rescue = GroupAfter("main", when="failed")
        await harness.submit(job_with_groups("good", main=(), rescue=(rescue,), behind=(GroupAfter("rescue"),)))
        [(_, order)] = harness.orders()
        await harness.end(node, order)
        assert await final_state(harness, "good") == "succeeded"  # nobody stopped it: the rescue was not needed

        await harness.submit(
            job_with_groups("bad", main=(), rescue=(rescue,), next=(GroupAfter("main", otherwise="run"),))
        )
        [(_, order)] = harness.orders()
        await harness.end(node, order, exit_code=1)
        orders = harness.orders()
        assert len(orders) == 2
        for _, order in orders:
            await harness.end(node, order)
        assert await final_state(harness, "bad") == "failed"

    run_scenario(scenario)


@pytest.mark.parametrize("seed", range(25))
def test_a_random_graph_comes_to_its_end_with_every_edge_obeyed(seed: int) -> None:
    """Whatever fails, whenever the manager dies: each job ran if and only if its edges let it."""
    rng = Random(seed)
    count = rng.randint(5, 40)
    edges = {
        number: [
            After(f"j{target}", rng.choice(["succeeded", "failed", "finished"]), rng.choice(["cancel", "run"]))
            for target in rng.sample(range(number), min(number, rng.randint(0, 3)))
        ]
        for number in range(count)
    }
    fails = {number: rng.random() < 0.3 for number in range(count)}
    expected: dict[int, str] = {}
    for number in range(count):
        is_free = all(
            edge.when in ("finished", expected[int(edge.job[1:])]) or edge.otherwise == "run" for edge in edges[number]
        )
        expected[number] = ("failed" if fails[number] else "succeeded") if is_free else "cancelled"

    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=3)
        specs = [spec(f"j{number}", options=JobOptions(after=tuple(edges[number]))) for number in range(count)]
        shuffled = rng.sample(specs, count)
        await harness.submit(*shuffled)
        names = {job.id: int(job.name[1:]) for job in harness.engine.state.jobs.values()}
        ended = await harness.store.ended_runs([("default", f"j{n}", None) for n in range(count)])
        names.update({run.id: int(name[1:]) for (_, name, _), run in ended.items()})
        for _ in range(10 * count):
            if not harness.engine.state.jobs:
                break
            if rng.random() < 0.1:
                await harness.restart_manager()
            for _, order in harness.orders():
                await harness.end(node, order, exit_code=int(fails[names[order.job]]))
            await harness.settle(0.1)
        assert not harness.engine.state.jobs
        assert {number: await final_state(harness, f"j{number}") for number in range(count)} == expected

    run_scenario(scenario)


def test_single_tasks_of_a_waiting_job_can_be_stopped_before_the_rest_goes_on() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        _, second = await harness.submit(spec("fetch"), spec("render", 3, options=after("fetch")))
        await harness.engine.stop_tasks(second.job_id, ("main", 1), now=False)
        [(_, order)] = harness.orders()
        await harness.end(node, order)
        assert harness.counts(second.job_id) == {"assigned": 2, "cancelled": 1}

    run_scenario(scenario)


def test_a_group_goes_on_though_what_it_waits_for_was_stopped_while_its_job_waited() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        graph = job_with_groups("graph", map=(), reduce=(GroupAfter("map", when="finished"),))
        waiting = JobSpec("default", "graph", graph.groups, options=after("fetch"))
        _, second = await harness.submit(spec("fetch"), waiting)
        await harness.engine.stop_tasks(second.job_id, ("map", 0), now=False)
        [(_, order)] = harness.orders()
        await harness.end(node, order)
        assert harness.counts(second.job_id) == {"assigned": 1, "cancelled": 1}

    run_scenario(scenario)
