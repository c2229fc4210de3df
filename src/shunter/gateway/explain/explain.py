"""The sub-gateway `explain`: why a job is in its state, and what a submit would do. Implements
`ports.jobs.ExplainService`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random

from shunter.engine.engine import Engine
from shunter.engine.jobs.apply_file import MixedFile
from shunter.engine.jobs.run_keys import keys_of_drafts, keys_of_edges, keys_of_specs
from shunter.engine.jobs.submit import with_names
from shunter.engine.state.records import Job
from shunter.gateway.explain.apply_suggestion import Suggestions
from shunter.gateway.explain.down_nodes import describe_tasks_on_down_nodes
from shunter.gateway.explain.names import Names
from shunter.gateway.explain.plan import DryRuns, job_with_dependencies, jobs_named_in, plan
from shunter.gateway.explain.plan_objects import jobs_of_file, plan_file
from shunter.gateway.explain.verified_remedies import diagnose
from shunter.gateway.explain.why import reservation_reasons, why, why_ended, why_task
from shunter.gateway.explain.why_objects import describe_next_run, why_object
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.task_reader import TaskReader
from shunter.gateway.jobs.task_refs import AnyRun
from shunter.gateway.scope import Scope
from shunter.model.errors import NotFound
from shunter.model.files.mixed_files import read_parts, split
from shunter.model.job.manifests import JobReader
from shunter.model.job.spec import JobSpec
from shunter.model.lifecycles import NodeState
from shunter.model.objects.batch_jobs import BatchJob, BatchJobState
from shunter.model.objects.documents import APPLICATION_PREFIX
from shunter.model.objects.object_manifests import read_objects
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import KINDS
from shunter.model.rest.job_views import JobView
from shunter.model.rest.plan_views import PlanView, ReasonView, WhyView
from shunter.planning.planner import Planner
from shunter.ports.clock import Clock
from shunter.ports.jobs import Suggestion
from shunter.ports.principals import JobReference, Principal, TaskReference


class Explain:
    def __init__(
        self,
        caller: Principal,
        engine: Engine,
        clock: Clock,
        runs: Runs,
        reader: TaskReader,
        manifests: JobReader,
        dry_runs: DryRuns,
        scope: Scope,
    ) -> None:
        self._caller, self._engine, self._clock, self._scope = caller, engine, clock, scope
        self._runs, self._reader, self._manifests, self._dry_runs = runs, reader, manifests, dry_runs

    async def why(self, job: JobReference, task: TaskReference | None = None) -> WhyView:
        try:
            run = await self._runs.find(job)
        except NotFound:
            batch_job = self._batch_job(job)
            if batch_job is None:
                raise
            return why_object(self._engine.state, batch_job)
        target = None if task is None else await self._reader.task(run, task)
        if task is not None and target is not None and target.state not in ("waiting", "queued"):
            found = why_task(target, self._last_loss(run, task) if target.lost else "")
            node = self._engine.state.nodes.by_name.get(target.node or "")
            if isinstance(run, Job) and node is not None and node.state is NodeState.DOWN:
                waits = describe_tasks_on_down_nodes(self._engine.state, run, int(self._clock.now() * 1000))
                found.sentence = f"{found.sentence} {waits}".strip()
            return found
        if not isinstance(run, Job):
            found, batch_job = why_ended(run.view), self._batch_job(job)
            if batch_job is not None and batch_job.status.state in (BatchJobState.READY, BatchJobState.IN_QUEUE):
                found.sentence = f"{found.sentence} {describe_next_run(self._engine.state, batch_job)}"
            return found
        return await self._why_unfinished(run)

    def _last_loss(self, run: AnyRun, task: TaskReference) -> str:
        """Empty if the history does not have it any more."""
        reasons = [reason for *_, exit_code, _, _, _, reason in self._reader.history(run, task) if exit_code < 0]
        return reasons[-1] if reasons else ""

    async def apply_suggestion(self, job: JobReference, suggestion: Suggestion) -> JobView:
        return await Suggestions(self._caller, self._engine, self._runs, self._dry_runs).apply(job, suggestion)

    async def why_object(self, kind: str, name: ObjectName) -> WhyView:
        await self._engine.wait_committed()
        each = self._engine.state.objects.get(kind, name)
        if each is None or not self._scope.sees(name.namespace):
            raise NotFound(f"{kind} '{name}' does not exist")
        return why_object(self._engine.state, each)

    async def plan(self, documents: Sequence[object], *, namespace: str) -> PlanView:
        if any(isinstance(each, dict) and each.get("kind") in KINDS for each in documents):
            return await self._plan_file(documents, namespace)
        read = self._manifests.read_all(documents, default_namespace=namespace, make_name=str)
        self._scope.require_jobs(read)
        specs, names = self._with_names(read), self._names
        runs, subject_jobs = keys_of_specs(specs), partial(jobs_named_in, specs)
        return await self._dry_runs.run(subject_jobs, plan, specs, self._caller.user, names, runs=runs, names=names)

    @property
    def _names(self) -> Names:
        return Names(self._scope.visible)

    async def _plan_file(self, documents: Sequence[object], namespace: str) -> PlanView:
        jobs, objects = split(documents)
        read_jobs = partial(self._manifests.read_all, default_namespace=namespace, make_name=str)
        read = read_parts(jobs, read_jobs, objects, partial(read_objects, default_namespace=namespace))
        specs = self._with_names(read[0])
        file, names = MixedFile(specs, read[1], jobs, objects), self._names
        self._scope.require_jobs(specs)
        self._scope.require_objects(file.drafts)
        runs, subject_jobs = [*keys_of_specs(specs), *keys_of_drafts(file.drafts)], partial(jobs_of_file, file)
        return await self._dry_runs.run(subject_jobs, plan_file, file, self._caller.user, names, runs=runs, names=names)

    def _with_names(self, specs: list[JobSpec]) -> list[JobSpec]:
        """A dry run draws its own names, so that a plan alters no decision."""
        return with_names(specs, Random(int(self._clock.now() * 1000)))[0]

    def _batch_job(self, job: JobReference) -> BatchJob | None:
        """The BatchJob whose next run a reference means, if the caller sees it."""
        if not self._scope.sees(job.namespace):
            return None
        if job.id is not None or job.run is not None or not job.name.startswith(APPLICATION_PREFIX):
            return None
        name = ObjectName(job.namespace, job.name.removeprefix(APPLICATION_PREFIX))
        return self._engine.state.objects.batch_jobs.get(name)

    async def _why_unfinished(self, job: Job) -> WhyView:
        """If the job waits, dry runs add what the planner says and verified remedies."""
        policy, state, now_ms = self._engine.active_policy, self._engine.state, int(self._clock.now() * 1000)
        names = self._names
        leader = self._engine.schedulers.live_leader(now_ms)
        reserved = reservation_reasons(state, policy, leader, now_ms, names)
        found = why(state, job, now_ms, policy.filters, reserved, names)
        if found.start is not None:
            planner_reasons, found.suggestions = await self._dry_runs.run(
                partial(job_with_dependencies, job.id),
                diagnose,
                job.id,
                policy.filters,
                runs=keys_of_edges(job.namespace, job.options.after),
                names=names,
            )
            if not names.sees_all and not isinstance(policy.round_policy, Planner):
                planner_reasons = []  # free text of a policy may name anything
            known_texts = {reason.text for reason in found.reasons}
            new = [ReasonView(text=text, nodes=0) for text in dict.fromkeys(planner_reasons) if text not in known_texts]
            found.reasons = [*new, *found.reasons]
        if names.sees_all and found.start is not None and leader is None and policy.leader_session:
            overruled = self._engine.schedulers.leader_refusals.describe(policy.leader_session, now_ms)
            found.reasons += [ReasonView(text=overruled, nodes=0)] if overruled else []
        return found
