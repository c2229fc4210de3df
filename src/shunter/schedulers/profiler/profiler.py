"""The two loops of the profiling scheduler. One measures pairs of BatchJobs on its own Testbed. The other runs all of
them on a second Testbed, each next to the partner that the measurements favour. Called by `shunter profiler`.

All results are stored with the BatchJobs, so the profiler can be stopped and started again at any time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from shunter.model.objects.objects import BATCH_JOB, TESTBED
from shunter.model.rest.object_views import ObjectView
from shunter.schedulers.profiler.matrix import (
    EXTERNAL_KEY,
    Matrix,
    Pair,
    Rows,
    add_run,
    format_table,
    read_matrix,
    unreadable_cells,
)
from shunter.schedulers.profiler.pairing import JOBS_PER_NODE, build_queue, choose_partners
from shunter.schedulers.profiler.runs import (
    Report,
    RunFailed,
    SchedulerClient,
    completed_scheduling,
    last_duration_s,
    layout_of,
    remove_leftovers,
    usable_jobs,
    wait_for_free_slots,
)
from shunter.sdk.errors import Conflict, NotFound

PROFILER_PREFIX = "profiler-scheduling"
SCHEDULER_PREFIX = "example-scheduling"
RUN_MAX_S = 3600.0  # a run that takes longer is given up
PAUSE_MAX_S = 60.0  # between runs, when one after the other fails


@dataclass(frozen=True, slots=True)
class Settings:
    """`runs` is how often each loop tries; None means without end."""

    profiler_testbed: str | None = None
    scheduler_testbed: str | None = None
    runs: int | None = None
    run_max_s: float = RUN_MAX_S


@dataclass(slots=True)
class ProfilingScheduler:
    """Both loops over one interface; `report` gets a line for each thing that happened."""

    client: SchedulerClient
    settings: Settings
    report: Report
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    failed_runs: int = 0
    _failures: Counter[Pair] = field(default_factory=Counter)

    async def run(self) -> None:
        """Run until every loop has done its runs; without a number of runs, until cancelled."""
        steps = {
            PROFILER_PREFIX: (self.settings.profiler_testbed, self._profile),
            SCHEDULER_PREFIX: (self.settings.scheduler_testbed, self._schedule),
        }
        try:
            async with asyncio.TaskGroup() as loops:
                for prefix, (testbed, step) in steps.items():
                    if testbed is not None:
                        loops.create_task(self._loop(prefix, testbed, step))
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None  # one loop that cannot go on ends the other

    async def _loop(self, prefix: str, testbed: str, step: Callable[[str, str, int], Awaitable[None]]) -> None:
        for name in await remove_leftovers(self.client, prefix, testbed):
            self.report(f"deleted {name}, which an earlier run left behind")
        number = failed_in_a_row = 0
        while self.settings.runs is None or number < self.settings.runs:
            try:
                await step(f"{prefix}-{number}", testbed, number)
                failed_in_a_row = 0
            except RunFailed as error:
                self.report(str(error))
                self.failed_runs += 1
                await self.sleep(min(2.0**failed_in_a_row, PAUSE_MAX_S))
                failed_in_a_row += 1
            number += 1

    async def _profile(self, name: str, testbed: str, number: int) -> None:  # noqa: ARG002
        """Measure the pair with the fewest measurements, and store the result with both."""
        layout = await wait_for_free_slots(self.client, testbed, self.report)
        jobs = await usable_jobs(self.client, self.report)
        before = read_matrix(rows_by_job(jobs))
        pair = before.next_pair(self._failures)
        try:
            async with completed_scheduling(
                self.client, name, build_queue([pair], layout), testbed, self.settings.run_max_s
            ):
                durations_s = await self._record_durations(name, pair)
        except (RunFailed, NotFound, Conflict) as error:
            self._failures.update([pair, pair[::-1]])  # one run would have measured both
            raise RunFailed(f"{' and '.join(pair)}: {error}") from error
        self.report(f"{name}: {pair[0]} took {durations_s[0]} s, {pair[1]} took {durations_s[1]} s")
        await self._report_matrix(before)

    async def _record_durations(self, name: str, pair: Pair) -> tuple[int, int]:
        """Write the durations to both jobs, which are still claimed, or to none."""
        first, second = [await self.client.get(BATCH_JOB, job) for job in pair]
        durations_s = last_duration_s(first, name), last_duration_s(second, name)
        for job, other, duration_s in ((first, second, durations_s[0]), (second, first, durations_s[1])):
            rows = add_run(rows_of(job), other.name, duration_s)
            await self.client.write_external(job.name, {EXTERNAL_KEY: rows})
        return durations_s

    async def _report_matrix(self, before: Matrix) -> None:
        """The matrix, whenever every pair was measured once more."""
        after = read_matrix(rows_by_job(await self.client.objects(BATCH_JOB)))
        if after.samples_min > before.samples_min:
            self.report("\n".join(["", *format_table(after), ""]))

    async def _schedule(self, name: str, testbed: str, number: int) -> None:
        """Run as many pairs as there are nodes; the jobs take turns to choose a partner."""
        layout = await wait_for_free_slots(self.client, testbed, self.report)
        matrix = read_matrix(rows_by_job(await usable_jobs(self.client, self.report)))
        pairs = choose_partners(matrix, rotated(matrix.jobs, number * layout.nodes), layout.nodes)
        self.report(f"{name}: {', '.join(map(' with '.join, pairs))}")
        async with completed_scheduling(
            self.client, name, build_queue(pairs, layout), testbed, self.settings.run_max_s
        ):
            self.report(f"{name} has completed")


async def describe(client: SchedulerClient, scheduler_testbed: str | None) -> list[str]:
    """The matrix, and the partners that would be chosen first on this Testbed, or on as many nodes as there are pairs.
    Changes nothing."""
    rows_by_name = rows_by_job(await client.objects(BATCH_JOB))
    matrix = read_matrix(rows_by_name)
    nodes = len(matrix.jobs) // JOBS_PER_NODE
    if scheduler_testbed is not None:
        nodes = layout_of(await client.get(TESTBED, scheduler_testbed)).nodes
    partners = [f"{first} with {second}" for first, second in choose_partners(matrix, matrix.jobs, nodes)]
    unread = [f"cannot parse {text!r} of {job} with {other}" for job, other, text in unreadable_cells(rows_by_name)]
    return [
        *format_table(matrix),
        "",
        *(partners or ["cannot measure: the profiler needs two BatchJobs and a node"]),
        *unread,
    ]


def rotated(jobs: Sequence[str], by: int) -> list[str]:
    """The jobs in order, from another one on."""
    start = by % len(jobs)
    return [*jobs[start:], *jobs[:start]]


def rows_by_job(jobs: Sequence[ObjectView]) -> dict[str, Rows]:
    return {job.name: rows_of(job) for job in jobs}


def rows_of(job: ObjectView) -> Rows:
    rows: Rows = job.spec.get("externalScheduler", {}).get(EXTERNAL_KEY, [])
    return rows
