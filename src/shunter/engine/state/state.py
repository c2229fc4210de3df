"""The state of the cluster, in memory. `apply` is the only way to change it, live and in recovery alike.

Whoever decides (the modules beside this one) makes changes; what follows from a change (counts, queues, reserved
resources) is worked out here, so that replaying the changes gives the same state.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from shunter.engine import changes as c
from shunter.engine.state import apply_groups, apply_nodes, apply_reservations, apply_services, apply_tasks
from shunter.engine.state.group_columns import SlotFacts
from shunter.engine.state.node_table import NodeColumns
from shunter.engine.state.ready_runs import make_ready
from shunter.engine.state.records import STATES, Blueprint, ClassKey, ClassRecord, Group, Holder, Job
from shunter.engine.state.registries.cluster import ClusterBook
from shunter.engine.state.registries.dead_letters import DeadBook
from shunter.engine.state.registries.dependencies import EdgeBook
from shunter.engine.state.registries.durations import DurationBook
from shunter.engine.state.registries.flags import FlagBook
from shunter.engine.state.registries.moves import MoveBook
from shunter.engine.state.registries.objects import ObjectBook
from shunter.engine.state.registries.queues import QueueBook
from shunter.engine.state.registries.registry import Book
from shunter.engine.state.registries.services import LastingBook
from shunter.engine.state.registries.templates import TemplateBook
from shunter.engine.state.task_table import TaskTable
from shunter.model.job.spec import BATCH, EVERYWHERE, PLAIN, GroupSpec, JobOptions
from shunter.model.lifecycles import JOB, JobEvent, JobState, TaskState
from shunter.planning.order.pending_queue import Waiting
from shunter.planning.view import IntArray, Kept

_groups_decoder = msgspec.msgpack.Decoder(tuple[GroupSpec, ...])
_options_decoder = msgspec.msgpack.Decoder(JobOptions)
LastRun = tuple[int, int, int]  # run, job id, the JobState in which it ended
NO_RUN: LastRun = (0, 0, 0)
_MODULES = (apply_tasks, apply_groups, apply_reservations, apply_nodes, apply_services)


class State:
    def __init__(self) -> None:
        self.version = 0
        self.table = TaskTable()
        self.nodes = NodeColumns()
        self.jobs: dict[int, Job] = {}
        self.names: dict[str, dict[str, Job]] = {}  # namespace -> name -> the newest unfinished run
        self.older_runs: dict[tuple[str, str], list[Job]] = {}  # further unfinished runs of a name, oldest first
        self.last_runs: dict[str, dict[str, LastRun]] = {}  # namespace -> name -> its newest ended run
        self.groups: list[Group | None] = []
        self.classes: dict[int, ClassRecord] = {}
        self.keys: dict[str, list[int]] = {}
        self.key_order: deque[tuple[int, str]] = deque()  # (at_ms, key), oldest first
        self.next_job = 1
        self.next_class = 1
        self.task_counts = [0] * STATES  # of all unfinished jobs
        self.job_counts = [0] * len(JobState)
        self.holders: dict[tuple[str, str], Holder] = {}  # (namespace, user) -> what their lanes reserve
        self.licences_used: Counter[str] = Counter()
        self.repelling: dict[int, Group] = {}  # by slot: groups whose own spec wants some other jobs not beside them
        self.ganged: dict[int, Job] = {}  # jobs with gangs
        # Not part of the committed state: what waits, as policies see it, and the classes to look at again for that.
        self.waiting = Waiting()
        self.touched_classes: dict[int, None] = {}
        self.kept: tuple[int, Kept] | None = None  # what the policy last said that it keeps, and when
        self.gathering: dict[int, None] = {}  # classes of gangs that are not shown until all of the gang is there
        self.avoiders: dict[int, None] = {}  # classes shown as avoiding the nodes of their last attempts
        self.queue_widths: Counter[str] = Counter()  # queue -> lanes of its classes
        self.cluster = ClusterBook()
        self.queues = QueueBook()
        self.durations = DurationBook()
        self.edges = EdgeBook()
        self.flags = FlagBook()
        self.templates = TemplateBook()
        self.dead = DeadBook()
        self.lasting = LastingBook()
        self.moves = MoveBook()
        self.objects = ObjectBook(self.nodes)
        # Classes of one node with something ready, and what `changed` said of the node when they were tried last:
        self.pinned: dict[int, tuple[ClassRecord, int]] = {}
        self.books: dict[str, Book] = {
            "cluster": self.cluster,
            "queues": self.queues,
            "durations": self.durations,
            "edges": self.edges,
            "flags": self.flags,
            "templates": self.templates,
            "dead": self.dead,
            "lasting": self.lasting,
            "moves": self.moves,
            "objects": self.objects,
        }
        self.payload_bytes = 0  # of all blueprints
        self._blueprints: dict[bytes, Blueprint] = {}
        self._next_blueprint = 1
        self.class_ids: dict[ClassKey, int] = {}
        self.free_slots: list[int] = []
        self.slots = SlotFacts()
        self._appliers: dict[type, Callable[[Any], None]] = {
            **{kind: partial(applier, self) for module in _MODULES for kind, applier in module.APPLIERS.items()},
            **{kind: applier for book in self.books.values() for kind, applier in book.appliers().items()},
            c.QueueSet: self._queue_set,
            c.QueueDropped: self._queue_set,
            c.JobSubmitted: self._job_submitted,
            c.TemplateSet: self._template_set,
            c.JobUpdated: self._job_updated,
            c.JobRefined: self._job_refined,
            c.KeyUsed: self._key_used,
            c.JobStopAsked: self._job_stop_asked,
            c.JobEnded: self._job_ended,
            c.KeysDropped: self._keys_dropped,
            c.NamesDropped: self._names_dropped,
        }

    def apply(self, change: c.Change) -> None:
        self._appliers[type(change)](change)

    def group(self, job_id: int, number: int) -> Group | None:
        job = self.jobs.get(job_id)
        return job.group(number) if job is not None else None

    def known_group(self, job_id: int, number: int) -> Group:
        group = self.jobs[job_id].group(number)
        assert group is not None, f"job {job_id} has no group {number}"
        return group

    def find_job(self, namespace: str, name: str) -> Job | None:
        """The newest unfinished run of a name."""
        return self.names.get(namespace, {}).get(name)

    def unfinished_runs(self, namespace: str, name: str) -> list[Job]:
        """Oldest first. Only what a clock or a dispatch starts has several."""
        newest = self.find_job(namespace, name)
        return [*self.older_runs.get((namespace, name), ()), newest] if newest is not None else []

    def next_run(self, namespace: str, name: str) -> int:
        newest = self.find_job(namespace, name)
        ended = self.last_run(namespace, name)[0]
        return max(newest.run if newest is not None else 0, ended) + 1

    def last_run(self, namespace: str, name: str) -> LastRun:
        """The newest ended run of a name."""
        return self.last_runs.get(namespace, {}).get(name, NO_RUN)

    @property
    def usage(self) -> dict[tuple[str, str], IntArray]:
        return {who: holder.amounts for who, holder in self.holders.items()}

    def blueprint(self, groups: tuple[GroupSpec, ...]) -> bytes:
        """The body that stands for these groups in a JobSubmitted."""
        return msgspec.msgpack.encode(groups)

    def _job_submitted(self, change: c.JobSubmitted) -> None:
        blueprint = self.share_blueprint(bytes(change.groups))
        options = _options_of(change.options)
        job = Job(
            change.job, change.namespace, change.name, change.run, change.type, change.priority, change.labels,
            change.user, change.at_ms, blueprint, options, is_held=options.held,
        )  # fmt: skip
        if change.type not in EVERYWHERE:
            for part, spec in enumerate(blueprint.groups):
                if spec.count:
                    apply_groups.add_group(
                        self, job, part, spec.count, is_waiting=change.is_waiting or bool(spec.after)
                    )
        if change.targets:
            self.edges.begin(job.id, change.targets)
        self.adopt_job(job)
        if job.type != BATCH:
            apply_services.job_opened(self, job)

    def _template_set(self, change: c.TemplateSet) -> None:
        self.templates.set(change)
        self.next_job = max(self.next_job, change.id + 1)

    def adopt_job(self, job: Job) -> None:
        """Make a job known that has all its groups."""
        self.jobs[job.id] = job
        if job.type in EVERYWHERE:
            self.lasting.everywhere[job.id] = job
        self.job_counts[job.state] += 1
        if job.has_gangs:
            self.ganged[job.id] = job
        names = self.names.setdefault(job.namespace, {})
        other = names.get(job.name)
        names[job.name] = job
        if other is not None:
            runs = self.older_runs.setdefault((job.namespace, job.name), [])
            runs.append(other)
            runs.append(job)
            runs.sort(key=lambda run: run.run)
            names[job.name] = runs.pop()
        self.next_job = max(self.next_job, job.id + 1)

    def share_blueprint(self, body: bytes) -> Blueprint:
        blueprint = self._blueprints.get(body)
        if blueprint is None:
            blueprint = Blueprint(self._next_blueprint, _groups_decoder.decode(body), body)
            self._next_blueprint += 1
            self._blueprints[body] = blueprint
            self.payload_bytes += _payload_bytes(blueprint)
        blueprint.users += 1
        return blueprint

    def leave_blueprint(self, blueprint: Blueprint) -> None:
        blueprint.users -= 1
        if not blueprint.users:
            del self._blueprints[blueprint.body]
            self.payload_bytes -= _payload_bytes(blueprint)

    def _job_updated(self, change: c.JobUpdated) -> None:
        job = self.jobs[change.job]
        older, job.blueprint = job.blueprint, self.share_blueprint(bytes(change.groups))
        self.leave_blueprint(older)
        job.options = _options_of(change.options)
        job.version, job.priority, job.labels = change.version, change.priority, change.labels
        apply_services.job_updated(self, job, change)

    def _job_refined(self, change: c.JobRefined) -> None:
        """Pieces that there are keep what they follow."""
        job = self.jobs[change.job]
        older, job.blueprint = job.blueprint, self.share_blueprint(bytes(change.groups))
        self.leave_blueprint(older)

    def restore_table(self, rows: int, columns: bytes, blocks: list[tuple[int, int]]) -> None:
        """Take the columns of a snapshot; rows outside of the blocks are free."""
        self.table.restore(rows, columns, blocks)

    def _job_stop_asked(self, change: c.JobStopAsked) -> None:
        job = self.jobs[change.job]
        self.move_job(job, JobEvent.STOP_ASKED)
        job.reason = change.reason

    def _job_ended(self, change: c.JobEnded) -> None:
        job = self.jobs.pop(change.job)
        self.ganged.pop(job.id, None)
        self.move_job(job, JobEvent(change.event))
        self.job_counts[job.state] -= 1
        job.reason = change.reason or job.reason
        self.edges.forget(job.id)
        self.flags.forget(job.id)
        self._leave_name(job)
        runs = self.last_runs.setdefault(job.namespace, {})
        if runs.get(job.name, NO_RUN)[0] < job.run:
            runs[job.name] = (job.run, job.id, int(job.state))
        for group in job.groups:
            self._learn_duration(group)
            apply_groups.drop_group(self, group)
        if job.type != BATCH:
            self.lasting.end(job.id)
        if self.moves.bound:
            self.moves.forget_job(job.id)
        job.groups = []  # a job and its groups know each other: without the cycle they are freed at once
        self.leave_blueprint(job.blueprint)

    def _leave_name(self, job: Job) -> None:
        names, key = self.names[job.namespace], (job.namespace, job.name)
        runs = self.older_runs.get(key)
        if runs is not None:
            if names[job.name] is job:
                names[job.name] = runs.pop()
            else:
                runs.remove(job)
            if not runs:
                del self.older_runs[key]
            return
        del names[job.name]
        if not names:
            del self.names[job.namespace]

    def _learn_duration(self, group: Group) -> None:
        """From the tasks that succeeded: others tell how long it takes to fail."""
        succeeded = group.counts[TaskState.SUCCEEDED]
        if not succeeded:
            return
        table, rows = self.table, slice(group.base, group.base + group.count)
        if group.count == 1:
            span_ms = int(table.ended_ms[group.base] - table.started_ms[group.base])
        else:
            spans = table.ended_ms[rows] - table.started_ms[rows]
            span_ms = int(spans[table.state[rows] == TaskState.SUCCEEDED].sum())
        name = (group.job.namespace, group.job.name, group.spec.name)
        self.durations.learn(name, span_ms / succeeded / 1000, group.job.run == 1)

    def move_job(self, job: Job, event: JobEvent) -> None:
        self.job_counts[job.state] -= 1
        job.state = JOB.move(job.state, event)
        self.job_counts[job.state] += 1

    def make_ready(self, group: Group, first: int, last: int) -> None:
        """Let queued tasks be placed, unless their job is held."""
        if not group.job.is_held:
            make_ready(group, first, last, self.table.attempt[group.base + first : group.base + last + 1])
            if group.node:
                self.pinned[group.task_class.id] = group.task_class, -1

    def _key_used(self, change: c.KeyUsed) -> None:
        self.keys[change.key] = change.jobs
        self.key_order.append((change.at_ms, change.key))

    def _keys_dropped(self, change: c.KeysDropped) -> None:
        for _ in range(change.count):
            _, key = self.key_order.popleft()
            self.keys.pop(key, None)

    def _names_dropped(self, change: c.NamesDropped) -> None:
        for namespace, name in change.names:
            runs = self.last_runs.get(namespace, {})
            runs.pop(name, None)
            if not runs:
                self.last_runs.pop(namespace, None)

    def _queue_set(self, change: c.QueueSet | c.QueueDropped) -> None:
        self.queues.appliers()[type(change)](change)
        self.touched_classes.update(dict.fromkeys(self.classes))  # how much of each is shown depends on its queue


def _payload_bytes(blueprint: Blueprint) -> int:
    return sum(len(group.task.payload or b"") for group in blueprint.groups)


def _options_of(body: msgspec.Raw) -> JobOptions:
    return PLAIN if body == c.NO_OPTIONS else _options_decoder.decode(body)
