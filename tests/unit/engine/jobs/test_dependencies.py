"""Jobs wait for jobs, groups for groups; what can come true no more is cancelled, and what waits for that too."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from shunter.engine.jobs.dependencies import waits_for
from shunter.engine.jobs.finish import Summary
from shunter.engine.state.fingerprints.fingerprint import fingerprint
from shunter.model.errors import Invalid
from shunter.model.job.spec import After, GroupAfter, GroupSpec, JobOptions, JobSpec, TaskSpec
from shunter.model.lifecycles import JobState
from tests.unit.engine.harness import Stage, play, spec


def after(*edges: After | str) -> JobOptions:
    return JobOptions(after=tuple(After(edge) if isinstance(edge, str) else edge for edge in edges))


def ended_as(stage: Stage, name: str) -> str:
    return JobState(stage.engine.state.last_run("default", name)[2]).word


def grouped(name: str, **groups: tuple[GroupAfter, ...]) -> JobSpec:
    return JobSpec(
        "default",
        name,
        tuple(
            GroupSpec(each, 1, TaskSpec(("/bin/true",)), {"cpu": 1000}, after=edges) for each, edges in groups.items()
        ),
    )


def test_a_job_starts_in_the_commit_that_ends_what_it_waits_for() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join()
        _, second = await stage.submit(spec("fetch"), spec("render", options=after("fetch")))
        assert stage.counts(second.job_id) == {"waiting": 1}
        job = stage.engine.state.jobs[second.job_id]
        assert waits_for(stage.engine.state, job) == ["fetch@1 to have succeeded (it is pending)"]
        [(_, order)] = stage.orders()
        await stage.end(node, order)
        version = stage.engine.state.version
        [(_, order)] = stage.orders()
        assert order.job == second.job_id
        types = [event.type for event in await stage.events(version - 1)]
        assert types == ["tasks.succeeded", "job.succeeded", "job.unblocked", "tasks.unblocked", "tasks.placed"]

    play(scene)


def test_jobs_of_one_submit_may_name_each_other_in_any_order() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join()
        chain = [spec(f"j{number}", options=after(f"j{number + 1}")) for number in range(400)]
        results = await stage.submit(*chain, spec("j400"))
        assert [result.name for result in results] == [f"j{number}" for number in range(401)]
        assert [order.job for _, order in stage.orders()] == [results[400].job_id]

    play(scene)


def test_a_failure_cancels_the_whole_chain_behind_it_with_the_reason() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join()
        await stage.submit(
            spec("a"), *(spec(f"b{n}", options=after("a" if n == 0 else f"b{n - 1}")) for n in range(50))
        )
        [(_, order)] = stage.orders()
        await stage.end(node, order, exit_code=3)
        assert not stage.engine.state.jobs
        assert ended_as(stage, "b0") == ended_as(stage, "b49") == "cancelled"
        finished = await stage.store.finished_run("default", "b0", None)
        assert finished is not None and b"a@1 has failed, and was to have succeeded" in finished.summary
        assert not stage.orders()

    play(scene)


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

    async def scene(stage: Stage) -> None:
        node = await stage.join()
        waiting = spec("b", options=after(After("a", when, otherwise)))
        await stage.submit(spec("a"), *([] if is_late else [waiting]))
        [(_, order)] = stage.orders()
        await stage.end(node, order, exit_code=exit_code)
        if is_late:
            await stage.submit(waiting)
        orders = stage.orders()
        assert (len(orders) == 1) == (outcome == "runs")
        assert (stage.engine.state.find_job("default", "b") is None) == (outcome == "cancelled")

    play(scene)


def test_a_stopped_job_counts_as_finished_but_neither_as_succeeded_nor_as_failed() -> None:
    async def scene(stage: Stage) -> None:
        [a, *_] = await stage.submit(
            spec("a"),
            *(spec(when, options=after(After("a", when))) for when in ("succeeded", "failed", "finished")),
        )
        await stage.engine.stop_tasks(a.job_id, None, False)
        assert ended_as(stage, "succeeded") == ended_as(stage, "failed") == "cancelled"
        job = stage.engine.state.find_job("default", "finished")
        assert job is not None and stage.counts(job.id) == {"queued": 1}

    play(scene)


def test_a_run_of_the_past_is_named_by_its_number() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join()
        for exit_code in (0, 1, 0):
            await stage.submit(spec("a"))
            [(_, order)] = stage.orders()
            await stage.end(node, order, exit_code)
        await stage.submit(spec("good", options=after("a@1")))
        assert len(stage.orders()) == 1
        await stage.submit(spec("bad", options=after("a@2")))
        assert ended_as(stage, "bad") == "cancelled"
        with pytest.raises(Invalid, match=r"spec.after\[0\].job: is a run that there is not \(got 'a@9'\)"):
            await stage.submit(spec("none", options=after("a@9")))

    play(scene)


def test_edges_that_lead_nowhere_or_in_a_circle_are_refused_and_nothing_is_taken() -> None:
    async def scene(stage: Stage) -> None:
        with pytest.raises(
            Invalid, match=r"items\[1\].spec.after\[0\].job: is a job that there is not \(got 'nobody'\)"
        ):
            await stage.submit(spec("a"), spec("b", options=after("nobody")))
        with pytest.raises(Invalid, match="jobs wait for one another: a -> c -> b -> a"):
            await stage.submit(
                spec("a", options=after("c")), spec("b", options=after("a")), spec("c", options=after("b"))
            )
        assert stage.engine.state.next_job == 1

    play(scene)


def test_a_job_waits_for_all_its_edges_over_a_restart() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join(cpu=1)
        [_, _, third] = await stage.submit(spec("a"), spec("b"), spec("c", options=after("a", "b")))
        [(_, order)] = stage.orders()
        await stage.end(node, order)
        assert stage.counts(third.job_id) == {"waiting": 1}
        await stage.engine._save_snapshot(stage.engine.epoch)
        assert await stage.replayed() == fingerprint(stage.engine.state)
        [(_, order)] = stage.orders()
        await stage.end(node, order)
        [(_, order)] = stage.orders()
        assert order.job == third.job_id

    play(scene)


def test_a_stopped_job_that_waits_is_waited_for_no_more() -> None:
    async def scene(stage: Stage) -> None:
        [a, b] = await stage.submit(spec("a"), spec("b", options=after("a")))
        await stage.engine.stop_tasks(b.job_id, None, False)
        assert ended_as(stage, "b") == "cancelled"
        assert stage.engine.state.edges.dependents(a.job_id) == []

    play(scene)


def test_history_knows_which_run_an_edge_meant_and_how_that_ended() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join()
        for exit_code in (1, 0):
            await stage.submit(spec("a"))
            [(_, order)] = stage.orders()
            await stage.end(node, order, exit_code)
        await stage.submit(spec("long"))
        [(_, long)] = stage.orders()
        await stage.submit(
            spec("never", options=after("a@1", "long")), spec("late", options=after("a", After("long", "finished")))
        )
        assert await edges_of(stage, "never") == [("a@1", False, "failed"), ("long@1", False, None)]
        await stage.engine._save_snapshot(stage.engine.epoch)
        assert await stage.replayed() == fingerprint(stage.engine.state)
        await stage.end(node, long, 3)
        [(_, order)] = stage.orders()
        await stage.end(node, order)
        assert await edges_of(stage, "late") == [("a@2", False, "succeeded"), ("long@1", False, "failed")]

    play(scene)


async def edges_of(stage: Stage, name: str) -> list[tuple[str, bool, str | None]]:
    """The edges of a run that has ended, as history has them."""
    finished = await stage.store.finished_run("default", name, 1)
    assert finished is not None
    terms = msgspec.msgpack.decode(finished.summary, type=Summary).view.terms
    assert terms is not None and terms.waits_for == []
    return [(edge.name, edge.open, edge.outcome) for edge in terms.after]


def test_groups_run_in_the_order_of_their_edges() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join(cpu=4)
        [job] = await stage.submit(
            grouped(
                "flow", fetch=(), render=(GroupAfter("fetch"),), publish=(GroupAfter("render"), GroupAfter("fetch"))
            )
        )
        for name in ("fetch", "render", "publish"):
            [(_, order)] = stage.orders()
            assert stage.engine.state.jobs[job.job_id].groups[order.group].spec.name == name
            await stage.end(node, order)
        assert ended_as(stage, "flow") == "succeeded"

    play(scene)


def test_a_group_whose_edge_can_come_true_no_more_is_left_out() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join(cpu=4)
        rescue = GroupAfter("main", when="failed")
        await stage.submit(grouped("good", main=(), rescue=(rescue,), behind=(GroupAfter("rescue"),)))
        [(_, order)] = stage.orders()
        await stage.end(node, order)
        assert ended_as(stage, "good") == "succeeded"  # nobody stopped it: the rescue was not needed

        await stage.submit(grouped("bad", main=(), rescue=(rescue,), next=(GroupAfter("main", otherwise="run"),)))
        [(_, order)] = stage.orders()
        await stage.end(node, order, exit_code=1)
        orders = stage.orders()
        assert len(orders) == 2
        for _, order in orders:
            await stage.end(node, order)
        assert ended_as(stage, "bad") == "failed"

    play(scene)


@pytest.mark.parametrize("seed", range(25))
def test_a_random_graph_comes_to_its_end_with_every_edge_obeyed(seed: int) -> None:
    """Whatever fails, whenever the manager dies: each job ran if and only if its edges let it."""
    chance = Random(seed)
    count = chance.randint(5, 40)
    edges = {
        number: [
            After(f"j{target}", chance.choice(["succeeded", "failed", "finished"]), chance.choice(["cancel", "run"]))
            for target in chance.sample(range(number), min(number, chance.randint(0, 3)))
        ]
        for number in range(count)
    }
    fails = {number: chance.random() < 0.3 for number in range(count)}
    expected: dict[int, str] = {}
    for number in range(count):
        is_free = all(
            edge.when in ("finished", expected[int(edge.job[1:])]) or edge.otherwise == "run" for edge in edges[number]
        )
        expected[number] = ("failed" if fails[number] else "succeeded") if is_free else "cancelled"

    async def scene(stage: Stage) -> None:
        node = await stage.join(cpu=3)
        specs = [spec(f"j{number}", options=JobOptions(after=tuple(edges[number]))) for number in range(count)]
        shuffled = chance.sample(specs, count)
        await stage.submit(*shuffled)
        names = {job.id: int(job.name[1:]) for job in stage.engine.state.jobs.values()}
        names.update({stage.engine.state.last_run("default", f"j{n}")[1]: n for n in range(count)})
        for _ in range(10 * count):
            if not stage.engine.state.jobs:
                break
            if chance.random() < 0.1:
                await stage.revive()
            for _, order in stage.orders():
                await stage.end(node, order, exit_code=int(fails[names[order.job]]))
            await stage.settle(0.1)
        assert not stage.engine.state.jobs
        assert {number: ended_as(stage, f"j{number}") for number in range(count)} == expected

    play(scene)


def test_single_tasks_of_a_waiting_job_can_be_stopped_before_the_rest_goes_on() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join()
        _, second = await stage.submit(spec("fetch"), spec("render", 3, options=after("fetch")))
        await stage.engine.stop_tasks(second.job_id, ("main", 1), now=False)
        [(_, order)] = stage.orders()
        await stage.end(node, order)
        assert stage.counts(second.job_id) == {"assigned": 2, "cancelled": 1}

    play(scene)


def test_a_group_goes_on_though_what_it_waits_for_was_stopped_while_its_job_waited() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join()
        graph = grouped("graph", map=(), reduce=(GroupAfter("map", when="finished"),))
        waiting = JobSpec("default", "graph", graph.groups, options=after("fetch"))
        _, second = await stage.submit(spec("fetch"), waiting)
        await stage.engine.stop_tasks(second.job_id, ("map", 0), now=False)
        [(_, order)] = stage.orders()
        await stage.end(node, order)
        assert stage.counts(second.job_id) == {"assigned": 1, "cancelled": 1}

    play(scene)
