"""A policy behind the wire of `shunter.v1` decides as the same policy does in the manager."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from shunter.model.job.spec import Spread
from shunter.model.protocol.scheduler_messages import TASKS, WANTS, Situation
from shunter.planning.planner import build_policy
from shunter.planning.remote.view_queries import class_row, read_class
from shunter.planning.remote.view_reader import ViewReader
from shunter.planning.remote.view_scope import limit_view
from shunter.planning.remote.view_writer import ViewWriter
from shunter.planning.view import ClusterView, Decision, Queued, Rules, TaskClass
from shunter.proto.v1 import external_scheduler_pb2 as pb
from shunter.scheduler import Room
from shunter.wire.situations import read_situation, situation_message
from tests.unit.planning.remote.view_hash import view_hash
from tests.unit.planning.running_cluster import RunningCluster
from tests.unit.wire.filled_structs import Filler, differences

NOW, PLENTY, JOB = 100.0, 1_000, 7


class InOrder:
    """Whoever stands first, on the first nodes with room."""

    wants = WANTS

    def decide(self, view: ClusterView, _now: float, budget: int) -> Decision:
        decision, room = Decision(based_on=view.version), Room(view)
        for queued in view.queued:
            budget -= room.fill(decision, queued, np.arange(1, view.nodes.count), budget)
        return decision


def make_policy(name: str) -> Any:
    return InOrder() if name == "in-order" else build_policy(name)


POLICIES = ("in-order", "e-pvm", "bin-pack", "spread", "round-robin")


def remote_view(view: ClusterView) -> ClusterView:
    """The view as a remote scheduler has it: all of it went over the wire."""
    situation = Situation(NOW, PLENTY, ViewWriter(WANTS).write(view))
    sent = situation_message(situation).SerializeToString()
    return ViewReader(WANTS).read(read_situation(pb.Situation.FromString(sent)).delta)


def local_view(view: ClusterView) -> ClusterView:
    """The view as a policy in the manager has it."""
    return limit_view(view, WANTS)


def placed(decision: Decision) -> list[tuple[int, list[int], list[int]]]:
    return [(each.class_id, each.nodes.tolist(), each.counts.tolist()) for each in decision.placements]


def tasks(decision: Decision) -> int:
    return sum(int(each.counts.sum()) for each in decision.placements)


def two_groups(**rules: Any) -> ClusterView:
    """Three nodes with room for all; each group of the job wants as many tasks as there are nodes."""
    running_cluster = RunningCluster()
    for rack in "abc":
        running_cluster.add(8, rack=rack)
    classes = [running_cluster.make_class("job", rules=Rules(JOB, group=number, **rules)) for number in (1, 2)]
    return local_view(running_cluster.view([Queued(each, 3, each.id) for each in classes]))


@pytest.mark.parametrize("name", POLICIES)
def test_two_groups_that_keep_to_hosts_of_their_own_go_where_they_go_in_process(name: str) -> None:
    view = two_groups(distinct="host")
    near, far = (make_policy(name).decide(each, NOW, PLENTY) for each in (view, remote_view(view)))
    assert tasks(near) == 6, "the groups share hosts: only tasks of the same group keep apart"
    assert placed(far) == placed(near)


@pytest.mark.parametrize("rules", [{"distinct": "rack"}, {"spread": (Spread("rack"),)}], ids=["distinct", "spread"])
@pytest.mark.parametrize("name", POLICIES)
def test_two_groups_with_rules_over_a_label_go_where_they_go_in_process(name: str, rules: dict[str, Any]) -> None:
    view = two_groups(**rules)
    near, far = (make_policy(name).decide(each, NOW, PLENTY) for each in (view, remote_view(view)))
    assert placed(far) == placed(near)


def test_every_field_of_a_class_and_its_rules_is_told() -> None:
    task_class = Filler().fill(TaskClass)
    assert list(differences(task_class, read_class(class_row(task_class)))) == []


def test_a_remote_view_shows_the_groups_of_a_job() -> None:
    view = two_groups(distinct="host")
    assert view_hash(remote_view(view)) == view_hash(view)


def ask_longest(longest_s: float | None, count: int = 2) -> ClusterView:
    """Two tasks wait, of which the first is short. What the manager knows of the longer one is `longest_s`."""
    running_cluster = RunningCluster()
    running_cluster.add(4)
    short = running_cluster.make_class("short")
    view = running_cluster.view([Queued(short, count, short.id, estimate_s=1.0)])
    return local_view(view if longest_s is None else replace(view, longest_s=lambda _class, _count: longest_s))


@pytest.mark.parametrize("longest_s", [30.5, 0.0], ids=["known", "not known"])
def test_a_remote_view_knows_how_long_the_longest_of_the_next_tasks_runs(longest_s: float) -> None:
    view = ask_longest(longest_s)
    far = remote_view(view)
    assert view.longest_s is not None
    assert far.longest_s is not None
    assert [far.longest_s(1, count) for count in (1, 2)] == [view.longest_s(1, count) for count in (1, 2)]


def test_a_remote_view_has_no_estimates_where_the_manager_has_none() -> None:
    assert remote_view(ask_longest(None)).longest_s is None
    blind = ViewReader((TASKS,)).read(ViewWriter((TASKS,)).write(ask_longest(30.5)))
    assert blind.longest_s is None


@pytest.mark.parametrize("name", ["e-pvm", "bin-pack"])
def test_what_may_run_before_a_reservation_begins_does_so_remotely_as_in_process(name: str) -> None:
    """Tasks of a class with a long one among them are not let in front of whoever has reserved their room."""
    near, far = waits_for_room(), remote_view(waits_for_room())
    decisions = [make_policy(name).decide(each, NOW, PLENTY) for each in (near, far)]
    assert placed(decisions[0]) == [], "the longest one would not be done in time"
    assert placed(decisions[1]) == placed(decisions[0])


def waits_for_room() -> ClusterView:
    """The whole node is to be had in 20 s, and an old, urgent task waits for it. Short ones would fit until then."""
    running_cluster = RunningCluster()
    row = running_cluster.add(4)
    running_cluster.run(running_cluster.make_class("old", cpu=3), row, end_ms=int(NOW * 1000) + 20_000)
    whole, small = running_cluster.make_class("whole", 90, cpu=4), running_cluster.make_class("small", 10)
    queued = [Queued(whole, 1, whole.id), Queued(small, 1, small.id, since_ms=1, estimate_s=5.0)]
    view = replace(running_cluster.view(queued), reserve_after_s=1.0, hold_after_s=1.0, preempt_gap=1_000)
    return local_view(replace(view, longest_s=lambda id, _count: 500.0 if id == small.id else 10.0))
