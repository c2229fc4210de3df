"""A view built from deltas shows the same as the original, and policies decide the same on both."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shunter.model.job.spec import Affinity, Spread
from shunter.model.objects import testbeds as tb
from shunter.model.objects.object_meta import Meta, ObjectName
from shunter.model.protocol.scheduler_messages import (
    NAMES,
    OBJECTS,
    RULES,
    RUNNING,
    TASKS,
    WANTS,
    WANTS_DEFAULT,
    ViewDelta,
)
from shunter.planning.order.pending_queue import PendingQueue
from shunter.planning.planner import build_policy
from shunter.planning.remote.view_queries import QueryRecorder
from shunter.planning.remote.view_reader import GapInDeltas, ViewReader
from shunter.planning.remote.view_scope import limit_view
from shunter.planning.remote.view_writer import ViewWriter
from shunter.planning.view import NEVER, ClusterView, Queued, QueueRules, Rules, TaskClass, TenantQuota
from tests.unit.planning.remote.view_hash import view_hash
from tests.unit.planning.running_cluster import RunningCluster, Task

ROUNDS = 8
PLENTY = 10**6
JOB_NAMES = ("web", "db", "batch", "noisy")
ALL = (*WANTS, NAMES)


def round_trip(delta: ViewDelta) -> ViewDelta:
    """Over a wire."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(delta), type=ViewDelta)


class ChangingCluster:
    """A cluster in which anything may change between two views."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.running_cluster, self.waiting = rng, RunningCluster(), PendingQueue()
        self.uid = 0
        self.version, self.testbeds = 0, dict[ObjectName, tb.Testbed]()
        self.usage = {("default", "tester"): np.zeros(3, np.int64)}
        self.queues: dict[str, QueueRules] = {}
        self.licences: dict[str, tuple[int, int]] = {}
        self.quotas: dict[str, TenantQuota] = {}
        self.tenants: dict[str, str] = {}
        for _ in range(rng.randrange(1, 4)):
            self.add_node()

    def view(self) -> ClusterView:
        self.version += 1
        return replace(
            self.running_cluster.view(self.waiting, self.version),
            usage=self.usage,
            queues=self.queues,
            licences=self.licences,
            quotas=self.quotas,
            tenants=self.tenants,
            testbeds=self.testbeds,
            reserve_after_s=self.rng.choice([None, 1.0, float("inf")]),
        )

    def change(self) -> None:
        changes = (
            self.add_node, self.add_resource, self.arrive, self.arrive, self.leave, self.requeue, self.start,
            self.start, self.end, self.toggle_eligible, self.measure, self.relabel, self.change_limits,
            self.change_testbed, self.add_task,
        )  # fmt: skip
        for _ in range(self.rng.randrange(6)):
            self.rng.choice(changes)()

    def row(self) -> int:
        return self.rng.randrange(1, self.running_cluster.cluster.nodes.count)

    def add_node(self) -> None:
        self.running_cluster.add(
            self.rng.randrange(1, 8), rack=self.rng.choice("ab"), disk=self.rng.choice(["ssd", "none"])
        )

    def add_resource(self) -> None:
        nodes = self.running_cluster.cluster.nodes
        self.running_cluster.cluster.add_resource(f"port/{len(nodes.resources)}")
        nodes.capacity[:, -1] = 1

    def arrive(self) -> None:
        self.put(
            self.running_cluster.make_class(self.rng.choice(JOB_NAMES), self.rng.choice([10, 50, 90]), self.rules())
        )

    def put(self, task_class: TaskClass) -> None:
        rng = self.rng
        avoid = frozenset({self.row()}) if rng.random() < 0.2 else frozenset()
        since_ms = rng.randrange(1000)
        self.waiting.put(
            Queued(task_class, rng.randrange(1, 6), task_class.id, since_ms, rng.choice([0.0, 2.5]), avoid)
        )

    def leave(self) -> None:
        if self.waiting:
            self.waiting.drop(self.rng.choice(self.waiting).task_class.id)

    def requeue(self) -> None:
        """Behind everybody who waits now."""
        if self.waiting:
            task_class = self.rng.choice(self.waiting).task_class
            self.waiting.drop(task_class.id)
            self.put(task_class)

    def rules(self) -> Rules | None:
        rng, match = self.rng, self.rng.choice(JOB_NAMES)
        return rng.choice([
            None, None, Rules(0, exclusive=True), Rules(0, distinct="host"), Rules(0, distinct="rack"),
            Rules(0, gang=rng.randrange(1, 9)), Rules(0, spread=(Spread("rack"),)),
            Rules(0, affinity=(Affinity("job", match, rng.random() < 0.5, 2.0, rng.random() < 0.5),)),
        ])  # fmt: skip

    def start(self) -> None:
        if self.waiting:
            queued = self.rng.choice(self.waiting)
            end_ms = self.rng.choice([0, 60_000])
            self.running_cluster.run(queued.task_class, self.row(), 1, end_ms, stopping=self.rng.random() < 0.2)
            self.usage["default", "tester"] = self.usage["default", "tester"] + 1
            self.waiting.put(replace(queued, count=queued.count - 1))

    def end(self) -> None:
        if self.running_cluster.tasks:
            self.running_cluster.end(self.rng.choice(self.running_cluster.tasks))

    def toggle_eligible(self) -> None:
        row, eligible = self.row(), self.rng.random() < 0.5
        self.running_cluster.cluster.set_eligible(row, eligible)
        if eligible:
            self.running_cluster.cluster.nodes.ineligible_because.pop(row)

    def measure(self) -> None:
        self.running_cluster.cluster.set_busy(self.row(), self.rng.choice([0.0, 0.35, 0.95]))

    def relabel(self) -> None:
        self.running_cluster.cluster.label(self.row(), "dc1", {"rack": self.rng.choice("abc")})

    def change_limits(self) -> None:
        self.queues = {
            **self.queues,
            "default": QueueRules("default", self.rng.random() < 0.2, False, self.rng.randrange(9), 1),
        }
        self.licences = {"licence/matlab": (self.rng.randrange(5), 0)}
        limits = self.rng.randrange(9), NEVER, self.rng.choice((NEVER, 2**40)), NEVER
        film = TenantQuota("film", limits, (self.rng.randrange(9), 0, 0, 1))
        red = TenantQuota("red", (1, 2, 3, 4), (0, 0, 0, 0))
        self.tenants = self.rng.choice(({}, {"default": "film", "film": "film"}, {"red": "red", "film": "film"}))
        self.quotas = self.rng.choice(({}, {"default": film, "film": film}, {"red": red, "film": film}))
        if self.rng.random() < 0.3:
            self.usage.pop(("other", "somebody"), None)
        else:
            self.usage["other", "somebody"] = np.array([self.rng.randrange(9)])

    def change_testbed(self) -> None:
        """A testbed is made, changed, or made anew."""
        name = ObjectName("default", self.rng.choice("tu"))
        if name in self.testbeds and self.rng.random() < 0.5:
            del self.testbeds[name]
        self.uid += 1
        uid = self.testbeds[name].meta.uid if name in self.testbeds else self.uid
        meta = Meta(uid, name.namespace, name.name, 0, "tester", revision=self.version)
        self.testbeds[name] = tb.Testbed(meta, tb.TestbedSpec(self.rng.randrange(3), "rack", {}))

    def add_task(self) -> None:
        """A lane gets a task more, of which `changed` says nothing."""
        self.running_cluster.cluster.nodes.tasks[self.row()] += 1


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32), wants=st.sampled_from([WANTS, WANTS_DEFAULT, (TASKS,), (OBJECTS,)]))
def test_a_view_made_of_deltas_shows_the_same(seed: int, wants: Collection[str]) -> None:
    changing_cluster = ChangingCluster(random.Random(seed))
    writer, reader = ViewWriter(wants), ViewReader(wants)
    for _ in range(ROUNDS):
        view = limit_view(changing_cluster.view(), wants)
        made = reader.read(round_trip(writer.write(view)))
        assert view_hash(made) == view_hash(view)
        assert made.version == view.version
        assert same_answers(view, made, wants)
        changing_cluster.change()


def same_answers(view: ClusterView, made: ClusterView, wants: Collection[str]) -> bool:
    if RUNNING in wants:
        assert view.running and made.running and view.lowest_priority and made.lowest_priority
        for column in ("class_ids", "node", "count", "priority", "started_ms", "end_ms", "is_stopping"):
            assert np.array_equal(getattr(view.running(), column), getattr(made.running(), column))
        assert view.lowest_priority() == made.lowest_priority()
    else:
        assert {made.running, made.lowest_priority, made.classes} == {None}
    if RULES in wants:
        assert view.tally and made.tally and view.leaving and made.leaving
        assert (view.repels is None) == (made.repels is None)
        for queued in view.queued:
            if queued.task_class.rules is not None:
                assert made.tally(queued.task_class.id) == view.tally(queued.task_class.id)
                assert made.leaving(queued.task_class.id) == view.leaving(queued.task_class.id)
    else:
        assert {made.tally, made.leaving, made.presence, made.matches, made.repels} == {None}
    return True


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32), policy=st.sampled_from(["e-pvm", "bin-pack", "spread", "round-robin"]))
@pytest.mark.parametrize("is_asked", [True, False], ids=["what it asked", "whatever it may ask"])
def test_the_planner_decides_alike_on_a_view_made_of_deltas(is_asked: bool, seed: int, policy: str) -> None:
    changing_cluster = ChangingCluster(random.Random(seed))
    wants = ALL if is_asked else WANTS
    writer, reader = ViewWriter((TASKS, OBJECTS) if is_asked else wants), ViewReader(wants)
    one, other = build_policy(policy), build_policy(policy)
    for number in range(ROUNDS):
        view = limit_view(changing_cluster.view(), wants)
        delta = writer.write(view)
        recorder = QueryRecorder(view)
        expected = one.decide(recorder.view, number * 20.0, PLENTY)
        if is_asked:
            delta = msgspec.structs.replace(delta, answers=recorder.answers())
        decision = other.decide(reader.read(round_trip(delta)), number * 20.0, PLENTY)
        assert summary(decision) == summary(expected)
        assert not is_asked or reader.missing == 0
        apply(changing_cluster, expected)
        changing_cluster.change()


def summary(decision) -> tuple:  # type: ignore[no-untyped-def, type-arg]
    placements = [(each.class_id, each.nodes.tolist(), each.counts.tolist()) for each in decision.placements]
    left = [(each.class_id, each.count) for each in decision.left]
    return placements, decision.preemptions, left, decision.reasons, decision.is_partial, decision.again_in_ms


def apply(changing_cluster: ChangingCluster, decision) -> None:  # type: ignore[no-untyped-def]
    for placement in decision.placements:
        queued = changing_cluster.waiting.get(placement.class_id)
        assert queued is not None
        for row, count in zip(placement.nodes.tolist(), placement.counts.tolist(), strict=True):
            for _ in range(count):
                changing_cluster.running_cluster.run(queued.task_class, row, 5)
        changing_cluster.waiting.put(replace(queued, count=queued.count - int(placement.counts.sum())))
    for preemption in decision.preemptions:
        victims = [
            each
            for each in changing_cluster.running_cluster.tasks
            if _is_victim(each, preemption.victim, preemption.node)
        ]
        for task in victims[: preemption.count]:
            task.is_stopping = True


def _is_victim(task: Task, class_id: int, row: int) -> bool:
    return task.task_class.id == class_id and task.row == row and not task.is_stopping


def test_a_delta_holds_what_changed_and_nothing_else() -> None:
    changing_cluster = ChangingCluster(random.Random(1))
    for _ in range(50):
        changing_cluster.add_node()
    changing_cluster.put(changing_cluster.running_cluster.make_class("web"))
    writer = ViewWriter(WANTS_DEFAULT)
    assert writer.write(changing_cluster.view()).is_whole
    changing_cluster.running_cluster.cluster.set_busy(7, 0.5)
    delta = writer.write(replace(changing_cluster.view(), reserve_after_s=None))
    assert delta.nodes is not None
    assert delta.nodes.rows == [51, 7]  # 51 changed when the tick stood where it stood
    assert (delta.is_whole, delta.capacity, delta.queued, delta.usage, delta.kinds) == (False, None, [], [], [])
    assert delta.nodes.busy == {7: 0.5}
    assert delta.nodes.reserved == {}
    assert len(msgspec.msgpack.encode(delta)) < 80


def test_a_reader_that_missed_a_delta_says_so_and_goes_on_from_a_whole_one() -> None:
    changing_cluster = ChangingCluster(random.Random(1))
    writer, reader = ViewWriter(WANTS_DEFAULT), ViewReader(WANTS_DEFAULT)
    reader.read(writer.write(changing_cluster.view()))
    writer.write(changing_cluster.view())
    with pytest.raises(GapInDeltas, match="delta 3 came after 1"):
        reader.read(writer.write(changing_cluster.view()))
    writer.reset()
    view = changing_cluster.view()
    assert view_hash(reader.read(writer.write(view))) == view_hash(limit_view(view, WANTS_DEFAULT))
