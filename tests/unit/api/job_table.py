"""Jobs without an engine, as the fake gateway has them: they end when a test says so."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import msgspec

from shunter.model.errors import Conflict, NotFound
from shunter.model.job.spec import JobSpec
from shunter.model.rest.job_views import JobView, SubmittedJob, TaskView
from shunter.ports.principals import JobReference, Principal

AT = "2030-01-01T00:00:00.000Z"


@dataclass
class FakeJob:
    spec: JobSpec
    view: JobView
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class JobTable:
    def __init__(self) -> None:
        self.by_id: dict[int, FakeJob] = {}

    def make_name(self) -> str:
        return f"run-{len(self.by_id) + 1}"

    def submit(self, spec: JobSpec, caller: Principal) -> SubmittedJob:
        runs = [
            job for job in self.by_id.values() if (job.spec.namespace, job.spec.name) == (spec.namespace, spec.name)
        ]
        if runs and not runs[-1].ended.is_set():
            if runs[-1].spec == spec:
                return _submitted(runs[-1].view, created=False)
            raise Conflict(f"{spec.name} is still running, with another spec")
        view = JobView(
            name=spec.name, namespace=spec.namespace, id=len(self.by_id) + 1, run=len(runs) + 1, state="pending",
            type=spec.type, count=spec.count, counts={"queued": spec.count}, priority=spec.priority, submitted_at=AT,
            labels=spec.labels, user=caller.user, command=list(spec.groups[0].task.command),
        )  # fmt: skip
        self.by_id[view.id] = FakeJob(spec, view)
        return _submitted(view, created=True)

    def end(self, id: int) -> None:
        job = self.by_id[id]
        job.view = msgspec.structs.replace(
            job.view, state="succeeded", counts={"succeeded": job.spec.count}, ended_at=AT
        )
        job.ended.set()

    def find(self, reference: JobReference) -> FakeJob:
        for job in reversed(self.by_id.values()):
            view = job.view
            named = (view.namespace, view.name) == (reference.namespace, reference.name)
            if view.id == reference.id or (reference.id is None and named and reference.run in (None, view.run)):
                return job
        raise NotFound(f"job '{reference.name or reference.id}' does not exist in namespace '{reference.namespace}'")

    def task(self, job: JobReference, index: int) -> TaskView:
        found = self.find(job)
        if index >= found.spec.count:
            raise NotFound(f"{found.view.name} has {found.spec.count} tasks")
        return task_view(found, index)


def _submitted(view: JobView, *, created: bool) -> SubmittedJob:
    return SubmittedJob(name=view.name, namespace=view.namespace, id=view.id, run=view.run, created=created)


def task_view(job: FakeJob, index: int) -> TaskView:
    return TaskView(name=f"{job.view.name}/{index}", index=index, state="queued", attempt=0)
