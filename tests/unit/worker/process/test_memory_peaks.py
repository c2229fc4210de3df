"""A sample of all processes of a task may know more than the kernel."""

from __future__ import annotations

from shunter.model.protocol.worker_messages import Ended
from shunter.model.usage import AttemptsUsage
from shunter.worker.keeper.usage import memory_class
from shunter.worker.process.memory_peaks import raise_memory_peak

MIB = 2**20


def ended(usage: AttemptsUsage | None) -> Ended:
    return Ended(1, 0, 1, 4, [], [0, 0], [9, 9], 1, 0, usage=usage)


def test_the_peak_of_the_sampled_attempt_is_raised_but_never_lowered() -> None:
    usage = AttemptsUsage(1, 0, 0, 0, 20 * MIB, [memory_class(20 * 1024)] * 2)
    raise_memory_peak(ended(usage), 1, 90 * MIB)
    raise_memory_peak(ended(usage), 0, 5 * MIB)
    assert usage.memory_max_bytes == 90 * MIB
    assert usage.memory_classes == [memory_class(20 * 1024), memory_class(90 * 1024)]
    raise_memory_peak(ended(None), 0, 5 * MIB)
