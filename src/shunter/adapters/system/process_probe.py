"""Measures this process by /proc, under the names that all Prometheus clients use. Implements
`ports.telemetry.Probe`."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

from shunter.model.metrics import catalogue as m
from shunter.model.metrics.exposition import Exposition

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class ProcessProbe:
    def __init__(self) -> None:
        self._started_s = _started_s()

    def put(self, exposition: Exposition) -> None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        exposition.put(m.PROCESS_CPU, usage.ru_utime + usage.ru_stime)
        exposition.put(m.PROCESS_START, self._started_s)
        exposition.put(m.PROCESS_FDS_MAX, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        try:
            fields = _stat_fields()
            exposition.put(m.PROCESS_FDS, sum(1 for _ in Path("/proc/self/fd").iterdir()))
        except OSError:  # too many open files
            return
        exposition.put(m.PROCESS_THREADS, int(fields[17]))
        exposition.put(m.PROCESS_VIRTUAL, int(fields[20]))
        exposition.put(m.PROCESS_MEMORY, int(fields[21]) * PAGE_BYTES)


def _stat_fields() -> list[str]:
    """From the third one on: the name before them may contain anything."""
    with open("/proc/self/stat") as file:
        return file.read().rpartition(")")[2].split()


def _started_s() -> float:
    """The kernel counts from boot."""
    with open("/proc/uptime") as file:
        booted_s = time.time() - float(file.read().split()[0])
    return booted_s + int(_stat_fields()[19]) / TICKS_PER_S
