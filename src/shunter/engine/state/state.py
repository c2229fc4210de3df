"""The state of the cluster, in memory. `apply` is the only way to change it, live and in recovery.

Other modules decide changes. `apply` derives counts, queues and reserved resources from each change, so that replaying
the changes gives the same state."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from shunter.engine import changes as c
from shunter.engine.changes.formats import FORMATS, Formats
from shunter.engine.state import apply_nodes, apply_reservations, apply_services, apply_task_sets, apply_tasks
from shunter.engine.state.ended_runs import EndedRuns, LastRun
from shunter.engine.state.job_index import JobIndex
from shunter.engine.state.node_table import NodeTable
from shunter.engine.state.ready_ranges import make_one_ready, make_ready
from shunter.engine.state.records import (
    NO_LABELS,
    STATE_COUNT,
    ClassKey,
    ClassRecord,
    Job,
    SpecVersion,
    TaskSet,
    UserUsage,
)
from shunter.engine.state.registries.audit import AuditRegistry
from shunter.engine.state.registries.cluster import ClusterSettingsRegistry
from shunter.engine.state.registries.dead_letters import DeadLetterRegistry
from shunter.engine.state.registries.dependencies import EdgeRegistry
from shunter.engine.state.registries.durations import DurationRegistry
from shunter.engine.state.registries.flags import FlagRegistry
from shunter.engine.state.registries.format import FormatRegistry
from shunter.engine.state.registries.identity import IdentityRegistry
from shunter.engine.state.registries.job_usage import JobUsageRegistry
from shunter.engine.state.registries.join_tokens import JoinTokenRegistry
from shunter.engine.state.registries.moves import MoveRegistry
from shunter.engine.state.registries.objects import ObjectRegistry
from shunter.engine.state.registries.queues import QueueRegistry
from shunter.engine.state.registries.registry import Registry
from shunter.engine.state.registries.secrets import SecretRegistry
from shunter.engine.state.registries.services import ServiceRegistry
from shunter.engine.state.registries.templates import TemplateRegistry
from shunter.engine.state.registries.tenants import TenantRegistry
from shunter.engine.state.task_set_columns import TaskSetColumns
from shunter.engine.state.task_table import TaskTable
from shunter.model.identity.quotas import NOTHING_PLACED
from shunter.model.job.spec import BATCH, DEFAULT_OPTIONS, PER_NODE, GroupSpec, JobOptions
from shunter.model.lifecycles import JOB, JobEvent, JobState, TaskState
from shunter.planning.order.pending_queue import PendingQueue
from shunter.planning.view import HeldRows, IntArray

if TYPE_CHECKING:
    from shunter.engine.state.snapshot_writer import SnapshotWriter

_groups_decoder = msgspec.msgpack.Decoder(tuple[GroupSpec, ...])
_options_decoder = msgspec.msgpack.Decoder(JobOptions)
_APPLIER_MODULES = (apply_tasks, apply_task_sets, apply_reservations, apply_nodes, apply_services)


class State:
    def __init__(self, formats: Formats = FORMATS) -> None:
        self.version = 0
        self.format = FormatRegistry(formats)
        self.table = TaskTable()
        self.nodes = NodeTable()
        self.jobs: dict[int, Job] = {}
        self.job_index = JobIndex()  # the same jobs, for pages of them
        self.jobs_by_name: dict[str, dict[str, Job]] = {}  # namespace -> name -> the newest unfinished run
        self.older_runs: dict[tuple[str, str], list[Job]] = {}  # further unfinished runs of a name, oldest first
        self.task_sets: list[TaskSet | None] = []
        self.classes: dict[int, ClassRecord] = {}
        self.idempotency_keys: dict[str, list[int]] = {}
        self.idempotency_key_order: deque[tuple[int, str]] = deque()  # (at_ms, key), oldest first
        self.next_job = 1
        self.next_class = 1
        self.task_counts = [0] * STATE_COUNT  # of all unfinished jobs
        self.job_counts = [0] * len(JobState)
        self.usage_by_user: dict[tuple[str, str], UserUsage] = {}  # (namespace, user) -> what their lanes reserve
        self.licences_used: Counter[str] = Counter()
        self.pending_tasks: Counter[str] = Counter()  # namespace -> tasks of unfinished jobs that are not on nodes yet
        self._placed_use: dict[str, list[int]] = {}  # tenant -> what its lanes use, in the order of PLACED
        # by slot: groups whose own spec has an anti-affinity to other jobs
        self.anti_affinity_task_sets: dict[int, TaskSet] = {}
        self.gang_jobs: dict[int, Job] = {}  # jobs with gangs
        self.snapshot_writer: SnapshotWriter | None = None  # it must see each change before it is applied
        self.ended_runs = EndedRuns()  # what the present round knows of history
        # Not part of the committed state: pending classes as policies see them, and the classes to update there.
        self.pending_queue = PendingQueue()
        self.dirty_classes: dict[int, None] = {}
        self.held_rows: tuple[int, HeldRows] | None = None  # the policy's last reservations, and their time
        # classes of gangs that are hidden until the whole gang is queued
        self.incomplete_gang_classes: dict[int, None] = {}
        self.avoiding_classes: dict[int, None] = {}  # classes shown as avoiding the nodes of their last attempts
        self.queue_lanes: Counter[str] = Counter()  # queue -> lanes of its classes
        self.cluster = ClusterSettingsRegistry()
        self.queues = QueueRegistry()
        self.durations = DurationRegistry()
        self.edges = EdgeRegistry()
        self.flags = FlagRegistry()
        self.templates = TemplateRegistry()
        self.dead_letters = DeadLetterRegistry()
        self.services = ServiceRegistry()
        self.moves = MoveRegistry()
        self.objects = ObjectRegistry(self.nodes)
        self.identity = IdentityRegistry()
        self.secrets = SecretRegistry()
        self.tenants = TenantRegistry()
        self.audit = AuditRegistry()
        self.join_tokens = JoinTokenRegistry()
        self.job_usage = JobUsageRegistry()
        # Classes of one node with ready tasks, and the node's `changed` when they were last tried:
        self.pinned: dict[int, tuple[ClassRecord, int]] = {}
        self.registries: dict[str, Registry] = {
            "format": self.format,
            "cluster": self.cluster,
            "queues": self.queues,
            "durations": self.durations,
            "edges": self.edges,
            "flags": self.flags,
            "templates": self.templates,
            "dead": self.dead_letters,
            "lasting": self.services,
            "moves": self.moves,
            "objects": self.objects,
            "identity": self.identity,
            "secrets": self.secrets,
            "tenants": self.tenants,
            "audit": self.audit,
            "join_tokens": self.join_tokens,
            "job_usage": self.job_usage,
        }
        self.payload_bytes = 0  # of all spec versions
        self._spec_versions: dict[bytes, SpecVersion] = {}
        self._next_spec_version = 1
        self.class_ids: dict[ClassKey, int] = {}
        self.free_slots: list[int] = []
        self.task_set_columns = TaskSetColumns()
        self._appliers: dict[type, Callable[[Any], None]] = {
            **{
                kind: partial(applier, self) for module in _APPLIER_MODULES for kind, applier in module.APPLIERS.items()
            },
            **{kind: applier for registry in self.registries.values() for kind, applier in registry.appliers().items()},
            c.QueueSet: self._queue_set,
            c.QueueDropped: self._queue_set,
            c.JobSubmitted: self._job_submitted,
            c.TemplateSet: self._template_set,
            c.JobUpdated: self._job_updated,
            c.JobGroupsRefined: self._job_groups_refined,
            c.IdempotencyKeyUsed: self._idempotency_key_used,
            c.JobStopRequested: self._job_stop_requested,
            c.JobEnded: self._job_ended,
            c.IdempotencyKeysDropped: self._idempotency_keys_dropped,
            c.NamesDropped: self._names_dropped,
        }

    def apply(self, change: c.Change) -> None:
        if self.snapshot_writer is not None:
            self.snapshot_writer.before_change(change)
        self._appliers[type(change)](change)

    def task_set(self, job_id: int, number: int) -> TaskSet | None:
        job = self.jobs.get(job_id)
        return job.task_set(number) if job is not None else None

    def require_task_set(self, job_id: int, number: int) -> TaskSet:
        task_set = self.jobs[job_id].task_set(number)
        assert task_set is not None, f"job {job_id} has no group {number}"
        return task_set

    def find_job(self, namespace: str, name: str) -> Job | None:
        """The newest unfinished run of a name."""
        return self.jobs_by_name.get(namespace, {}).get(name)

    def unfinished_runs(self, namespace: str, name: str) -> list[Job]:
        """Oldest first. Only templates have several."""
        newest = self.find_job(namespace, name)
        return [*self.older_runs.get((namespace, name), ()), newest] if newest is not None else []

    def next_run(self, namespace: str, name: str) -> int:
        newest = self.find_job(namespace, name)
        ended = self.ended_runs.newest(namespace, name).run
        return max(newest.run if newest is not None else 0, ended) + 1

    def placed_use(self, tenant: str) -> Sequence[int]:
        """What a tenant has on nodes of each of PLACED."""
        return self._placed_use.get(tenant, NOTHING_PLACED)

    def add_placed(self, tenant: str, needs: Sequence[int], tasks: int) -> None:
        used = self._placed_use.setdefault(tenant, list(NOTHING_PLACED))
        for position, need in enumerate(needs):
            used[position] += need * tasks
        if not any(used):
            del self._placed_use[tenant]

    @property
    def usage(self) -> dict[tuple[str, str], IntArray]:
        return {owner: user_usage.amounts for owner, user_usage in self.usage_by_user.items()}

    def encode_groups(self, groups: tuple[GroupSpec, ...]) -> bytes:
        """The encoded groups for a JobSubmitted."""
        return msgspec.msgpack.encode(groups)

    def _job_submitted(self, change: c.JobSubmitted) -> None:
        spec_version = self.acquire_spec_version(bytes(change.groups))
        options = _decode_options(change.options)
        job = Job(
            change.job, change.namespace, change.name, change.run, BATCH if change.type == BATCH else change.type,
            change.priority, change.labels or NO_LABELS, change.user, change.at_ms, spec_version, options,
            is_held=options.held, trace=change.trace,
        )  # fmt: skip
        if change.type not in PER_NODE:
            for group_index, spec in enumerate(spec_version.groups):
                if spec.count:
                    apply_task_sets.add_task_set(
                        self, job, group_index, spec.count, is_waiting=change.is_waiting or bool(spec.after)
                    )
        if change.targets:
            self.edges.add(job.id, change.targets)
        self.register_job(job)
        if job.type != BATCH:
            apply_services.service_submitted(self, job)

    def _template_set(self, change: c.TemplateSet) -> None:
        self.templates.set(change)
        self.next_job = max(self.next_job, change.id + 1)

    def register_job(self, job: Job) -> None:
        """Register a job that has all its groups."""
        self.jobs[job.id] = job
        if job.type in PER_NODE:
            self.services.per_node[job.id] = job
        self.job_counts[job.state] += 1
        self.job_index.add(job.id, job.namespace, job.state)
        if job.has_gangs:
            self.gang_jobs[job.id] = job
        names = self.jobs_by_name.setdefault(job.namespace, {})
        other = names.get(job.name)
        names[job.name] = job
        if other is not None:
            runs = self.older_runs.setdefault((job.namespace, job.name), [])
            runs.append(other)
            runs.append(job)
            runs.sort(key=lambda run: run.run)
            names[job.name] = runs.pop()
        self.next_job = max(self.next_job, job.id + 1)

    def acquire_spec_version(self, body: bytes) -> SpecVersion:
        spec_version = self._spec_versions.get(body)
        if spec_version is None:
            spec_version = SpecVersion(self._next_spec_version, _groups_decoder.decode(body), body)
            self._next_spec_version += 1
            self._spec_versions[body] = spec_version
            self.payload_bytes += _payload_bytes(spec_version)
        spec_version.ref_count += 1
        return spec_version

    def release_spec_version(self, spec_version: SpecVersion) -> None:
        spec_version.ref_count -= 1
        if not spec_version.ref_count:
            del self._spec_versions[spec_version.body]
            self.payload_bytes -= _payload_bytes(spec_version)

    def _job_updated(self, change: c.JobUpdated) -> None:
        job = self.jobs[change.job]
        previous, job.spec_version = job.spec_version, self.acquire_spec_version(bytes(change.groups))
        self.release_spec_version(previous)
        job.options = _decode_options(change.options)
        job.version, job.priority, job.labels = change.version, change.priority, change.labels
        apply_services.job_updated(self, job, change)

    def _job_groups_refined(self, change: c.JobGroupsRefined) -> None:
        """Existing task sets keep the spec they follow."""
        job = self.jobs[change.job]
        previous, job.spec_version = job.spec_version, self.acquire_spec_version(bytes(change.groups))
        self.release_spec_version(previous)

    def _job_stop_requested(self, change: c.JobStopRequested) -> None:
        job = self.jobs[change.job]
        self.transition_job(job, JobEvent.STOP_ASKED)
        job.reason = change.reason

    def _job_ended(self, change: c.JobEnded) -> None:
        job = self.jobs.pop(change.job)
        self.gang_jobs.pop(job.id, None)
        self.transition_job(job, JobEvent(change.event))
        self.job_counts[job.state] -= 1
        self.job_index.remove(job.id)
        job.reason = change.reason or job.reason
        self.edges.forget(job.id)
        self.flags.forget(job.id)
        self.job_usage.forget(job.id)
        self._remove_name(job)
        self.ended_runs.add(job.namespace, job.name, LastRun(job.run, job.id, job.state))
        for task_set in job.task_sets:
            self._record_duration(task_set)
            apply_task_sets.drop_task_set(self, task_set)
        if job.type != BATCH:
            self.services.end(job.id)
        if self.moves.pinned:
            self.moves.forget_job(job.id)
        job.task_sets = ()  # a job and its groups refer to each other: without the cycle they are freed at once
        self.release_spec_version(job.spec_version)

    def _remove_name(self, job: Job) -> None:
        names, key = self.jobs_by_name[job.namespace], (job.namespace, job.name)
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
            del self.jobs_by_name[job.namespace]

    def _record_duration(self, task_set: TaskSet) -> None:
        """Learn from tasks that succeeded: the others only tell how long a failure takes."""
        succeeded = task_set.counts[TaskState.SUCCEEDED]
        if not succeeded:
            return
        table, rows = self.table, slice(task_set.base, task_set.base + task_set.count)
        if task_set.count == 1:
            span_ms = int(table.ended_ms[task_set.base] - table.started_ms[task_set.base])
        else:
            spans = table.ended_ms[rows] - table.started_ms[rows]
            span_ms = int(spans[table.state[rows] == TaskState.SUCCEEDED].sum())
        name = (task_set.job.namespace, task_set.job.name, task_set.spec.name)
        self.durations.record_run(name, span_ms / succeeded / 1000, task_set.job.run == 1)

    def transition_job(self, job: Job, event: JobEvent) -> None:
        self.job_counts[job.state] -= 1
        job.state = JOB.move(job.state, event)
        self.job_counts[job.state] += 1
        self.job_index.move(job.id, job.state)

    def make_ready(self, task_set: TaskSet, first: int, last: int) -> None:
        """Make queued tasks ready, unless their job is held. The end of a back-off is no change, but touches a job."""
        if self.snapshot_writer is not None and task_set.delayed:
            self.snapshot_writer.save_job(task_set.job)
        if not task_set.job.is_held:
            row, attempts = task_set.base + first, self.table.attempt
            if first == last:
                make_one_ready(task_set, first, attempts.item(row))
            else:
                make_ready(task_set, first, last, attempts[row : row + last - first + 1])
            if task_set.node:
                self.pinned[task_set.task_class.id] = task_set.task_class, -1

    def _idempotency_key_used(self, change: c.IdempotencyKeyUsed) -> None:
        self.idempotency_keys[change.key] = change.jobs
        self.idempotency_key_order.append((change.at_ms, change.key))

    def _idempotency_keys_dropped(self, change: c.IdempotencyKeysDropped) -> None:
        for _ in range(change.count):
            _, key = self.idempotency_key_order.popleft()
            self.idempotency_keys.pop(key, None)

    def _names_dropped(self, change: c.NamesDropped) -> None:
        """Earlier versions kept the names of history in memory, and recorded which of them were purged."""

    def _queue_set(self, change: c.QueueSet | c.QueueDropped) -> None:
        self.queues.appliers()[type(change)](change)
        self.dirty_classes.update(dict.fromkeys(self.classes))  # its queue determines how much of each is visible


def _payload_bytes(spec_version: SpecVersion) -> int:
    return sum(len(spec.task.payload or b"") for spec in spec_version.groups)


def _decode_options(body: msgspec.Raw) -> JobOptions:
    return DEFAULT_OPTIONS if body == c.NO_OPTIONS else _options_decoder.decode(body)
