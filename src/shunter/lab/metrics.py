"""The figures of one run, each defined here and in docs/guides/lab.md: computed from the trace and the times of its
jobs. Called by `lab.experiment`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shunter.lab.nodes import NodeModel
from shunter.lab.run import RunResult
from shunter.lab.trace import FloatColumn, IntColumn, Trace
from shunter.lab.workload import GPU_MILLI
from shunter.model.resources import CPU

SLOWDOWN_BOUND_S = 10.0  # shorter jobs count as this long


@dataclass(frozen=True, slots=True)
class Window:
    """The measured part of a trace: jobs submitted, and time passing, from `begin_s` until `end_s`."""

    begin_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        return self.end_s - self.begin_s


@dataclass(frozen=True, slots=True)
class Distribution:
    mean: float
    median: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class Figures:
    jobs: int
    wait_s: Distribution
    slowdown: Distribution  # bounded
    utilisation: float  # mean share of the cpus that jobs hold
    makespan_s: float  # from the first submission to the last end, of all jobs
    queue_length_mean: float  # pending jobs, over time
    queue_length_max: int
    fairness: float  # Jain's index of the users' mean slowdowns
    gpu_allocated: float | None  # mean share of the GPUs that jobs hold; None: there are none
    stranded: float  # mean share of the cpus that are free while a job is pending


@dataclass(frozen=True, slots=True)
class StepCurve:
    """A value over time: `values[i]` holds from `times[i]` until the next time."""

    times: FloatColumn
    values: FloatColumn

    def mean(self, window: Window) -> float:
        """Weighted by time; the value before the first time is 0."""
        if window.length_s <= 0:
            return 0.0
        edges = np.clip(np.append(self.times, np.inf), window.begin_s, window.end_s)
        return float((self.values * np.diff(edges)).sum() / window.length_s)

    def max(self, window: Window) -> float:
        inside = (self.times < window.end_s) & (np.append(self.times[1:], np.inf) > window.begin_s)
        return float(self.values[inside].max(initial=0.0))


def measured_window(trace: Trace, warm_up_s: float, cool_down_s: float) -> Window:
    """From the first to the last submission, without both ends."""
    return Window(float(trace.submit_s[0]) + warm_up_s, float(trace.submit_s[-1]) - cool_down_s)


def measured_jobs(trace: Trace, window: Window) -> IntColumn:
    found: IntColumn = np.flatnonzero((trace.submit_s >= window.begin_s) & (trace.submit_s <= window.end_s))
    return found


def waits(trace: Trace, result: RunResult) -> FloatColumn:
    wait: FloatColumn = result.start_s - trace.submit_s
    return wait


def bounded_slowdowns(trace: Trace, result: RunResult) -> FloatColumn:
    """(wait + run) / run, where a run counts as at least 10 s, and the result as at least 1."""
    run_s = result.end_s - result.start_s
    slowdown: FloatColumn = np.maximum((result.end_s - trace.submit_s) / np.maximum(run_s, SLOWDOWN_BOUND_S), 1.0)
    return slowdown


def held_amount(amounts: IntColumn, result: RunResult) -> StepCurve:
    """What running jobs hold of a resource, over time."""
    return _steps(result.start_s, result.end_s, amounts)


def queue_length(trace: Trace, result: RunResult) -> StepCurve:
    """Pending jobs, over time."""
    return _steps(trace.submit_s, result.start_s, np.ones(len(trace), np.int64))


def _steps(begin_s: FloatColumn, end_s: FloatColumn, amounts: IntColumn) -> StepCurve:
    times = np.concatenate([begin_s, end_s])
    changes = np.concatenate([amounts, -amounts]).astype(np.int64)
    instants, place = np.unique(times, return_inverse=True)
    sums = np.zeros(len(instants), np.int64)
    np.add.at(sums, place, changes)
    return StepCurve(instants, sums.cumsum().astype(np.float64))


def compute_figures(trace: Trace, result: RunResult, nodes: NodeModel, window: Window) -> Figures:
    jobs = measured_jobs(trace, window)
    slowdown = bounded_slowdowns(trace, result)[jobs]
    cpus, gpus = nodes.total(CPU), nodes.total(GPU_MILLI)
    held, pending = held_amount(trace.cpu_milli, result), queue_length(trace, result)
    return Figures(
        jobs=len(jobs),
        wait_s=_distribution(waits(trace, result)[jobs]),
        slowdown=_distribution(slowdown),
        utilisation=held.mean(window) / cpus if cpus else 0.0,
        makespan_s=float(result.end_s.max() - trace.submit_s[0]),
        queue_length_mean=pending.mean(window),
        queue_length_max=int(pending.max(window)),
        fairness=_jain([trace.user[row] for row in jobs.tolist()], slowdown),
        gpu_allocated=held_amount(trace.gpu_milli, result).mean(window) / gpus if gpus else None,
        stranded=_stranded(held, pending, cpus).mean(window) if cpus else 0.0,
    )


def _distribution(values: FloatColumn) -> Distribution:
    """Percentiles by nearest rank, so that each is the value of a job."""
    if not len(values):
        return Distribution(0.0, 0.0, 0.0, 0.0, 0.0)
    median, p95, p99 = np.percentile(values, [50, 95, 99], method="inverted_cdf").tolist()
    return Distribution(float(values.mean()), median, p95, p99, float(values.max()))


def _jain(users: list[str], slowdowns: FloatColumn) -> float:
    """(sum of x)^2 / (n * sum of x^2), over the mean slowdown x of each of n users: 1 if all are equal."""
    if not users:
        return 1.0
    _, place = np.unique(np.array(users), return_inverse=True)
    means = np.bincount(place, slowdowns) / np.bincount(place)
    return float(means.sum() ** 2 / (len(means) * (means**2).sum()))


def _stranded(held: StepCurve, pending: StepCurve, cpus: int) -> StepCurve:
    """The share of the cpus that is free, where a job is pending; else 0."""
    times = np.union1d(held.times, pending.times)
    free = 1.0 - _at(held, times) / cpus
    return StepCurve(times, np.where(_at(pending, times) > 0, free, 0.0))


def _at(curve: StepCurve, times: FloatColumn) -> FloatColumn:
    place = np.searchsorted(curve.times, times, side="right") - 1
    found: FloatColumn = np.where(place >= 0, curve.values[np.maximum(place, 0)], 0.0)
    return found
