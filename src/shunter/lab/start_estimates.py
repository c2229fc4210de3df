"""When pending jobs will start: an interval that should cover 80 % of cases (`--start-estimates`). Used by `lab.run`.

The forecast plans the queue ahead: each job in the order of submission starts as early as it fits, with run times
learnt from jobs that have ended. How far forecasts are wrong is learnt, too: the interval has the ratios of real to
forecast waits between two quantiles, taken from the jobs with the most similar forecasts that have started since
(split conformal prediction). The quantiles move when too many or too few intervals turn out right (Gibbs and Candès,
"Adaptive Conformal Inference Under Distribution Shift", NeurIPS 2021). Nothing is known about what has not happened."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from dataclasses import dataclass

import numpy as np

from shunter.lab.learnt_estimates import RunTimeHistory
from shunter.lab.trace import FloatColumn, Trace

COVERAGE = 0.8  # of the intervals that should be right
PLANNED_MAX = 500  # jobs of the queue that are planned ahead; the others count as one after another
CASES_MAX = 2000  # forecasts that are remembered
SIMILAR = 100  # of these, as many are looked at
CASES_MIN = 10  # before that, there are no intervals
STEP = 0.01  # how fast the quantiles move
SOFTENING_S = 60.0  # added to waits before ratios are taken: a minute more or less is no large error


@dataclass(frozen=True, slots=True)
class WaitIntervals:
    """The shortest and the longest expected wait of each job; NaN where there is no estimate."""

    low_s: FloatColumn
    high_s: FloatColumn


class StartEstimates:
    """Told by the run what happens; has the intervals in the end."""

    def __init__(self, trace: Trace, cpu_milli: int) -> None:
        self._trace, self._total = trace, cpu_milli
        self._history = RunTimeHistory(trace)
        self._pending: dict[int, float] = {}  # row -> forecast wait
        self._started_s: dict[int, float] = {}  # running jobs
        self._errors = _Errors()
        self.intervals = WaitIntervals(np.full(len(trace), np.nan), np.full(len(trace), np.nan))

    def on_submit(self, row: int, now_s: float) -> None:
        wait_s = self._forecast_s(row, now_s)
        self._pending[row] = wait_s
        interval = self._errors.interval_s(wait_s)
        if interval is not None:
            self.intervals.low_s[row], self.intervals.high_s[row] = interval

    def on_start(self, row: int, now_s: float) -> None:
        forecast_s = self._pending.pop(row)
        self._started_s[row] = now_s
        wait_s = now_s - float(self._trace.submit_s[row])
        if wait_s > 0:  # what starts at once needs no estimate, and tells nothing about those that must wait
            low_s, high_s = float(self.intervals.low_s[row]), float(self.intervals.high_s[row])
            self._errors.add(forecast_s, wait_s, None if np.isnan(low_s) else low_s <= wait_s <= high_s)

    def on_end(self, row: int) -> None:
        del self._started_s[row]
        self._history.add(row)

    def _forecast_s(self, row: int, now_s: float) -> float:
        """How long the job waits, if every job runs as long as was learnt."""
        needs = self._trace.cpu_milli
        ends = [(self._expected_end_s(running, now_s), int(needs[running])) for running in self._started_s]
        free = Profile(now_s, self._total, ends)
        for pending in [*list(self._pending)[:PLANNED_MAX], row]:
            start_s = free.place(int(needs[pending]), max(self._history.estimate_s(pending), 1.0))
        return start_s - now_s

    def _expected_end_s(self, row: int, now_s: float) -> float:
        """A job that runs longer than was learnt runs as long as its user says, and one that is still running then ends
        soon."""
        begin_s = self._started_s[row]
        learnt_s = begin_s + self._history.estimate_s(row)
        if learnt_s <= now_s:
            learnt_s = begin_s + float(self._trace.estimate_s[row])
        return max(learnt_s, now_s + 1.0)


class Profile:
    """What is free over time: `_free[i]` from `_times[i]` until the next time."""

    def __init__(self, now_s: float, total: int, ends: list[tuple[float, int]]) -> None:
        """`ends`: when each running job ends, and what it frees."""
        self._times, self._free = [now_s], [total - sum(amount for _, amount in ends)]
        for end_s, amount in sorted(ends):
            if end_s == self._times[-1]:
                self._free[-1] += amount
            else:
                self._times.append(end_s)
                self._free.append(self._free[-1] + amount)

    def place(self, need: int, run_s: float) -> float:
        """Start a job as early as it fits all the time that it runs. Returns when."""
        times, free = self._times, self._free
        first, size = 0, len(times)
        number = 0
        while number < size and times[number] < times[first] + run_s:
            if free[number] < need and number < size - 1:
                first = number + 1
            number += 1
        start_s = times[first]
        last = self._split(start_s + run_s)
        for number in range(first, last):
            free[number] -= need
        return start_s

    def _split(self, at_s: float) -> int:
        """The position of this time, which is put in if it is new."""
        position = bisect_left(self._times, at_s)
        if position == len(self._times) or self._times[position] != at_s:
            self._times.insert(position, at_s)
            self._free.insert(position, self._free[position - 1])
        return position


class _Errors:
    """How much longer or shorter jobs waited than was forecast, by forecast."""

    def __init__(self) -> None:
        self._recent: deque[tuple[float, float]] = deque()
        self._by_forecast: list[tuple[float, float]] = []  # forecast, ratio; both as logarithms
        self._miss = 1.0 - COVERAGE  # what intervals leave out now, so that they cover as much as they should

    def interval_s(self, forecast_s: float) -> tuple[float, float] | None:
        if len(self._recent) < CASES_MIN:
            return None
        level = _level(forecast_s)
        middle = bisect_left(self._by_forecast, (level, 0.0))
        begin = min(max(middle - SIMILAR // 2, 0), max(len(self._by_forecast) - SIMILAR, 0))
        ratios = [ratio for _, ratio in self._by_forecast[begin : begin + SIMILAR]]
        low, high = np.quantile(ratios, [self._miss / 2, 1 - self._miss / 2], method="median_unbiased").tolist()
        return max(_wait_s(level + low), 0.0), max(_wait_s(level + high), 0.0)

    def add(self, forecast_s: float, wait_s: float, is_covered: bool | None) -> None:
        """A job has started. `is_covered`: its interval was right."""
        case = _level(forecast_s), _level(wait_s) - _level(forecast_s)
        self._recent.append(case)
        insort(self._by_forecast, case)
        if len(self._recent) > CASES_MAX:
            del self._by_forecast[bisect_left(self._by_forecast, self._recent.popleft())]
        if is_covered is not None:
            step = STEP * (1 - COVERAGE if is_covered else -COVERAGE)
            self._miss = min(max(self._miss + step, 0.01), 0.6)


def _level(wait_s: float) -> float:
    return float(np.log(wait_s + SOFTENING_S))


def _wait_s(level: float) -> float:
    return float(np.exp(level)) - SOFTENING_S


@dataclass(frozen=True, slots=True)
class Quality:
    """How good the intervals of the last third of the jobs were, of those that had to wait."""

    jobs: int
    covered: float  # share whose wait is in its interval
    width_mean_s: float
    width_median_s: float
    wait_mean_s: float


def measure_quality(wait_s: FloatColumn, intervals: WaitIntervals) -> Quality | None:
    """None: no job of the last third had to wait and has an interval."""
    low_s, high_s = intervals.low_s, intervals.high_s
    is_last = np.arange(len(wait_s)) >= len(wait_s) * 2 // 3
    rows = np.flatnonzero(is_last & (wait_s > 0) & ~np.isnan(low_s))
    if not len(rows):
        return None
    width_s = high_s[rows] - low_s[rows]
    covered = (low_s[rows] <= wait_s[rows]) & (wait_s[rows] <= high_s[rows])
    return Quality(
        len(rows), float(covered.mean()), float(width_s.mean()), float(np.median(width_s)), float(wait_s[rows].mean())
    )
