"""Roles of managers: how they are named, which combinations work, and how workers reach the leader."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.adapters.memory.coordination import MemoryCoordination, MemoryServer
from shunter.app.config import parse_config
from shunter.app.options import UpOptions
from shunter.app.roles import parse_roles
from shunter.app.serve import Readiness, run
from shunter.app.worker_routes import WorkerRoutes
from shunter.gateway.known_leader import KnownLeader
from shunter.model.errors import Invalid
from shunter.model.rest.manager_views import API, ROLES, SCHEDULER, WATCHER
from shunter.ports.coordination import ManagerRecord


def test_a_manager_has_all_roles_unless_some_are_named() -> None:
    assert parse_roles(None) == ROLES
    assert parse_roles("watcher, api") == (API, WATCHER)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sheduler", "--roles: is not a role (got 'sheduler'); use one or more of api, scheduler, watcher"),
        ("", "--roles: is not a role (got '')"),
        ("api,api", "--roles: names a role twice (got 'api,api'); name each role once"),
    ],
)
def test_what_is_not_a_role_is_refused_with_the_fix(text: str, told: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_roles(text)
    assert told in str(caught.value)


def test_the_configuration_names_roles_too() -> None:
    assert parse_config({"cluster": {"roles": "api,watcher"}}).cluster["roles"] == "api,watcher"
    with pytest.raises(Invalid, match=r"cluster\.roles: is not a role"):
        parse_config({"cluster": {"roles": "leader"}})


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (UpOptions(roles="api,watcher"), "--roles: leaves out scheduler, and no other manager can do it"),
        (
            UpOptions(roles="api", coordination="etcd://127.0.0.1:1", workers_listen="127.0.0.1:0"),
            "--workers-listen: is of no use to a manager with the role api only",
        ),
    ],
)
def test_roles_that_cannot_work_are_refused(
    options: UpOptions, told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SHUNTER_HOME", str(tmp_path))
    answers: list[Readiness] = []
    options.has_worker = False
    assert run(options, answers.append) == 2
    assert told in answers[0].error


class Cluster:
    """Managers that have registered, and an election among them."""

    def __init__(self) -> None:
        self._server = MemoryServer()
        self._members: dict[str, MemoryCoordination] = {}
        self.routes: dict[str, WorkerRoutes] = {}

    async def add(self, name: str, *roles: str) -> None:
        member = self._members[name] = MemoryCoordination(self._server, name)
        await member.open()
        await member.register(ManagerRecord(name, workers=f"{name}:7071", roles=roles or ROLES))
        self.routes[name] = WorkerRoutes(name, roles or ROLES, member, KnownLeader(member))

    async def elect(self, name: str) -> None:
        await self._members[name].acquire()


async def test_workers_go_directly_to_a_leader_that_takes_them() -> None:
    cluster = Cluster()
    await cluster.add("m1")
    await cluster.add("m2")
    await cluster.elect("m1")
    for routes in cluster.routes.values():
        assert (routes.address(), routes.relay_to(), routes.refer_to(), routes.term()) == ("m1:7071", None, None, 1)


async def test_a_manager_that_cannot_lead_relays_to_any_leader() -> None:
    cluster = Cluster()
    await cluster.add("m1")
    await cluster.add("v1", WATCHER)
    assert cluster.routes["v1"].relay_to() == "", "nobody leads yet"
    assert cluster.routes["m1"].relay_to() is None
    await cluster.elect("m1")
    assert cluster.routes["v1"].relay_to() == "m1:7071"


async def test_a_leader_without_the_watcher_role_gets_workers_through_watchers_only() -> None:
    cluster = Cluster()
    await cluster.add("m1")
    await cluster.add("s1", SCHEDULER)
    await cluster.add("v1", WATCHER)
    await cluster.elect("s1")
    assert cluster.routes["m1"].relay_to() == cluster.routes["v1"].relay_to() == "s1:7071"
    assert cluster.routes["s1"].relay_to() is None
    assert cluster.routes["s1"].refer_to() == cluster.routes["s1"].address() == "m1:7071", "the first watcher"


async def test_without_a_watcher_a_scheduler_knows_no_address_for_workers() -> None:
    cluster = Cluster()
    await cluster.add("a1", API)
    await cluster.add("s1", SCHEDULER)
    await cluster.elect("s1")
    assert cluster.routes["s1"].refer_to() == ""
    assert cluster.routes["a1"].relay_to() is None
