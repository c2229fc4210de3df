"""Divides the memory of a JobManager or TaskManager within the process, so that it stays within its slot. The minimum
sizes of Flink's own scripts suit processes of a gigabyte and more, and would fill a small slot."""

from __future__ import annotations

from dataclasses import dataclass

# In MiB. Metaspace and overhead are limits that are rarely reached; the sums below count with all of them.
JM_METASPACE, JM_OFF_HEAP, JM_OVERHEAD = 224, 112, 112
JM_HEAP_MIN = 128
TM_METASPACE, TM_OVERHEAD, TM_NETWORK, TM_FRAMEWORK_OFF_HEAP, TM_FRAMEWORK_HEAP = 160, 104, 64, 64, 96
# from here on the parts grow with the process, and a collector with threads of its own is worth it
LARGE_PROCESS_MIB = 2048
BATCH_SHUFFLE = 16  # MiB of the framework's memory besides the heap; its default is 64
MANAGED_SHARE = 0.4  # of what is left for the program, as Flink itself has it
PREFIX = "taskmanager.memory"


@dataclass(frozen=True, slots=True)
class MemoryLayout:
    options: list[str]  # of the virtual machine
    settings: dict[str, str]


def job_manager_memory(process_mib: int) -> MemoryLayout:
    heap = max(JM_HEAP_MIN, process_mib - JM_METASPACE - JM_OFF_HEAP - JM_OVERHEAD)
    prefix = "jobmanager.memory"
    return MemoryLayout(
        _options(process_mib, heap, JM_OFF_HEAP, JM_METASPACE),
        {
            f"{prefix}.heap.size": f"{heap}m",
            f"{prefix}.off-heap.size": f"{JM_OFF_HEAP}m",
            f"{prefix}.jvm-metaspace.size": f"{JM_METASPACE}m",
            f"{prefix}.jvm-overhead.min": f"{JM_OVERHEAD}m",
            f"{prefix}.jvm-overhead.max": f"{JM_OVERHEAD}m",
        },
    )


def task_manager_memory(process_mib: int) -> MemoryLayout:
    scale = max(1.0, process_mib / LARGE_PROCESS_MIB)
    overhead, network = int(TM_OVERHEAD * scale), int(TM_NETWORK * scale)
    rest = process_mib - TM_METASPACE - overhead - network - TM_FRAMEWORK_OFF_HEAP
    managed = int(rest * MANAGED_SHARE)
    heap = rest - managed
    return MemoryLayout(
        _options(process_mib, heap, TM_FRAMEWORK_OFF_HEAP + network, TM_METASPACE),
        {
            f"{PREFIX}.framework.heap.size": f"{TM_FRAMEWORK_HEAP}m",
            f"{PREFIX}.task.heap.size": f"{heap - TM_FRAMEWORK_HEAP}m",
            f"{PREFIX}.framework.off-heap.size": f"{TM_FRAMEWORK_OFF_HEAP}m",
            f"{PREFIX}.framework.off-heap.batch-shuffle.size": f"{BATCH_SHUFFLE}m",
            f"{PREFIX}.task.off-heap.size": "0m",
            f"{PREFIX}.network.min": f"{network}m",
            f"{PREFIX}.network.max": f"{network}m",
            f"{PREFIX}.managed.size": f"{managed}m",
            f"{PREFIX}.jvm-metaspace.size": f"{TM_METASPACE}m",
            f"{PREFIX}.jvm-overhead.min": f"{overhead}m",
            f"{PREFIX}.jvm-overhead.max": f"{overhead}m",
        },
    )


def _options(process: int, heap: int, direct: int, metaspace: int) -> list[str]:
    return [
        *(["-XX:+UseSerialGC"] if process < LARGE_PROCESS_MIB else []),
        f"-Xmx{heap}m",
        f"-XX:MaxDirectMemorySize={direct}m",
        f"-XX:MaxMetaspaceSize={metaspace}m",
    ]
