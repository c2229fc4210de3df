"""Enforces resource limits on a lane's tasks, by the lane's control groups or, without them, by rlimits.

The keeper is a member of the lane's groups, so that tasks inherit them without being moved. Limits are rewritten only
when the lane changes class. `worker.process.cgroups` finds the folders; this module creates the lane's own below
them."""

from __future__ import annotations

import os

from .scratch import make_folders
from .syscalls import write_kernel_file

KEEPER_MEMORY_BYTES = 8 * 2**20  # the keeper's own part of the lane's memory
KEEPER_CPU_MILLI = 50
KEEPER_PIDS = 1
PERIOD_US = 100_000
UNLIMITED = -1


class Limits:
    """`parents` maps each controller (cpu, cpuacct, memory, freezer, pids; or unified alone) to the folder in which the
    lane's folder is made. `pids_max` limits the processes and threads of a task; 0: no limit."""

    def __init__(self, parents: dict[str, str], name: str, cores: int, pids_max: int = 0) -> None:
        self._pids_max = pids_max
        self._pids_refused = 0  # processes that the kernel has refused to start, as far as read
        self._parents = parents
        self._folders = {controller: f"{parent}/{name}" for controller, parent in parents.items()}
        self._unified = "unified" in parents
        self._cores_milli = cores * 1000
        self._cpu_milli = 0
        self._memory_bytes = 0
        self._oom_kills_seen = 0

    def enter(self) -> None:
        """Make the lane's groups and move into them. Raises OSError. Real-time scheduling is left before: the cpu group
        would not take it, and tasks should not inherit it."""
        if os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        for folder in self._folders.values():
            make_folders(folder, 0o755)
            write_kernel_file(f"{folder}/cgroup.procs", str(os.getpid()))
        self._limit_processes()

    def leave(self, is_final: bool) -> None:
        """Leave and remove the lane's groups; groups that cannot be removed are left to the worker's cleanup.
        `is_final` if no worker will follow: then the last lane removes the tree."""
        for controller, folder in self._folders.items():
            try:
                self._leave_group(controller)
                os.rmdir(folder)
                if is_final:
                    write_kernel_file(f"{os.path.dirname(self._parents[controller])}/cgroup.procs", str(os.getpid()))
                    os.rmdir(self._parents[controller])
            except OSError:
                pass

    def apply(self, cpu_milli: int, memory_bytes: int) -> None:
        """Set the limits of the next task; does nothing while they stay the same. Raises OSError."""
        if cpu_milli >= self._cores_milli:
            cpu_milli = 0  # more than the machine has: nothing to throttle
        if cpu_milli != self._cpu_milli:
            self._set_cpu(cpu_milli)
            self._cpu_milli = cpu_milli
        if memory_bytes != self._memory_bytes:
            self._set_memory(memory_bytes)
            self._memory_bytes = memory_bytes

    def was_oom_killed(self) -> bool:
        """Has the kernel ended a process of this lane for want of memory since the last time of asking?"""
        killed = self._oom_kill_count()
        was_killed, self._oom_kills_seen = killed > self._oom_kills_seen, killed
        return was_killed

    def was_refused_processes(self) -> bool:
        """Has the kernel refused to start a process of this lane, because of the limit, since the last time of
        asking?"""
        refused = self._refused_count()
        was_refused, self._pids_refused = refused > self._pids_refused, refused
        return was_refused

    @property
    def pids_max(self) -> int:
        return self._pids_max

    @property
    def limits_memory(self) -> bool:
        return self._unified or "memory" in self._folders

    def members(self) -> list[int] | None:
        """Every process of the lane but the keeper; None where no group tells."""
        folder = self._folders.get("unified") or self._folders.get("freezer") or self._folders.get("memory")
        if folder is None:
            return None
        with open(f"{folder}/cgroup.procs") as file:
            pids = set(map(int, file.read().split()))
        pids.discard(os.getpid())
        return list(pids)

    def can_freeze(self) -> bool:
        return self._unified or "freezer" in self._folders

    def kill_frozen(self) -> None:
        """Kill the whole group while nothing in it can fork. The keeper steps out meanwhile, not to freeze itself."""
        controller = "unified" if self._unified else "freezer"
        folder = self._folders[controller]
        freeze, frozen, thawed = ("cgroup.freeze", "1", "0") if self._unified else ("freezer.state", "FROZEN", "THAWED")
        self._leave_group(controller)
        try:
            write_kernel_file(f"{folder}/{freeze}", frozen)
            for pid in self.members() or []:
                try:
                    os.kill(pid, 9)
                except OSError:
                    pass
        finally:
            write_kernel_file(f"{folder}/{freeze}", thawed)
            write_kernel_file(f"{folder}/cgroup.procs", str(os.getpid()))

    def _leave_group(self, controller: str) -> None:
        parent = self._parents[controller]
        if self._unified:  # a group with controllers below it may not hold processes itself
            parent = f"{parent}/parking"
            make_folders(parent, 0o755)
        write_kernel_file(f"{parent}/cgroup.procs", str(os.getpid()))

    def _limit_processes(self) -> None:
        """For all tasks alike: a fork bomb must not take the process ids of the machine."""
        folder = self._folders.get("unified") or self._folders.get("pids")
        if self._pids_max and folder is not None and os.path.exists(f"{folder}/pids.max"):
            write_kernel_file(f"{folder}/pids.max", str(self._pids_max + KEEPER_PIDS))

    def _refused_count(self) -> int:
        folder = self._folders.get("unified") or self._folders.get("pids")
        if not self._pids_max or folder is None:
            return 0
        try:
            with open(f"{folder}/pids.events") as file:
                word, _, count = file.readline().partition(" ")
        except OSError:  # an old kernel
            return 0
        return int(count) if word == "max" else 0

    def _set_cpu(self, cpu_milli: int) -> None:
        quota_us = (cpu_milli + KEEPER_CPU_MILLI) * PERIOD_US // 1000 if cpu_milli else UNLIMITED
        if self._unified:
            write_kernel_file(f"{self._folders['unified']}/cpu.max", f"{quota_us if cpu_milli else 'max'} {PERIOD_US}")
        elif "cpu" in self._folders:
            write_kernel_file(f"{self._folders['cpu']}/cpu.cfs_quota_us", str(quota_us))

    def _set_memory(self, memory_bytes: int) -> None:
        limit = memory_bytes + KEEPER_MEMORY_BYTES if memory_bytes else UNLIMITED
        if self._unified:
            folder = self._folders["unified"]
            write_kernel_file(f"{folder}/memory.max", str(limit) if memory_bytes else "max")
            if memory_bytes and os.path.exists(f"{folder}/memory.swap.max"):
                write_kernel_file(f"{folder}/memory.swap.max", "0")
        elif "memory" in self._folders:
            write_kernel_file(f"{self._folders['memory']}/memory.limit_in_bytes", str(limit))
        self._oom_kills_seen = self._oom_kill_count()

    def _oom_kill_count(self) -> int:
        if not self.limits_memory:
            return 0
        folder = self._folders["unified" if self._unified else "memory"]
        with open(f"{folder}/{'memory.events' if self._unified else 'memory.oom_control'}") as file:
            for line in file:
                word, _, count = line.partition(" ")
                if word == "oom_kill":
                    return int(count)
        return 0
