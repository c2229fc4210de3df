"""The reference model: the committed state, tracked independently of the engine's code, so that the two can be
compared.

`simulation.checks.checkers` feeds it every durable round. It knows only the lifecycles; a round that the rules forbid
is a Violation. `reference_tasks` has the rules for tasks, `start_rules` the rules for starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from shunter.engine import changes as c
from shunter.model.job.spec import DEFAULT_OPTIONS, LICENCE_PREFIX, PER_NODE, GroupSpec, JobOptions
from shunter.model.lifecycles import (
    JOB,
    NODE,
    TASK,
    JobEvent,
    JobState,
    NodeEvent,
    NodeState,
    TaskState,
)
from shunter.simulation.checks import reference_tasks, start_rules
from shunter.simulation.checks.reference_records import (
    LIVE,
    ModelJob,
    ModelNode,
    ModelQueue,
    ModelTask,
    ModelTaskSet,
    Placed,
    require,
)
from shunter.simulation.checks.reference_secrets import ModelSecrets
from shunter.simulation.checks.reference_templates import ModelTemplates

_groups_decoder = msgspec.msgpack.Decoder(tuple[GroupSpec, ...])
_options_decoder = msgspec.msgpack.Decoder(JobOptions)
NO_RULES = ModelQueue()


class ReferenceModel:
    """Jobs stay in it when they have ended, so that nothing can come back."""

    def __init__(self) -> None:
        self.version = 0
        self.epoch = 0
        self.now_ms = 0  # of the last round
        self.jobs: dict[int, ModelJob] = {}
        self.nodes: dict[int, ModelNode] = {}
        self.unfinished: dict[int, ModelJob] = {}
        self.templates = ModelTemplates()
        self.secrets = ModelSecrets()
        self.queues: dict[str, ModelQueue] = {}
        self.licences: dict[str, int] = {}
        self.tenants: dict[str, tuple[frozenset[str], dict[str, int]]] = {}  # namespaces and quotas
        self.keys: dict[str, list[int]] = {}
        self.forgotten_keys: set[str] = set()
        self.history: dict[tuple[str, str], int] = {}  # the newest run of each name that history has
        self.ended = 0  # attempts that came to an end, of whatever kind
        # job, group, index, attempt, node: in the last round
        self.lost_in_round: list[tuple[int, int, int, int, int]] = []
        self.placed_in_round: list[Placed] = []  # in the last round
        # Of services: job, group and index of what was well and told to end, and which indexes were well then.
        self.healthy_stopped_in_round: list[tuple[int, str, int, set[int]]] = []
        self.submitted_in_round: set[int] = set()
        self.went_down: set[int] = set()  # nodes, in the last round
        self._last_runs: dict[tuple[str, str], int] = {}
        self._appliers: dict[type, Callable[[Any], None]] = {
            c.JobSubmitted: self._submitted,
            c.JobUpdated: self._updated,
            c.JobGroupsRefined: self._refined,
            c.JobHeld: self._held,
            c.JobFlagged: self._flagged,
            c.JobStopRequested: self._stop_asked,
            c.JobEnded: self._job_ended,
            c.TenantSet: self._tenant_set,
            c.EdgeSettled: lambda change: start_rules.edge_settled(self, change),
            c.EdgeRetargeted: lambda change: start_rules.edge_moved(self, change),
            c.TaskSetAdded: self._task_set_added,
            c.TaskSetDropped: self._task_set_dropped,
            c.TaskSetUnpinned: self._task_set_unpinned,
            c.RolloutSettled: self._update_settled,
            c.InstanceDownSet: self._instance_down_set,
            c.InstanceRestartRequested: self._instance_restart_requested,
            c.IdempotencyKeyUsed: self._key_used,
            c.IdempotencyKeysDropped: self._keys_dropped,
            c.NamesDropped: self._names_dropped,
            c.NodeJoined: self._joined,
            c.NodeTransitioned: self._node_moved,
            c.NodeLabelled: self._labelled,
            c.NodeCordonSet: self._node_cordon_set,
            c.LanesSet: self._lanes_set,
            c.QueueSet: self._queue_set,
            c.QueueDropped: self._queue_dropped,
            c.ClusterSet: self._cluster_set,
            c.SecretSet: self.secrets.set,
            c.SecretDeleted: self.secrets.deleted,
            c.SecretResealed: self.secrets.resealed,
            c.TemplateSet: self.templates.set,
            c.TemplatePaused: self.templates.paused,
            c.TemplateDropped: self.templates.dropped,
            c.TemplateFired: lambda change: self.templates.fired(self, change),
            **{kind: _with(self, applier) for kind, applier in reference_tasks.APPLIERS.items()},
        }

    def begin(self, epoch: int, version: int, at_ms: int) -> None:
        """A round; its changes follow, one by one."""
        require(epoch >= self.epoch, f"epoch {epoch} wrote after epoch {self.epoch}")
        require(version == self.version + 1, f"version {version} follows {self.version}")
        self.epoch, self.version, self.now_ms = epoch, version, at_ms
        self.lost_in_round.clear()
        self.placed_in_round.clear()
        self.healthy_stopped_in_round.clear()
        self.submitted_in_round.clear()
        self.went_down = {node for node, record in self.nodes.items() if record.state is NodeState.DOWN}

    def apply(self, change: c.Change) -> None:
        applier = self._appliers.get(type(change))
        if applier is not None:  # attributes, drain deadlines and dead letters bind nobody here
            applier(change)

    def task(self, job: int, group: int, index: int) -> ModelTask | None:
        record = self.jobs.get(job)
        task_set = record.groups.get(group) or record.dropped.get(group) if record is not None else None
        return task_set.tasks[index] if task_set is not None else None

    def live_on(self, node: int) -> Iterator[tuple[ModelJob, ModelTaskSet, int, ModelTask]]:
        """Tasks that the committed record has on a node: job, task set, index, task."""
        for job in self.unfinished.values():
            for group in job.groups.values():
                for index, task in enumerate(group.tasks):
                    if task.node == node and task.state in LIVE:
                        yield job, group, index, task

    def queue(self, name: str) -> ModelQueue:
        return self.queues.get(name, NO_RULES)

    def runs_of(self, namespace: str, name: str) -> list[ModelJob]:
        """Unfinished runs of a name, oldest first."""
        return [job for job in self.unfinished.values() if (job.namespace, job.name) == (namespace, name)]

    def _newest_run(self, name: tuple[str, str]) -> int:
        """The newest run of a name that is unfinished or in history."""
        return max([self.history.get(name, 0), *(job.run for job in self.runs_of(*name))])

    # ---- jobs ----

    def _submitted(self, change: c.JobSubmitted) -> None:
        name = (change.namespace, change.name)
        require(change.job not in self.jobs, f"job id {change.job} was used before")
        is_name_free = not self.runs_of(*name) or name in self.templates.by_name
        require(is_name_free, f"{name} is the name of an unfinished job")
        run = self._last_runs.get(name, 0) + 1
        is_after_purge = change.run == self._newest_run(name) + 1  # as a manager counts that loads its state
        require(change.run == run or is_after_purge, f"{name} run {change.run} should be run {run}")
        specs = _groups_decoder.decode(bytes(change.groups))
        options = DEFAULT_OPTIONS if change.options == c.NO_OPTIONS else _options_decoder.decode(change.options)
        groups = {}
        if change.type not in PER_NODE:
            for number, spec in enumerate(specs):
                state = TaskState.WAITING if change.is_waiting or spec.after else TaskState.QUEUED
                if spec.count:
                    groups[number] = ModelTaskSet(spec, [ModelTask(state) for _ in range(spec.count)])
        job = ModelJob(
            change.job, *name, change.run, change.type, change.priority, specs, groups, options, change.at_ms,
            list(change.targets), is_held=options.held,
        )  # fmt: skip
        self.jobs[change.job] = self.unfinished[change.job] = job
        self.submitted_in_round.add(change.job)
        self._last_runs[name] = change.run

    def _updated(self, change: c.JobUpdated) -> None:
        job = self.unfinished[change.job]
        job.specs = _groups_decoder.decode(bytes(change.groups))
        job.options = DEFAULT_OPTIONS if change.options == c.NO_OPTIONS else _options_decoder.decode(change.options)
        job.priority = change.priority
        if change.cause == "restart":
            job.down.clear()
        job.down = {(name, index) for name, index in job.down if self._exists(job, name, index)}
        if change.cause != "scale":
            job.has_stalled, job.is_partial = False, change.node > 0

    def _refined(self, change: c.JobGroupsRefined) -> None:
        self.unfinished[change.job].specs = _groups_decoder.decode(bytes(change.groups))

    def _exists(self, job: ModelJob, name: str, index: int) -> bool:
        return any(spec.name == name and (job.type in PER_NODE or index < spec.count) for spec in job.specs)

    def _update_settled(self, change: c.RolloutSettled) -> None:
        self.unfinished[change.job].has_stalled = not change.is_stable

    def _instance_down_set(self, change: c.InstanceDownSet) -> None:
        down = self.unfinished[change.job].down
        (down.add if change.is_down else down.discard)((change.group, change.index))

    def _instance_restart_requested(self, change: c.InstanceRestartRequested) -> None:
        self.unfinished[change.job].down.discard((change.group, change.index))

    def _held(self, change: c.JobHeld) -> None:
        self.unfinished[change.job].is_held = change.is_held

    def _flagged(self, change: c.JobFlagged) -> None:
        job = self.unfinished[change.job]
        if change.flag in start_rules.FAIL_FLAGS:
            require(start_rules.must_fail(job, change.flag, change.at_ms), f"job {job.id} was failed for no reason")
            job.must_fail = True

    def _stop_asked(self, change: c.JobStopRequested) -> None:
        job = self.unfinished[change.job]
        job.state = JOB.move(job.state, JobEvent.STOP_ASKED)
        job.stop_was_asked = True
        job.stop_cause = start_rules.stop_cause(self, job)

    def _job_ended(self, change: c.JobEnded) -> None:
        job = self.unfinished.pop(change.job)
        states = {task.state for task in job.tasks()}
        require(states <= TASK.terminal_states, f"job {change.job} ended while tasks are {sorted(states)}")
        expected = start_rules.expected_end(job, states)
        require(
            change.event == expected,
            f"job {change.job} ended {JobEvent(change.event).wire_name}, not {expected.wire_name}",
        )
        job.state = JOB.move(job.state, expected)
        name = (job.namespace, job.name)
        self.history[name] = max(job.run, self.history.get(name, 0))

    def note_start(self, job_id: int) -> None:
        job = self.jobs[job_id]
        if job.state is JobState.PENDING:
            job.state = JOB.move(job.state, JobEvent.STARTED)

    def _task_set_added(self, change: c.TaskSetAdded) -> None:
        job = self.unfinished[change.job]
        is_new = change.number not in job.groups and change.number not in job.dropped
        require(is_new, f"job {job.id} had a task set {change.number} before")
        tasks = [ModelTask(TaskState.WAITING) for _ in change.visible_index]
        spec = job.groups[change.copy_of].spec if change.copy_of >= 0 else job.specs[change.group_index]
        job.groups[change.number] = ModelTaskSet(spec, tasks, list(change.visible_index), change.node)

    def _task_set_dropped(self, change: c.TaskSetDropped) -> None:
        job = self.unfinished[change.job]
        require(
            job.groups[change.number].is_finished, f"task set {change.number} of job {job.id} left before it was over"
        )
        job.dropped[change.number] = job.groups.pop(change.number)

    def _task_set_unpinned(self, change: c.TaskSetUnpinned) -> None:
        group = self.unfinished[change.job].groups[change.number]
        require(not any(task.state in LIVE for task in group.tasks), f"a live task set of job {change.job} was let go")
        group.node = 0

    def _key_used(self, change: c.IdempotencyKeyUsed) -> None:
        require(change.key not in self.keys, f"key {change.key} was used twice")
        self.keys[change.key] = change.jobs

    def _keys_dropped(self, change: c.IdempotencyKeysDropped) -> None:
        for key in list(self.keys)[: change.count]:
            del self.keys[key]
            self.forgotten_keys.add(key)

    def _names_dropped(self, change: c.NamesDropped) -> None:
        for name in change.names:
            require(name not in self.history, f"{name} was dropped, and history has run {self.history.get(name)}")
            self._last_runs[name] = self._newest_run(name)

    # ---- nodes, queues and settings ----

    def _joined(self, change: c.NodeJoined) -> None:
        known = self.nodes.setdefault(change.node, ModelNode(change.name, change.capacity, {}))
        require(known.name == change.name, f"node {change.node} was {known.name}, now {change.name}")
        known.capacity, known.labels = change.capacity, change.labels
        for resource, amount in change.capacity.items():
            known.capacity_max[resource] = max(amount, known.capacity_max.get(resource, 0))

    def _node_moved(self, change: c.NodeTransitioned) -> None:
        node = self.nodes[change.node]
        node.state = NODE.move(node.state, NodeEvent(change.event))
        if node.state is NodeState.DOWN:
            self.went_down.add(change.node)
            node.down_at_ms, node.is_forgotten = change.at_ms, False
        if node.state is NodeState.DRAINED:
            left = [job.id for job, _, _, _ in self.live_on(change.node)]
            require(not left, f"node {node.name} is called drained, and has tasks of jobs {left}")

    def _labelled(self, change: c.NodeLabelled) -> None:
        self.nodes[change.node].override_labels.update(change.labels)

    def _node_cordon_set(self, change: c.NodeCordonSet) -> None:
        node = self.nodes[change.node]
        node.cordoned_by = change.by
        if change.by == "quarantine":
            other_nodes = [
                each for each in self.nodes.values() if each.state is NodeState.READY and not each.cordoned_by
            ]
            require(bool(other_nodes), f"node {node.name} was put in quarantine, and no other takes work")

    def _lanes_set(self, change: c.LanesSet) -> None:
        widths = self.nodes[change.node].widths
        widths[change.class_id] = change.width
        if not change.width:
            del widths[change.class_id]

    def _queue_set(self, change: c.QueueSet) -> None:
        self.queues[change.name] = ModelQueue(change.is_paused, change.running_max)

    def _queue_dropped(self, change: c.QueueDropped) -> None:
        self.queues.pop(change.name, None)

    def _tenant_set(self, change: c.TenantSet) -> None:
        self.tenants[change.name] = frozenset(change.namespaces), dict(change.quotas)

    def _cluster_set(self, change: c.ClusterSet) -> None:
        if change.name.startswith(LICENCE_PREFIX):
            self.licences[change.name] = int(change.value or 0)


def _with(model: ReferenceModel, applier: Callable[[ReferenceModel, Any], None]) -> Callable[[Any], None]:
    return lambda change: applier(model, change)
