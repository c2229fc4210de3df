"""What the engine remembers of long-running jobs besides their task sets: the progress of a rollout, the last good
version, and the stopped instances. `engine.state.apply_services` writes it, `engine.services.reconcile` reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from shunter.model.lifecycles import ROLLOUT, RolloutEvent, RolloutStatus

if TYPE_CHECKING:
    from shunter.engine.state.records import Job, TaskSet
    from shunter.planning.filter.node_ledger import NodeLedger
    from shunter.planning.view import BoolArray

REPLACED_TASKS_MAX = 100  # replaced tasks that a job remembers
_STATUS_BY_WORD = {status.wire_name: status for status in RolloutStatus}


class JobVersion(msgspec.Struct, array_like=True, frozen=True):
    """A whole spec of a job, for a rollback."""

    number: int
    groups: bytes
    options: bytes
    priority: int
    labels: dict[str, str]


class ReplacedTask(msgspec.Struct, array_like=True, frozen=True):
    """A task that was replaced and has left its job."""

    group: str
    index: int
    task_set_number: int
    state: int
    attempt: int
    node: int
    exit_code: int
    started_ms: int
    ended_ms: int
    log: int
    reason: str


class ServiceState(msgspec.Struct, array_like=True):
    """`restart_floors` marks task sets to replace although they have the current spec: those with a number below the
    floor of their group ("web"), or of their instance ("web/3")."""

    status: RolloutStatus = ROLLOUT.initial
    reason: str = ""
    rollout_began_ms: int = 0
    first_task_set: int = 0  # the first that was added since the rollout began, or since those that it overtook
    node: int = 0  # only instances on this node follow the current version; 0 means all
    stable_version: JobVersion | None = None  # the last one at which all instances were healthy
    previous_version: JobVersion | None = None  # the good one before that
    restart_floors: dict[str, int] = {}
    down: dict[str, None] = {}
    added_ms: dict[int, int] = {}  # of each task set that was added, or when its job was released since
    replaced_tasks: list[ReplacedTask] = []

    def move(self, event: RolloutEvent) -> None:
        self.status = ROLLOUT.move(self.status, event)

    def must_restart(self, group: str, index: int, task_set_number: int) -> bool:
        if not self.restart_floors:
            return False
        return task_set_number < max(self.restart_floors.get(group, 0), self.restart_floor(group, index))

    def restart_floor(self, group: str, index: int) -> int:
        """The floor of an individually restarted instance; else 0."""
        return self.restart_floors.get(f"{group}/{index}", 0) if self.restart_floors else 0

    def requested_ms(self, task_set_number: int) -> int:
        """When a task set was requested: when it was added, or when a later update kept it."""
        return max(self.added_ms.get(task_set_number, 0), self.rollout_began_ms)

    def is_down(self, group: str, index: int) -> bool:
        return bool(self.down) and f"{group}/{index}" in self.down


@dataclass(slots=True)
class ServiceRegistry:
    jobs: dict[int, ServiceState] = field(default_factory=dict)
    # Derived, and not part of the committed state:
    per_node: dict[int, Job] = field(default_factory=dict)  # jobs with one task on each matching node
    # job -> (group, node) -> task sets
    task_sets_by_node: dict[int, dict[tuple[str, int], list[TaskSet]]] = field(default_factory=dict)
    next_check_ms: dict[int, int] = field(default_factory=dict)  # job -> when it is reconciled next
    # (job, group) -> the nodes that `engine.placement.colocation` allows
    colocation_masks: dict[tuple[int, str], BoolArray] = field(default_factory=dict)
    colocation_tick: int = -1  # of the nodes, when that was computed
    ledger: NodeLedger | None = None  # of `engine.services.per_node`, to ask which nodes match

    def add(self, task_set: TaskSet) -> None:
        """Add a task set of a per-node job, which is bound to its node."""
        task_sets_by_node = self.task_sets_by_node.setdefault(task_set.job.id, {})
        task_sets_by_node.setdefault((task_set.spec.name, task_set.node), []).append(task_set)

    def drop(self, task_set: TaskSet) -> None:
        task_sets_by_node, key = self.task_sets_by_node[task_set.job.id], (task_set.spec.name, task_set.node)
        task_sets_by_node[key].remove(task_set)
        if not task_sets_by_node[key]:
            del task_sets_by_node[key]
        if not task_sets_by_node:
            del self.task_sets_by_node[task_set.job.id]

    def end(self, job_id: int) -> None:
        for index in (self.jobs, self.per_node, self.task_sets_by_node, self.next_check_ms):
            index.pop(job_id, None)

    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        return {}  # its changes need the jobs: see `engine.state.apply_services`

    def dump(self) -> list[list[Any]]:
        return [[job_id, _dump(self.jobs[job_id])] for job_id in sorted(self.jobs)]

    def load(self, dump: list[list[Any]]) -> None:
        self.jobs = {job_id: _load(*each) for job_id, each in dump}


def _dump(service_state: ServiceState) -> list[Any]:
    """Stores the status as a word."""
    _, *others = msgspec.to_builtins(service_state, builtin_types=(bytes,))
    return [service_state.status.wire_name, *others]


def _load(status: str, *others: Any) -> ServiceState:
    return msgspec.convert([_STATUS_BY_WORD[status], *others], ServiceState)
