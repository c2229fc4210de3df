"""Both clients' answers about templates, queues and dead letters."""

from __future__ import annotations

from typing import Any

import shunter
from shunter.model.rest.admin_views import DeadView, QueueView, Replayed, TemplateView
from tests.unit.sdk.scripted_server import ReceivedRequest, answer, job_document, raw_response, serving

TEMPLATE: dict[str, Any] = {
    "name": "nightly", "namespace": "default", "id": 9, "state": "scheduled", "type": "batch", "count": 1,
    "command": ["true"], "user": "me", "labels": {}, "set_at": "2026-01-01T00:00:00Z",
}  # fmt: skip
QUEUE = {"name": "film", "queued": 3, "running": 1, "paused": False, "strict": False}
DEAD = {
    "name": "render@1/3", "number": 7, "namespace": "default", "job": "render", "run": 1, "group": "main", "index": 3,
    "exit_code": 1, "reason": "exit code 1", "at": "2026-01-01T00:00:00Z",
}  # fmt: skip


def page(*items: object) -> bytes:
    return answer(200, {"items": list(items), "next": None, "total": len(items)})


ANSWERS = {
    "GET /jobs/render": answer(200, job_document()),
    "POST /jobs/id:7/hold": answer(200, job_document(terms={"held": True})),
    "POST /jobs/id:7/release": answer(200, job_document()),
    "POST /jobs/id:7/retry": answer(201, job_document(run=2)),
    "GET /templates": page(TEMPLATE),
    "GET /templates/nightly": answer(200, TEMPLATE),
    "PATCH /templates/nightly": answer(200, TEMPLATE | {"state": "paused"}),
    "DELETE /templates/nightly": raw_response(204, b""),
    "POST /templates/nightly/runs": answer(201, job_document("nightly", run=4)),
    "GET /queues": page(QUEUE),
    "GET /queues/film": answer(200, QUEUE),
    "PATCH /queues/film": answer(200, QUEUE | {"paused": True}),
    "DELETE /queues/film": raw_response(204, b""),
    "POST /queues/film/purge": answer(200, {"count": 3}),
    "GET /dead": page(DEAD),
    "POST /dead/replay": answer(201, {"items": [], "left": 2}),
    "POST /dead/purge": answer(200, {"count": 1}),
}


def script(received: ReceivedRequest) -> bytes:
    return ANSWERS[f"{received.method} {received.path.removeprefix('/api/v1').partition('?')[0]}"]


def test_the_blocking_client_knows_templates_queues_and_dead_letters() -> None:
    with serving(script) as server, shunter.connect(server.url, "t") as c:
        job = c.job("render")
        terms = job.hold().view.terms
        assert terms is not None and terms.held
        assert job.release().view.terms is None
        assert job.retry(failed=True).view.run == 2
        assert [type(each) for each in c.templates()] == [TemplateView]
        assert c.template("nightly").id == 9
        assert c.pause_template("nightly").state == c.resume_template("nightly").state == "paused"
        c.delete_template("nightly")
        assert c.dispatch("nightly", {"input": "a"}, b"\x00\xff").view.run == 4
        sent: Any = server.received[-1].json
        assert sent == {"parameters": {"input": "a"}, "payload": "AP8="}
        assert [type(each) for each in c.queues()] == [QueueView]
        assert c.queue("film").queued == 3
        assert c.update_queue("film", {"paused": True, "strict": None}).paused
        sent = server.received[-1].json
        assert sent == {"paused": True}
        c.delete_queue("film")
        assert c.purge_queue("film") == 3
        assert [type(each) for each in c.dead_letters(job="render")] == [DeadView]
        assert c.replay_dead([7]) == Replayed([], 2)
        assert c.purge_dead(job="render") == 1
        sent = server.received[-1].json
        assert sent == {"numbers": [], "job": "render"}


async def test_the_async_client_knows_templates_queues_and_dead_letters() -> None:
    with serving(script) as server:
        async with shunter.aio.connect(server.url, "t") as c:
            job = await c.job("render")
            assert (await job.hold()).view.terms is not None
            assert (await job.release()).view.terms is None
            assert (await job.retry()).view.run == 2
            assert [each.name async for each in c.templates()] == [(await c.template("nightly")).name]
            assert (await c.pause_template("nightly")).state == (await c.resume_template("nightly")).state
            await c.delete_template("nightly")
            assert (await c.dispatch("nightly")).view.run == 4
            assert (await c.queues())[0] == await c.queue("film")
            assert (await c.update_queue("film", {"running_max": 3})).paused
            await c.delete_queue("film")
            assert await c.purge_queue("film") == 3
            assert [each.number async for each in c.dead_letters()] == [7]
            assert (await c.replay_dead()).left == 2
            assert await c.purge_dead([7]) == 1
