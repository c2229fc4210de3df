"""Finds, signals and kills the processes of the task that a lane runs. Used by `keeper.lane`.

The keeper is their subreaper, so a process that a task leaves behind becomes the keeper's child. No children means that
nothing is left."""

from __future__ import annotations

import os

from .limits import Limits

UNFROZEN_KILL_ROUNDS = 2  # kill rounds without freezing; only processes that fork faster than they are killed need more


class ProcessTree:
    """All descendants of this process."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.kill_rounds = 0  # of killing; set to 0 when nothing is left

    def signal(self, number: int) -> None:
        _signal_all(self.members(), number)

    def kill_round(self) -> None:
        """Kill all members found now. The caller reaps, and calls again while children are left."""
        self.kill_rounds += 1
        if self.kill_rounds > UNFROZEN_KILL_ROUNDS and self._limits.can_freeze():
            try:
                self._limits.kill_frozen()
            except OSError:
                pass  # another process has changed the groups; use the plain way
        _signal_all(self.members(), 9)

    def members(self) -> list[int]:
        """The processes of the group, and all descendants: a process that may write to the groups can leave its own."""
        descendants = _descendants(os.getpid())
        try:
            grouped = self._limits.members() or []
        except OSError:
            grouped = []
        return [*grouped, *set(descendants).difference(grouped)]


def _signal_all(pids: list[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass
        except PermissionError:
            pass  # it changed its user; the freezer, if any, does not help either


def _descendants(root: int) -> list[int]:
    found: list[int] = []
    parents = [root]
    while parents:
        children = [child for pid in parents for child in _children(pid)]
        found += children
        parents = children
    return found


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                children += map(int, file.read().split())
    except OSError:
        pass  # it ended while we looked
    return children
