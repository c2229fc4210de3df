"""What a transport may ask about many jobs, tasks and nodes at once: the Protocol of the sub-gateway `monitor`.
Implemented in `gateway/monitor/`, always on behalf of one caller.

Calls raise only the errors of `model.errors`. They return only committed state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from shunter.model.rest.monitor.analytics_views import Analytics
from shunter.model.rest.monitor.decision_views import DecisionDetail, DecisionPage, DecisionReplay, FlightTimeline
from shunter.model.rest.monitor.usage_views import JobUsageView, UsageSums
from shunter.model.rest.monitor.views import (
    JobCounts,
    JobManifest,
    NodeMap,
    NodeTaskPage,
    SearchPage,
    TaskMap,
    Timeline,
)
from shunter.ports.principals import JobReference


@dataclass(frozen=True, slots=True)
class TaskMapQuery:
    """Positions in the group; `last` None means its end. `group` None means the only one, or the first."""

    group: str | None = None
    first: int = 0
    last: int | None = None
    cells: int = 1024


class MonitorService(Protocol):
    async def counts(self, namespace: str | None, group_by: str) -> JobCounts: ...

    async def search(self, text: str, limit: int) -> SearchPage: ...

    async def task_map(self, job: JobReference, query: TaskMapQuery) -> TaskMap: ...

    async def timeline(self, job: JobReference, steps: int, limit: int) -> Timeline: ...

    async def manifest(self, job: JobReference, version: int | None) -> JobManifest:
        """The manifest of a version that is still known; None means the current one."""
        ...

    async def analytics(
        self, namespace: str | None, start_s: float | None, stop_s: float | None, steps: int
    ) -> Analytics:
        """Jobs that ended in a window of time; without one, in the last 24 hours."""
        ...

    async def job_usage(self, job: JobReference) -> JobUsageView:
        """What its ended attempts used, by group, with a suggestion for the next request."""
        ...

    async def usage(self, by: str, since_s: float | None, namespace: str | None) -> UsageSums:
        """The usage of finished jobs by user, queue, namespace or tenant. Without a time, it covers seven days."""
        ...

    async def decisions(self, limit: int, after: str | None, has_all: bool) -> DecisionPage:
        """Recorded decisions, newest first; `has_all`: also those that changed nothing."""
        ...

    async def flight_timeline(self, limit: int, has_all: bool) -> FlightTimeline:
        """The newest recorded decisions as columns, by time."""
        ...

    async def decision(self, id: str) -> DecisionDetail:
        """What the policy saw at that moment, and what it decided."""
        ...

    async def replay_decision(self, id: str, policy: str) -> DecisionReplay:
        """What another policy decides on the same input."""
        ...

    async def node_map(self, group_by: str) -> NodeMap:
        """`group_by`: `datacenter`, or the key of a label."""
        ...

    async def node_tasks(self, node: str, limit: int, after: str | None) -> NodeTaskPage:
        """Tasks that are assigned to a node, run there or stop."""
        ...
