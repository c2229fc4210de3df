"""What one round learnt about times of tasks. Whoever records such a change notes the times here, as they came.
`engine.metrics.round_metrics` sorts them into histograms once, after the commit."""

from __future__ import annotations

from itertools import chain
from operator import sub

import numpy as np

from shunter.model.metrics.metric import Histogram

FEW = 8  # times that are sorted one by one, which is faster than an array of them


class RoundMeasures:
    __slots__ = ("placed", "run_ms", "started")

    def __init__(self) -> None:
        self.placed: list[tuple[int, int]] = []  # how long tasks have waited in ms, and how many
        self.started: list[tuple[int, list[int]]] = []  # when a job was submitted, and when tasks started, in ms
        self.run_ms: list[int] = []  # how long attempts ran

    def note_started(self, submitted_ms: int, started_ms: list[int]) -> None:
        """First attempts whose start was not known before."""
        self.started.append((submitted_ms, started_ms))

    def note_ended(self, started_ms: list[int], ended_ms: list[int]) -> None:
        self.run_ms.extend(map(sub, ended_ms, started_ms))

    def sort_into(self, queue_wait: Histogram, start_latency: Histogram, run_time: Histogram) -> None:
        for wait_ms, count in self.placed:
            queue_wait.observe(max(wait_ms, 0) / 1000, count)
        if sum(len(times) for _, times in self.started) <= FEW:
            for at_ms, times in self.started:
                for time_ms in times:
                    start_latency.observe(_seconds(time_ms - at_ms))
        else:
            lists = [times for _, times in self.started]
            submitted = np.repeat([at_ms for at_ms, _ in self.started], [len(times) for times in lists])
            _sort(start_latency, np.fromiter(chain.from_iterable(lists), np.int64, len(submitted)) - submitted)
        if len(self.run_ms) <= FEW:
            for time_ms in self.run_ms:
                run_time.observe(_seconds(time_ms))
        else:
            _sort(run_time, np.array(self.run_ms, np.int64))


def _seconds(time_ms: int) -> float:
    """Clocks of machines differ a little, so a task may seem to start before it was submitted."""
    return max(time_ms, 0) / 1000


def _sort(histogram: Histogram, values_ms: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
    seconds = np.maximum(values_ms, 0) / 1000
    buckets = np.searchsorted(histogram.bounds, seconds)
    histogram.add(np.bincount(buckets, minlength=len(histogram.counts)).tolist(), float(seconds.sum()))
