"""Stops a whole cluster: workers first, then watchers, then all other managers. Called by `gateway.cluster`.

Workers are told through their watchers, so a watcher stops only when they have gone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from shunter.gateway.managers import Managers, Members
from shunter.log import Log
from shunter.model.errors import Unavailable
from shunter.model.rest.manager_views import WATCHER
from shunter.ports.coordination import ManagerRecord
from shunter.ports.managers import ManagerClient

log = Log(__name__)
StopWorkers = Callable[[], Awaitable[list[str]]]  # returns what could not be stopped


async def no_workers() -> list[str]:
    """The workers to stop in a cluster whose only worker is in the manager's process."""
    return []


class ClusterStop:
    """`stop_workers` stops all workers but that of this process. `stop_self` begins to stop this manager."""

    def __init__(
        self, managers: Managers, members: Members, stop_workers: StopWorkers, stop_self: Callable[[bool], None]
    ) -> None:
        self._managers, self._members = managers, members
        self._stop_workers, self._stop_self = stop_workers, stop_self
        self._running: asyncio.Task[list[str]] | None = None

    async def run(self, leave_running: bool) -> list[str]:
        """Returns what could not be stopped. The leader stops the cluster, so a follower asks it. Whoever asks a second
        time waits for the same."""
        if self._managers.is_following:
            client = self._members.client
            assert client is not None, "a manager that is alone leads"
            return await client.stop(self._managers.leader_url(), leave_running=leave_running, is_whole_cluster=True)
        if self._running is None:
            self._running = asyncio.create_task(self._run(leave_running))
        return await asyncio.shield(self._running)

    async def _run(self, leave_running: bool) -> list[str]:
        members = self._members
        others = [record for record in members.coordination.managers() if record.name != members.own.name]
        try:
            not_stopped = [] if leave_running else await self._stop_workers()
            if members.client is not None:
                not_stopped += await _stop_managers(members.client, others, leave_running)
        finally:
            self._stop_self(leave_running)
        for each in not_stopped:
            log.warning("cluster.not_stopped", what=each)
        return not_stopped


async def _stop_managers(client: ManagerClient, records: Sequence[ManagerRecord], leave_running: bool) -> list[str]:
    """Watchers first. One of them all has got the request and waits for our answer, but not for long when it stops. So
    those that do not answer are found before the first one is stopped."""
    problems = await _for_each(records, lambda record: client.describe(record.url))
    for is_watcher in (True, False):
        asked = [
            record for record in records if (WATCHER in record.roles) is is_watcher and record.name not in problems
        ]
        problems |= await _for_each(
            asked, lambda record: client.stop(record.url, leave_running=leave_running, is_whole_cluster=False)
        )
    return [f"manager {name}: {problem}" for name, problem in problems.items()]


async def _for_each(
    records: Sequence[ManagerRecord], ask: Callable[[ManagerRecord], Awaitable[object]]
) -> dict[str, str]:
    """Ask all at once. The problems of those that failed, by name."""

    async def problem_of(record: ManagerRecord) -> str:
        try:
            await ask(record)
        except Unavailable as error:
            return error.detail
        return ""

    problems = await asyncio.gather(*(problem_of(record) for record in records))
    return {record.name: problem for record, problem in zip(records, problems, strict=True) if problem}
