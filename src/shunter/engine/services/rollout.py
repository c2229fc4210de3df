"""How one group of a lasting job is kept. An instance is replaced by a new piece that shows the same index: the old
task ends when the new one is healthy, or before it comes where so many may be unavailable. Called by
`engine.services.reconcile`."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field

from shunter.engine import changes as c
from shunter.engine.jobs.group_dependencies import is_shut_out
from shunter.engine.jobs.stop import stop_range
from shunter.engine.round import Round
from shunter.engine.services.instances import Instance, Key, Member, ailment, is_same_work
from shunter.engine.services.task_sets import add_piece, is_left
from shunter.engine.services.update import Progress
from shunter.engine.state.records import Job, TaskSet
from shunter.engine.state.registries.services import IN_PROGRESS, RESTARTING, STARTING, ServiceState
from shunter.model.job.spec import PER_NODE, SERVICE, GroupSpec
from shunter.model.lifecycles import TaskState

STARTS_MAX = 500  # nodes that a job begins to use in one round
_QUEUED = int(TaskState.QUEUED)
_FAILED = int(TaskState.FAILED)
_ENDED_BY_THEMSELVES = (int(TaskState.SUCCEEDED), _FAILED)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The indexes that a group shall have; with `startable`, only some of them may be started now."""

    kept: Sequence[int]
    startable: Container[int] | None = None

    def may_start(self, index: int) -> bool:
        return self.startable is None or index in self.startable


def end_member(round: Round, member: Member, reason: str) -> None:
    stop_range(round, member.group, member.index, member.index, now=False, reason=reason)


@dataclass(slots=True)
class Keeping:
    round: Round
    job: Job
    service_state: ServiceState
    group_index: int
    wanted: Wanted
    progress: Progress
    missing: list[int] = field(default_factory=list)
    leaving: list[Member] = field(default_factory=list)  # on nodes that are drained: start elsewhere first
    stale: list[Instance] = field(default_factory=list)
    in_the_way: list[Member] = field(default_factory=list)  # healthy, while their successors find no room
    unwell: list[Member] = field(default_factory=list)  # given up, or not healthy before this and still not
    coming: int = 0  # replaced, and not healthy yet
    available: int = 0
    absent: int = 0  # where none can be started now, or that came to their end

    @property
    def spec(self) -> GroupSpec:
        return self.job.spec_version.groups[self.group_index]

    def keep(self, instances: dict[Key, Instance]) -> None:
        name = self.spec.name
        for index in self.wanted.kept:
            if self.service_state.is_down(name, index):
                continue
            instance = instances.get((name, index))
            if instance is None:
                self._miss(index)
            else:
                self._look_at(instance)
        self._start_missing()
        for member in self.leaving:
            like = None if member.is_fresh or self._may_replace(member) else member.group
            self._add([member.visible_index], 0, "its node is drained", like)
        self._replace_stale()

    # ---- what is the matter with an instance ----

    def _look_at(self, instance: Instance) -> None:
        """The newest healthy task of the present spec is kept, and all others end."""
        now_ms = self.round.now_ms
        self._look_for_failure(instance.members[-1])
        alive = [member for member in instance.members if member.is_alive]
        staying = [member for member in alive if member.is_staying]
        self.available += instance.is_well(now_ms)
        if not alive:
            self._look_at_ended(instance)
            return
        if outranked := [member for member in staying if self._waits_as_before(member)]:
            for member in outranked:
                end_member(self.round, member, self._why_replaced())
            self.progress.is_pending = True  # the next look starts its successor
            return
        lead = self._leading(staying)
        good = [member for member in staying if self._is_like(member, lead) and not self._is_leaving(member)]
        if len(alive) > 1 or self.service_state.status in IN_PROGRESS or self.service_state.status == STARTING:
            self._wait_for_health(good)
        well = [member for member in good if member.is_well(now_ms)]
        if well:
            self._keep_one(well[-1], staying)
            self.progress.is_pending |= len(alive) > 1
        elif good:
            self._await(good, staying)
        elif not staying:
            self.coming += 1  # the next look finds it ended, and starts its successor
            self.progress.is_pending = True
        else:
            last = lead or max(staying, key=lambda member: (member.is_fresh, member.group.number))
            if self._is_leaving(last):
                self.leaving.append(last)
            else:
                self.stale.append(instance)
            self.progress.is_pending = True

    def _leading(self, staying: list[Member]) -> Member | None:
        """Whom an instance is to be like that does not follow the present version, and is not to: an update that
        another one overtook may have left several. None where it is the present version that counts."""
        if not staying or any(member.is_fresh for member in staying) or self._may_replace(staying[-1]):
            return None
        return ([member for member in staying if member.is_well(self.round.now_ms)] or staying)[-1]

    def _is_like(self, member: Member, lead: Member | None) -> bool:
        return member.is_fresh if lead is None else is_same_work(member.group.spec, lead.group.spec)

    def _waits_as_before(self, member: Member) -> bool:
        """Whether it is queued by a priority, in a queue or for a deadline that its job has no more. It waits on where
        by a higher priority it could end others of its job, which run by the lower one."""
        if member.state != _QUEUED or not member.is_fresh or member.group.node:
            return False
        key, job = member.group.task_class.key, self.job
        if key.priority < job.priority and any(map(self._runs_by_less, job.task_sets)):
            return False
        return (key.priority, key.queue, key.deadline_ms) != (job.priority, job.options.queue, job.deadline_ms)

    def _runs_by_less(self, piece: TaskSet) -> bool:
        is_live = any(piece.counts[TaskState.ASSIGNED : TaskState.SUCCEEDED])
        return is_live and piece.task_class.key.priority < self.job.priority

    def _look_at_ended(self, instance: Instance) -> None:
        """One that gave up, or came to its end, stays so; what was stopped to be replaced is started."""
        newest = instance.members[-1]
        has_ended_itself = newest.state in _ENDED_BY_THEMSELVES
        if has_ended_itself and (newest.is_fresh or not self._may_replace(newest)):
            self.progress.is_pending |= self.service_state.status == STARTING and newest.state == _FAILED
            if newest.state == _FAILED and self.wanted.may_start(instance.index):
                self.unwell.append(newest)
            else:
                self.absent += 1
            return
        if self._node_of(newest):  # it was stopped to be replaced just there
            self._add([instance.index], self._node_of(newest), "replaces an older one")
            self.progress.is_pending = True
        else:
            self._miss(instance.index)

    def _look_for_failure(self, newest: Member) -> None:
        if newest.state != _FAILED or not newest.is_fresh or not self._is_of_update(newest):
            return
        reason = (newest.group.reasons or {}).get(newest.index, "it failed")
        self.progress.fail(f"task {self._name(newest)} failed: {reason}", self.spec.update.rollback)

    def _keep_one(self, keeper: Member, staying: list[Member]) -> None:
        for member in staying:
            if member is keeper:
                continue
            is_successor = self._is_like(member, keeper) and member.group.number > keeper.group.number
            if is_successor and not self._is_late(member):
                self.coming += 1
                self._free(member)
            else:
                end_member(self.round, member, "it was not healthy in time" if is_successor else self._why_replaced())

    def _await(self, good: list[Member], staying: list[Member]) -> None:
        """Nothing of the present spec is healthy yet: what is, of an older one, goes on meanwhile."""
        newest = good[-1]
        self._free(newest)
        if self._is_of_update(newest):
            self._await_successor(newest)
        elif self.service_state.status == STARTING:
            self.progress.is_pending = True
        elif self.service_state.status in IN_PROGRESS and self._is_late(newest):
            self.unwell.append(newest)
        if newest.state == _QUEUED and newest.is_fresh:
            now_ms = self.round.now_ms
            self.in_the_way += [each for each in staying if not each.is_fresh and each.is_well(now_ms)][-1:]
        for member in staying:
            is_hopeful = member in good and member.state > _QUEUED  # a move may begin while the first one starts
            if member is not newest and not is_hopeful and not member.is_well(self.round.now_ms):
                end_member(self.round, member, self._why_replaced())

    def _await_successor(self, newest: Member) -> None:
        if newest.state == _QUEUED and not self.wanted.may_start(newest.visible_index):
            return
        self.coming += 1
        self.progress.is_pending = True
        if self._is_late(newest):
            limit_s, word = self.spec.update.deadline_s, TaskState(newest.state).word
            late = f"task {self._name(newest)} was not healthy within {limit_s:g} s of its start; it is {word}"
            self.progress.fail(late + ailment(newest), self.spec.update.rollback)

    def _free(self, member: Member) -> None:
        """Where a task was moved to holds for one placement: later ones are free."""
        group = member.group
        if not group.node or self.job.type != SERVICE or member.state != _QUEUED:
            return
        if self.round.state.table.attempt[group.base + member.index] or self._is_late(member):
            self.round.record(c.TaskSetUnpinned(self.job.id, group.number, group.job.ref))

    def _is_leaving(self, member: Member) -> bool:
        return self.job.type == SERVICE and member.node in self.round.state.nodes.draining

    def _may_replace(self, member: Member) -> bool:
        """Where its successor could start, and as far as the update goes."""
        is_kept = is_left(self.service_state, member.group, member.index, member.node)
        return self.wanted.may_start(member.visible_index) and not is_kept

    def _node_of(self, member: Member) -> int:
        """Where its successor must run: there, if only what is there is updated; else 0."""
        return self.service_state.node if member.node == self.service_state.node else 0

    def _is_of_update(self, member: Member) -> bool:
        """Whether it came by the update, or by a restart of its instance."""
        number, service_state = member.group.number, self.service_state
        if not member.is_fresh:
            return False
        if service_state.status in IN_PROGRESS and number >= service_state.first_task_set:
            return True
        floor = service_state.restart_floor(self.spec.name, member.visible_index)
        return 0 < floor <= number

    def _wait_for_health(self, members: Iterable[Member]) -> None:
        for member in members:
            if member.well_ms > self.round.now_ms:
                self.progress.look_at(member.well_ms)

    def _is_late(self, member: Member) -> bool:
        """Counted from when it was asked for, or from when its node was lost. While the job is held, none is."""
        if self.job.is_held:
            return False
        table, row = self.round.state.table, member.group.base + member.index
        since_ms = self.service_state.requested_ms(member.group.number)
        if table.lost[row]:
            since_ms = max(since_ms, int(table.ended_ms[row]))
        due_ms = since_ms + int(self.spec.update.deadline_s * 1000)
        if self.round.now_ms >= due_ms:
            return True
        self.progress.look_at(due_ms)
        return False

    # ---- what is done about it ----

    def _miss(self, index: int) -> None:
        if self.wanted.may_start(index) and not is_shut_out(self.job, self.spec):
            self.missing.append(index)
            self.progress.is_pending = True
        else:
            self.absent += 1

    def _start_missing(self) -> None:
        """Neighbours are one piece; on nodes of their own, each is, and so many at most in one round."""
        if self.job.type in PER_NODE:
            for index in self.missing[:STARTS_MAX]:
                self._add([index], 0, "")
            if len(self.missing) > STARTS_MAX:
                self.progress.look_at(self.round.now_ms)
            return
        run: list[int] = []
        for index in self.missing:
            if run and index != run[-1] + 1:
                self._add(run, 0, "")
                run = []
            run.append(index)
        if run:
            self._add(run, 0, "")

    def _replace_stale(self) -> None:
        """So many at a time, first those that are no loss."""
        update, now_ms = self.spec.update, self.round.now_ms
        slots = update.parallel - self.coming
        down = (
            sum(self.service_state.is_down(self.spec.name, index) for index in self.wanted.kept)
            if self.service_state.down
            else 0
        )
        least = len(self.wanted.kept) - down - self.absent - update.unavailable_max
        for member in self.in_the_way if update.unavailable_max else ():
            if self.available > least:
                self.available -= 1
                end_member(self.round, member, self._why_replaced())
        if self._is_stuck():
            name, most = self._name(self.unwell[0]), update.unavailable_max
            is_over = self.unwell[0].state == _FAILED
            state = "has given up" if is_over else "is not healthy"
            reason = f"task {name} {state}, and no more than {most} may be unavailable"
            self.progress.fail(f"{reason}; to try it again: shunter restart {self.job.name}", update.rollback)
            return
        for instance in sorted(self.stale, key=lambda each: (each.is_well(now_ms), each.index)):
            if slots <= 0:
                return
            if not update.unavailable_max:
                self._add([instance.index], self._node_of(instance.face), "replaces an older one")
            elif not instance.is_well(now_ms) or self.available > least:
                self.available -= instance.is_well(now_ms)
                for member in instance.members:
                    if member.is_staying:
                        end_member(self.round, member, self._why_replaced())
            else:
                continue
            slots -= 1

    def _is_stuck(self) -> bool:
        """Whether all that is left to replace is healthy, and nothing will come to take its place meanwhile."""
        if not 0 < self.spec.update.unavailable_max <= len(self.unwell) or self.coming or self.missing:
            return False
        return bool(self.stale) and all(instance.is_well(self.round.now_ms) for instance in self.stale)

    def _why_replaced(self) -> str:
        """For whoever looks for a task that has been replaced."""
        if self.service_state.status == RESTARTING:
            return "replaced: restarted"
        is_updated = self.service_state.status in IN_PROGRESS
        return f"replaced by version {self.job.version}" if is_updated else "replaced"

    def _add(self, visible_indexes: list[int], node: int, reason: str, like: TaskSet | None = None) -> None:
        """With a node, to run just there."""
        if self.job.type in PER_NODE:
            node = visible_indexes[0] + 1
        add_piece(self.round, self.job, self.group_index, visible_indexes, node, reason, like)

    def _name(self, member: Member) -> str:
        group = "" if len(self.job.spec_version.groups) == 1 else f"{self.spec.name}/"
        return f"{self.job.name}/{group}{member.visible_index}"
