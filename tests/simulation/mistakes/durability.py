"""Mistakes in durability: acknowledgements, orders, answers, keys, epochs, attempts before their commit."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from shunter.adapters.memory.store import MemoryStore
from shunter.engine import commands
from shunter.engine import engine as engine_module
from shunter.engine.audit.seal import seal_acts
from shunter.engine.changes import Change, TaskEnded, TasksLost
from shunter.engine.engine import Engine
from shunter.engine.inbox import Command
from shunter.engine.jobs import submit
from shunter.engine.jobs.run_keys import keys_of_specs
from shunter.engine.jobs.submit import SubmitResult
from shunter.engine.nodes import disconnect, inventory, registration, reports
from shunter.engine.round import Round
from shunter.engine.state.ended_runs import EndedRuns
from shunter.engine.state.records import TaskSet
from shunter.model.audit.records import GENESIS
from shunter.model.lifecycles import NodeEvent, TaskEvent
from shunter.model.protocol.worker_messages import Lost, Report, Started
from shunter.ports.security.audit import Act
from shunter.ports.store import AuditBatch
from shunter.simulation.world import TENANTS_FROM
from shunter.watcher import session

Patch = pytest.MonkeyPatch


def acknowledge_before_the_commit(patch: Patch) -> None:
    commit = Engine._commit

    async def hasty(self: Engine, round: Round) -> None:
        for node, message in round.outbox.messages():
            if type(message).__name__ == "Ack":
                self._workers.send(node, message)
        await commit(self, round)

    patch.setattr(Engine, "_commit", hasty)


def order_before_the_commit(patch: Patch) -> None:
    commit = Engine._commit

    async def hasty(self: Engine, round: Round) -> None:
        for node, message in round.outbox.messages():
            self._workers.send(node, message)
        await commit(self, round)

    patch.setattr(Engine, "_commit", hasty)


def answer_users_before_the_commit(patch: Patch) -> None:
    decide = submit.on_submit

    async def hasty(self: Engine, specs: Any, user: str, key: str | None = None) -> list[SubmitResult]:
        answers: list[SubmitResult] = []
        named, _ = self.with_names(specs)
        self._inbox.put(
            Command(lambda round: answers.extend(decide(round, named, user, key)), runs=lambda _: keys_of_specs(named))
        )
        self.wake()
        while not answers:
            await self._clock.sleep(0.0001)
        return answers

    patch.setattr(Engine, "submit", hasty)


def ignore_client_keys(patch: Patch) -> None:
    decide = submit.on_submit
    patch.setattr(
        commands,
        "on_submit",
        lambda round, specs, user, key, generated: decide(round, specs, user, key and f"{key}{id(round)}", generated),
    )


def accept_any_attempt(patch: Patch) -> None:
    is_current_attempt = reports.is_current_attempt

    def gullible(
        round: Round, task_set: TaskSet, node: int, first: int, last: int, _attempt: int, state: int | None = None
    ) -> bool:
        attempt = int(round.state.table.attempt[task_set.base + first]) if first < task_set.count else 0
        return is_current_attempt(round, task_set, node, first, last, attempt, state)

    def gullible_indexes(round: Round, task_set: TaskSet, node: int, first: int, last: int, _attempt: int) -> list[int]:
        indexes = range(first, min(last, task_set.count - 1) + 1)
        return [index for index in indexes if gullible(round, task_set, node, index, index, 0)]

    patch.setattr(reports, "is_current_attempt", gullible)
    for module in (reports, inventory):
        patch.setattr(module, "current_indexes", gullible_indexes)


def write_off_silent_nodes(patch: Patch) -> None:
    on_node_event = registration.on_node_event

    def rash(round: Round, node: int, event: NodeEvent, reason: str) -> None:
        on_node_event(round, node, event, reason)
        if event is NodeEvent.SILENT:
            inventory.mark_node_tasks_lost(round, node, reason)

    patch.setattr(commands, "on_node_event", rash)


def change_state_without_a_change(patch: Patch) -> None:
    apply_started = reports.apply_started

    def sly(round: Round, node: int, started: Started) -> None:
        apply_started(round, node, started)
        task_set = round.state.task_set(started.job, started.group)
        if task_set is not None:
            round.state.table.lost[task_set.base + started.index] += 1

    for module in (reports, inventory):
        patch.setattr(module, "apply_started", sly)


def let_old_leaders_write(patch: Patch) -> None:
    patch.setattr(MemoryStore, "_check_epoch", lambda _self, _epoch: None)


def drop_every_tenth_report(patch: Patch) -> None:
    on_report, counter = reports.on_report, itertools.count()

    def careless(round: Round, node: int, report: Report) -> None:
        if next(counter) % 10:
            on_report(round, node, report)
        else:
            round.outbox.acks[node] = report.seq

    patch.setattr(commands, "on_report", careless)


def fail_lost_attempts(patch: Patch) -> None:
    record = Round.record

    def unkind(self: Round, change: Change) -> None:
        if isinstance(change, TasksLost):
            event, reason = TaskEvent.GAVE_UP, change.reason
            for index in range(change.first, change.last + 1):
                place = change.job, change.task_set, index
                record(self, TaskEnded(*place, event, -1, 0, change.at_ms, 0, 0, reason, change.ref))
            self.dirty.maybe_finished[change.job] = None
        else:
            record(self, change)

    patch.setattr(Round, "record", unkind)


def believe_impossible_messages(patch: Patch) -> None:
    patch.setattr(session, "message_problem", lambda _message: None)


def replace_without_proof(patch: Patch) -> None:
    due_ms = disconnect.replacement_due_ms
    patch.setattr(
        disconnect, "replacement_due_ms", lambda spec, since_ms: due_ms(replace(spec, at_most_once=False), since_ms)
    )


def skip_back_off_after_a_lost_keeper(patch: Patch) -> None:
    def hurry(round: Round, task_set: TaskSet, index: int, lost: Lost) -> None:
        reports.mark_lost(round, task_set, index, index, lost.reason, round.now_ms)

    patch.setattr(reports, "_on_lost_with_keeper", hurry)


def forget_history(patch: Patch) -> None:
    learn = EndedRuns.learn
    patch.setattr(EndedRuns, "learn", lambda self, keys, _found: learn(self, keys, {}))


def look_up_history_only_once(patch: Patch) -> None:
    """What is known of a name stays, and nobody adds the runs that end."""
    patch.setattr(EndedRuns, "forget", lambda _self, _keys: None)
    patch.setattr(EndedRuns, "add", lambda _self, *_run: None)


def record_requests_one_round_late(patch: Patch) -> None:
    late: list[Act] = []

    def seal_late(round: Round) -> AuditBatch | None:
        acts, round.acts = round.acts, [*late]
        late[:] = acts
        return seal_acts(round)

    patch.setattr(engine_module, "seal_acts", seal_late)


def begin_the_audit_log_anew(patch: Patch) -> None:
    """In every epoch."""
    start = Engine.start

    async def forgetful(self: Engine, *arguments: Any) -> None:
        await start(self, *arguments)
        self.state.audit.head = GENESIS

    patch.setattr(Engine, "start", forgetful)


MISTAKES: tuple[tuple[Callable[[Patch], None], str, int], ...] = (
    (acknowledge_before_the_commit, "was acknowledged before it was committed", 1),
    (order_before_the_commit, "is not committed", 13),
    (answer_users_before_the_commit, "was acknowledged and is not committed", 0),
    (ignore_client_keys, "was answered with jobs", 3),
    (accept_any_attempt, "its command cannot|has tasks of jobs that have ended|has it", 38),
    (write_off_silent_nodes, "which is not down, has it", 2),
    (change_state_without_a_change, "is not what the committed rounds give", 0),
    (let_old_leaders_write, "wrote after epoch|is not what the committed rounds give", 150),
    (drop_every_tenth_report, "was acknowledged before it was committed", 1),
    (fail_lost_attempts, "failed, and its command cannot", 3),
    (believe_impossible_messages, "NaN|out of range|too large|zero-size", 48),
    (replace_without_proof, "began while attempt", 54),
    (skip_back_off_after_a_lost_keeper, "does not back off", 5),
    (forget_history, "should be run", 0),
    (look_up_history_only_once, "should be run", 0),
    (record_requests_one_round_late, "in no record of its commit", TENANTS_FROM),
    (begin_the_audit_log_anew, "the audit log is broken", TENANTS_FROM + 16),
)
