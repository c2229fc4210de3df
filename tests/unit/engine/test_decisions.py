"""Whatever a policy decides is checked item by item before it applies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from shunter.engine import changes as c
from shunter.engine.holds import on_hold
from shunter.engine.placing import place
from shunter.engine.round import Round
from shunter.engine.stops import on_stop
from shunter.model.jobs import Affinity, JobOptions, Restart
from shunter.model.lifecycles import NodeEvent
from shunter.model.messages import Ended, Orders, Returned, Stop
from shunter.planning.planner import build_policy
from shunter.planning.view import ClusterView, Decision, Placement, Preemption
from shunter.simulation.loop import VirtualClock
from tests.unit.engine.stage import Stage, play, spec


class Scripted:
    """A policy that says what the test wants, once; after that it places nothing."""

    name, fast = "scripted", True

    def __init__(self, decide: Callable[[ClusterView], Decision]) -> None:
        self._decide: Callable[[ClusterView], Decision] | None = decide

    def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
        decide, self._decide = self._decide, None
        return decide(view) if decide is not None else Decision(view.version)


def on_nodes(class_id: int, **counts: int) -> Placement:
    """n1=2: two tasks on row 1."""
    rows = [int(name[1:]) for name in counts]
    return Placement(class_id, np.array(rows), np.array(list(counts.values())))


async def tell(stage: Stage, decide: Callable[[Round], None]) -> None:
    stage.engine.tell(decide)
    await stage.settle()


def test_a_gang_that_is_not_placed_whole_is_not_placed_at_all() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=2)
        await stage.join("n2", cpu=2)
        stage.engine.policy = Scripted(
            lambda view: Decision(view.version, [on_nodes(view.queued[0].task_class.id, n1=2)])
        )
        [job] = await stage.submit(spec("gang", 3, gang=True))
        assert stage.orders() == []
        stage.engine.policy = Scripted(
            lambda view: Decision(view.version, [on_nodes(view.queued[0].task_class.id, n1=2, n2=1)])
        )
        await tell(stage, lambda _: None)
        assert sum(order.last - order.first + 1 for _, order in stage.orders()) == 3
        assert stage.counts(job.job_id) == {"assigned": 3}

    play(scene)


def test_a_gang_that_does_not_fit_any_more_is_left_whole() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=2)
        stage.engine.policy = Scripted(
            lambda view: Decision(view.version, [on_nodes(view.queued[0].task_class.id, n1=3)])
        )
        [job] = await stage.submit(spec("gang", 3, gang=True))
        assert stage.counts(job.job_id) == {"queued": 3}
        assert stage.orders() == []

    play(scene)


def test_a_preempted_task_ends_with_its_grace_and_comes_back_to_the_queue() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=1)
        [low] = await stage.submit(spec("low", priority=10))
        [(_, order)] = stage.orders()
        await stage.started(node, order)
        [high] = await stage.submit(spec("high", priority=90))
        [victim] = stage.engine.state.nodes.records[node].lanes.values()
        winner = stage.engine.state.jobs[high.job_id].groups[0].task_class.id
        policy = stage.engine.policy
        stage.engine.policy = Scripted(
            lambda view: Decision(view.version, preemptions=[Preemption(victim.task_class.id, node, 1, winner)])
        )
        await tell(stage, lambda _: None)
        assert stage.counts(low.job_id) == {"stopping": 1}
        [stop] = stage.stops()
        assert (stop.job, stop.first, stop.attempt, stop.grace_s) == (low.job_id, 0, 1, 5.0)

        stage.engine.policy = policy
        await stage.end(node, order, exit_code=143, how="stopped")
        assert stage.counts(low.job_id) == {"queued": 1}
        assert stage.counts(high.job_id) == {"assigned": 1}
        row = stage.engine.state.jobs[low.job_id].groups[0].base
        assert (stage.engine.state.table.restarts[row], stage.engine.state.table.lost[row]) == (0, 0)
        assert stage.engine.state.jobs[low.job_id].groups[0].reasons == {0: "preempted by default/high@1"}

        [(_, winning)] = stage.orders()
        await stage.end(node, winning)
        [(_, again)] = stage.orders()
        assert (again.job, again.attempt) == (low.job_id, 2)
        types = [event.type for event in await stage.events()]
        assert "tasks.preempted" in types and "tasks.requeued" in types

    play(scene)


def test_a_preempted_task_that_never_started_or_was_lost_comes_back_too() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=2)
        [job] = await stage.submit(spec("low", 2))
        [(_, order)] = stage.orders()
        [lanes] = stage.engine.state.nodes.records[node].lanes.values()
        class_id = lanes.task_class.id
        stage.engine.policy = Scripted(
            lambda view: Decision(view.version, preemptions=[Preemption(class_id, node, 2, class_id)])
        )
        await stage.submit(spec("other", 1, priority=90))
        assert stage.counts(job.job_id) == {"stopping": 2}
        await stage.report(node, returned=[Returned(order.job, 0, order.attempt, 0, 0)])
        assert stage.counts(job.job_id) == {"stopping": 1, "queued": 1}
        await stage.lose(node, order)
        assert stage.counts(job.job_id) == {"queued": 2}

    play(scene)


def test_a_task_that_is_ordered_and_stopped_by_one_round_is_known_to_its_worker_before_the_stop() -> None:
    """Else the worker has nothing to stop, runs the task, and the manager waits for its end for ever."""

    async def scene(stage: Stage) -> None:
        await stage.join()
        [job] = await stage.submit(spec("late", options=JobOptions(held=True)))

        def order_and_stop(round: Round) -> None:
            on_hold(round, job.job_id, False)
            place(round, stage.engine.brain)
            on_stop(round, job.job_id, None, now=False, reason="")

        await tell(stage, order_and_stop)
        assert stage.counts(job.job_id) == {"stopping": 1}
        assert [type(sent) for _, sent in stage.workers.sent if isinstance(sent, Orders | Stop)] == [Orders, Stop]

    play(scene)


def test_a_stop_wins_over_coming_back() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=1)
        [job] = await stage.submit(spec("low"))
        [(_, order)] = stage.orders()
        [lanes] = stage.engine.state.nodes.records[node].lanes.values()
        class_id = lanes.task_class.id
        stage.engine.policy = Scripted(
            lambda view: Decision(view.version, preemptions=[Preemption(class_id, node, 1, class_id)])
        )
        await stage.submit(spec("other", 1, priority=90))
        await stage.engine.stop_tasks(job.job_id, None, False)
        await stage.end(node, order, exit_code=143, how="stopped")
        assert job.job_id not in stage.engine.state.jobs

    play(scene)


def test_an_exclusive_job_has_its_node_alone_until_it_ends() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=4)
        stage.engine.policy = Scripted(
            lambda view: Decision(view.version, [on_nodes(view.queued[0].task_class.id, n1=1)])
        )
        await stage.submit(spec("alone", exclusive=True))
        [(_, order)] = stage.orders()
        assert stage.engine.state.nodes.view.owner[node] == order.job
        stage.engine.policy = Scripted(
            lambda view: Decision(view.version, [on_nodes(view.queued[0].task_class.id, n1=1)])
        )
        await stage.submit(spec("other"))
        assert stage.orders() == []
        await stage.end(node, order)
        assert stage.engine.state.nodes.view.owner[node] == 0

    play(scene)


def test_no_more_than_parallel_max_run_at_once() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=8)
        [job] = await stage.submit(spec("array", 10, parallel_max=3))
        assert stage.reserved_cpu(node) == 3000
        for _ in range(12):
            for _, order in stage.orders():
                assert order.width <= 3
                await stage.end(node, order)
        assert job.job_id not in stage.engine.state.jobs

    play(scene)


def test_a_queue_that_is_paused_starts_nothing_and_loses_nothing() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=8)
        await tell(stage, lambda round: round.record(c.QueueSet("night", True, False, 0, 0, round.now_ms)))
        [job] = await stage.submit(spec("late", 3, options=JobOptions(queue="night")))
        assert stage.orders() == []
        await tell(stage, lambda round: round.record(c.QueueSet("night", False, False, 2, 0, round.now_ms)))
        assert stage.counts(job.job_id) == {"assigned": 2, "queued": 1}

    play(scene)


def test_a_fixed_host_port_is_used_once_on_each_node() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=8)
        await stage.join("n2", cpu=8)
        [job] = await stage.submit(spec("web", 3, needs={"cpu": 1000, "port/8080": 1}))
        assert sorted(node for node, _ in stage.orders()) == [1, 2]
        assert stage.counts(job.job_id) == {"assigned": 2, "queued": 1}

    play(scene)


def test_a_held_job_keeps_what_it_has_and_goes_on_when_released() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=1)
        [job] = await stage.submit(spec("held", 3))
        await tell(stage, lambda round: round.record(c.JobHeld(job.job_id, True, round.now_ms, "default/held@1")))
        [(_, order)] = stage.orders()
        await stage.end(node, order)
        assert stage.orders() == []
        assert stage.counts(job.job_id) == {"queued": 2, "succeeded": 1}
        await tell(stage, lambda round: round.record(c.JobHeld(job.job_id, False, round.now_ms, "default/held@1")))
        assert len(stage.orders()) == 1

    play(scene)


def test_licences_are_counted_over_the_whole_cluster() -> None:
    async def scene(stage: Stage) -> None:
        nodes = [await stage.join("n1", cpu=8), await stage.join("n2", cpu=8)]
        await tell(stage, lambda round: round.record(c.ClusterSet("licence/tool", "3", round.now_ms)))
        [job] = await stage.submit(spec("array", 6, needs={"cpu": 1000, "licence/tool": 1}))
        assert stage.counts(job.job_id) == {"assigned": 3, "queued": 3}
        assert stage.engine.state.licences_used["licence/tool"] == 3
        assert "licence/tool" not in stage.engine.state.nodes.view.resources
        assert sum(stage.reserved_cpu(node) for node in nodes) == 3000

    play(scene)


def test_licences_that_were_taken_away_while_in_use_are_not_used_again() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join(cpu=8)
        await tell(stage, lambda round: round.record(c.ClusterSet("licence/tool", "3", round.now_ms)))
        [job] = await stage.submit(spec("array", 6, needs={"cpu": 1000, "licence/tool": 1}))
        [(_, order)] = stage.orders()
        await tell(stage, lambda round: round.record(c.ClusterSet("licence/tool", "1", round.now_ms)))
        await stage.end(node, order)
        assert stage.counts(job.job_id) == {"assigned": 1, "queued": 2, "succeeded": 3}

    play(scene)


def test_a_retry_elsewhere_does_not_go_to_the_same_node() -> None:
    async def scene(stage: Stage) -> None:
        first = await stage.join("n1", cpu=8)
        restart = Restart("on-failure", max=5, delay_s=0.1, elsewhere=True)
        [job] = await stage.submit(spec("picky", restart=restart))
        [(node, order)] = stage.orders()
        await stage.end(node, order, exit_code=1)
        second = await stage.join("n2", cpu=8)
        await stage.settle(1.0)
        [(node, order)] = stage.orders()
        assert (first, node, order.attempt) == (1, second, 2)
        assert stage.counts(job.job_id) == {"assigned": 1}

    play(scene)


def test_a_retry_elsewhere_takes_the_same_node_where_there_is_no_other() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=8)
        small = await stage.join("n2", cpu=1)
        restart = Restart("on-failure", max=5, delay_s=0.1, elsewhere=True)
        await stage.submit(spec("picky", restart=restart, needs={"cpu": 4000}))
        [(first, order)] = stage.orders()
        await stage.end(first, order, exit_code=1)
        await stage.settle(1.0)
        [(again, order)] = stage.orders()
        assert again == first != small

    play(scene)


def test_a_retry_elsewhere_goes_back_when_the_other_node_leaves() -> None:
    async def scene(stage: Stage) -> None:
        nodes = [await stage.join("n1", cpu=1), await stage.join("n2", cpu=1)]
        restart = Restart("on-failure", max=5, delay_s=0.1, elsewhere=True)
        await stage.submit(spec("picky", 2, restart=restart))
        (first, order), (other, _) = stage.orders()
        assert {first, other} == set(nodes)
        await stage.end(first, order, exit_code=1)
        await stage.settle(1.0)
        assert not stage.orders()  # the other node is busy, and this one is avoided
        await stage.engine.node_event(other, NodeEvent.LEFT, "left")
        await stage.settle(1.0)
        assert {node for node, _ in stage.orders()} == {first}

    play(scene)


AWAY_FROM_PICKY = Affinity("job", "job.name == 'picky'", require=True, anti=True)
BESIDE_DB = Affinity("job", "job.name == 'db'", require=True)


@pytest.mark.parametrize(
    ("rules", "neighbour"),
    [
        ({"distinct": "host"}, {}),  # the other one is on the other node
        ({"distinct": "rack"}, {}),
        ({}, {"exclusive": True}),
        ({"exclusive": True}, {}),
        ({}, {"affinity": (AWAY_FROM_PICKY,)}),
        ({"affinity": (replace(BESIDE_DB, match="job.name == 'neighbour'", anti=True),)}, {}),
    ],
)
def test_a_retry_elsewhere_takes_the_same_node_where_others_keep_it_from_the_rest(
    rules: dict[str, Any], neighbour: dict[str, Any]
) -> None:
    """They may be services, which never leave."""

    async def scene(stage: Stage) -> None:
        for name in ("n1", "n2"):
            await stage.join(name, cpu=4)
            await stage.engine.label_node(name, {"rack": name})
        restart = Restart("on-failure", max=5, delay_s=0.1, elsewhere=True)
        await stage.submit(spec("neighbour", constraints=("node.labels.rack == 'n2'",), **neighbour))
        stage.orders()
        await stage.submit(spec("picky", 2 if "distinct" in rules else 1, restart=restart, **rules))
        orders = stage.orders()
        for node, order in orders:
            await stage.started(node, order)
        first, order = next((node, order) for node, order in orders if node == 1)
        await stage.end(first, order, exit_code=1)
        await stage.settle(1.0)
        assert [(node, each.attempt) for node, each in stage.orders()] == [(first, 2)]

    play(scene)


def test_a_retry_elsewhere_takes_the_same_node_where_only_there_it_has_company() -> None:
    async def scene(stage: Stage) -> None:
        for name in ("n1", "n2"):
            await stage.join(name, cpu=4)
        await stage.submit(spec("db"))
        [(node, _)] = stage.orders()
        restart = Restart("on-failure", max=5, delay_s=0.1, elsewhere=True)
        await stage.submit(spec("picky", restart=restart, affinity=(BESIDE_DB,)))
        [(beside, order)] = stage.orders()
        await stage.end(beside, order, exit_code=1)
        await stage.settle(1.0)
        assert [(each, order.attempt) for each, order in stage.orders()] == [(node, 2)]

    play(scene)


def test_two_namespaces_share_the_lanes_evenly_though_one_came_first() -> None:
    """A long array that came first does not keep all lanes by refilling them."""

    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=4)
        [first] = await stage.submit(spec("first", 100, namespace="ada"))
        [second] = await stage.submit(spec("second", 100, namespace="bob"))
        for _ in range(6):
            for _, order in stage.orders():
                await stage.end(node, order)
            await stage.settle(0.5)
        lanes = stage.engine.state.nodes.records[node].lanes.values()
        widths = {each.task_class.key.namespace: each.width for each in lanes}
        assert widths == {"ada": 2, "bob": 2}
        assert stage.counts(second.job_id)["succeeded"] > 0 < stage.counts(first.job_id)["succeeded"]

    play(scene)


def test_a_strict_queue_starts_its_jobs_in_the_order_in_which_they_came() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=2)
        await tell(stage, lambda round: round.record(c.QueueSet("fifo", False, True, 0, 0, round.now_ms)))
        fifo = JobOptions(queue="fifo")
        [running] = await stage.submit(spec("running", needs={"cpu": 1000}, options=fifo))
        [large] = await stage.submit(spec("large", needs={"cpu": 2000}, options=fifo))
        [small] = await stage.submit(spec("small", needs={"cpu": 1000}, options=fifo))
        assert stage.counts(small.job_id) == {"queued": 1}
        [(_, order)] = stage.orders()
        await stage.end(node, order)
        assert (stage.counts(large.job_id), stage.counts(small.job_id)) == ({"assigned": 1}, {"queued": 1})
        assert running.job_id not in stage.engine.state.jobs

    play(scene)


def test_a_job_keeps_others_away_that_it_does_not_want_beside_it() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=8)
        await stage.join("n2", cpu=8)
        rule = Affinity("job", "job.labels.noisy == 'yes'", require=True, anti=True)
        [quiet] = await stage.submit(spec("quiet", affinity=(rule,)))
        [noisy] = await stage.submit(spec("noisy", 3, labels={"noisy": "yes"}))
        table = stage.engine.state.table
        where = [
            set(table.node[group.base : group.base + group.count].tolist())
            for job in (quiet, noisy)
            for group in stage.engine.state.jobs[job.job_id].groups
        ]
        assert not where[0] & where[1]

    play(scene)


def test_room_made_by_ending_several_tasks_is_not_given_back_to_them_one_by_one() -> None:
    """The first of two victims ends before the second: its lane must not be filled again by its own class."""

    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=4)
        stage.engine.policy = build_policy("round-robin")
        [low] = await stage.submit(spec("low", 12, needs={"cpu": 500}, priority=10))
        [high] = await stage.submit(spec("high", needs={"cpu": 1000}, priority=90))
        first, second = stage.stops()
        for victim in (first, second):
            now_ms = round(1000 * VirtualClock().now())
            ended = Ended(victim.job, victim.group, 1, victim.first, [143], [now_ms], [now_ms], 1, 0, "stopped")
            await stage.report(node, ended=[ended])
        assert stage.counts(high.job_id) == {"assigned": 1}
        assert stage.counts(low.job_id) == {"assigned": 6, "queued": 6}
        assert len(stage.stops()) == 2

    play(scene)


def test_whoever_was_held_back_for_a_winner_goes_on_when_that_has_started() -> None:
    """Nothing else happens in the cluster then: the policy must ask for another round."""

    async def scene(stage: Stage) -> None:
        small = await stage.join("n1", cpu=1)
        large = await stage.join("n2", cpu=3)
        [low] = await stage.submit(spec("low", priority=10, needs={"cpu": 500}))
        await stage.submit(spec("other", priority=10, needs={"cpu": 1000}))
        [first, second] = stage.orders()
        assert (first[0], second[0]) == (small, large)
        [winner] = await stage.submit(spec("winner", needs={"cpu": 3000}))
        [held] = await stage.submit(spec("held", needs={"cpu": 1000}))
        await stage.end(large, second[1], exit_code=143, how="stopped")
        assert stage.counts(winner.job_id) == {"assigned": 1}
        assert stage.counts(low.job_id) == {"stopping": 1}
        await stage.end(small, first[1], exit_code=143, how="stopped")
        assert stage.counts(held.job_id) == {"assigned": 1}

    play(scene)


def test_groups_that_are_alike_do_not_keep_one_another_apart() -> None:
    """`distinct` is about the tasks of one group; a gang of two such groups fits on one node."""

    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=2)
        whole = spec("pair", distinct="host", options=JobOptions(gang=True))
        left = whole.groups[0]
        await stage.submit(replace(whole, groups=(replace(left, name="left"), replace(left, name="right"))))
        assert len(stage.orders()) == 2

    play(scene)
