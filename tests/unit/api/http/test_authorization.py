"""Every route asks the authorization table: each is called as each role, and refused just where the table says so."""

from __future__ import annotations

import pytest

from shunter.api.http.routing import Route
from shunter.api.routes.table import ROUTES
from shunter.model.identity.roles import PERMISSIONS, Role
from tests.unit.api.asgi_client import Client
from tests.unit.api.fake_gateway import FakeGateway

PROTECTED = [route for route in ROUTES if not route.public]


@pytest.mark.parametrize("route", PROTECTED, ids=lambda route: route.name)
async def test_a_route_is_refused_to_the_roles_that_lack_it(route: Route, client: Client, gateway: FakeGateway) -> None:
    """D-07. What else is wrong with such a request, only those learn who may send it."""
    for role in set(Role) - PERMISSIONS[route.name]:
        gateway.roles = frozenset((role,))
        response = await client.call(route.method, path_of(route), body=b"{}")
        assert response.status == 403, (route.name, role)
        assert b"this needs the role" in response.body
        assert gateway.received == []


@pytest.mark.parametrize("role", list(Role))
async def test_reads_are_open_to_every_role(role: Role, client: Client, gateway: FakeGateway) -> None:
    gateway.roles = frozenset((role,))
    for path in ("jobs", "nodes", "queues", "me"):
        assert (await client.get(f"/api/v1/{path}")).status == 200


@pytest.mark.parametrize(
    ("role", "kind", "status"),
    [
        (Role.SUBMITTER, "Testbed", 403),
        (Role.SUBMITTER, "Scheduling", 403),
        (Role.SCHEDULER, "Job", 403),
        (Role.SCHEDULER, "BatchJob", 403),
        (Role.SUBMITTER, "BatchJob", 400),  # it gets as far as its fields
        (Role.OPERATOR, "Testbed", 400),
        (Role.SCHEDULER, "Scheduling", 400),
    ],
)
async def test_each_document_of_a_file_is_checked(
    role: Role, kind: str, status: int, client: Client, gateway: FakeGateway
) -> None:
    gateway.roles = frozenset((role,))
    body = f'{{"apiVersion": "shunter.dev/v1", "kind": "{kind}", "metadata": {{"name": "a"}}, "spec": 1}}'
    response = await client.call("POST", "/api/v1/apply", body=body.encode())
    assert response.status == status, response.body


def path_of(route: Route) -> str:
    path = route.path
    for name in ("group", "version"):
        path = path.replace(f"{{{name}}}", {"group": "shunter.dev", "version": "v1"}[name])
    while "{" in path:
        before, _, rest = path.partition("{")
        path = before + "1" + rest.partition("}")[2]
    return path
