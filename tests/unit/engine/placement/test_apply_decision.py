"""Every item of a decision is validated before it applies."""

from __future__ import annotations

from shunter.engine.jobs.hold import on_hold
from shunter.engine.jobs.stop import on_stop
from shunter.engine.placement.place import place
from shunter.engine.round import Round
from shunter.model.job.spec import JobOptions
from shunter.model.protocol.worker_messages import Ended, Orders, Returned, Stop
from shunter.planning.planner import build_policy
from shunter.planning.view import Decision, Preemption
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.scripted_policy import ScriptedPolicy, on_nodes, tell


def test_a_gang_that_is_not_placed_whole_is_not_placed_at_all() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=2)
        await harness.join("n2", cpu=2)
        harness.engine.policy = ScriptedPolicy(
            lambda view: Decision(view.version, [on_nodes(view.queued[0].task_class.id, n1=2)])
        )
        [job] = await harness.submit(spec("gang", 3, gang=True))
        assert harness.orders() == []
        harness.engine.policy = ScriptedPolicy(
            lambda view: Decision(view.version, [on_nodes(view.queued[0].task_class.id, n1=2, n2=1)])
        )
        await tell(harness, lambda _: None)
        assert sum(order.last - order.first + 1 for _, order in harness.orders()) == 3
        assert harness.counts(job.job_id) == {"assigned": 3}

    run_scenario(scenario)


def test_a_gang_that_does_not_fit_any_more_is_left_whole() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=2)
        harness.engine.policy = ScriptedPolicy(
            lambda view: Decision(view.version, [on_nodes(view.queued[0].task_class.id, n1=3)])
        )
        [job] = await harness.submit(spec("gang", 3, gang=True))
        assert harness.counts(job.job_id) == {"queued": 3}
        assert harness.orders() == []

    run_scenario(scenario)


def test_a_preempted_task_ends_with_its_grace_and_comes_back_to_the_queue() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=1)
        [low] = await harness.submit(spec("low", priority=10))
        [(_, order)] = harness.orders()
        await harness.started(node, order)
        [high] = await harness.submit(spec("high", priority=90))
        [victim] = harness.engine.state.nodes.records[node].lanes.values()
        winner = harness.engine.state.jobs[high.job_id].task_sets[0].task_class.id
        policy = harness.engine.policy
        harness.engine.policy = ScriptedPolicy(
            lambda view: Decision(view.version, preemptions=[Preemption(victim.task_class.id, node, 1, winner)])
        )
        await tell(harness, lambda _: None)
        assert harness.counts(low.job_id) == {"stopping": 1}
        [stop] = harness.stops()
        assert (stop.job, stop.first, stop.attempt, stop.grace_s) == (low.job_id, 0, 1, 5.0)

        harness.engine.policy = policy
        await harness.end(node, order, exit_code=143, how="stopped")
        assert harness.counts(low.job_id) == {"queued": 1}
        assert harness.counts(high.job_id) == {"assigned": 1}
        row = harness.engine.state.jobs[low.job_id].task_sets[0].base
        assert (harness.engine.state.table.restarts[row], harness.engine.state.table.lost[row]) == (0, 0)
        assert harness.engine.state.jobs[low.job_id].task_sets[0].reasons == {0: "preempted by default/high@1"}

        [(_, winning)] = harness.orders()
        await harness.end(node, winning)
        [(_, again)] = harness.orders()
        assert (again.job, again.attempt) == (low.job_id, 2)
        types = [event.type for event in await harness.events()]
        assert "tasks.preempted" in types and "tasks.requeued" in types

    run_scenario(scenario)


def test_a_preempted_task_that_never_started_or_was_lost_comes_back_too() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=2)
        [job] = await harness.submit(spec("low", 2))
        [(_, order)] = harness.orders()
        [lanes] = harness.engine.state.nodes.records[node].lanes.values()
        class_id = lanes.task_class.id
        harness.engine.policy = ScriptedPolicy(
            lambda view: Decision(view.version, preemptions=[Preemption(class_id, node, 2, class_id)])
        )
        await harness.submit(spec("other", 1, priority=90))
        assert harness.counts(job.job_id) == {"stopping": 2}
        await harness.report(node, returned=[Returned(order.job, 0, order.attempt, 0, 0)])
        assert harness.counts(job.job_id) == {"stopping": 1, "queued": 1}
        await harness.report_lost(node, order)
        assert harness.counts(job.job_id) == {"queued": 2}

    run_scenario(scenario)


def test_a_task_that_is_ordered_and_stopped_by_one_round_is_known_to_its_worker_before_the_stop() -> None:
    """Else the worker has nothing to stop, runs the task, and the manager waits for its end for ever."""

    async def scenario(harness: Harness) -> None:
        await harness.join()
        [job] = await harness.submit(spec("late", options=JobOptions(held=True)))

        def order_and_stop(round: Round) -> None:
            on_hold(round, job.job_id, False)
            place(round, harness.engine.active_policy)
            on_stop(round, job.job_id, None, now=False, reason="")

        await tell(harness, order_and_stop)
        assert harness.counts(job.job_id) == {"stopping": 1}
        assert [type(sent) for _, sent in harness.workers.sent if isinstance(sent, Orders | Stop)] == [Orders, Stop]

    run_scenario(scenario)


def test_a_stop_wins_over_coming_back() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=1)
        [job] = await harness.submit(spec("low"))
        [(_, order)] = harness.orders()
        [lanes] = harness.engine.state.nodes.records[node].lanes.values()
        class_id = lanes.task_class.id
        harness.engine.policy = ScriptedPolicy(
            lambda view: Decision(view.version, preemptions=[Preemption(class_id, node, 1, class_id)])
        )
        await harness.submit(spec("other", 1, priority=90))
        await harness.engine.stop_tasks(job.job_id, None, False)
        await harness.end(node, order, exit_code=143, how="stopped")
        assert job.job_id not in harness.engine.state.jobs

    run_scenario(scenario)


def test_room_made_by_ending_several_tasks_is_not_given_back_to_them_one_by_one() -> None:
    """The first of two victims ends before the second: its lane must not be filled again by its own class."""

    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=4)
        harness.engine.policy = build_policy("round-robin")
        [low] = await harness.submit(spec("low", 12, needs={"cpu": 500}, priority=10))
        [high] = await harness.submit(spec("high", needs={"cpu": 1000}, priority=90))
        first, second = harness.stops()
        for victim in (first, second):
            now_ms = round(1000 * VirtualClock().now())
            ended = Ended(victim.job, victim.group, 1, victim.first, [143], [now_ms], [now_ms], 1, 0, "stopped")
            await harness.report(node, ended=[ended])
        assert harness.counts(high.job_id) == {"assigned": 1}
        assert harness.counts(low.job_id) == {"assigned": 6, "queued": 6}
        assert len(harness.stops()) == 2

    run_scenario(scenario)


def test_whoever_was_held_back_for_a_winner_goes_on_when_that_has_started() -> None:
    """Nothing else happens in the cluster then: the policy must ask for another round."""

    async def scenario(harness: Harness) -> None:
        small = await harness.join("n1", cpu=1)
        large = await harness.join("n2", cpu=3)
        [low] = await harness.submit(spec("low", priority=10, needs={"cpu": 500}))
        await harness.submit(spec("other", priority=10, needs={"cpu": 1000}))
        [first, second] = harness.orders()
        assert (first[0], second[0]) == (small, large)
        [winner] = await harness.submit(spec("winner", needs={"cpu": 3000}))
        [held] = await harness.submit(spec("held", needs={"cpu": 1000}))
        await harness.end(large, second[1], exit_code=143, how="stopped")
        assert harness.counts(winner.job_id) == {"assigned": 1}
        assert harness.counts(low.job_id) == {"stopping": 1}
        await harness.end(small, first[1], exit_code=143, how="stopped")
        assert harness.counts(held.job_id) == {"assigned": 1}

    run_scenario(scenario)
