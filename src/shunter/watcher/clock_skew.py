"""Converts the times in a worker's messages to the manager's clock. Used by the watcher for each connection, so that
the engine can compare them with its own time."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from shunter.model.protocol.worker_messages import Ended, Held, Inventory, Report, Started

SKEW_MIN_MS = 1_000  # smaller differences are ignored, because messages take time too
DELAY_MAX_MS = 60_000  # of a heartbeat; what seems to take longer was sent by a clock that was set back

M = TypeVar("M", Report, Inventory)
T = TypeVar("T", Started, Held)


class ClockSkew:
    """How far a worker's clock is ahead of ours, by its heartbeats. A slow heartbeat makes it look less, so the largest
    value counts."""

    def __init__(self) -> None:
        self._measured_ms: int | None = None

    def measure(self, sent_ms: int, now_ms: int) -> None:
        known_ms, ahead_ms = self._measured_ms, sent_ms - now_ms
        if known_ms is None or not 0 <= known_ms - ahead_ms < DELAY_MAX_MS:
            self._measured_ms = ahead_ms

    @property
    def ahead_ms(self) -> int:
        measured_ms = self._measured_ms or 0
        return measured_ms if abs(measured_ms) >= SKEW_MIN_MS else 0

    def correct(self, message: M) -> M:
        """The message with our times. It may belong to a worker in this process, so it is not changed itself."""
        ahead_ms = self.ahead_ms
        if not ahead_ms:
            return message
        message = replace(
            message,
            ended=[_shift_ended(ended, ahead_ms) for ended in message.ended],
            health=[replace(health, at_ms=_shift(health.at_ms, ahead_ms)) for health in message.health],
        )
        if isinstance(message, Report):
            return replace(message, started=[_shift_start(started, ahead_ms) for started in message.started])
        return replace(message, held=[_shift_start(held, ahead_ms) for held in message.held])


def _shift_ended(ended: Ended, ahead_ms: int) -> Ended:
    return replace(
        ended,
        started_ms=[_shift(at_ms, ahead_ms) for at_ms in ended.started_ms],
        ended_ms=[_shift(at_ms, ahead_ms) for at_ms in ended.ended_ms],
    )


def _shift_start(start: T, ahead_ms: int) -> T:
    return replace(start, started_ms=_shift(start.started_ms, ahead_ms))


def _shift(at_ms: int, ahead_ms: int) -> int:
    """0 stands for no time."""
    return max(at_ms - ahead_ms, 1) if at_ms else 0
