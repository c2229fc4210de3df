"""Orders of batch schedulers: which pending job goes first. Used by `planning.batch.batch_policy`.

Each is a plain function; the lowest key goes first. The policies put jobs of a higher priority before all others, and
jobs with equal keys in the order of their submission."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

ESTIMATE_UNKNOWN_S = 86_400.0 * 365  # a job without an estimate counts as a very long one


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What an order may look at. Times are seconds; `submitted_s` counts from the first job that the policy saw."""

    estimate_s: float
    cpus: float  # of all its tasks together
    submitted_s: float


Order = Callable[[JobFacts], float]


def first_come(_: JobFacts) -> float:
    """Equal for all, so that the submission decides."""
    return 0.0


def shortest_first(job: JobFacts) -> float:
    return job.estimate_s


# F1 to F4: Carastan-Santos and de Camargo, "Obtaining Dynamic Scheduling Policies with Simulation and Machine
# Learning", SC 2017, table 3. They were fitted to submission times that count from the start of a trace, and the
# logarithms of two times since 1970 hardly differ. So times count from the first job that the policy has seen.


def f1(job: JobFacts) -> float:
    return _log(job.estimate_s) * job.cpus + 870 * _log(job.submitted_s)


def f2(job: JobFacts) -> float:
    return math.sqrt(job.estimate_s) * job.cpus + 25_600 * _log(job.submitted_s)


def f3(job: JobFacts) -> float:
    return job.estimate_s * job.cpus + 6_860_000 * _log(job.submitted_s)


def f4(job: JobFacts) -> float:
    return job.estimate_s * math.sqrt(job.cpus) + 530_000 * _log(job.submitted_s)


def _log(value: float) -> float:
    return math.log10(max(value, 1.0))
