"""What jobs used against what they requested, and sums over finished jobs. Used by `gateway.monitor`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing

from shunter.engine.engine import Engine
from shunter.engine.read.views import resources_of
from shunter.engine.state.records import Job
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.task_refs import FinishedRun
from shunter.gateway.monitor.ended_jobs import ended_jobs
from shunter.gateway.scope import Scope
from shunter.model.job.spec import QUEUE_DEFAULT, GroupSpec
from shunter.model.resources import CPU, MEMORY, format_amount, parse_amount
from shunter.model.rest.job_views import JobView
from shunter.model.rest.monitor.usage_views import GroupUsageView, JobUsageView, UsageSum, UsageSums
from shunter.model.timestamps import iso
from shunter.model.usage import Usage
from shunter.ports.principals import JobReference
from shunter.ports.store import FinishedQuery, Store

JOBS_MAX = 20_000  # of history, looked at for one answer
P95 = 0.95
MEMORY_MARGIN = 1.2  # above what 95 % of the attempts needed
NEAR_LIMIT = 0.95  # of the requested memory: who comes so close may have needed more
RAISED_BY = 1.25
CPU_STEP_MILLI = 100
MEMORY_STEP_MIN_BYTES = 2**20


class UsageReader:
    def __init__(self, engine: Engine, store: Store, runs: Runs, scope: Scope) -> None:
        self._engine, self._store, self._runs, self._scope = engine, store, runs, scope

    async def of_job(self, reference: JobReference) -> JobUsageView:
        run = await self._runs.find(reference)
        if isinstance(run, Job):
            specs, usage = run.spec_version.groups, self._engine.state.job_usage.of_job(run.id)
        else:
            specs, usage = run.specs, run.summary.usage
        view = self._runs.view_of(run)
        return JobUsageView(
            name=view.name,
            namespace=view.namespace,
            id=view.id,
            run=view.run,
            state=view.state,
            user=view.user,
            groups=[_group_view(spec, usage.get(spec.name)) for spec in specs],
        )

    async def sums(self, by: str, since_s: float, namespace: str | None) -> UsageSums:
        """Jobs that ended since then, as far as history has them."""
        await self._engine.wait_committed()
        found: dict[str, UsageSum] = {}
        left, is_partial, key_of = JOBS_MAX, False, self._key_function(by)
        for each in self._scope.select(namespace):
            query = FinishedQuery(namespace=each, ended_after=since_s)
            async with aclosing(ended_jobs(self._store, query, left + 1)) as runs:
                async for run, _ in runs:
                    is_partial = not left
                    if is_partial:
                        break
                    left -= 1
                    key = key_of(run.view)
                    add_run(found.setdefault(key, UsageSum(key=key)), run)
            if is_partial:
                break
        items = sorted(found.values(), key=lambda item: (-item.cpu_s, -item.jobs, item.key))
        return UsageSums(by=by, since=iso(since_s) or "", items=items, partial=is_partial)

    def _key_function(self, by: str) -> Callable[[JobView], str]:
        tenants = self._engine.state.tenants
        return {
            "user": lambda view: view.user,
            "queue": lambda view: QUEUE_DEFAULT if view.terms is None else view.terms.queue,
            "namespace": lambda view: view.namespace,
            "tenant": lambda view: tenants.owner_of(view.namespace) or "",
        }[by]


def add_run(total: UsageSum, run: FinishedRun) -> None:
    total.jobs += 1
    if not run.summary.usage:
        return
    total.measured_jobs += 1
    requested = dict(_requests(run.view))
    for name, usage in run.summary.usage.items():
        total.attempts += usage.attempts
        total.run_s += usage.run_ms / 1000
        total.cpu_s += usage.cpu_ms / 1000
        total.cpu_requested_s += usage.run_ms / 1000 * _cpu_milli(requested.get(name, run.view.resources)) / 1000
        total.memory_max_bytes = max(total.memory_max_bytes, usage.memory_max_bytes)
        total.read_bytes += usage.read_bytes
        total.written_bytes += usage.written_bytes


def _requests(view: JobView) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The requests of each group, with its name if there are several."""
    for group in view.groups:
        yield group.name, group.resources


def _cpu_milli(resources: Mapping[str, str]) -> int:
    return parse_amount(CPU, resources.get(CPU, "0"))


def _group_view(spec: GroupSpec, usage: Usage | None) -> GroupUsageView:
    view = GroupUsageView(name=spec.name, tasks=spec.count, attempts=0, requested=resources_of(spec))
    if usage is None or not usage.attempts:
        return view
    view.attempts = usage.attempts
    view.run_s, view.run_max_s, view.cpu_s = usage.run_ms / 1000, usage.run_max_ms / 1000, usage.cpu_ms / 1000
    view.cores_mean = usage.cpu_ms / usage.run_ms if usage.run_ms else None
    view.cores_max = usage.cores_max_milli / 1000 if usage.cores_max_milli else None
    view.memory_p95_bytes, view.memory_max_bytes = usage.memory_percentile(P95), usage.memory_max_bytes
    view.read_bytes, view.written_bytes = usage.read_bytes, usage.written_bytes
    view.suggested = suggest(usage, spec.needs.get(MEMORY, 0))
    return view


def suggest(usage: Usage, memory_requested_bytes: int) -> dict[str, str]:
    """What the next run should request: never less than a measured attempt needed."""
    memory = max(int(usage.memory_percentile(P95) * MEMORY_MARGIN), usage.memory_max_bytes)
    if memory_requested_bytes and usage.memory_max_bytes >= memory_requested_bytes * NEAR_LIMIT:
        memory = max(memory, int(memory_requested_bytes * RAISED_BY))
    mean_milli = math.ceil(usage.cpu_ms * 1000 / usage.run_ms) if usage.run_ms else 0
    cpu = max(usage.cores_max_milli, mean_milli, 1)
    step = max(MEMORY_STEP_MIN_BYTES, 2 ** max(0, memory.bit_length() - 4))
    suggested = {CPU: format_amount(CPU, _round_up(cpu, CPU_STEP_MILLI))}
    if memory:
        suggested[MEMORY] = format_amount(MEMORY, _round_up(memory, step))
    return suggested


def _round_up(amount: int, step: int) -> int:
    return -(-amount // step) * step
