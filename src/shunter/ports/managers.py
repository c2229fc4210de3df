"""The managers of a cluster as a transport sees them: who leads, how far this one follows, and how to reach the others.

`gateway/managers.py` implements `ManagerService` and `Replication`, `adapters/http` implements `ManagerClient`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from shunter.model.audit.records import RefusedRequests
from shunter.model.rest.manager_views import ManagerPage, ManagerView

Headers = Sequence[tuple[bytes, bytes]]


class ManagerService(Protocol):
    async def page(self) -> ManagerPage:
        """All managers, by name. Those that do not answer soon are listed without their lag."""
        ...

    async def this_manager(self) -> ManagerView: ...

    async def step_down(self) -> None:
        """Let another manager lead. Raises Conflict if there is none."""
        ...


class Replication(Protocol):
    """Whether this manager can answer a request by itself."""

    @property
    def is_following(self) -> bool: ...

    @property
    def version(self) -> int:
        """The oldest committed version that the next read may see."""
        ...

    async def wait_for_version(self, version: int) -> None:
        """Wait for a moment until this manager has the version. Raises NotLeader if it does not get there."""
        ...

    def leader_url(self) -> str:
        """Raises NotLeader if nobody leads, as last heard."""
        ...

    async def wait_leader_changed(self, url: str) -> None:
        """Return when the manager with this URL does not lead any more, as far as this one hears."""
        ...


@dataclass(frozen=True, slots=True)
class ForwardedRequest:
    method: str
    target: str  # path and query
    headers: Headers
    body: AsyncIterator[bytes] | None


class ForwardedResponse(Protocol):
    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Headers: ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes. Raises Unavailable if it is cut short."""
        ...


class ManagerClient(Protocol):
    async def close(self) -> None: ...

    def send(self, url: str, request: ForwardedRequest) -> AbstractAsyncContextManager[ForwardedResponse]:
        """Raises NotLeader if the manager cannot be reached, so that nothing was accepted. Raises Unavailable if the
        connection ends before the answer begins: what became of the request is unknown."""
        ...

    async def stop(self, url: str, *, leave_running: bool, is_whole_cluster: bool) -> list[str]:
        """Ask another manager to stop; or to stop the whole cluster, which takes a while: returns what could not be
        stopped. Raises Unavailable."""
        ...

    async def report_refused(self, url: str, refused: Sequence[RefusedRequests]) -> None:
        """Let the leader record what this manager refused. Raises Unavailable."""
        ...

    async def describe(self, url: str) -> ManagerView:
        """Ask another manager about itself. Raises Unavailable if it does not answer soon."""
        ...
