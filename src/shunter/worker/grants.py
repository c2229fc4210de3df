"""Grants tasks host ports and devices of this node while they run. Used by `worker.process.lanes` and
`worker.runtimes.attempts`. Nothing is stored here: keepers and records know their grants and tell the next worker."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from shunter.model.job.spec import Port

TaskName = tuple[int, int, int, int]  # job, group, index, attempt


class NoFreePort(Exception):
    """Every port of the range is in use."""


class HostPorts:
    """Ports of this machine, each with at most one task. Ports are chosen in turn, so that a port is not reused soon:
    clients of its old owner must not reach the new one."""

    def __init__(self, first: int, last: int) -> None:
        self._first = first
        self._last = last
        self._next = random.randint(first, last)  # two workers of one machine should start apart
        self._allocated: dict[TaskName, dict[str, int]] = {}
        self._in_use: set[int] = set()

    def allocate(self, task: TaskName, ports: Iterable[Port]) -> dict[str, int]:
        """Name -> host port: the one that the engine chose, or a free one. Raises NoFreePort."""
        allocated = self._allocated.get(task)
        if allocated is None:
            allocated = {}
            for port in ports:
                allocated[port.name] = port.host_port or self._pick(allocated.values())
            self.adopt(task, allocated)
        return allocated

    def adopt(self, task: TaskName, allocated: Mapping[str, int]) -> None:
        """Keep the ports of a task that an earlier worker process started."""
        if allocated:
            self._allocated[task] = dict(allocated)
            self._in_use.update(allocated.values())

    def release(self, job: int, group: int, attempt: int, indexes: Iterable[int]) -> None:
        """Free the ports of tasks that no longer need them."""
        if not self._allocated:
            return
        for index in indexes:
            for port in self._allocated.pop((job, group, index, attempt), {}).values():
                self._in_use.discard(port)

    def _pick(self, excluded: Iterable[int]) -> int:
        taken = self._in_use.union(excluded)
        for _ in range(self._first, self._last + 1):
            port = self._next
            self._next = self._first if port == self._last else port + 1
            if port not in taken and _is_free(port):
                return port
        raise NoFreePort(f"all ports from {self._first} to {self._last} are in use on this node")


class Devices:
    """Devices of this node by kind, as ids; each id has at most one holder."""

    def __init__(self, ids: Mapping[str, Sequence[str]]) -> None:
        self._free: dict[str, list[str]] = {kind: list(ids_of_kind) for kind, ids_of_kind in ids.items()}
        self._order = {
            kind: {id: position for position, id in enumerate(ids_of_kind)} for kind, ids_of_kind in ids.items()
        }
        self._allocated: dict[Hashable, dict[str, list[str]]] = {}
        self.on_freed: Callable[[], None] = lambda: None  # called when there are more of them

    def allocate(self, holder: Hashable, counts_by_kind: Mapping[str, int]) -> dict[str, list[str]] | None:
        """Allocate this many of each kind that this node has as devices; None if too few are free now."""
        counts = {kind: count for kind, count in counts_by_kind.items() if kind in self._free and count > 0}
        if any(len(self._free[kind]) < count for kind, count in counts.items()):
            return None
        taken = {kind: self._free[kind][:count] for kind, count in counts.items()}
        self.adopt(holder, taken)
        return taken

    def adopt(self, holder: Hashable, allocated: Mapping[str, Sequence[str]]) -> None:
        """It has these already."""
        if allocated:
            self._allocated[holder] = {kind: list(ids) for kind, ids in allocated.items()}
            for kind, ids in allocated.items():
                self._free[kind] = [id for id in self._free.get(kind, ()) if id not in ids]

    def release(self, holder: Hashable) -> None:
        allocated = self._allocated.pop(holder, {})
        for kind, ids in allocated.items():
            known = self._order.get(kind, {})  # an id that is no longer configured is not handed out again
            self._free[kind] = sorted({*self._free[kind], *(id for id in ids if id in known)}, key=known.__getitem__)
        if allocated:
            self.on_freed()


class Grants:
    def __init__(self, ports: HostPorts, devices: Devices) -> None:
        self.ports = ports
        self.devices = devices


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
