"""Mistakes in placement: capacity, queues, gangs, distinct hosts, licences, ports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from shunter.engine import engine as engine_module
from shunter.engine.placement import apply_decision, cluster_view, gang_restart
from shunter.engine.placement import place as placement
from shunter.engine.state import apply_tasks, task_classes
from shunter.engine.state.node_table import NodeTable
from shunter.engine.state.records import TaskSet
from shunter.engine.state.registries.cluster import ClusterSettingsRegistry
from shunter.engine.state.registries.queues import UNLIMITED, QueueRegistry
from shunter.engine.state.state import State
from shunter.engine.timers import Timers
from shunter.gateway.scope import Scope
from shunter.planning.planner import Planner
from shunter.planning.view import NEVER, ClusterView, Decision, Placement, Rules
from shunter.simulation.world import NEIGHBOURS_FROM, TENANTS_FROM

Patch = pytest.MonkeyPatch


def ignore_quotas(patch: Patch) -> None:
    patch.setattr(apply_decision, "lanes_left", lambda _state, _record: NEVER)
    patch.setattr(apply_decision, "quota_of", lambda _state, _record: None)
    patch.setattr(cluster_view, "pending_quotas", lambda _state: {})


def tell_tenants_everything(patch: Patch) -> None:
    patch.setattr(Scope, "sees", lambda _self, _namespace: True)
    patch.setattr(Scope, "select", lambda _self, namespace: (namespace,))


def place_more_than_fits(patch: Patch) -> None:
    decide = Planner.decide

    def greedy(self: Planner, view: ClusterView, now: float, budget: int) -> Decision:
        decision = decide(self, view, now, budget)
        decision.placements = [Placement(each.class_id, each.nodes, each.counts * 2) for each in decision.placements]
        return decision

    patch.setattr(Planner, "decide", greedy)
    patch.setattr(apply_decision, "_lanes_available", lambda _round, record, rows: rows * 0 + record.queued)


def ignore_colocation(patch: Patch) -> None:
    patch.setattr(cluster_view, "presence", lambda state, _match: np.zeros(state.nodes.view.count, np.int64))


def skip_requeue(patch: Patch) -> None:
    requeue = apply_tasks._requeue

    def forgetful(state: State, task_set: TaskSet, first: int, last: int, not_before_ms: int) -> None:
        if first > 0:
            requeue(state, task_set, first, last, not_before_ms)

    patch.setattr(apply_tasks, "_requeue", forgetful)


def forget_back_offs_in_recovery(patch: Patch) -> None:
    patch.setattr(engine_module, "create_timers", lambda _state: Timers())


def never_shrink_lanes(patch: Patch) -> None:
    patch.setattr(placement, "release_idle_lanes", lambda _round: None)


def ignore_queue_rules(patch: Patch) -> None:
    patch.setattr(QueueRegistry, "get", lambda _self, _name: UNLIMITED)
    patch.setattr(cluster_view, "_queue_rules", lambda _state: {})


def ignore_running_max(patch: Patch) -> None:
    get, rules = QueueRegistry.get, cluster_view._queue_rules
    patch.setattr(QueueRegistry, "get", lambda self, name: replace(get(self, name), running_max=0))
    patch.setattr(
        cluster_view,
        "_queue_rules",
        lambda state: {name: msgspec.structs.replace(each, running_max=0) for name, each in rules(state).items()},
    )


def ignore_parallel_max(patch: Patch) -> None:
    queued = cluster_view._pending_entry
    patch.setattr(
        cluster_view,
        "_pending_entry",
        lambda state, record, task_set: replace(queued(state, record, task_set), count=record.queued),
    )
    patch.setattr(apply_decision, "lanes_max", lambda _round, record: record.queued)


def start_half_a_gang(patch: Patch) -> None:
    decide = Planner.decide

    def hasty(self: Planner, view: ClusterView, now: float, budget: int) -> Decision:
        decision = decide(self, view, now, budget)
        for place, each in enumerate(decision.placements):
            assert view.classes is not None
            rules = view.classes(each.class_id).rules
            if rules is not None and rules.gang:
                decision.placements[place] = Placement(each.class_id, each.nodes[:1], each.counts[:1] * 0 + 1)
        return decision

    patch.setattr(Planner, "decide", hasty)
    patch.setattr(apply_decision, "_gang_fits", lambda _round, _placements: True)


def split_gangs(patch: Patch) -> None:
    for module in (placement, engine_module):
        patch.setattr(module, "restart_broken_gangs", lambda _round: None)


def restart_incomplete_gangs(patch: Patch) -> None:
    for module in (cluster_view, gang_restart):
        patch.setattr(module, "is_gathering", lambda _record, _group: False)


def ignore_distinct_hosts(patch: Patch) -> None:
    _forget_rule(patch, distinct="")


def ignore_exclusive_nodes(patch: Patch) -> None:
    _forget_rule(patch, exclusive=False)


def _forget_rule(patch: Patch, **rule: Any) -> None:
    rules_of = task_classes._rules_of

    def forgetful(job: Any, group_index: int, spec: Any) -> Rules | None:
        rules = rules_of(job, group_index, spec)
        return rules and replace(rules, **rule)

    patch.setattr(task_classes, "_rules_of", forgetful)


def ignore_licence_limits(patch: Patch) -> None:
    patch.setattr(ClusterSettingsRegistry, "licences", lambda self: dict.fromkeys(self.values, 100))


def assign_a_port_three_times(patch: Patch) -> None:
    capacity = NodeTable._capacity
    patch.setattr(
        NodeTable,
        "_capacity",
        lambda self, given, resource: capacity(self, given, resource) * (3 if resource.startswith("port/") else 1),
    )


MISTAKES: tuple[tuple[Callable[[Patch], None], str, int], ...] = (
    (place_more_than_fits, "has no room for|more is reserved than|are in use on", 1),
    (skip_requeue, "times in a queue", 3),
    (forget_back_offs_in_recovery, "has not ended|waits for nothing|it is to fail", 7),
    (never_shrink_lanes, "classes without jobs|reserved for nobody|has not ended|not come to rest", 7),
    (ignore_queue_rules, "is paused|running_max is", 5),
    (ignore_running_max, "running_max is", 18),
    (ignore_parallel_max, "parallel_max is", 13),
    (start_half_a_gang, "started in part", 13),
    (split_gangs, "was torn apart|started in part", 30),
    (restart_incomplete_gangs, "was torn apart|started in part", 15),
    (ignore_distinct_hosts, "share (host|disk)", 5),
    (ignore_exclusive_nodes, "is exclusive to one of", 18),
    (ignore_colocation, "avoids job", 3),
    (ignore_licence_limits, "licence/matlab are in use", 17),
    (ignore_quotas, r"tenant studio uses \d+ of \d+ (running|cpu|memory|gpu)", TENANTS_FROM),
    (tell_tenants_everything, "tenant atelier was told of studio", NEIGHBOURS_FROM),
    (assign_a_port_three_times, "port/8080 are in use", 15),
)
