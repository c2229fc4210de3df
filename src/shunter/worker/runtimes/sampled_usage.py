"""The usage of an attempt that is no plain process, from its samples: nobody else measures it. What it used after the
last sample is missing."""

from __future__ import annotations

from shunter.model.usage import AttemptsUsage
from shunter.worker.keeper.usage import RATED_MS_MIN, memory_class
from shunter.worker.runtimes.port import Usage

AMOUNT_MAX = 2**53  # more is a fault of a runtime; a manager would refuse the whole report


class SampledUsage:
    def __init__(self) -> None:
        self._last: Usage | None = None
        self._memory_peak_bytes = 0

    def add(self, usage: Usage) -> None:
        self._last = usage
        self._memory_peak_bytes = max(self._memory_peak_bytes, _amount(usage.memory_bytes))

    def of_attempt(self, ran_ms: int) -> AttemptsUsage | None:
        """None if it was too short for a sample."""
        if self._last is None:
            return None
        cpu_ms = _amount(self._last.cpu_s * 1000)
        return AttemptsUsage(
            cpu_ms=cpu_ms,
            cores_max_milli=_amount(cpu_ms * 1000 / ran_ms) if ran_ms >= RATED_MS_MIN else 0,
            read_bytes=_amount(self._last.read_bytes),
            written_bytes=_amount(self._last.written_bytes),
            memory_max_bytes=self._memory_peak_bytes,
            memory_classes=[memory_class(self._memory_peak_bytes // 1024)],
        )


def _amount(value: float) -> int:
    """An amount from a plugin's runtime, which may answer anything."""
    return int(value) if 0 <= value <= AMOUNT_MAX else 0
