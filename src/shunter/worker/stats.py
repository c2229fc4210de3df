"""Samples of the machine and of running tasks, read from /proc. Used by `worker.worker`, regularly and on asking."""

from __future__ import annotations

import os
from pathlib import Path

from shunter.model.messages import MachineStats

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class MachineSampler:
    """Remembers the last sample, because how busy the processors are is a difference."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._busy, self._total = _processor_ticks()
        self._share = 0.0

    def sample(self, at_ms: int, tasks_running: int, keepers: int) -> MachineStats:
        busy, total = _processor_ticks()
        if total > self._total:
            self._share = (busy - self._busy) / (total - self._total)
            self._busy, self._total = busy, total
        memory = _memory_bytes()
        disk = os.statvfs(self._home)
        return MachineStats(
            at_ms=at_ms,
            cpu_busy=min(1.0, max(0.0, self._share)),
            load_1m=os.getloadavg()[0],
            memory_total_bytes=memory["MemTotal"],
            memory_available_bytes=memory["MemAvailable"],
            disk_total_bytes=disk.f_blocks * disk.f_frsize,
            disk_free_bytes=disk.f_bavail * disk.f_frsize,
            tasks_running=tasks_running,
            keepers=keepers,
        )


def task_usage(keeper_pid: int) -> tuple[float, int, int]:
    """Processor seconds, resident bytes and number of processes of the task that a keeper runs: all that descends from
    the keeper, because it adopts what the task leaves behind."""
    cpu_s, memory_bytes, processes = 0.0, 0, 0
    waiting = _children(keeper_pid)
    while waiting:
        current = waiting.pop()
        try:
            fields = Path(f"/proc/{current}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        waiting += _children(current)
        # Ended children that were waited for count too: utime, stime, cutime, cstime.
        cpu_s += sum(map(int, fields[11:15])) / TICKS_PER_S
        memory_bytes += int(fields[21]) * PAGE_BYTES
        processes += 1
    return cpu_s, memory_bytes, processes


def _children(pid: int) -> list[int]:
    try:
        threads = [thread.name for thread in Path(f"/proc/{pid}/task").iterdir()]
        lists = [Path(f"/proc/{pid}/task/{thread}/children").read_text() for thread in threads]
    except OSError:
        return []
    return [int(child) for line in lists for child in line.split()]


def _processor_ticks() -> tuple[int, int]:
    with open("/proc/stat") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    idle = ticks[3] + ticks[4]
    return sum(ticks) - idle, sum(ticks)


def _memory_bytes() -> dict[str, int]:
    found = {}
    with open("/proc/meminfo") as file:
        for line in file:
            key, _, rest = line.partition(":")
            found[key] = int(rest.split()[0]) * 1024
            if len(found) == 3:  # MemTotal, MemFree, MemAvailable come first
                break
    return found
