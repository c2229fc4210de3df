"""The work of a keeper: prepared task specs, and a queue of ranges. Used by `keeper.lane`."""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import deque
    from typing import Any
else:
    from _collections import deque

# Places in an order, as the worker sends it: the fields of `model.protocol.worker_messages.Order`.
JOB, GROUP, FIRST, LAST, ATTEMPT, SPEC, RESERVATION, WIDTH = range(8)
NAMESPACE, JOB_NAME, GROUP_NAME, COUNT, SHOWN, ENTRIES, TRACE = range(8, 15)

# What only executors of BatchJobs have; their entries are the numbers of their slots.
EXECUTOR_COUNT_VARIABLE = "SHUNTER_EXECUTOR_COUNT"
FRAMEWORK_HOME_VARIABLE = "SHUNTER_FRAMEWORK_HOME"

Environment = dict[bytes, bytes]
RangeRow = list[int]  # job, group, attempt, first, last


class Spec:
    """A task spec with everything encoded once that every start needs."""

    def __init__(self, fields: dict[str, Any], inherited: Environment) -> None:
        encode = os.fsencode
        self.argv = [encode(word) for word in fields["command"]]
        self.env = {**inherited, **{encode(key): encode(value) for key, value in fields["env"].items()}}
        self.dir: str | None = fields["dir"]
        self.cpu_milli: int = fields["cpu_milli"]
        self.memory_bytes: int = fields["memory_bytes"]
        self.disk_bytes: int = fields["disk_bytes"]
        self.run_timeout_s: float = fields["run_timeout_s"]
        self.stop_grace_s: float = fields["stop_grace_s"]
        self.stop_after_s: float = fields.get("stop_after_s", 0.0)
        self.log_max_bytes: int = fields["log_max_bytes"]
        self.stdout: str | None = fields.get("stdout")
        self.stderr: str | None = fields.get("stderr")
        self.user: str | None = fields.get("user")
        self.payload: str | None = fields.get("payload")  # in base64
        self.payload_is_stdin: bool = fields.get("payload_is_stdin", False)
        self.secret_files: dict[str, str] = fields.get("secret_files") or {}  # name -> base64
        self.has_ports = bool(fields.get("ports"))
        # Clients and health checks must know that it runs, and the next worker must know its spec.
        self.is_watched = self.has_ports or bool(fields.get("health"))
        is_special = self.stdout or self.stderr or self.user or self.has_ports or self.secret_files
        self.is_plain = not is_special and self.payload is None
        self.fields = fields if self.is_watched else None
        self.has_home = "HOME" in fields["env"]
        self.is_executor = EXECUTOR_COUNT_VARIABLE in fields["env"]
        # The exit code of Spark or Flink says little, so the reason of a failure has the last lines of output.
        self.explains_failure = FRAMEWORK_HOME_VARIABLE in fields["env"]
        self._path: bytes | None = None

    def path(self) -> bytes:
        """The program's file, searched on the task's own PATH; called in the task's folder. Raises OSError."""
        if self._path is None:
            name = self.argv[0]
            self._path = name if b"/" in name else _search(name, self.env.get(b"PATH", b""))
        return self._path


class NotOnPath(FileNotFoundError):
    """The error's text has the PATH."""


def _search(name: bytes, path: bytes) -> bytes:
    denied = False
    for folder in path.split(b":"):
        candidate = os.path.join(folder or b".", name)
        if os.path.isfile(candidate):
            if os.access(candidate, os.X_OK):
                return candidate
            denied = True
    if denied:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
    raise NotOnPath(errno.ENOENT, f"not found on the PATH {os.fsdecode(path)}", name)


class TaskRange:
    """One range in the queue; `first` advances as its tasks start."""

    __slots__ = ("_env", "attempt", "first", "group", "is_plain", "job", "last", "order", "reservation", "spec")

    def __init__(self, order: list[Any], spec: Spec) -> None:
        self.order = order
        self.spec = spec
        self.job: int = order[JOB]
        self.group: int = order[GROUP]
        self.first: int = order[FIRST]
        self.last: int = order[LAST]
        self.attempt: int = order[ATTEMPT]
        self.reservation: int = order[RESERVATION]
        self.is_plain = not (order[SHOWN] or order[ENTRIES])  # its tasks differ by their index alone
        self._env: Environment | None = None

    def environment(self, index: int, node: bytes, mark: bytes, devices: Environment) -> Environment:
        """The task's variables. One dictionary serves the whole range; only the values of the index change."""
        env = self._env
        if env is None:
            order = self.order
            env = self._env = self.spec.env.copy()
            env[b"SHUNTER_JOB"] = os.fsencode(order[JOB_NAME])
            env[b"SHUNTER_NAMESPACE"] = os.fsencode(order[NAMESPACE])
            env[b"SHUNTER_GROUP"] = os.fsencode(order[GROUP_NAME])
            env[b"SHUNTER_TASK_COUNT"] = b"%d" % order[COUNT]
            env[b"SHUNTER_ATTEMPT"] = b"%d" % self.attempt
            env[b"SHUNTER_NODE"] = node
            env[b"SHUNTER_MARK"] = mark  # by which the worker finds what a dead keeper left running
            if len(order) > TRACE and order[TRACE]:  # a worker of 0.2.0 sends none
                env[b"TRACEPARENT"] = os.fsencode(order[TRACE])
            env.update(devices)
        if self.is_plain:
            env[b"SHUNTER_TASK_INDEX"] = b"%d" % index
            return env
        visible_index = env[b"SHUNTER_TASK_INDEX"] = b"%d" % self.visible_index(index)
        if self.order[ENTRIES]:
            entry = env[b"SHUNTER_ENTRY"] = os.fsencode(self.order[ENTRIES][index - self.order[FIRST]])
            if self.spec.is_executor:
                env[b"SHUNTER_SLOT_ID"] = entry
                env[b"SHUNTER_EXECUTOR_INDEX"] = visible_index
        return env

    def visible_index(self, index: int) -> int:
        """The index that the task sees."""
        order = self.order
        visible_index: int = order[SHOWN][index - order[FIRST]] if order[SHOWN] else index
        return visible_index

    def suborder(self, first: int, last: int) -> list[Any]:
        """An order for first..last of it."""
        order = self.order.copy()
        for column in (SHOWN, ENTRIES):
            if order[column]:
                order[column] = order[column][first - order[FIRST] : last - order[FIRST] + 1]
        order[FIRST], order[LAST] = first, last
        return order

    def as_order(self) -> list[Any]:
        """The rest of it, as an order."""
        return self.suborder(self.first, self.last)


class Queue:
    """Ranges that wait for the lane, in order."""

    def __init__(self) -> None:
        self._ranges: deque[TaskRange] = deque()

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def add(self, task_range: TaskRange) -> None:
        self._ranges.append(task_range)

    def next(self) -> tuple[TaskRange, int] | None:
        """The next task: its range and its index."""
        if not self._ranges:
            return None
        task_range = self._ranges[0]
        index = task_range.first
        task_range.first = index + 1
        if index == task_range.last:
            self._ranges.popleft()
        return task_range, index

    def orders(self) -> list[list[Any]]:
        return [task_range.as_order() for task_range in self._ranges]

    def contact_limits(self, running: TaskRange | None) -> list[list[Any]]:
        """Job, group and `stop_after_s` of the running task and of what waits, where there is such a limit."""
        ranges = [*self._ranges] if running is None else [running, *self._ranges]
        limits = {(each.job, each.group): each.spec.stop_after_s for each in ranges if each.spec.stop_after_s}
        return [[*key, stop_after_s] for key, stop_after_s in limits.items()]

    def reclaim_reservations(self, reservations: list[int]) -> list[RangeRow]:
        wanted = set(reservations)
        reclaimed = [task_range for task_range in self._ranges if task_range.reservation in wanted]
        self._ranges = deque(task_range for task_range in self._ranges if task_range.reservation not in wanted)
        return [_range_row(task_range, task_range.first, task_range.last) for task_range in reclaimed]

    def reclaim_tail(self, count: int) -> list[RangeRow]:
        """Take back up to `count` tasks from the end, so that those next in turn stay."""
        reclaimed = []
        while count > 0 and self._ranges:
            task_range = self._ranges[-1]
            first = max(task_range.first, task_range.last - count + 1)
            reclaimed.append(_range_row(task_range, first, task_range.last))
            count -= task_range.last - first + 1
            if first == task_range.first:
                self._ranges.pop()
            else:
                task_range.last = first - 1
        return reclaimed[::-1]

    def reclaim_range(self, job: int, group: int, first: int, last: int, attempt_max: int) -> list[RangeRow]:
        reclaimed: list[RangeRow] = []
        remaining: deque[TaskRange] = deque()
        for task_range in self._ranges:
            low, high = max(first, task_range.first), min(last, task_range.last)
            if task_range.job != job or task_range.group != group or low > high or task_range.attempt > attempt_max:
                remaining.append(task_range)
                continue
            reclaimed.append(_range_row(task_range, low, high))
            for rest_first, rest_last in ((task_range.first, low - 1), (high + 1, task_range.last)):
                if rest_first <= rest_last:
                    rest = TaskRange(task_range.order, task_range.spec)
                    rest.first, rest.last = rest_first, rest_last
                    remaining.append(rest)
        self._ranges = remaining
        return reclaimed


def _range_row(task_range: TaskRange, first: int, last: int) -> RangeRow:
    return [task_range.job, task_range.group, task_range.attempt, first, last]
