"""What a task used, as the kernel says when its processes have ended, and the sums over a range of attempts. Used by
`keeper.runner` and `keeper.results`. `model.usage` knows what a memory class stands for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from resource import struct_rusage

BLOCK_BYTES = 512  # of the kernel's counts of blocks
RATED_MS_MIN = 100  # a shorter attempt tells little about how many cores it keeps busy


class TaskUsage:
    """Of one attempt: its processes, and those that they waited for. The peak is that of the largest process."""

    __slots__ = ("blocks_read", "blocks_written", "cpu_s", "peak_kib")

    def __init__(self) -> None:
        self.cpu_s = 0.0
        self.peak_kib = 0
        self.blocks_read = 0
        self.blocks_written = 0

    def add(self, used: struct_rusage) -> None:
        self.cpu_s += used.ru_utime + used.ru_stime
        if used.ru_maxrss > self.peak_kib:
            self.peak_kib = used.ru_maxrss
        self.blocks_read += used.ru_inblock
        self.blocks_written += used.ru_oublock


class RangeUsage:
    """Of the attempts of one range."""

    __slots__ = ("blocks_read", "blocks_written", "classes", "cores_max_milli", "cpu_s", "peak_kib")

    def __init__(self) -> None:
        self.cpu_s = 0.0
        self.cores_max_milli = 0
        self.peak_kib = 0
        self.blocks_read = 0
        self.blocks_written = 0
        self.classes: list[int] = []

    def add(self, usage: TaskUsage, ran_ms: int) -> None:
        self.cpu_s += usage.cpu_s
        self.blocks_read += usage.blocks_read
        self.blocks_written += usage.blocks_written
        self.peak_kib = max(self.peak_kib, usage.peak_kib)
        self.classes.append(memory_class(usage.peak_kib))
        if ran_ms >= RATED_MS_MIN:
            self.cores_max_milli = max(self.cores_max_milli, int(usage.cpu_s * 1_000_000 / ran_ms))

    def encoded(self) -> str:
        """The fields of `model.protocol.worker_messages.AttemptsUsage`."""
        read, written = self.blocks_read * BLOCK_BYTES, self.blocks_written * BLOCK_BYTES
        return (
            f"[{round(self.cpu_s * 1000)},{self.cores_max_milli},{read},{written},{self.peak_kib * 1024},"
            f"{self.classes}]"
        )


def memory_class(kib: int) -> int:
    """Four classes for each power of two."""
    if kib < 4:
        return 8  # as for 4
    exponent = kib.bit_length() - 1
    return exponent << 2 | (kib >> (exponent - 2)) & 3
