"""The audit log through the gateway and REST: what a change records, who sees it, and what retention leaves."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from shunter.api.http.app import App, build_app
from shunter.model.audit.records import REFUSED, RefusedRequests
from shunter.model.audit.verification import ChainVerifier
from shunter.model.audit.views import AuditRecordView
from shunter.model.identity.roles import Role
from shunter.ports.identity import AuditSearch, NewKey, TenantChange
from shunter.ports.store import AuditQuery, Retention
from tests.unit.api.asgi_client import Client, Response
from tests.unit.gateway.harness import GatewayHarness, run_scenario

JOB = {"apiVersion": "shunter.dev/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"command": ["/bin/true"]}}
DAY_S = 86_400.0


async def request(app: App, method: str, path: str, body: Any = None, token: str = "secret") -> Response:
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    data = b"" if body is None else json.dumps(body).encode()
    return await Client(app).call(method, path, body=data, headers=headers)


async def records(harness: GatewayHarness) -> list[AuditRecordView]:
    """The oldest first."""
    return (await harness.gateway.audit.page(AuditSearch(limit=1000))).items[::-1]


async def problems(harness: GatewayHarness, kept: str = "") -> list[str]:
    page = await harness.gateway.audit.lines(0, 1000)
    verifier = ChainVerifier(kept)
    for line in page.lines:
        verifier.add(line.encode())
    verifier.finish(page.head.number, page.head.hash)
    return verifier.problems


def test_a_change_and_its_record_are_one_commit() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        app = build_app(harness.local_gateway)
        assert (await request(app, "POST", "/api/v1/jobs", JOB)).status == 201
        version = harness.engine.committed_version
        [record] = await records(harness)
        assert (record.number, record.operation, record.user, record.result) == (1, "submitJob", "anna", "ok")
        assert (record.names, record.transport, record.version) == (["job default/a@1"], "rest", version)
        [batch] = await harness.store.audit_batches(AuditQuery())
        rounds = await harness.store.rounds_after(version - 1, 10)
        assert [each.at for each in rounds] == [batch.at]
        assert harness.engine.state.audit.head.hex() == record.hash
        assert await problems(harness) == []

    run_scenario(scenario)


def test_what_changes_nothing_leaves_no_record() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        app = build_app(harness.local_gateway)
        for method, path, body, status in (
            ("GET", "/api/v1/jobs", None, 200),
            ("POST", "/api/v1/plan", {"items": [JOB]}, 200),
            ("DELETE", "/api/v1/jobs/nosuch", None, 404),
            ("POST", "/api/v1/jobs", {**JOB, "spec": {}}, 400),
        ):
            assert (await request(app, method, path, body)).status == status, path
        await harness.run("by-the-cluster-itself")  # not by a request
        assert await records(harness) == []

    run_scenario(scenario)


def test_records_have_names_and_no_values() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        app = build_app(harness.local_gateway)
        secret = {**JOB, "spec": {"command": ["/bin/hunter2"], "env": {"PASSWORD": "hunter2"}}}
        await request(app, "POST", "/api/v1/jobs", secret)
        await request(app, "DELETE", "/api/v1/jobs/a")
        await request(app, "PATCH", "/api/v1/queues/night", {"paused": True})
        key = (await request(app, "POST", "/api/v1/keys", {"roles": ["viewer"], "note": "hunter2"})).json["key"]
        found = await records(harness)
        assert [each.operation for each in found] == ["submitJob", "stopJob", "patchQueue", "createKey"]
        assert [each.names[0].split()[0] for each in found] == ["job", "job", "queue", "key"]
        text = "".join((await harness.gateway.audit.lines(0, 100)).lines)
        assert "hunter2" not in text and key not in text

    run_scenario(scenario)


def test_the_log_continues_after_a_crash() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        app = build_app(harness.local_gateway)
        await request(app, "POST", "/api/v1/jobs", JOB)
        await request(app, "DELETE", "/api/v1/jobs/a")
        before = harness.engine.state.audit.dump()
        await harness.engine.snapshots.save(harness.engine.epoch)
        await request(app, "PATCH", "/api/v1/queues/night", {"paused": True})
        await harness.restart_manager()
        assert harness.engine.state.audit.dump()[0] == before[0] + 1
        assert [json.loads(line)["number"] for batch in await harness.store.audit_batches(AuditQuery())
                for line in batch.body.splitlines()] == [1, 2, 3]  # fmt: skip

    run_scenario(scenario)


def test_a_tenants_admin_sees_what_the_tenant_did_and_nothing_else() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        app, gateway = build_app(harness.local_gateway), harness.gateway
        keys = {}
        for name in ("red", "blue"):
            await gateway.tenants.create(name, TenantChange())
            keys[name] = (await gateway.identity.create_key(NewKey((Role.ADMIN,), tenant=name))).key
            assert (await request(app, "POST", "/api/v1/jobs", JOB, keys[name])).status == 201
        await request(app, "PATCH", "/api/v1/queues/night", {"paused": True})
        for name in ("red", "blue"):
            page = (await request(app, "GET", "/api/v1/audit", token=keys[name])).json
            assert [each["names"] for each in page["items"]] == [[f"job {name}/a@1"]]
            assert (await request(app, "GET", "/api/v1/audit/lines", token=keys[name])).status == 403
            assert (await request(app, "GET", "/api/v1/audit?tenant=blue", token=keys["red"])).json["items"] == []
        bound = (await gateway.identity.create_key(NewKey((Role.ADMIN,), tenant="red", namespace="red"))).key
        assert (await request(app, "GET", "/api/v1/audit", token=bound)).json["items"] == []
        assert len((await request(app, "GET", "/api/v1/audit")).json["items"]) == 3

    run_scenario(scenario)


def test_records_are_found_page_by_page_and_by_what_they_have() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        app = build_app(harness.local_gateway)
        for number in range(7):
            await request(app, "PATCH", f"/api/v1/queues/q{number % 2}", {"paused": number % 4 < 2})
        await request(app, "POST", "/api/v1/jobs", JOB)
        first = (await request(app, "GET", "/api/v1/audit?limit=5")).json
        assert [each["number"] for each in first["items"]] == [8, 7, 6, 5, 4]
        second = (await request(app, "GET", f"/api/v1/audit?limit=5&after={first['next']}")).json
        assert [each["number"] for each in second["items"]] == [3, 2, 1]
        assert second["next"] is None
        found = (await request(app, "GET", "/api/v1/audit?operation=submitJob&user=anna")).json
        assert [each["number"] for each in found["items"]] == [8]
        assert (await request(app, "GET", "/api/v1/audit?user=eve")).json["items"] == []
        assert (await request(app, "GET", "/api/v1/audit?after=x")).status == 400

    run_scenario(scenario)


def test_retention_leaves_a_checkpoint_that_the_rest_can_be_checked_with() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        app = build_app(harness.local_gateway)
        harness.engine.settings = replace(harness.engine.settings, retention=Retention(audit_max=3))
        for number in range(10):
            await request(app, "PATCH", f"/api/v1/queues/q{number}", {"paused": True})
        kept = (await records(harness))[6].hash
        dropped = (await records(harness))[3].hash
        await harness.engine.purge()
        left = await records(harness)
        assert [each.number for each in left] == [8, 9, 10, 11]
        assert left[-1].operation == "checkpoint"
        assert await problems(harness) == []
        assert await problems(harness, kept) == []  # of the last record that was dropped
        assert await problems(harness, dropped) != []
        await harness.engine.purge()
        assert len(await records(harness)) == 4, "it does not run again soon"

    run_scenario(scenario)


def test_retention_by_age_does_not_drop_its_own_checkpoint_again_and_again() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        app = build_app(harness.local_gateway)
        harness.engine.settings = replace(harness.engine.settings, retention=Retention(audit_age_s=DAY_S))
        for number in range(4):
            await request(app, "PATCH", f"/api/v1/queues/q{number}", {"paused": True})
        for _ in range(10):
            await harness.settle(2 * DAY_S)
            await harness.engine.purge()
        assert [each.number for each in await records(harness)] == [5]
        assert await problems(harness) == []

    run_scenario(scenario)


def test_requests_that_were_refused_are_one_record() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        app = build_app(harness.local_gateway)
        counter = app.shared.refusals
        for number in range(30):
            assert (await request(app, "GET", "/api/v1/jobs", token=f"wrong-{number}")).status in (401, 429)
        await request(app, "DELETE", "/api/v1/jobs/nosuch")
        await harness.engine.note_refused(counter.take())
        [record] = await records(harness)
        assert (record.operation, record.result) == (REFUSED, REFUSED)
        kinds = {(each.status, each.user, each.operation) for each in record.refused}
        assert kinds == {(401, "", ""), (429, "", ""), (404, "anna", "stopJob")}
        assert sum(each.count for each in record.refused) == 31
        assert counter.take() == []
        assert await problems(harness) == []

    run_scenario(scenario)


def test_only_managers_report_what_was_refused() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        app, body = build_app(harness.local_gateway), {"refused": [{"source": "10.0.0.9", "status": 401, "count": 7}]}
        key = (await harness.gateway.identity.create_key(NewKey((Role.ADMIN,)))).key
        assert (await request(app, "POST", "/api/v1/audit/refused", body, key)).status == 403
        assert (await request(app, "POST", "/api/v1/audit/refused", body)).status == 204
        [record] = await records(harness)
        assert record.refused == [RefusedRequests("10.0.0.9", 401, 7)]

    run_scenario(scenario)


def test_a_damaged_record_is_shown_as_such_and_found() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        app = build_app(harness.local_gateway)
        for number in range(3):
            await request(app, "PATCH", f"/api/v1/queues/q{number}", {"paused": True})
        [_, second, _] = await harness.store.audit_batches(AuditQuery())
        second.body = second.body.replace(b"anna", b"mall")
        assert "record 2 was changed" in (await problems(harness))[0]
        second.body = b"nonsense\n"
        assert [each.result for each in await records(harness)] == ["ok", "unreadable", "ok"]
        assert await problems(harness)

    run_scenario(scenario)
