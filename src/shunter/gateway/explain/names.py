"""How explanations and plans name jobs and testbeds: what the caller does not see has no name. Made by
`gateway.explain.explain` for each request, from the caller's scope."""

from __future__ import annotations

from dataclasses import dataclass

from shunter.engine.placement.cluster_view import called
from shunter.engine.placement.colocation import jobs_of
from shunter.engine.state.records import Job
from shunter.engine.state.registries.tenants import OTHER_JOB
from shunter.engine.state.state import State
from shunter.model.objects.object_meta import ObjectName

OTHER_TESTBED = "a testbed of another tenant"


@dataclass(frozen=True, slots=True)
class Names:
    """A value, so that threads can use it."""

    namespaces: frozenset[str] | None = None  # that the caller sees; None: all

    @property
    def sees_all(self) -> bool:
        return self.namespaces is None

    def sees(self, namespace: str) -> bool:
        return self.namespaces is None or namespace in self.namespaces

    def run(self, job: Job) -> str:
        """`render@3`."""
        return f"{job.name}@{job.run}" if self.sees(job.namespace) else OTHER_JOB

    def job(self, job: Job) -> str:
        """`job render`."""
        return f"job {job.name}" if self.sees(job.namespace) else OTHER_JOB

    def testbed(self, name: ObjectName) -> str:
        return f"testbed {name}" if self.sees(name.namespace) else OTHER_TESTBED

    def called(self, state: State, class_id: int) -> str:
        """As `engine.placement.cluster_view.called`, for the reasons of planners."""
        jobs = jobs_of(state, class_id)
        return called(state, class_id) if not jobs or self.sees(jobs[0].namespace) else OTHER_JOB


ALL_NAMES = Names()
