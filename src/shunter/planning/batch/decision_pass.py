"""One decision of a batch scheduler: start jobs in order, then backfill. Created by `planning.batch.batch_policy`, and
used by its strategies."""

from __future__ import annotations

import numpy as np

from shunter.model.job.spec import LICENCE_PREFIX
from shunter.planning.batch.acceptance import Acceptance
from shunter.planning.batch.free_space import UNLIMITED, Fit, FreeSpace
from shunter.planning.batch.pending_jobs import PendingJob, PendingJobs
from shunter.planning.batch.releases import Releases, Reservation, StartedJob
from shunter.planning.view import ClusterView, Decision, HeldRows, IntArray, Placement, QueueRules


class DecisionPass:
    def __init__(
        self, view: ClusterView, now_ms: int, budget: int, pending: PendingJobs, acceptance: Acceptance
    ) -> None:
        nodes = view.nodes
        self._acceptance = acceptance
        self.view, self.now_ms, self.pending, self._budget = view, now_ms, pending, budget
        self.free = FreeSpace((nodes.capacity - nodes.reserved)[: nodes.count], nodes, acceptance.rows)
        self._licences = {name: total - used for name, (total, used) in view.licences.items()}
        self._queue_room = {rules.name: _queue_room(rules) for rules in view.queues.values()}
        self.started: list[StartedJob] = []
        self.decision = Decision(view.version)

    def start_in_order(self) -> PendingJob | None:
        """Start jobs until one does not fit; returns that one. A job that could not even start on empty nodes holds
        nobody up, nor does one whose queue or licences do not admit it."""
        for slot in self.pending.in_order().tolist():
            job = self.pending.job(slot)
            _, is_head = self.try_start(job)
            if is_head:
                return job
            if self.decision.is_partial:
                return None
        return None

    def try_start(self, job: PendingJob) -> tuple[int, bool]:
        """Start as much of the job as fits. Returns how many tasks started, and whether others must wait for the
        rest."""
        tasks_max = self.admissible_count(job)
        affordable = self.affordable_count(job, tasks_max)
        started = self.start(job, affordable, self.free) if affordable else 0
        if started == affordable < tasks_max:
            self.decision.is_partial = True
            return started, False
        return started, started < affordable and self.fits_on_empty_nodes(job)

    def hold_all_nodes(self) -> None:
        """Nobody may pass the first job that waits."""
        self.decision.kept = HeldRows(None, dict.fromkeys(range(1, self.view.nodes.count), 0))

    def backfill(self, head: PendingJob) -> None:
        """Start jobs behind `head`, the first that must wait, as long as they do not delay it."""
        reservation = Releases(self.view, self.now_ms, self.started).reserve(head, self.free)
        if reservation is None:
            self.hold_all_nodes()
            return
        self.decision.kept = HeldRows(None, dict.fromkeys(reservation.rows.tolist(), reservation.start_ms))
        started = {head.slot, *(each.job.slot for each in self.started)}
        for slot in self._candidates(reservation).tolist():
            job = self.pending.job(slot)
            tasks_max = 0 if slot in started else self.admissible_count(job)
            if not tasks_max:
                continue
            affordable = self.affordable_count(job, tasks_max)
            started_count = self._start_before(job, affordable, reservation) if affordable else 0
            if started_count == affordable < tasks_max:
                self.decision.is_partial = True
                return

    def _start_before(self, job: PendingJob, tasks_max: int, reservation: Reservation) -> int:
        """Start tasks of a job that does not delay the reservation: it ends before, or uses only what is spare."""
        if self.now_ms + job.estimate_ms <= reservation.start_ms:
            return self.start(job, tasks_max, self.free)
        spare = reservation.spare
        count = self.start(job, tasks_max, self.free.with_amounts(np.minimum(self.free.amounts, spare.amounts)))
        if count:
            spare.take(self.started[-1].fit)
        return count

    def _candidates(self, reservation: Reservation) -> IntArray:
        """The jobs for which there may be room, found by vectors. Each of them is then examined closely."""
        pending, free, spare = self.pending, self.free.amounts, reservation.spare.amounts
        slots = pending.in_backfill_order()
        is_small = (pending.task_needs[slots] <= free.max(axis=0)).all(axis=1)
        is_small &= (pending.job_needs[slots] <= free.clip(0).sum(axis=0)).all(axis=1)
        is_harmless = self.now_ms + pending.estimate_ms[slots] <= reservation.start_ms
        is_harmless |= (pending.task_needs[slots] <= spare.max(axis=0)).all(axis=1)
        found: IntArray = slots[is_small & is_harmless]
        return found

    def start(self, job: PendingJob, tasks_max: int, free: FreeSpace) -> int:
        """Start as many tasks of the job as fit into `free`. Returns how many."""
        fit = free.fit(job, tasks_max)
        return 0 if fit is None else self.start_fit(job, fit)

    def start_fit(self, job: PendingJob, fit: Fit) -> int:
        """Start tasks of the job where the fit says. Returns how many."""
        self.free.take(fit)
        self.started.append(StartedJob(job, fit, self.now_ms + job.estimate_ms))
        for part in fit:
            placement = Placement(part.task_class.id, part.rows, part.counts)
            self.decision.placements.append(self._acceptance.admit(part.task_class, placement))
            count = int(part.counts.sum())
            for resource, need in part.task_class.needs.items():
                if resource in self._licences:
                    self._licences[resource] -= need * count
            if part.task_class.queue in self._queue_room:
                self._queue_room[part.task_class.queue] -= count
        started = _task_count(fit)
        self._budget -= started
        return started

    def admissible_count(self, job: PendingJob) -> int:
        """How many of its tasks may start, as far as its queue and licences are concerned: all or none of a gang."""
        if not all(part.is_satisfiable for part in job.parts):
            return 0
        queue = job.parts[0].queued.task_class.queue  # all tasks of a gang are in the queue of their job
        room = self._queue_room.get(queue, UNLIMITED)
        times = min(
            (self._licences.get(name, 0) // need for name, need in _licence_needs(job).items()), default=UNLIMITED
        )
        if job.is_gang:
            return job.task_count if times >= 1 and room >= job.task_count else 0
        return max(min(job.task_count, room, times), 0)

    def affordable_count(self, job: PendingJob, tasks_max: int) -> int:
        """How many of its tasks the budget allows. A gang that is larger than the whole budget goes by itself."""
        if job.is_gang:
            return tasks_max if tasks_max <= self._budget or not self.started else 0
        return min(tasks_max, max(self._budget, 0))

    def fits_on_empty_nodes(self, job: PendingJob) -> bool:
        nodes = self.view.nodes
        return self.free.with_amounts(nodes.capacity[: nodes.count]).fit(job, 1) is not None


def _queue_room(rules: QueueRules) -> int:
    """Tasks of the queue that may start."""
    if rules.is_paused:
        return 0
    return max(rules.running_max - rules.running, 0) if rules.running_max else UNLIMITED


def _licence_needs(job: PendingJob) -> dict[str, int]:
    """What the whole gang needs of each licence, or one task of another job."""
    needs: dict[str, int] = {}
    for part in job.parts:
        for resource, need in part.queued.task_class.needs.items():
            if resource.startswith(LICENCE_PREFIX):
                needs[resource] = needs.get(resource, 0) + need * (part.queued.count if job.is_gang else 1)
    return needs


def _task_count(fit: Fit) -> int:
    return sum(int(part.counts.sum()) for part in fit)
