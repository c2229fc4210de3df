"""Views that have an ETag, on a real engine: as long as the tag is the same, so is the answer, whatever the time."""

from __future__ import annotations

import asyncio

from shunter.api.http.app import build_app
from shunter.api.routes.table import ROUTES
from shunter.model.job.spec import Restart
from shunter.model.objects.objects import GROUP, VERSION
from tests.unit.api.asgi_client import Client, Response
from tests.unit.engine.fake_workers import FakeWorkers
from tests.unit.engine.object_harness import TESTBED_NAME, apply_drafts, command, queue, setup_testbed
from tests.unit.engine.service_specs import service
from tests.unit.gateway.harness import GatewayHarness, run_scenario

TOKEN = {"authorization": "Bearer secret"}
IN_PATH = {
    "job": "ended", "index": "0", "template": "nightly", "queue": "default", "group": GROUP, "version": VERSION,
    "namespace": TESTBED_NAME.namespace, "name": "n0",
}  # fmt: skip
OBJECTS = {"getTestbed": TESTBED_NAME.name, "getBatchJob": "a", "getScheduling": "q"}
STEPS_S = (0.5, 3.0, 30.0, 20.0, 3600.0)


def paths() -> list[str]:
    tagged = [route for route in ROUTES if route.is_tagged]
    found = [route.path.format(**IN_PATH, object=OBJECTS.get(route.name)) for route in tagged]
    return [*found, "/api/v1/jobs/waiting", "/api/v1/jobs/held", "/api/v1/jobs/running", "/api/v1/jobs/running/tasks"]


async def read_all(client: Client) -> dict[str, Response]:
    return {path: await client.get(path, headers=TOKEN) for path in paths()}


def version_of(answer: Response) -> str:
    return answer.headers["etag"].split(".")[1]


def test_what_has_the_same_tag_is_the_same_answer_whatever_the_time() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        client = Client(build_app(harness.local_gateway))
        [node, *_] = await setup_testbed(harness)
        await harness.run_to_end(node, "ended", exit_code=1)
        await harness.run("waiting", start_at="2100-01-01T00:00:00Z")
        await harness.run("held", hold=True)
        await harness.run("running", count=2)
        await harness.start_task(node, harness.orders()[0][1], segment=1)
        await harness.run("nightly", schedule={"cron": "0 3 * * *"})
        await apply_drafts(harness, command("a"), queue("q", "a"))
        await harness.settle(1.0)
        compared = 0
        before = await read_all(client)
        assert {path: answer.status for path, answer in before.items() if answer.status != 200} == {}
        for step_s in STEPS_S:
            await asyncio.sleep(step_s)
            after = await read_all(client)
            for path, answer in after.items():
                if version_of(answer) == version_of(before[path]):
                    assert answer.body == before[path].body, path
                    compared += 1
            before = after
        assert compared > 3 * len(before)

    run_scenario(scenario)


def test_a_service_changes_while_the_state_is_the_same_and_so_has_no_tag() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        client = Client(build_app(harness.local_gateway))
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        await harness.submit(service(1, restart=Restart("always", max=None, delay_s=1.0, factor=1.0, jitter=0.0)))
        await fake_workers.process(10)
        await fake_workers.end(fake_workers.find(0), 1)
        await fake_workers.process(1.1)
        crashing = await client.get("/api/v1/jobs/web", headers=TOKEN)
        await asyncio.sleep(30)
        steady = await client.get("/api/v1/jobs/web", headers=TOKEN)
        assert (crashing.json["update"]["status"], steady.json["update"]["status"]) == ("crashing", "steady")
        assert crashing.headers["shunter-version"] == steady.headers["shunter-version"]
        assert "etag" not in crashing.headers

    run_scenario(scenario)
