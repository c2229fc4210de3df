"""What tasks are given for their own while they run: host ports and devices of this node. Used by
`worker.process.lanes` and `worker.runtimes.attempts`. Nothing here is written down: keepers and records know what they
hold, and tell the next worker."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from shunter.model.job.spec import Port

TaskName = tuple[int, int, int, int]  # job, group, index, attempt


class NoPortFree(Exception):
    """Every port of the range is in use."""


class HostPorts:
    """Ports of this machine, each with at most one task. Chosen ones are taken in turn, so that a port is not used
    again soon after: whoever still knows its old owner must not meet the new one."""

    def __init__(self, first: int, last: int) -> None:
        self._first = first
        self._last = last
        self._next = random.randint(first, last)  # two workers of one machine rather start apart
        self._held: dict[TaskName, dict[str, int]] = {}
        self._in_use: set[int] = set()

    def take(self, task: TaskName, ports: Iterable[Port]) -> dict[str, int]:
        """Name -> host port: the one that the engine has given, or one that is free. Raises NoPortFree."""
        held = self._held.get(task)
        if held is None:
            held = {}
            for port in ports:
                held[port.name] = port.host_port or self._pick(held.values())
            self.adopt(task, held)
        return held

    def adopt(self, task: TaskName, held: Mapping[str, int]) -> None:
        """A task of an earlier life has these."""
        if held:
            self._held[task] = dict(held)
            self._in_use.update(held.values())

    def free(self, job: int, group: int, attempt: int, indexes: Iterable[int]) -> None:
        """Those tasks need them no longer."""
        if not self._held:
            return
        for index in indexes:
            for port in self._held.pop((job, group, index, attempt), {}).values():
                self._in_use.discard(port)

    def _pick(self, beside: Iterable[int]) -> int:
        taken = self._in_use.union(beside)
        for _ in range(self._first, self._last + 1):
            port = self._next
            self._next = self._first if port == self._last else port + 1
            if port not in taken and _is_free(port):
                return port
        raise NoPortFree(f"all ports from {self._first} to {self._last} are in use on this node")


class Devices:
    """Devices of this node by kind, as ids; each id has at most one holder."""

    def __init__(self, ids: Mapping[str, Sequence[str]]) -> None:
        self._free: dict[str, list[str]] = {kind: list(own) for kind, own in ids.items()}
        self._order = {kind: {id: place for place, id in enumerate(own)} for kind, own in ids.items()}
        self._held: dict[Hashable, dict[str, list[str]]] = {}
        self.freed: Callable[[], None] = lambda: None  # called when there are more of them

    def take(self, holder: Hashable, wanted: Mapping[str, int]) -> dict[str, list[str]] | None:
        """So many of each kind that this node has as devices; None where too few are free now."""
        counts = {kind: count for kind, count in wanted.items() if kind in self._free and count > 0}
        if any(len(self._free[kind]) < count for kind, count in counts.items()):
            return None
        taken = {kind: self._free[kind][:count] for kind, count in counts.items()}
        self.adopt(holder, taken)
        return taken

    def adopt(self, holder: Hashable, held: Mapping[str, Sequence[str]]) -> None:
        """It has these already."""
        if held:
            self._held[holder] = {kind: list(ids) for kind, ids in held.items()}
            for kind, ids in held.items():
                self._free[kind] = [id for id in self._free.get(kind, ()) if id not in ids]

    def free(self, holder: Hashable) -> None:
        held = self._held.pop(holder, {})
        for kind, ids in held.items():
            known = self._order.get(kind, {})  # an id that is not set any more is not handed out again
            self._free[kind] = sorted({*self._free[kind], *(id for id in ids if id in known)}, key=known.__getitem__)
        if held:
            self.freed()


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
