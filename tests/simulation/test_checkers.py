"""The checkers can fail: each mistake, put into the engine, the store or the planner on purpose, is found within a few
seeds. A checker that finds nothing here would be no use in the simulations that pass."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from shunter.adapters.memory.store import MemoryStore
from shunter.engine import (
    classes,
    cluster_view,
    deadlines,
    decisions,
    dependencies,
    drains,
    endings,
    group_changes,
    group_edges,
    nodes,
    placing,
    quarantine,
    recovery,
    reports,
    services,
    submits,
    task_changes,
    templates,
)
from shunter.engine import engine as engine_module
from shunter.engine.books.cluster import ClusterBook
from shunter.engine.books.queues import FREE, QueueBook
from shunter.engine.changes import Change, JobHeld, NodeMoved, TaskEnded, TasksLost
from shunter.engine.engine import Engine
from shunter.engine.instances import Member
from shunter.engine.keeping import Keeping
from shunter.engine.node_columns import NodeColumns
from shunter.engine.records import Group, NodeRecord
from shunter.engine.round import Round, Timers
from shunter.engine.state import State
from shunter.engine.submits import Submitted
from shunter.model.lifecycles import NodeEvent, TaskEvent
from shunter.model.messages import Report, Started
from shunter.planning.planner import Planner
from shunter.planning.view import ClusterView, Decision, Placement, Rules
from shunter.simulation.world import Failed, simulate

SEEDS_MAX = 200
FIRST_SEEDS = {"let_old_leaders_write": 120}  # a leader that wakes in the middle of a write is rare

Patch = pytest.MonkeyPatch


def acknowledge_before_the_commit(patch: Patch) -> None:
    commit = Engine._commit

    async def hasty(self: Engine, round: Round) -> None:
        for node, message in round.messages():
            if type(message).__name__ == "Ack":
                self._workers.send(node, message)
        await commit(self, round)

    patch.setattr(Engine, "_commit", hasty)


def order_before_the_commit(patch: Patch) -> None:
    commit = Engine._commit

    async def hasty(self: Engine, round: Round) -> None:
        for node, message in round.messages():
            self._workers.send(node, message)
        await commit(self, round)

    patch.setattr(Engine, "_commit", hasty)


def answer_users_before_the_commit(patch: Patch) -> None:
    decide = submits.on_submit

    async def hasty(self: Engine, specs: Any, user: str, key: str | None = None) -> list[Submitted]:
        answers: list[Submitted] = []
        self._tell(lambda round: answers.extend(decide(round, specs, user, key)))
        while not answers:
            await self._clock.sleep(0.0001)
        return answers

    patch.setattr(Engine, "submit", hasty)


def ignore_client_keys(patch: Patch) -> None:
    decide = submits.on_submit
    patch.setattr(
        engine_module,
        "on_submit",
        lambda round, specs, user, key, past: decide(round, specs, user, key and f"{key}{id(round)}", past),
    )


def place_more_than_fits(patch: Patch) -> None:
    decide = Planner.decide

    def greedy(self: Planner, view: ClusterView, now: float, budget: int) -> Decision:
        decision = decide(self, view, now, budget)
        decision.placements = [Placement(each.class_id, each.nodes, each.counts * 2) for each in decision.placements]
        return decision

    patch.setattr(Planner, "decide", greedy)
    patch.setattr(decisions, "_room", lambda _round, record, rows: rows * 0 + record.queued)


def forget_to_queue_again(patch: Patch) -> None:
    requeue = task_changes._requeue

    def forgetful(state: State, group: Group, first: int, last: int, not_before_ms: int) -> None:
        if first > 0:
            requeue(state, group, first, last, not_before_ms)

    patch.setattr(task_changes, "_requeue", forgetful)


def forget_back_offs_in_recovery(patch: Patch) -> None:
    patch.setattr(recovery, "_timers", lambda _state: Timers())


def keep_lanes_for_ever(patch: Patch) -> None:
    patch.setattr(placing, "shrink", lambda _round: None)


def believe_any_attempt(patch: Patch) -> None:
    believed = reports._believed

    def gullible(
        round: Round, group: Group, node: int, first: int, last: int, _attempt: int, state: int | None = None
    ) -> bool:
        attempt = int(round.state.table.attempt[group.base + first]) if first < group.count else 0
        return believed(round, group, node, first, last, attempt, state)

    patch.setattr(reports, "_believed", gullible)


def write_off_silent_nodes(patch: Patch) -> None:
    on_node_event = nodes.on_node_event

    def rash(round: Round, node: int, event: NodeEvent, reason: str) -> None:
        on_node_event(round, node, event, reason)
        if event is NodeEvent.SILENT:
            reports.lose_node(round, node, reason)

    patch.setattr(engine_module, "on_node_event", rash)


def change_state_behind_the_changes(patch: Patch) -> None:
    on_started = reports.on_started

    def sly(round: Round, node: int, started: Started) -> None:
        on_started(round, node, started)
        group = round.state.group(started.job, started.group)
        if group is not None:
            round.state.table.lost[group.base + started.index] += 1

    patch.setattr(reports, "on_started", sly)


def let_old_leaders_write(patch: Patch) -> None:
    patch.setattr(MemoryStore, "_check_epoch", lambda _self, _epoch: None)


def drop_every_tenth_report(patch: Patch) -> None:
    on_report, counter = reports.on_report, itertools.count()

    def careless(round: Round, node: int, report: Report) -> None:
        if next(counter) % 10:
            on_report(round, node, report)
        else:
            round.acks[node] = report.seq

    patch.setattr(engine_module, "on_report", careless)


def call_a_lost_attempt_failed(patch: Patch) -> None:
    record = Round.record

    def unkind(self: Round, change: Change) -> None:
        if isinstance(change, TasksLost):
            event, reason = TaskEvent.GAVE_UP, change.reason
            for index in range(change.first, change.last + 1):
                place = change.job, change.group, index
                record(self, TaskEnded(*place, event, -1, 0, change.at_ms, 0, 0, reason, change.ref))
            self.maybe_over[change.job] = None
        else:
            record(self, change)

    patch.setattr(Round, "record", unkind)


# ---- the whole job model ----


def place_held_jobs(patch: Patch) -> None:
    def careless(self: State, change: JobHeld) -> None:
        self.jobs[change.job].is_held = change.is_held

    patch.setitem(group_changes.APPLIERS, JobHeld, careless)
    make_ready = State.make_ready

    def regardless(self: State, group: Group, first: int, last: int) -> None:
        is_held, group.job.is_held = group.job.is_held, False
        make_ready(self, group, first, last)
        group.job.is_held = is_held

    patch.setattr(State, "make_ready", regardless)


def forget_to_queue_what_is_released(patch: Patch) -> None:
    patch.setattr(group_changes, "queue_again", lambda _state, _group: None)


def overlook_the_rules_of_queues(patch: Patch) -> None:
    patch.setattr(QueueBook, "get", lambda _self, _name: FREE)
    patch.setattr(cluster_view, "_queues", lambda _state: {})


def overlook_running_max(patch: Patch) -> None:
    get, rules = QueueBook.get, cluster_view._queues
    patch.setattr(QueueBook, "get", lambda self, name: replace(get(self, name), running_max=0))
    patch.setattr(
        cluster_view,
        "_queues",
        lambda state: {name: replace(each, running_max=0) for name, each in rules(state).items()},
    )


def overlook_parallel_max(patch: Patch) -> None:
    queued = cluster_view._queued
    patch.setattr(
        cluster_view,
        "_queued",
        lambda state, record, group: replace(queued(state, record, group), count=record.queued),
    )
    patch.setattr(decisions, "lanes_max", lambda _round, record: record.queued)


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
    patch.setattr(decisions, "_is_whole", lambda _round, _gang, _placements: True)


def forget_distinct_hosts(patch: Patch) -> None:
    _forget_rule(patch, distinct="")


def forget_exclusive_nodes(patch: Patch) -> None:
    _forget_rule(patch, exclusive=False)


def _forget_rule(patch: Patch, **rule: Any) -> None:
    rules_of = classes._rules_of

    def forgetful(job: Any, part: int, spec: Any) -> Rules | None:
        rules = rules_of(job, part, spec)
        return rules and replace(rules, **rule)

    patch.setattr(classes, "_rules_of", forgetful)


def have_licences_for_all(patch: Patch) -> None:
    patch.setattr(ClusterBook, "licences", lambda self: dict.fromkeys(self.values, 100))


def give_a_port_to_three(patch: Patch) -> None:
    capacity = NodeColumns._capacity
    patch.setattr(
        NodeColumns,
        "_capacity",
        lambda self, given, resource: capacity(self, given, resource) * (3 if resource.startswith("port/") else 1),
    )


def start_before_the_time(patch: Patch) -> None:
    patch.setattr(dependencies, "start_ms", lambda _job: 0)
    patch.setattr(deadlines, "start_ms", lambda job: job.submitted_ms + 1)


def start_before_the_others(patch: Patch) -> None:
    patch.setattr(dependencies, "is_blocked", lambda _state, job, now_ms: dependencies.start_ms(job) > now_ms)


def start_before_the_other_groups(patch: Patch) -> None:
    patch.setattr(group_edges, "_verdict", lambda _job, _group: "")


def take_any_end_for_the_wanted_one(patch: Patch) -> None:
    patch.setattr(dependencies, "is_met", lambda _edge, _outcome: True)


def forget_who_waits(patch: Patch) -> None:
    patch.setattr(endings, "settle_dependents", lambda _round, _job, _outcome: None)


def forget_who_waits_for_a_group(patch: Patch) -> None:
    patch.setattr(endings, "settle_groups", lambda _round, _job: None)


def end_what_was_preempted(patch: Patch) -> None:
    patch.setattr(reports, "_after_stop", lambda _round, _group, _index: TaskEvent.STOPPED)


def fire_twice(patch: Patch) -> None:
    fire = templates._fire

    def eager(round: Round, template: Any, due_ms: int, overlap: str) -> None:
        fire(round, template, due_ms, overlap)
        fire(round, template, due_ms, "queue")

    patch.setattr(templates, "_fire", eager)


def forget_schedules_in_recovery(patch: Patch) -> None:
    patch.setattr(recovery, "wind", lambda _timers, _template: None)


def keep_missed_firings_quiet(patch: Patch) -> None:
    fired = templates._fired

    def silent(round: Round, template: Any, due_ms: int, job_id: int, reason: str) -> None:
        if job_id or "missed" not in reason:
            fired(round, template, due_ms, job_id, reason)

    patch.setattr(templates, "_fired", silent)


def overlook_exit_rules(patch: Patch) -> None:
    patch.setattr(reports, "action_of", lambda _restart, _exit_code: "")


def go_back_to_the_same_node(patch: Patch) -> None:
    patch.setattr(decisions, "has_another", lambda _state, _record, _node: False)
    patch.setattr(cluster_view, "has_another", lambda _state, _record, _node: False)


def go_on_after_too_many_failures(patch: Patch) -> None:
    patch.setattr(endings, "look_at_failures", lambda _round, _job: None)


def forget_the_timeouts_of_jobs(patch: Patch) -> None:
    patch.setattr(recovery, "set_job_timers", lambda _timers, _state, _job: None)


# ---- services, system jobs, nodes ----


def take_anything_for_well(patch: Patch) -> None:
    patch.setattr(Member, "is_well", lambda self, _now_ms: self.is_alive)


def forget_to_start_what_is_missing(patch: Patch) -> None:
    patch.setattr(Keeping, "_start_missing", lambda _self: None)


def overlook_nodes_that_join(patch: Patch) -> None:
    patch.setattr(services, "stir_nodes", lambda round: round.stirred_nodes.clear())


def call_a_draining_node_drained(patch: Patch) -> None:
    def hasty(round: Round, node: NodeRecord) -> None:
        round.record(NodeMoved(node.id, NodeEvent.EMPTIED, "", round.now_ms, node.name))

    patch.setattr(drains, "_advance", hasty)


def place_on_cordoned_nodes(patch: Patch) -> None:
    def lax(_self: NodeColumns, node: NodeRecord, by: str, reason: str) -> None:
        node.switched_by, node.switched_because = by, reason

    patch.setattr(NodeColumns, "switch", lax)
    patch.setattr(NodeColumns, "refresh_eligible", _blind_to_switches(NodeColumns.refresh_eligible))


def _blind_to_switches(refresh: Callable[[NodeColumns, NodeRecord], None]) -> Callable[[NodeColumns, NodeRecord], None]:
    def blind(self: NodeColumns, node: NodeRecord) -> None:
        by, node.switched_by = node.switched_by, ""
        refresh(self, node)
        node.switched_by = by

    return blind


def quarantine_the_last_node(patch: Patch) -> None:
    patch.setattr(quarantine, "_may_lose", lambda _round, _node: True)


def forget_where_a_task_was_to_go(patch: Patch) -> None:
    requeue = task_changes._requeue

    def forgetful(state: State, group: Group, first: int, last: int, not_before_ms: int) -> None:
        kept, state.moves.bound = state.moves.bound, {}
        requeue(state, group, first, last, not_before_ms)
        state.moves.bound = kept

    patch.setattr(task_changes, "_requeue", forgetful)
    patch.setattr(placing, "place_bound", lambda _round: None)


def let_a_piece_go_before_it_is_over(patch: Patch) -> None:
    patch.setattr(Group, "is_over", property(lambda _self: True))


MISTAKES: tuple[tuple[Callable[[Patch], None], str], ...] = (
    (acknowledge_before_the_commit, "was acknowledged before it was committed"),
    (order_before_the_commit, "is not committed"),
    (answer_users_before_the_commit, "was acknowledged and is not committed"),
    (ignore_client_keys, "was answered with jobs"),
    (place_more_than_fits, "has no room for|more is reserved than|are in use on"),
    (forget_to_queue_again, "times in a queue"),
    (forget_back_offs_in_recovery, "has not ended|waits for nothing|it is to fail"),
    (keep_lanes_for_ever, "classes without jobs|reserved for nobody|has not ended|not come to rest"),
    (believe_any_attempt, "its command cannot|has tasks of jobs that have ended|has it"),
    (write_off_silent_nodes, "which is not down, has it"),
    (change_state_behind_the_changes, "is not what the committed rounds give"),
    (let_old_leaders_write, "wrote after epoch|is not what the committed rounds give"),
    (drop_every_tenth_report, "was acknowledged before it was committed"),
    (call_a_lost_attempt_failed, "failed, and its command cannot"),
    (place_held_jobs, "although it is held"),
    (forget_to_queue_what_is_released, "times in a queue|has not ended|not come to rest"),
    (overlook_the_rules_of_queues, "is paused|running_max is"),
    (overlook_running_max, "running_max is"),
    (overlook_parallel_max, "parallel_max is"),
    (start_half_a_gang, "started in part"),
    (forget_distinct_hosts, "share (host|disk)"),
    (forget_exclusive_nodes, "is exclusive to one of"),
    (have_licences_for_all, "licence/matlab are in use"),
    (give_a_port_to_three, "port/8080 are in use"),
    (start_before_the_time, "its start is"),
    (start_before_the_others, "although it waits for job"),
    (start_before_the_other_groups, "is not over|was to have"),
    (take_any_end_for_the_wanted_one, "settled as|was to have"),
    (forget_who_waits, "waits for nothing any more"),
    (forget_who_waits_for_a_group, "waits for nothing any more"),
    (end_what_was_preempted, "has not come back"),
    (fire_twice, "fired twice"),
    (forget_schedules_in_recovery, "are overdue"),
    (keep_missed_firings_quiet, "firings silently"),
    (overlook_exit_rules, "against its policy|succeeded with exit code|restart . is too many"),
    (go_back_to_the_same_node, "asked for another node"),
    (go_on_after_too_many_failures, "it is to fail"),
    (forget_the_timeouts_of_jobs, "it is to fail|waits for nothing"),
    (take_anything_for_well, "was ended while it was needed"),
    (forget_to_start_what_is_missing, "not come to rest"),
    (overlook_nodes_that_join, "has no task on node"),
    (call_a_draining_node_drained, "is called drained, and has tasks"),
    (place_on_cordoned_nodes, "which takes no work"),
    (quarantine_the_last_node, "no other takes work"),
    (forget_where_a_task_was_to_go, "was to go elsewhere"),
    (let_a_piece_go_before_it_is_over, "left before it was over|ended while tasks are|is not over"),
)


@pytest.mark.parametrize(("mistake", "found"), MISTAKES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_mistake_is_found(mistake: Callable[[Patch], None], found: str, monkeypatch: Patch) -> None:
    mistake(monkeypatch)
    with pytest.raises(Failed, match=found):
        for seed in range(FIRST_SEEDS.get(mistake.__name__, 0), SEEDS_MAX):
            simulate(seed)
