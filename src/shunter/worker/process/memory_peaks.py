"""Adds what samples know to the usage of an attempt. The kernel tells the peak of the largest process; a sample counts
all processes together. Used by `process.assignments`."""

from __future__ import annotations

from shunter.model.protocol.worker_messages import Ended
from shunter.worker.keeper.usage import memory_class


def raise_memory_peak(ended: Ended, offset: int, peak_bytes: int) -> None:
    """Raise the peak of the attempt at this place of the range. A lower peak changes nothing."""
    usage = ended.usage
    if usage is None:
        return
    usage.memory_max_bytes = max(usage.memory_max_bytes, peak_bytes)
    usage.memory_classes[offset] = max(usage.memory_classes[offset], memory_class(peak_bytes // 1024))
