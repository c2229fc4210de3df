"""What a transport may ask about many jobs, tasks and nodes at once: the Protocol of the sub-gateway `monitor`.
Implemented in `gateway/monitor/`, always on behalf of one caller.

Calls raise only the errors of `model.errors`. They return only committed state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from shunter.model.rest.monitor.analytics_views import Analytics, DecisionPage
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
        """Of a version that is still known; None: the current one."""
        ...

    async def analytics(
        self, namespace: str | None, start_s: float | None, stop_s: float | None, steps: int
    ) -> Analytics:
        """Jobs that ended in a window of time; without one, in the last 24 hours."""
        ...

    async def decisions(self, limit: int, after: str | None, has_all: bool) -> DecisionPage:
        """Recorded decisions, newest first; `has_all`: also those that changed nothing."""
        ...

    async def node_map(self, group_by: str) -> NodeMap:
        """`group_by`: `datacenter`, or the key of a label."""
        ...

    async def node_tasks(self, node: str, limit: int, after: str | None) -> NodeTaskPage:
        """Tasks that are assigned to a node, run there or stop."""
        ...
