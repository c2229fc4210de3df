"""What a task used, as the kernel says when its processes have ended, and the sums over a range of attempts. Used by
`keeper.runner` and `keeper.results`. `model.usage` knows what a memory class stands for."""

from __future__ import annotations

BLOCK_BYTES = 512  # of the kernel's counts of blocks
RATED_MS_MIN = 100  # a shorter attempt tells little about how many cores it keeps busy

Used = tuple[int, ...]  # as `Children.used` says


def used_by_both(one: Used, other: Used) -> Used:
    """The usage of two processes of a task. The peak is that of the larger one."""
    times = [one[place] + other[place] for place in range(4)]
    return (*times, max(one[4], other[4]), one[5] + other[5], one[6] + other[6])


class RangeUsage:
    """The usage of the attempts of one range."""

    __slots__ = ("blocks_read", "blocks_written", "cores_max_milli", "cpu_us", "peaks_kib")

    def __init__(self) -> None:
        self.cpu_us = 0
        self.cores_max_milli = 0
        self.blocks_read = 0
        self.blocks_written = 0
        self.peaks_kib: list[int] = []  # of each attempt

    def add(self, used: Used, ran_ms: int) -> None:
        user_s, user_us, system_s, system_us, peak_kib, blocks_read, blocks_written = used
        cpu_us = (user_s + system_s) * 1_000_000 + user_us + system_us
        self.cpu_us += cpu_us
        self.blocks_read += blocks_read
        self.blocks_written += blocks_written
        self.peaks_kib.append(peak_kib)
        if ran_ms >= RATED_MS_MIN:
            self.cores_max_milli = max(self.cores_max_milli, cpu_us // ran_ms)

    def encoded(self) -> str:
        """The fields of `model.protocol.worker_messages.AttemptsUsage`."""
        read, written = self.blocks_read * BLOCK_BYTES, self.blocks_written * BLOCK_BYTES
        return (
            f"[{(self.cpu_us + 500) // 1000},{self.cores_max_milli},{read},{written},{max(self.peaks_kib) * 1024},"
            f"{[memory_class(kib) for kib in self.peaks_kib]}]"
        )


def memory_class(kib: int) -> int:
    """Four classes for each power of two."""
    if kib < 4:
        return 8  # as for 4
    exponent = kib.bit_length() - 1
    return exponent << 2 | (kib >> (exponent - 2)) & 3
