"""Divides the memory of a driver or a slot among its processes, so that together they stay within it. Used by the
modules of applications; the launchers in `frameworks/` pass the shares to the programs.

The shares were measured on Spark 4 and Flink 2 with Java 17: a Master or Worker with a heap of 64 MiB takes about 155
MiB, the rest of a JVM besides its heap (classes, code, threads) about 150 MiB, a Python worker of Spark 50 MiB."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 2**20

LAUNCHER_BYTES = 16 * MIB  # our own small process in every task
DAEMON_BYTES = 168 * MIB  # Spark's Master next to a driver, its Worker next to an executor
OFF_HEAP_MIN_BYTES = 176 * MIB
OFF_HEAP_SHARE = 0.10
PYTHON_MIN_BYTES = 48 * MIB  # for Python processes next to a JVM; and a share of the rest beyond the minimum heap
PYTHON_SHARE = 0.20
SPARK_HEAP_MIN_BYTES = 450 * MIB  # Spark refuses to start an executor or a driver with less
SPARK_OVERHEAD_DEFAULT_BYTES = 384 * MIB  # besides the heap of a driver, as Spark itself adds on Kubernetes

CLIENT_BYTES = 160 * MIB  # the Python program of a Flink job, next to its JobManager
JOB_MANAGER_MIN_BYTES = 640 * MIB
TASK_MANAGER_MIN_BYTES = 640 * MIB


@dataclass(frozen=True, slots=True)
class HeapShare:
    """The share of the heap in the memory of a Spark driver or executor."""

    total_bytes: int
    heap_bytes: int

    @property
    def fits(self) -> bool:
        return self.heap_bytes >= SPARK_HEAP_MIN_BYTES


def spark_share(total_bytes: int, with_python: bool) -> HeapShare:
    """The heap if everything together may use `total_bytes`."""
    rest = total_bytes - LAUNCHER_BYTES - DAEMON_BYTES
    off_heap = max(OFF_HEAP_MIN_BYTES, int(rest * OFF_HEAP_SHARE))
    heap = rest - off_heap
    if with_python:
        heap -= PYTHON_MIN_BYTES
        heap -= int(max(0, heap - SPARK_HEAP_MIN_BYTES) * PYTHON_SHARE)
    return HeapShare(total_bytes, max(0, heap) // MIB * MIB)


def spark_driver_total(heap_bytes: int, overhead_bytes: int | None) -> int:
    """The memory that a driver with this heap requests."""
    overhead = SPARK_OVERHEAD_DEFAULT_BYTES if overhead_bytes is None else overhead_bytes
    return heap_bytes + max(overhead, int(heap_bytes * OFF_HEAP_SHARE)) + DAEMON_BYTES + LAUNCHER_BYTES


def spark_slot_min(with_python: bool) -> int:
    """The smallest slot in which an executor starts."""
    off_heap = OFF_HEAP_MIN_BYTES + (PYTHON_MIN_BYTES if with_python else 0)
    return SPARK_HEAP_MIN_BYTES + off_heap + DAEMON_BYTES + LAUNCHER_BYTES


def job_manager_bytes(total_bytes: int, with_python: bool) -> int:
    return total_bytes - LAUNCHER_BYTES - (CLIENT_BYTES if with_python else 0)


def task_manager_bytes(slot_bytes: int) -> int:
    return slot_bytes - LAUNCHER_BYTES
