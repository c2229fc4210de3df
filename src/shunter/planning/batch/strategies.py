"""How a batch policy makes one decision: strictly in order, with EASY backfilling, or by dominant shares. Used by
`planning.batch.batch_policy`; `conservative` and `node_choice` have further strategies."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from shunter.planning.batch.decision_pass import DecisionPass
from shunter.planning.batch.pending_jobs import PendingJob
from shunter.planning.view import FloatArray


class Strategy(Protocol):
    """`memory` is all that a renewed strategy must know: set on a new one, it makes that decide the same."""

    memory: dict[str, Any]

    def run(self, decision_pass: DecisionPass) -> None: ...


class StrictOrder:
    """All jobs wait for the first one that does not fit."""

    def __init__(self) -> None:
        self.memory: dict[str, Any] = {}

    def run(self, decision_pass: DecisionPass) -> None:
        if decision_pass.start_in_order() is not None:
            decision_pass.hold_all_nodes()


class EasyBackfill:
    """Later jobs may start if they do not delay the first one that waits."""

    def __init__(self) -> None:
        self.memory: dict[str, Any] = {}

    def run(self, decision_pass: DecisionPass) -> None:
        head = decision_pass.start_in_order()
        if head is not None:
            decision_pass.backfill(head)


class DominantShares:
    """The next job is the first one of the user whose dominant share is the smallest; all wait for one that does not
    fit. Ghodsi, Zaharia, Hindman, Konwinski, Shenker and Stoica, "Dominant Resource Fairness", NSDI 2011, algorithm 1.
    A user is one in a namespace. Jobs of a higher priority go first."""

    def __init__(self) -> None:
        self.memory: dict[str, Any] = {}

    def run(self, decision_pass: DecisionPass) -> None:
        shares = _Shares(decision_pass)
        waiting: dict[tuple[str, str], list[PendingJob]] = {}
        for slot in reversed(decision_pass.pending.in_order().tolist()):
            job = decision_pass.pending.job(slot)
            waiting.setdefault(_user_of(job), []).append(job)

        def turn(user: tuple[str, str]) -> tuple[int, float, int]:
            first = waiting[user][-1]
            return -first.priority, shares.of(user), first.since

        while waiting:
            user = min(waiting, key=turn)
            job = waiting[user].pop()
            if not waiting[user]:
                del waiting[user]
            started, is_head = decision_pass.try_start(job)
            if decision_pass.decision.is_partial:
                return
            if is_head:
                decision_pass.hold_all_nodes()
                return
            shares.add(user, job, started)


class _Shares:
    """The largest of a user's shares of any one resource, with what this decision has started."""

    def __init__(self, decision_pass: DecisionPass) -> None:
        view = decision_pass.view
        nodes = view.nodes
        self._usage = view.usage
        self._total: FloatArray = np.maximum(nodes.capacity[: nodes.count].sum(axis=0), 1).astype(np.float64)
        self._held: dict[tuple[str, str], FloatArray] = {}

    def of(self, user: tuple[str, str]) -> float:
        return float((self._held_by(user) / self._total).max(initial=0.0))

    def add(self, user: tuple[str, str], job: PendingJob, started: int) -> None:
        if started:
            self._held[user] = self._held_by(user) + job.needs * (1 if job.is_gang else started)

    def _held_by(self, user: tuple[str, str]) -> FloatArray:
        held = self._held.get(user)
        if held is None:
            held, used = np.zeros(len(self._total)), self._usage.get(user)
            if used is not None:
                held[: len(used)] = used[: len(held)]
            self._held[user] = held
        return held


def _user_of(job: PendingJob) -> tuple[str, str]:
    task_class = job.parts[0].queued.task_class
    return task_class.namespace, task_class.user
