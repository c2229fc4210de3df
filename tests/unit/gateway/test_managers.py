"""What a manager says about its cluster's managers and their roles."""

from __future__ import annotations

import pytest

from shunter.adapters.memory.coordination import MemoryCoordination, MemoryServer
from shunter.gateway.known_leader import KnownLeader
from shunter.gateway.managers import Managers, Members
from shunter.model.errors import Conflict, NotLeader
from shunter.model.rest.manager_views import API, FOLLOWER, SCHEDULER, WATCHER
from shunter.ports.coordination import ManagerRecord


class FakeEngine:
    """The part of an engine that managers are asked about."""

    is_following = True
    committed_version = 7
    lag_s = 0.1
    steps_down = 0

    def step_down(self) -> None:
        self.steps_down += 1


async def managers_of(own: ManagerRecord, *others: ManagerRecord) -> tuple[Managers, FakeEngine]:
    server, engine = MemoryServer(), FakeEngine()
    for record in (*others, own):
        coordination = MemoryCoordination(server, record.name)
        await coordination.open()
        await coordination.register(record)
    members = Members(coordination, KnownLeader(coordination), None, own, lambda: 3)
    return Managers(engine, members), engine  # type: ignore[arg-type]


async def test_a_manager_says_its_roles_and_how_many_workers_it_has() -> None:
    managers, _ = await managers_of(ManagerRecord("v1", roles=(WATCHER,)))
    view = await managers.this_manager()
    assert (view.name, view.role, view.roles, view.workers) == ("v1", FOLLOWER, [WATCHER], 3)


async def test_without_a_scheduler_a_write_is_refused_with_that_reason() -> None:
    managers, _ = await managers_of(ManagerRecord("a1", roles=(API,)), ManagerRecord("v1", roles=(WATCHER,)))
    with pytest.raises(NotLeader, match="no manager with the scheduler role is running"):
        managers.leader_url()


async def test_with_a_scheduler_that_does_not_lead_yet_a_write_is_to_be_tried_again() -> None:
    managers, _ = await managers_of(ManagerRecord("a1", roles=(API,)), ManagerRecord("s1", roles=(SCHEDULER,)))
    with pytest.raises(NotLeader, match="no manager leads at the moment"):
        managers.leader_url()


async def test_a_leader_steps_down_only_for_another_scheduler() -> None:
    own = ManagerRecord("s1", roles=(SCHEDULER,))
    managers, engine = await managers_of(own, ManagerRecord("a1", roles=(API,)))
    with pytest.raises(Conflict, match="scheduler role"):
        await managers.step_down()
    managers, engine = await managers_of(own, ManagerRecord("s2", roles=(SCHEDULER,)))
    await managers.step_down()
    assert engine.steps_down == 1
