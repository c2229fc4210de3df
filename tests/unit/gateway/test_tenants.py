"""Tenants see and act on what they own, and on nothing else: every route, called by the key of one tenant about what
belongs to another, answers as if that had never existed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shunter.api.http.app import build_app
from shunter.api.http.routing import Route
from shunter.api.routes.table import ROUTES
from shunter.model.errors import Busy, Conflict, Invalid, NotFound
from shunter.model.identity.roles import Role
from shunter.model.identity.scopes import SCOPED
from shunter.ports.identity import NewKey, TenantChange
from shunter.ports.jobs import JobQuery
from tests.unit.api.asgi_client import Client
from tests.unit.gateway.harness import GatewayHarness, run_scenario
from tests.unit.gateway.tenant_world import ROLES, World, in_world, objects_of, path_of

# Reads that can be about more than one thing.
LISTS = [
    route
    for route in ROUTES
    if route.method == "GET" and route.name in SCOPED and "{" not in route.path and route.name != "getOpenApi"
]


@pytest.mark.parametrize("route", [each for each in ROUTES if not each.public], ids=lambda route: route.name)
def test_a_route_says_the_same_of_another_tenant_as_of_what_never_existed(route: Route) -> None:
    """D-51: whatever the method; with an empty body, and with the document that the route may want."""
    document = (
        '{"apiVersion": "shunter.dev/v1", "kind": "Job", "metadata": {"name": "hidden", "namespace": "NS"}, '
        '"spec": {"command": ["a"], "secrets": [{"name": "hidden", "env": "A"}]}}'
    )
    bodies = (
        [""]
        if route.body is None
        else ["{}", document, '{"numbers": [2]}', '{"value": "bmV3"}', f'{{"items": [{document}]}}']
        + [json.dumps(each) for each in objects_of("NS", slots="of-no-node")]
    )

    async def scenario(world: World) -> None:
        before = world.harness.engine.state.version
        for body in bodies:
            answers = [
                await world.call("red", route.method, path_of(route, name), body.replace("NS", name).encode())
                for name in ("blue", "ghost")
            ]
            if route.name == "createSessionCode":  # about the caller, and another one each time
                continue
            about_blue, about_ghost = [(each.status, each.body.replace(b"ghost", b"blue")) for each in answers]
            assert about_blue == about_ghost, (route.name, body)
            if route.name not in SCOPED:
                assert about_blue[0] == 403
                assert b"cluster-wide" in about_blue[1]
        if route.method != "GET" and "namespace" in {each.name for each in route.query.parameters}:
            assert world.harness.engine.state.version == before, "nothing of another tenant was changed"

    in_world(scenario)


@pytest.mark.parametrize("route", LISTS, ids=lambda route: route.name)
def test_a_list_of_everything_has_nothing_of_others(route: Route) -> None:
    async def scenario(world: World) -> None:
        known = {parameter.name for parameter in route.query.parameters}
        is_of_one = route.name == "listSecrets" or (route.path.startswith("/external/") and "past" not in route.path)
        query = "?namespace=*" if "namespace" in known and not is_of_one else ""
        answer = await world.call("red", "GET", route.path + query)
        assert answer.status == 200
        assert b"blue" not in answer.body
        if route.name == "listQueues":  # the default queue is everybody's
            assert [each["name"] for each in answer.json["items"]] == ["default", "red"]
        else:
            assert b'"namespace":"default"' not in answer.body

    in_world(scenario)


def test_jobs_of_all_namespaces_are_those_of_the_tenant() -> None:
    async def scenario(world: World) -> None:
        red = world.gateway_of("red")
        page = await red.jobs.page(JobQuery(None))
        assert {(job.namespace, job.name) for job in page.items} == {
            ("red", "hidden"), ("red", "nightly"), ("red", "dead"), ("red", "bj.hidden"), ("red", "bj.past"),
        }  # fmt: skip
        assert page.total == 5
        first = await red.jobs.page(JobQuery(None, limit=1))
        second = await red.jobs.page(JobQuery(None, limit=5, after=first.next))
        assert [job.name for job in (*first.items, *second.items)] == [job.name for job in page.items]
        assert (await red.jobs.page(JobQuery("blue"))).items == []
        assert (await world.harness.gateway.jobs.page(JobQuery(None))).total == 11

    in_world(scenario)


def test_the_default_namespace_means_that_of_the_tenant() -> None:
    async def scenario(world: World) -> None:
        me = await world.gateway_of("red").identity.me()
        assert (me.tenant, me.namespace, me.namespaces) == ("red", "red", ["red"])
        answer = await world.call("red", "GET", "/api/v1/jobs/hidden?namespace=default")
        assert answer.json["namespace"] == "red"
        answer = await world.call("red", "GET", "/api/v1/jobs/hidden")
        assert answer.json["namespace"] == "red"

    in_world(scenario)


def test_a_run_of_another_tenant_is_not_found_by_its_id() -> None:
    async def scenario(world: World) -> None:
        [blue] = [
            job for job in (await world.harness.gateway.jobs.page(JobQuery("blue"))).items if job.name == "hidden"
        ]
        answer = await world.call("red", "GET", f"/api/v1/jobs/id:{blue.id}")
        unknown = await world.call("red", "GET", "/api/v1/jobs/id:999")
        assert answer.status == unknown.status == 404
        assert answer.json["detail"] == unknown.json["detail"].replace("999", str(blue.id))

    in_world(scenario)


def test_a_secret_of_another_tenant_looks_like_one_that_does_not_exist() -> None:
    """Also to jobs that refer to it, and in the words of whoever asks. Only who sees the cluster rotates its keys."""

    async def scenario(world: World) -> None:
        names = world.harness.engine.state.secrets.secrets.keys()
        assert names >= {("red", "hidden"), ("blue", "hidden")}
        for namespace, status in (("red", 200), ("blue", 404), ("ghost", 404)):
            path = f"/api/v1/secrets/hidden?namespace={namespace}"
            answer = await world.call("red", "PUT", path, b'{"value": "bmV3"}')
            assert answer.status == status
        own = await world.call("red", "DELETE", "/api/v1/secrets/absent?namespace=red")
        other = await world.call("red", "DELETE", "/api/v1/secrets/hidden?namespace=blue")
        assert (own.status, other.status) == (404, 404)
        own_words = own.json["detail"].replace("absent", "hidden").replace("'red'", "'blue'")
        assert other.json["detail"] == own_words
        listed = await world.call("red", "GET", "/api/v1/secrets?namespace=blue")
        assert (listed.status, listed.json["items"]) == (200, [])
        await world.harness.gateway.secrets.set("blue", "only-blue", b"v")
        document = {
            "apiVersion": "shunter.dev/v1", "kind": "Job", "metadata": {"name": "reader"},
            "spec": {"command": ["a"], "secrets": [{"name": "only-blue", "env": "A"}]},
        }  # fmt: skip
        with pytest.raises(Invalid, match="secret 'only-blue' does not exist in namespace 'red'"):
            await world.gateway_of("red").jobs.submit([document], namespace="red", key=None)
        with pytest.raises(NotFound, match="namespace 'blue' does not exist"):
            await world.gateway_of("red").jobs.submit([document], namespace="blue", key=None)
        assert (await world.call("red", "POST", "/api/v1/secrets-key/rotate")).status == 403
        assert ("blue", "hidden") in names
        assert world.harness.engine.state.secrets.secrets["blue", "hidden"].version == 1

    in_world(scenario)


def test_idempotency_keys_of_tenants_are_their_own() -> None:
    async def scenario(world: World) -> None:
        document = {
            "apiVersion": "shunter.dev/v1", "kind": "Job", "metadata": {"name": "same"}, "spec": {"command": ["a"]}
        }  # fmt: skip
        [blue] = await world.gateway_of("blue").jobs.submit([document], namespace="blue", key="k")
        [red] = await world.gateway_of("red").jobs.submit([document], namespace="red", key="k")
        [again] = await world.gateway_of("red").jobs.submit([document], namespace="red", key="k")
        assert (red.namespace, red.created, again.id, again.created) == ("red", True, red.id, False)
        assert blue.id != red.id

    in_world(scenario)


def test_the_admin_of_a_tenant_manages_its_users_and_keys_only() -> None:
    async def scenario(world: World) -> None:
        red, blue = world.gateway_of("red").identity, world.gateway_of("blue").identity
        await blue.put_user("cleo", (Role.VIEWER,), None)
        await red.put_user("cleo", (Role.SUBMITTER,), None)  # names are a tenant's own
        assert [(each.name, each.roles, each.tenant) for each in (await red.users(9, None)).items] == [
            ("cleo", ["submitter"], "red"),
            ("user-of-red", ["viewer"], "red"),
        ]
        new = await red.create_key(NewKey((Role.SUBMITTER,), "cleo"))
        assert new.tenant == "red"
        [other] = (await blue.keys(9, None)).items
        for call in (red.revoke_key(other.id), red.rotate_key(other.id, 0.0)):
            with pytest.raises(NotFound, match=f"key '{other.id}' does not exist"):
                await call
        with pytest.raises(NotFound, match="tenant 'blue' does not exist"):
            await red.create_key(NewKey((Role.SUBMITTER,), tenant="blue"))
        assert len((await world.harness.gateway.identity.keys(9, None)).items) == 3

    in_world(scenario)


def test_a_key_is_bound_at_least_as_narrowly_as_the_key_that_makes_it() -> None:
    async def scenario(world: World) -> None:
        await world.harness.gateway.tenants.update("red", TenantChange(namespaces=("red", "red-test")))
        bound = await world.gateway_of("red").identity.create_key(NewKey(ROLES, namespace="red-test"))
        world.keys["bound"] = bound.key
        gateway = world.gateway_of("bound")
        assert (await gateway.jobs.page(JobQuery(None))).items == []
        with pytest.raises(Exception, match="bound more narrowly"):
            await gateway.identity.create_key(NewKey(ROLES, namespace="red"))
        assert (await gateway.identity.create_key(NewKey(ROLES))).namespace == "red-test"

    in_world(scenario)


def test_a_tenant_with_anything_left_is_not_deleted() -> None:
    async def scenario(world: World) -> None:
        tenants = world.harness.gateway.tenants
        with pytest.raises(Conflict, match="still has 2 unfinished jobs, 1 template, 1 secret, 2 BatchJobs, 1 Test"):
            await tenants.delete("red")
        with pytest.raises(Conflict, match="namespace 'red' belongs to tenant 'red'"):
            await tenants.create("green", TenantChange(namespaces=("red",)))
        with pytest.raises(Conflict, match="namespace 'default' belongs to the cluster"):
            await tenants.create("green", TenantChange(namespaces=("default",)))
        await tenants.create("green", TenantChange())
        await world.harness.gateway.identity.put_user("dan", (Role.VIEWER,), None, "green")
        await tenants.delete("green")
        assert (await tenants.page(10, None)).total == 2
        assert "dan" not in {each.name for each in (await world.harness.gateway.identity.users(9, None)).items}

    in_world(scenario)


def test_an_update_leaves_what_it_does_not_name() -> None:
    async def main(harness: GatewayHarness) -> None:
        client = Client(build_app(harness.local_gateway))
        await harness.gateway.tenants.create("red", TenantChange(("red-2",), ("night",), {"queued": 3}))

        async def patch(body: bytes) -> tuple[list[str], list[str], dict[str, str]]:
            headers = {"authorization": "Bearer secret", "content-type": "application/json"}
            answer = await client.start("PATCH", "/api/v1/tenants/red", body=body, headers=headers).finished()
            assert answer.status == 200, answer.body
            return answer.json["namespaces"], answer.json["queues"], answer.json["quotas"]

        assert await patch(b"{}") == (["red", "red-2"], ["red", "night"], {"queued": "3"})
        assert await patch(b'{"quotas": {"queued": null}}') == (["red", "red-2"], ["red", "night"], {})
        assert await patch(b'{"namespaces": ["red"]}') == (["red"], ["red", "night"], {})
        assert await patch(b'{"queues": []}') == (["red"], [], {})

    run_scenario(main)


def test_tenants_survive_a_restart() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.engine.create_tenant("red", _update(TenantChange(quotas={"queued": 4000})), "admin")
        before = harness.engine.state.tenants
        await harness.restart_manager()
        after = harness.engine.state.tenants
        assert (after.tenants, after.namespace_owners, after.queue_owners) == (
            before.tenants, before.namespace_owners, before.queue_owners,
        )  # fmt: skip
        types = [event.type for event in await harness.events()]
        assert "tenant.set" in types
        await harness.engine.delete_tenant("red", "admin")
        assert "tenant.deleted" in [event.type for event in await harness.events()]

    run_scenario(scenario)


def _update(change: TenantChange) -> Any:
    from shunter.engine.identity.tenants import TenantUpdate

    return TenantUpdate(change.namespaces, change.queues, change.quotas)


def test_a_submit_beyond_the_quota_of_queued_tasks_is_refused() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.gateway.tenants.create("red", TenantChange(quotas={"queued": 5}))
        with pytest.raises(Conflict, match="quota of 5 queued tasks, but this adds 6"):
            await harness.run("large", 6, namespace="red")
        await harness.run("first", 3, namespace="red")
        with pytest.raises(Busy, match="has 3 of 5 queued tasks, and this adds 3"):
            await harness.run("second", 3, namespace="red")
        await harness.run("elsewhere", 9)
        await harness.join("n1", cpu=9)
        await harness.run("second", 3, namespace="red")
        view = await harness.gateway.tenants.get("red")
        assert int(view.used["running"]) + int(view.used["queued"]) == 6
        await harness.restart_manager()
        again = await harness.gateway.tenants.get("red")
        assert again.used == view.used

    run_scenario(scenario)
