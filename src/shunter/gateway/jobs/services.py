"""The sub-gateway `services`: update, scale, roll back, restart and move long-running jobs. Implements
`ports.jobs.ServiceJobService`."""

from __future__ import annotations

from collections.abc import Mapping

from shunter.engine.engine import Engine
from shunter.engine.read.views import job_view
from shunter.engine.state.records import Job
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.task_refs import group_name, locate_task
from shunter.gateway.scope import Scope
from shunter.model.errors import Conflict, Invalid, Problem
from shunter.model.job.manifests import JobReader
from shunter.model.job.spec import LONG_RUNNING
from shunter.model.rest.job_views import JobView, describe_end_state
from shunter.ports.principals import JobReference, Principal, TaskReference


class Services:
    def __init__(self, caller: Principal, engine: Engine, runs: Runs, manifests: JobReader, scope: Scope) -> None:
        self._caller, self._engine, self._runs, self._manifests = caller, engine, runs, manifests
        self._scope = scope

    async def update(self, job: JobReference, document: object, *, namespace: str, node: str | None) -> JobView:
        [spec] = self._manifests.read_all([document], default_namespace=namespace, make_name=str)
        run = await self._live(job, "updated")
        if (spec.namespace, spec.name) != (run.namespace, run.name):
            fault = f"must be '{run.name}' in namespace '{run.namespace}', the job to update"
            raise Invalid(
                [Problem("metadata.name", fault, spec.name, "correct the name, or submit the manifest as a new job")]
            )
        self._scope.require_queue(spec.options.queue)
        await self._engine.update(run.id, spec, self._caller.user, node)
        return await self._view(run)

    async def scale(self, job: JobReference, counts: Mapping[str, int]) -> JobView:
        run = await self._live(job, "scaled")
        await self._engine.scale(run.id, dict(counts), self._caller.user)
        return await self._view(run)

    async def roll_back(self, job: JobReference) -> JobView:
        run = await self._live(job, "rolled back")
        await self._engine.roll_back(run.id, self._caller.user)
        return await self._view(run)

    async def restart(self, job: JobReference, task: TaskReference | None) -> JobView:
        run = await self._live(job, "restarted")
        target = None if task is None else (group_name(run, task.group), task.index)
        await self._engine.restart(run.id, target, self._caller.user)
        return await self._view(run)

    async def move(self, job: JobReference, task: TaskReference, node: str) -> JobView:
        run = await self._live(job)
        locate_task(self._engine.state, run, task)  # its error lists the tasks
        await self._engine.move(run.id, (group_name(run, task.group), task.index), node, self._caller.user)
        return await self._view(run)

    async def _live(self, job: JobReference, action: str | None = None) -> Job:
        """`action` is what only long-running jobs can be: scaled, restarted."""
        run = await self._runs.find(job)
        if not isinstance(run, Job):
            name, kind = run.view.name, run.view.type
            fault = describe_end_state(run.view.state)
            if action is not None and kind not in LONG_RUNNING:
                fault = f"is a {kind} job; only services can be {action}"
            raise Conflict(f"job '{name}' {fault}; to run it again: `shunter retry {name}`")
        return run

    async def _view(self, run: Job) -> JobView:
        await self._engine.wait_committed()
        return job_view(run, self._engine.state, self._engine.now_ms())
