"""The sub-gateway `managers`: lists the managers, and lets the leader step down. Implements `ports.managers`.

It also tells the API whether this manager can answer a request by itself, or must forward it to the leader."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from shunter.engine.engine import Engine
from shunter.gateway.audit.acts import note_act
from shunter.gateway.known_leader import KnownLeader
from shunter.model.errors import Conflict, NotLeader, Unavailable
from shunter.model.rest.manager_views import FOLLOWER, LEADER, SCHEDULER, ManagerPage, ManagerView
from shunter.ports.coordination import Coordination, ManagerRecord
from shunter.ports.managers import ManagerClient

NOBODY_LEADS = "no manager leads at the moment; nothing was accepted, try again"
NO_SCHEDULER = "no manager with the scheduler role is running; nothing was accepted; start one, and try again"


@dataclass(slots=True)
class Members:
    """The other managers: who they are, and how to ask them. `own` is complete when this manager listens."""

    coordination: Coordination
    known_leader: KnownLeader
    client: ManagerClient | None  # None for a manager that is alone
    own: ManagerRecord
    count_workers: Callable[[], int] = lambda: 0  # that are connected to this manager


class Managers:
    def __init__(self, engine: Engine, members: Members) -> None:
        self._engine, self._members = engine, members

    # ---- ManagerService ----

    async def page(self) -> ManagerPage:
        records = {record.name: record for record in self._members.coordination.managers()}
        records[self._members.own.name] = self._members.own
        views = await asyncio.gather(*(self._describe(records[name]) for name in sorted(records)))
        return ManagerPage(list(views), None, len(views))

    async def this_manager(self) -> ManagerView:
        engine, own = self._engine, self._members.own
        return ManagerView(
            name=own.name,
            role=FOLLOWER if engine.is_following else LEADER,
            url=own.url,
            version=own.version,
            state_version=engine.committed_version,
            lag_s=engine.lag_s,
            roles=list(own.roles),
            workers=self._members.count_workers(),
        )

    async def step_down(self) -> None:
        own = self._members.own.name
        records = self._members.coordination.managers()
        if not any(record.name != own and SCHEDULER in record.roles for record in records):
            raise Conflict("no other manager with the scheduler role can take the lead; start a second one first")
        await note_act(self._engine)
        self._engine.step_down()

    async def _describe(self, record: ManagerRecord) -> ManagerView:
        """What a manager says about itself; what is registered, if it does not answer."""
        if record.name == self._members.own.name or self._members.client is None:
            return await self.this_manager()
        try:
            return await self._members.client.describe(record.url)
        except Unavailable:
            leader = self._members.coordination.leader()
            role = LEADER if leader is not None and leader.name == record.name else FOLLOWER
            return ManagerView(
                name=record.name, role=role, url=record.url, version=record.version, roles=list(record.roles)
            )

    # ---- Replication ----

    @property
    def is_following(self) -> bool:
        return self._engine.is_following

    @property
    def version(self) -> int:
        return self._engine.committed_version

    async def wait_for_version(self, version: int) -> None:
        await self._engine.wait_committed(version)

    def leader_url(self) -> str:
        leader = self._members.coordination.leader()
        if leader is None or not leader.url or leader.name == self._members.own.name:
            raise NotLeader(self._why_nobody_leads())
        return leader.url

    def _why_nobody_leads(self) -> str:
        """The registry empties some seconds after a manager ends. While it cannot be read, it says what was."""
        records = self._members.coordination.managers()
        has_scheduler = not records or any(SCHEDULER in record.roles for record in records)
        return NOBODY_LEADS if has_scheduler else NO_SCHEDULER

    async def wait_leader_changed(self, url: str) -> None:
        while (leader := self._members.coordination.leader()) is not None and leader.url == url:
            await self._members.known_leader.wait_changed()
