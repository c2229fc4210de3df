"""Runs one policy on one trace: the real engine and a simulated fleet in virtual time. Called by `lab.experiment`.

Time passes only when a job is submitted or ends, or when the policy asks for another decision: there are no heartbeats
and no housekeeping. At one instant, ends come before submissions, as in other simulators of batch schedulers."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from shunter.adapters.memory.store import MemoryStore
from shunter.engine.engine import Engine
from shunter.engine.jobs.run_keys import keys_of_specs
from shunter.engine.jobs.submit import on_submit
from shunter.engine.policy.active_policy import ActivePolicy
from shunter.engine.round import Round
from shunter.engine.settings import EngineSettings
from shunter.lab.learnt_estimates import CorrectsOverdue, RunTimeHistory
from shunter.lab.start_estimates import StartEstimates, WaitIntervals
from shunter.lab.trace import FloatColumn, Trace
from shunter.lab.workload import LabJob, make_jobs
from shunter.model.protocol.worker_messages import Hello
from shunter.model.resources import CPU
from shunter.planning.filter.filters import FILTERS, Filter
from shunter.planning.view import Policy
from shunter.simulation.fleet.direct import SimulatedWorkers
from shunter.simulation.fleet.machine import RunningRange
from shunter.simulation.runtime.loop import START_S, VirtualClock, run_virtual

FOREVER_S = 10.0**9
STUCK_AFTER_S = 86_400.0  # with pending jobs, while nothing runs and nothing more is submitted
SETTINGS = EngineSettings(
    inbox_max=10_000_000,
    round_commands_max=10_000_000,
    jobs_max=10_000_000,
    quarantine_jobs=0,
    snapshot_bytes=2**62,
    snapshot_rounds=2**62,
    housekeeping_s=FOREVER_S,
)


class RunFailed(Exception):
    """The run has no result: the policy failed, or left jobs unfinished."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """When each job of the trace started and ended, in seconds from the start of the trace."""

    policy: str
    start_s: FloatColumn
    end_s: FloatColumn
    rounds: int
    intervals: WaitIntervals | None = None


def run_policy(
    trace: Trace,
    policy: Policy,
    hellos: Sequence[Hello],
    *,
    is_divided: bool = False,
    filters: tuple[Filter, ...] = FILTERS,
    seed: int = 0,
    learns: bool = False,
    estimates_starts: bool = False,
) -> RunResult:
    """Run the trace to its end. `learns`: estimates are learnt from jobs that have ended. `estimates_starts`: the
    result has intervals for the waits of jobs. Raises RunFailed."""

    async def main(rng: random.Random) -> RunResult:
        cpu_milli = sum(hello.capacity.get(CPU, 0) for hello in hellos)
        starts = StartEstimates(trace, cpu_milli) if estimates_starts else None
        return await _Run(trace, policy, filters, rng, learns, starts).run(hellos, is_divided)

    return run_virtual(main, seed)


class _Run:
    def __init__(
        self,
        trace: Trace,
        policy: Policy,
        filters: tuple[Filter, ...],
        rng: random.Random,
        learns: bool,
        starts: StartEstimates | None,
    ) -> None:
        self._trace, self._starts = trace, starts
        self._history = RunTimeHistory(trace) if learns else None
        self._policy = ActivePolicy(CorrectsOverdue(policy, self._given_ms) if learns else policy, filters=filters)
        self._clock = VirtualClock()
        self._workers = SimulatedWorkers(self._clock, rng)
        self._engine = Engine(
            store=MemoryStore(),
            workers=self._workers,
            policy=self._policy,
            clock=self._clock,
            random=rng,
            settings=SETTINGS,
        )
        self._row_of: dict[int, int] = {}  # by the engine's number of the job
        self._start_s = np.full(len(trace), math.nan)
        self._end_s = np.full(len(trace), math.nan)
        self._unfinished = np.zeros(len(trace), np.int64)  # tasks
        self._unfinished_jobs = len(trace)

    async def run(self, hellos: Sequence[Hello], is_divided: bool) -> RunResult:
        await self._engine.start()
        rounds = asyncio.create_task(self._engine.run())
        await self._workers.start(self._engine, hellos, is_driven=True)
        for node in self._workers.fleet.nodes:
            node.machine.observer = self
        await self._submit_all(is_divided)
        await self._finish()
        self._check_policy()
        await self._engine.stop()
        await rounds
        intervals = self._starts.intervals if self._starts is not None else None
        return RunResult(self._policy.name, self._start_s, self._end_s, self._engine.state.version, intervals)

    async def _submit_all(self, is_divided: bool) -> None:
        due: list[LabJob] = []
        for job in make_jobs(self._trace, is_divided):
            if due and job.submit_s > due[0].submit_s:
                await self._submit(due)
                due = []
            due.append(job)
        if due:
            await self._submit(due)

    async def _submit(self, jobs: list[LabJob]) -> None:
        at_s = START_S + jobs[0].submit_s
        while self._clock.now() < at_s:
            await self._advance(at_s)
        if self._history is not None:
            jobs = [job.with_estimate(self._history.estimate_s(job.row)) for job in jobs]
        if self._starts is not None:
            for job in jobs:
                self._starts.on_submit(job.row, job.submit_s)
        runs = list(keys_of_specs(job.spec for job in jobs))
        self._engine.tell(partial(self._on_submit, jobs=jobs), runs=lambda _state: runs)

    def _on_submit(self, round: Round, jobs: list[LabJob]) -> None:
        for job in jobs:
            [result] = on_submit(round, [job.spec], job.user, None)
            self._row_of[result.job_id] = job.row
            self._unfinished[job.row] = job.spec.groups[0].count

    async def _finish(self) -> None:
        """Wait until every job has ended."""
        while self._unfinished_jobs:
            running = self._workers.fleet.is_running
            await self._advance(math.inf if running else self._clock.now() + STUCK_AFTER_S)
            if not running and not self._workers.fleet.is_running and self._unfinished_jobs:
                raise RunFailed(self._unfinished_reason())

    async def _advance(self, until_s: float) -> None:
        """Let time pass until a task ends, at most until then, and report what ended."""
        await self._workers.fleet.wait_for_end(until_s)
        self._check_policy()
        self._workers.fleet.advance()
        await self._workers.report_now()

    def _check_policy(self) -> None:
        if self._policy.last_error:
            raise RunFailed(f"policy {self._policy.name} failed: {self._policy.last_error}")

    def _unfinished_reason(self) -> str:
        first = int(self._trace.number[np.flatnonzero(np.isnan(self._end_s))[0]])
        return (
            f"policy {self._policy.name} left {self._unfinished_jobs:,} jobs unfinished, the first is job {first}; "
            "nothing ran for a day although nothing else was to come"
        )

    def _given_ms(self, class_id: int) -> int:
        """The user's estimate. Every job is a class of its own."""
        dedicated_to = self._engine.state.classes[class_id].key.dedicated_to
        assert dedicated_to is not None
        return int(self._trace.estimate_s[self._row_of[dedicated_to[0]]] * 1000)

    # ---- what the machines tell ----

    def on_started(self, running_range: RunningRange) -> None:
        row = self._row_of[running_range.job]
        if math.isnan(self._start_s[row]):
            self._start_s[row] = self._clock.now() - START_S
            if self._starts is not None:
                self._starts.on_start(row, float(self._start_s[row]))

    def on_ended(self, running_range: RunningRange) -> None:
        row = self._row_of[running_range.job]
        self._unfinished[row] -= running_range.count
        if not self._unfinished[row]:
            self._unfinished_jobs -= 1
            self._end_s[row] = running_range.ends_at - START_S
            if self._history is not None:
                self._history.add(row)
            if self._starts is not None:
                self._starts.on_end(row)
