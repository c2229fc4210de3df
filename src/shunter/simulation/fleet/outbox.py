"""The reports of a simulated worker, and the results that it keeps until they are acknowledged.

Owned by `simulation.fleet.machine`; `simulation.fleet.node` sends them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from shunter.model.protocol.worker_messages import Ended, Health, Lost, Report, Returned, Started


class Outbox:
    __slots__ = ("ended", "health", "lost", "returned", "seq", "started", "unacknowledged")

    def __init__(self) -> None:
        self.seq = 0
        self.unacknowledged: deque[tuple[int, list[Ended], list[Lost]]] = deque()
        self.ended: list[Ended] = []
        self.started: list[Started] = []
        self.returned: list[Returned] = []
        self.lost: list[Lost] = []
        self.health: list[Health] = []

    def take_report(self) -> Report:
        """Everything new since the last report. Results stay until they are acknowledged."""
        self.seq += 1
        report = Report(self.seq, self.ended, self.started, self.returned, self.lost, self.health)
        if self.ended or self.lost:
            self.unacknowledged.append((self.seq, self.ended, self.lost))
        self._clear_unsent()
        return report

    def take_results(self) -> tuple[int, list[Ended], list[Lost]]:
        """For an inventory: all results, sent before or not, as the first report of a connection. What else is unsent
        is dropped, because what the worker holds says it."""
        self.take_report()
        self.seq = 1
        ended = [result for _, results, _ in self.unacknowledged for result in results]
        lost = [loss for _, _, losses in self.unacknowledged for loss in losses]
        self.unacknowledged = deque([(self.seq, ended, lost)] if ended or lost else [])
        return self.seq, ended, lost

    def acknowledge(self, seq: int) -> list[Ended | Lost]:
        """Forget the results of reports up to `seq`; returns them."""
        dropped: list[Ended | Lost] = []
        while self.unacknowledged and self.unacknowledged[0][0] <= seq:
            _, ended, lost = self.unacknowledged.popleft()
            dropped += ended
            dropped += lost
        return dropped

    def restart(self) -> None:
        """The worker's process is new; its keepers still have the results, and nothing else."""
        _, ended, lost = self.take_results()
        self.unacknowledged.clear()
        self.ended, self.lost = ended, lost

    def results(self, job: int, group: int, attempt: int) -> Iterator[tuple[int, int]]:
        """Runs of this attempt or later ones that are over here, as first and last."""
        for _, results, losses in (*self.unacknowledged, (0, self.ended, self.lost)):
            for result in results:
                if result.job == job and result.group == group and result.attempt >= attempt:
                    yield result.first, result.first + len(result.ended_ms) - 1
            for loss in losses:
                if loss.job == job and loss.group == group and loss.attempt >= attempt:
                    yield loss.first, loss.last

    def _clear_unsent(self) -> None:
        self.ended, self.started, self.returned, self.lost, self.health = [], [], [], [], []
