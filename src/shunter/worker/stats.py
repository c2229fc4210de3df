"""Reads statistics of the machine and of running tasks from /proc. Used by `worker.worker`, periodically and on
request."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from shunter.log import Log
from shunter.model.protocol.worker_messages import MachineSample, MachineStats

log = Log(__name__)

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
SECTOR_BYTES = 512  # of /proc/diskstats, whatever the disk's own are
STACKED_DISKS = ("dm-", "loop", "md", "ram", "zram")


class MachineSampler:
    """Remembers the last sample, because how busy the processors are is a difference."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._busy, self._total = _processor_ticks()
        self._busy_share = 0.0
        self._last = MachineStats(at_ms=0)

    def sample(self, at_ms: int, tasks_running: int, keepers: int) -> MachineStats:
        """If the machine cannot be read now, for example because too many files are open, the values of the last
        sample: a node without heartbeats is down."""
        try:
            self._last = self._read_machine(at_ms)
        except OSError as error:
            log.warning("sample.failed", error=error)
        return replace(self._last, at_ms=at_ms, tasks_running=tasks_running, keepers=keepers)

    def _read_machine(self, at_ms: int) -> MachineStats:
        busy, total = _processor_ticks()
        if total > self._total:
            self._busy_share = (busy - self._busy) / (total - self._total)
            self._busy, self._total = busy, total
        memory = _memory_bytes()
        disk = os.statvfs(self._home)
        return MachineStats(
            at_ms=at_ms,
            cpu_busy=min(1.0, max(0.0, self._busy_share)),
            load_1m=os.getloadavg()[0],
            memory_total_bytes=memory["MemTotal"],
            memory_available_bytes=memory["MemAvailable"],
            disk_total_bytes=disk.f_blocks * disk.f_frsize,
            disk_free_bytes=disk.f_bavail * disk.f_frsize,
        )


@dataclass(slots=True)
class TaskUsage:
    """What a task has used since it started, and holds now. Ended children count only if their parent waited for
    them."""

    cpu_s: float = 0.0
    memory_bytes: int = 0  # resident, of all its processes; what they share counts for each
    processes: int = 0
    read_bytes: int = 0
    written_bytes: int = 0


def task_usage(keeper_pid: int) -> TaskUsage:
    """The usage of the task that a keeper runs: all descendants of the keeper, because it adopts orphans of the
    task."""
    usage = TaskUsage()
    to_visit = _children(keeper_pid)
    while to_visit:
        current = to_visit.pop()
        try:
            fields = Path(f"/proc/{current}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        to_visit += _children(current)
        # Ended children that were waited for count too: utime, stime, cutime, cstime. The sums of I/O have them, too.
        usage.cpu_s += sum(map(int, fields[11:15])) / TICKS_PER_S
        usage.memory_bytes += int(fields[21]) * PAGE_BYTES
        usage.processes += 1
        read_bytes, written_bytes = _process_io(current)
        usage.read_bytes += read_bytes
        usage.written_bytes += written_bytes
    return usage


def machine_usage(at_ms: int) -> MachineSample:
    """What the machine has used since it started, and the memory in use."""
    memory = _memory_bytes()
    cpu_s = _processor_ticks()[0] / TICKS_PER_S
    used_bytes = memory["MemTotal"] - memory["MemAvailable"]
    return MachineSample(at_ms, cpu_s, used_bytes, *_disk_bytes(), *_network_bytes())


def _process_io(pid: int) -> tuple[int, int]:
    """Bytes read from and written to disks. For another user's process this needs root."""
    try:
        lines = Path(f"/proc/{pid}/io").read_text().splitlines()
        return int(lines[4].split()[1]), int(lines[5].split()[1])
    except (OSError, IndexError):
        return 0, 0


def _disk_bytes() -> tuple[int, int]:
    """Whole disks only: partitions and stacked devices would count again."""
    read, written = 0, 0
    try:
        lines = Path("/proc/diskstats").read_text().splitlines()
    except OSError:
        return 0, 0
    for line in lines:
        fields = line.split()
        if not fields[2].startswith(STACKED_DISKS) and Path(f"/sys/block/{fields[2]}").exists():
            read, written = read + int(fields[5]), written + int(fields[9])
    return read * SECTOR_BYTES, written * SECTOR_BYTES


def _network_bytes() -> tuple[int, int]:
    """The bytes received and sent by all interfaces except the loopback."""
    received, sent = 0, 0
    try:
        lines = Path("/proc/net/dev").read_text().splitlines()[2:]
    except OSError:
        return 0, 0
    for line in lines:
        name, _, counters = line.partition(":")
        fields = counters.split()
        if name.strip() != "lo":
            received, sent = received + int(fields[0]), sent + int(fields[8])
    return received, sent


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
