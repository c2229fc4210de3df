"""A client that polls gets 304 without a body while the state is the same, and never for what changes by itself."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shunter.api.http.entity_tags import AGE_MAX_S, EntityTags
from shunter.api.routes.table import ROUTES
from shunter.model.rest.job_views import UpdateView
from shunter.ports.principals import Principal
from tests.unit.api.asgi_client import AUTHORIZED, Client, Response, manifest
from tests.unit.api.fake_gateway import FakeGateway

CALLER = Principal("anna", frozenset())
OBJECTS = "/api/v1/apis/shunter.dev/v1/namespaces/default/testbeds"
TAGGED = {
    "listJobs", "getJob", "listRuns", "listTasks", "getTask", "listAttempts", "listTemplates", "getTemplate",
    "listDead", "listTestbeds", "listAllTestbeds", "getTestbed", "listBatchJobs",
    "listAllBatchJobs", "getBatchJob", "listSchedulings", "listAllSchedulings", "getScheduling", "listObjects",
    "listAllObjects", "countJobs", "getTaskMap", "listNodeTasks", "search",
}  # fmt: skip


async def read(client: Client, path: str, tag: str | None = None, method: str = "GET") -> Response:
    return await client.call(method, path, headers=AUTHORIZED | ({} if tag is None else {"If-None-Match": tag}))


async def test_a_list_that_has_not_changed_is_neither_rendered_nor_sent(client: Client, gateway: FakeGateway) -> None:
    await client.post("/api/v1/jobs", manifest())
    first = await read(client, "/api/v1/jobs")
    assert (first.status, first.headers["cache-control"]) == (200, "private, no-cache")
    gateway.received.clear()
    again = await read(client, "/api/v1/jobs", first.headers["etag"])
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert (again.headers["shunter-version"], again.headers["cache-control"]) == ("9", "private, no-cache")
    assert "content-length" not in again.headers
    assert gateway.received == [], "the page was rendered"


async def test_a_new_version_of_the_state_is_sent(client: Client, gateway: FakeGateway) -> None:
    tag = (await read(client, "/api/v1/jobs")).headers["etag"]
    gateway.managers.version += 1
    again = await read(client, "/api/v1/jobs", tag)
    assert again.status == 200
    assert again.headers["etag"] != tag


async def test_one_of_several_tags_may_match_and_head_is_answered_alike(client: Client) -> None:
    tag = (await read(client, "/api/v1/jobs")).headers["etag"]
    assert (await read(client, "/api/v1/jobs", f'"other", {tag}')).status == 304
    assert (await read(client, "/api/v1/jobs", tag, "HEAD")).status == 304


@pytest.mark.parametrize("tag", ["*", "", "W/", '"9"', 'W/"9"', 'W/"x.y.z"', 'W/"' + "1" * 5000 + '"', "\xff"])
async def test_a_tag_of_somebody_else_never_matches(client: Client, tag: str) -> None:
    assert (await read(client, "/api/v1/jobs", tag)).status == 200


async def test_a_list_with_a_service_has_no_tag_because_its_health_depends_on_the_clock(
    client: Client, gateway: FakeGateway
) -> None:
    await client.post("/api/v1/jobs", manifest("web"))
    job = gateway.job_table.by_id[1]
    job.view = replace(job.view, update=UpdateView(status="steady", wanted=1, updated=1, healthy=1))
    for path in ("/api/v1/jobs", "/api/v1/jobs/web", "/api/v1/jobs/web/runs"):
        answer = await read(client, path)
        assert "etag" not in answer.headers, path
        assert answer.headers["cache-control"] == "no-store"


async def test_a_deposed_leader_does_not_say_that_nothing_has_changed(client: Client, gateway: FakeGateway) -> None:
    tag = (await read(client, "/api/v1/jobs")).headers["etag"]
    gateway.managers.version = -1  # no version is safe to show
    assert (await read(client, "/api/v1/jobs", tag)).status == 503


async def test_a_watch_is_a_stream_and_has_no_tag(client: Client) -> None:
    tag = (await read(client, OBJECTS)).headers["etag"]
    call = client.start("GET", f"{OBJECTS}?watch=true", headers=AUTHORIZED | {"If-None-Match": tag})
    await call.chunk()
    assert call.response.status == 200
    assert "etag" not in call.response.headers
    call.hang_up()
    await call.finished()


async def test_errors_and_answers_that_change_by_themselves_have_no_tag(client: Client) -> None:
    for path in ("/api/v1/jobs/absent", "/api/v1/nodes", "/api/v1/cluster", "/api/v1/events", "/api/v1/managers"):
        assert "etag" not in (await read(client, path)).headers, path


def test_exactly_the_routes_that_read_committed_state_alone_are_tagged() -> None:
    assert {route.name for route in ROUTES if route.is_tagged} == TAGGED
    assert all(route.method == "GET" and not route.needs_leader for route in ROUTES if route.is_tagged)


def test_a_tag_expires_because_retention_changes_history_without_a_new_version(gateway: FakeGateway) -> None:
    now_s = 1000.0
    tags = EntityTags(gateway.managers, lambda: now_s)
    tag = tags.issue(CALLER).decode()
    now_s += AGE_MAX_S
    assert tags.is_current(tag, CALLER)
    now_s += 1
    assert not tags.is_current(tag, CALLER)


def test_another_process_does_not_know_the_tag(gateway: FakeGateway) -> None:
    """After a restore or an upgrade, the same version may show something else."""
    tag = EntityTags(gateway.managers).issue(CALLER).decode()
    assert not EntityTags(gateway.managers).is_current(tag, CALLER)


async def test_a_browser_that_somebody_else_signs_in_at_gets_another_answer(
    client: Client, gateway: FakeGateway
) -> None:
    """It stores answers, and asks whether they are still right."""
    tag = (await read(client, "/api/v1/jobs")).headers["etag"]
    assert (await read(client, "/api/v1/jobs", tag)).status == 304
    gateway.tenant = "red"
    assert (await read(client, "/api/v1/jobs", tag)).status == 200
