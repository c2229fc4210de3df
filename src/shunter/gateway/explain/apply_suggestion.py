"""Applies a suggestion of `why`: finds the change again, checks that it still starts the job, and makes it. Called by
the sub-gateway `explain`.

A long-running job is updated. A batch job that has not started is replaced by a new run. Changes of queues, nodes and
settings need the role that their own commands need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from shunter.engine.engine import Engine
from shunter.engine.jobs.replace_waiting import check_replaceable, on_replace_waiting
from shunter.engine.jobs.run_keys import keys_of_edges, keys_of_specs
from shunter.engine.policy.dry_run import DryRunSource
from shunter.engine.read.views import job_view
from shunter.engine.state.records import Job
from shunter.gateway.explain.plan import DryRuns, job_with_dependencies
from shunter.gateway.explain.remedies import Remedy
from shunter.gateway.explain.verified_remedies import find_verified, waiting_spec, whole_spec
from shunter.gateway.jobs.runs import Runs
from shunter.model.errors import Conflict
from shunter.model.identity.roles import check_permission
from shunter.model.rest.job_views import JobView
from shunter.planning.filter.filters import Filter
from shunter.ports.jobs import Suggestion
from shunter.ports.principals import JobReference, Principal

STALE = "this would not start the job any more, or not alone; ask `shunter why {job}` again"
# The operation that a change of the cluster stands for, by the beginning of its field.
OPERATIONS = {"spec.hold": "releaseJob", "queue.": "patchQueue", "node.": "uncordonNode", "cluster.": "patchCluster"}


@dataclass(frozen=True, slots=True)
class Suggestions:
    caller: Principal
    engine: Engine
    runs: Runs
    dry_runs: DryRuns

    async def apply(self, reference: JobReference, suggestion: Suggestion) -> JobView:
        """Raises Conflict if the suggestion is stale."""
        run = await self.runs.find(reference)
        if not isinstance(run, Job):
            raise Conflict(f"job '{run.view.name}' has ended; retry it with `shunter retry {run.view.name}`")
        job_id, version, filters = run.id, run.version, self.engine.active_policy.filters
        remedy = await self._find(run, suggestion, filters)
        if remedy is None:
            raise Conflict(STALE.format(job=run.name))
        if remedy.change_cluster is not None:
            check_permission(self.caller.roles, _operation_of(remedy.path))
            await self.engine.ask(remedy.change_cluster)
        elif run.is_long_running:
            await self.engine.update(job_id, remedy.change_spec(whole_spec(run)), self.caller.user)
        else:
            job_id = await self._replace(run, remedy, version)
        await self.engine.wait_committed()
        job = self.engine.state.jobs.get(job_id)
        if job is None:
            return await self.runs.view(JobReference(reference.namespace, id=job_id))
        return job_view(job, self.engine.state, self.engine.now_ms())

    async def _find(self, job: Job, suggestion: Suggestion, filters: Sequence[Filter]) -> Remedy | None:
        return await self.dry_runs.run(
            partial(job_with_dependencies, job.id),
            _find_in_dry_run,
            job.id,
            filters,
            suggestion,
            runs=keys_of_edges(job.namespace, job.options.after),
        )

    async def _replace(self, job: Job, remedy: Remedy, version: int) -> int:
        check_replaceable(job)
        spec = remedy.change_spec(waiting_spec(job))
        replace = partial(on_replace_waiting, job_id=job.id, spec=spec, version=version, user=job.user)
        result = await self.engine.ask(replace, lambda _state: keys_of_specs([spec]))
        return result.job_id


def _find_in_dry_run(
    source: DryRunSource, job_id: int, filters: Sequence[Filter], suggestion: Suggestion
) -> Remedy | None:
    return find_verified(source, job_id, filters, suggestion.field, suggestion.before, suggestion.after)


def _operation_of(path: str) -> str:
    return next(operation for prefix, operation in OPERATIONS.items() if path.startswith(prefix))
