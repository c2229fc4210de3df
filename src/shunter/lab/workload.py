"""Turns the jobs of a trace into job specs. Called by `lab.run`, job by job, when each is submitted.

Every job is a class of its own: `parallel_max` dedicates a class to one job, so the policy sees each job's exact
estimate, its user and its queue, as a batch scheduler does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import msgspec

from shunter.lab.trace import Trace
from shunter.model.job.spec import DEFAULT_OPTIONS, QUEUE_DEFAULT, GroupSpec, JobOptions, JobSpec, TaskSpec
from shunter.model.resources import CPU, MEMORY

NAMESPACE = "lab"
GROUP = "job"
GPU_MILLI = "gpu_milli"  # the resource of nodes with accelerators: thousandths of a device
NO_ENV: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class LabJob:
    """A job to submit: the row of the trace, its user and its spec."""

    row: int
    submit_s: float
    user: str
    spec: JobSpec

    def with_estimate(self, estimate_s: float) -> LabJob:
        [group] = self.spec.groups
        groups = (msgspec.structs.replace(group, estimate_s=estimate_s),)
        return replace(self, spec=msgspec.structs.replace(self.spec, groups=groups))


def make_jobs(trace: Trace, is_divided: bool) -> Iterator[LabJob]:
    """`is_divided`: each job is a gang of its tasks. Else it is one task with all that the job needs."""
    options: dict[str, JobOptions] = {"": DEFAULT_OPTIONS, QUEUE_DEFAULT: DEFAULT_OPTIONS}
    names = _names(trace)
    for row in range(len(trace)):
        tasks = int(trace.tasks[row]) if is_divided else 1
        amounts = {CPU: trace.cpu_milli, MEMORY: trace.memory_bytes, GPU_MILLI: trace.gpu_milli}
        needs = {name: -(-int(column[row]) // tasks) for name, column in amounts.items() if column[row] > 0}
        queue = trace.queue[row]
        if queue not in options:
            options[queue] = JobOptions(queue=queue)
        group = GroupSpec(
            name=GROUP,
            count=tasks,
            task=TaskSpec(("sleep", f"{trace.run_s[row]:.6f}"), NO_ENV, cpu_milli=needs.get(CPU, 0)),
            needs=needs,
            parallel_max=tasks,
            gang=tasks > 1,
            estimate_s=float(trace.estimate_s[row]),
        )
        spec = JobSpec(NAMESPACE, names[row], (group,), options=options[queue])
        yield LabJob(row, float(trace.submit_s[row]), trace.user[row], spec)


def _names(trace: Trace) -> list[str]:
    """After the numbers of the jobs. Where these are unknown or repeat, after their positions."""
    numbers = trace.number.tolist()
    if len(set(numbers)) < len(numbers) or min(numbers) < 0:
        numbers = list(range(1, len(numbers) + 1))
    return [f"job-{number}" for number in numbers]
