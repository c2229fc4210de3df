"""Collects results into reports and keeps reports until they are acknowledged. Used by `keeper.lane`. The shapes are
those of `model.protocol.worker_messages`, so the worker passes them on unchanged."""

from __future__ import annotations

from .json_lines import encode
from .usage import RangeUsage, Used
from .work_queue import TaskRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import deque
    from typing import Any
else:
    from _collections import deque


class EndedRange:
    """Attempts of contiguous indexes and log records that ended in sequence."""

    __slots__ = ("detail", "ended", "exits", "first", "how", "record", "segment", "started", "task_range", "usage")

    def __init__(self, task_range: TaskRange, first: int, segment: int, record: int, how: str, detail: str) -> None:
        self.task_range = task_range
        self.first = first
        self.segment = segment
        self.record = record
        self.how = how
        self.detail = detail
        self.exits: list[int] = []
        self.started: list[int] = []
        self.ended: list[int] = []
        self.usage = RangeUsage()

    def add(self, exit_code: int, times_ms: tuple[int, int], used: Used | None) -> None:
        self.exits.append(exit_code)
        self.started.append(times_ms[0])
        self.ended.append(times_ms[1])
        if used:
            self.usage.add(used, times_ms[1] - times_ms[0])

    def encoded(self) -> str:
        task_range = self.task_range
        usage = self.usage.encoded() if self.usage.peaks_kib else "null"
        exits = self.exits if any(self.exits) else []  # a list of whole numbers is JSON as Python prints it
        return (
            f"[{task_range.job},{task_range.group},{task_range.attempt},{self.first},{exits},{self.started},{self.ended},"
            f"{self.segment},{self.record},{encode(self.how)},{encode(self.detail)},{usage}]"
        )


class Results:
    """The report being gathered, and those not yet acknowledged."""

    def __init__(self) -> None:
        self._ended: list[EndedRange] = []
        self._open_range: EndedRange | None = None  # the last of _ended while it can grow
        self._started: list[str] = []
        self._unacknowledged: deque[tuple[int, bytes]] = deque()
        self._seq = 0

    def __bool__(self) -> bool:
        return bool(self._ended or self._started)

    @property
    def is_awaiting_ack(self) -> bool:
        return bool(self._unacknowledged)

    def add_ended(
        self,
        task_range: TaskRange,
        index: int,
        exit_code: int,
        times_ms: tuple[int, int],
        log: tuple[int, int],
        used: Used | None = None,
    ) -> None:
        """A plain exit. `log` is the segment and the record."""
        ended_range = self._open_range
        if (
            ended_range is None
            or ended_range.task_range is not task_range
            or ended_range.first + len(ended_range.exits) != index
            or ended_range.segment != log[0]
        ):
            ended_range = self._open_range = EndedRange(task_range, index, log[0], log[1], "", "")
            self._ended.append(ended_range)
        ended_range.add(exit_code, times_ms, used)

    def add_abnormal(
        self, ended_range: EndedRange, exit_code: int, times_ms: tuple[int, int], used: Used | None = None
    ) -> None:
        """Anything but a plain exit: a run of its own."""
        ended_range.add(exit_code, times_ms, used)
        self._ended.append(ended_range)
        self._open_range = None

    def add_started(self, started: list[Any]) -> None:
        """The fields of `worker.process.protocol.KeeperStarted`."""
        self._started.append(encode(started))

    def close_report(self, segment: int) -> bytes:
        """The collected results, as a line that is kept until it is acknowledged."""
        self._seq += 1
        ended = ",".join([ended_range.encoded() for ended_range in self._ended])
        started = ",".join(self._started)
        line = f'["report",{self._seq},[{ended}],[{started}],{segment}]\n'.encode()
        self._unacknowledged.append((self._seq, line))
        self._ended, self._started, self._open_range = [], [], None
        return line

    def acknowledge(self, seq: int) -> None:
        while self._unacknowledged and self._unacknowledged[0][0] <= seq:
            self._unacknowledged.popleft()

    def unacknowledged(self) -> bytes:
        return b"".join(line for _, line in self._unacknowledged)
