"""What a transport may ask of long-running jobs and of nodes, on behalf of one caller: two services of the gateway.

Implemented in `gateway/`. Calls raise only the errors of `model.errors`; what they return is committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from shunter.model.rest.views import JobView, NodeView
from shunter.ports.callers import Caller, JobReference, TaskReference


class ServiceJobService(Protocol):
    async def update(
        self, caller: Caller, job: JobReference, document: object, *, namespace: str, node: str | None
    ) -> JobView:
        """Another spec of a service or system job that runs; with a node, only of what runs there."""
        ...

    async def scale(self, caller: Caller, job: JobReference, counts: Mapping[str, int]) -> JobView:
        """New counts by group; "" is the only one."""
        ...

    async def roll_back(self, caller: Caller, job: JobReference) -> JobView:
        """To the last good version, or from a good one to the one before."""
        ...

    async def restart(self, caller: Caller, job: JobReference, task: TaskReference | None) -> JobView:
        """Replace all instances, or one, by fresh ones of the same spec."""
        ...

    async def move(self, caller: Caller, job: JobReference, task: TaskReference, node: str) -> JobView:
        """Let a task run on this node."""
        ...


class NodeService(Protocol):
    async def drain(self, caller: Caller, name: str, deadline_s: float | None) -> NodeView:
        """Empty a node; past the deadline its batch tasks are queued again."""
        ...

    async def undrain(self, caller: Caller, name: str) -> NodeView: ...

    async def cordon(self, caller: Caller, name: str, reason: str) -> NodeView:
        """Nothing more starts there; what runs goes on."""
        ...

    async def uncordon(self, caller: Caller, name: str) -> NodeView: ...

    async def release(self, caller: Caller, name: str) -> NodeView:
        """Out of quarantine."""
        ...

    async def set_attributes(self, caller: Caller, name: str, attributes: Mapping[str, str | None]) -> NodeView:
        """Set these attributes; a value of None takes the attribute away."""
        ...
