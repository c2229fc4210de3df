"""Both clients with many jobs: submit, wait, failures, and how a run that is waited for saves a request."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import shunter
import shunter.aio
from tests.unit.sdk.calls.test_wait import event

from .scripted_server import ReceivedRequest, answer, chunks, job_document, lines, raw_response, serving
from .test_clients import CLUSTER

FAILED = {"state": "failed", "counts": {"failed": 1, "succeeded": 1}, "count": 2, "reason": "1 of 2 tasks failed"}
ENDED = job_document(state="succeeded", counts={"succeeded": 1})
FOLLOWED = chunks(201, lines({"job": job_document()}), lines({"end": ENDED, "exit_code": 0}))


def submitted(number: int) -> dict[str, object]:
    fields = {"state": "pending", "count": 2 if number == 2 else 1}
    return {"name": f"job-{number}", "namespace": "default", "id": number, "run": 1, "created": True, **fields}


def script(received: ReceivedRequest) -> bytes | list[bytes]:
    """Job 1 succeeds, job 2 is an array that fails."""
    path, _, query = received.path.removeprefix("/api/v1").partition("?")
    if path == "/jobs" and "after=3" in query and "limit=2" in query:
        pending = [job_document("job-2", id=2, count=2), job_document("job-1", id=1)]
        return answer(200, {"items": pending, "next": None, "total": 2})
    if path == "/jobs":
        return answer(200, {"items": [job_document("job-2", id=2, **FAILED)], "next": None, "total": 1})
    if path == "/events":
        return chunks(200, event("5-0", "job.failed", 2), event("6-0", "job.succeeded", 1), ended=False)
    task = {"name": "job-2/1", "index": 1, "state": "failed", "attempt": 1, "exit_code": 3}
    return {
        "/cluster": answer(200, CLUSTER),
        "/bulk/jobs": answer(201, {"items": [submitted(1), submitted(2)]}),
        "/jobs/id:2/tasks": answer(200, {"items": [task], "next": None, "total": 1}),
        "/jobs/id:2/tasks/1/logs": raw_response(200, b"one\ntwo\n" * 20),
    }[path]


def test_many_jobs_are_waited_for_over_one_stream() -> None:
    with serving(script) as server, shunter.connect(server.url, "t") as client:
        jobs = client.submit_many([{}, {}])
        assert [(job.name, job.id, job.run, job.view.count) for job in jobs] == [("job-1", 1, 1, 1), ("job-2", 2, 1, 2)]
        assert [job.name for job in client.as_completed([*jobs, jobs[0]])] == ["job-2", "job-1", "job-1"]
        assert [job.state for job in client.wait(jobs)] == ["succeeded", "failed"]
        assert jobs[1].counts == {"failed": 1, "succeeded": 1}
        for wait in (client.gather, partial(client.wait, check=True)):
            with pytest.raises(shunter.JobFailed) as failed:
                wait(jobs)
            assert str(failed.value).startswith("job job-2@1 failed: 1 of 2 tasks failed; last lines of stderr:\none\n")
            assert (failed.value.exit_code, failed.value.stderr.count("\n")) == (3, 19)
    assert all(not received.path.startswith("/api/v1/jobs/id:1") for received in server.received)


async def test_the_async_client_does_the_same() -> None:
    with serving(script) as server:
        async with shunter.aio.connect(server.url, "t") as client:
            jobs = await client.submit_many([{}, {}])
            assert [job.name async for job in client.as_completed(jobs)] == ["job-2", "job-1"]
            with pytest.raises(shunter.JobFailed, match="job-2@1"):
                await client.gather(jobs)


def test_a_key_of_ones_own_outlives_the_client() -> None:
    with serving(lambda _: answer(201, {"items": [submitted(1)]})) as server:
        for _ in range(2):
            with shunter.connect(server.url, "t") as client:
                client.submit_many([{}], key="import-7")
                client.submit_many([{"metadata": {"name": "job-1"}}], key="import-7")
        others: list[list[dict[str, Any]]] = [[{}, {}], [{"metadata": {"name": "job-2"}}]]
        for other in others:
            with shunter.connect(server.url, "t") as client, pytest.raises(shunter.Conflict, match="used for other"):
                client.submit_many(other, key="import-7")
    assert {received.headers["idempotency-key"] for received in server.received} == {"import-7-0"}


def run_script(received: ReceivedRequest) -> bytes | list[bytes]:
    return FOLLOWED if "follow" in received.path else answer(201, job_document())


def test_a_run_after_one_that_was_waited_for_needs_one_request() -> None:
    with serving(run_script) as server, shunter.connect(server.url, "t") as client:
        for _ in range(3):
            job = client.run(["true"])
            assert job.created and not job.ended
            assert job.wait(60).ended and job.exit_code == 0
    assert [received.path.partition("?")[2].partition("default")[2] for received in server.received] == [
        "",
        "&mode=end",
        "&follow=end",
        "&follow=end",
    ]


def test_runs_that_nobody_waits_for_hold_no_connection() -> None:
    def never_ends(received: ReceivedRequest) -> bytes | list[bytes]:
        if received.method == "GET":
            return FOLLOWED
        return (
            chunks(201, lines({"job": job_document()}), ended=False)
            if "follow" in received.path
            else run_script(received)
        )

    with serving(never_ends) as server, shunter.connect(server.url, "t") as client:
        client.run(["true"]).wait()
        followed, *others = [client.run(["true"]) for _ in range(3)]
        assert not any(job._following for job in [followed, *others])
        assert followed.wait().ended, "by a request of its own"
    assert sum("follow=end" in received.path for received in server.received) == 1


def test_a_run_whose_end_is_known_otherwise_holds_no_connection() -> None:
    def ended(received: ReceivedRequest) -> bytes | list[bytes]:
        return answer(200, ENDED) if received.method == "GET" else run_script(received)

    with serving(ended) as server, shunter.connect(server.url, "t") as client:
        jobs = [client.run(["true"]).refresh() for _ in range(4)]
        client.run(["true"])
        assert not any(job._following for job in jobs)


async def test_the_async_client_follows_a_run_too() -> None:
    with serving(run_script) as server:
        async with shunter.aio.connect(server.url, "t") as client:
            for _ in range(2):
                assert (await (await client.run(["true"])).wait()).ended
            await client.run(["true"])  # is closed with the client
    assert [received.method for received in server.received] == ["POST", "GET", "POST", "POST"]


def test_a_time_out_names_the_job() -> None:
    def silent(received: ReceivedRequest) -> bytes | list[bytes]:
        if "follow" not in received.path:
            return run_script(received)

        def wait() -> object:
            yield from chunks(200, lines({"job": job_document()}), ended=False)
            received.gone.wait(10)

        return wait()  # type: ignore[return-value]

    with serving(silent) as server, shunter.connect(server.url, "t") as client:
        job = client.run(["true"])
        with pytest.raises(TimeoutError, match=r"^timed out after 0.01 s: job render@1 has not ended$"):
            job.wait(0.01)


def test_waiting_for_what_is_no_list_of_jobs_says_what_to_write() -> None:
    with serving(script) as server, shunter.connect(server.url, "t") as client:
        [job, _] = client.submit_many([{}, {}])
        wrong: Any
        for wrong in (["job-1"], "job-1"):
            with pytest.raises(shunter.Invalid, match=r"must be a list of Jobs .* client\.job\('job-1'\)"):
                client.wait(wrong)
        wrong = job
        for wait in (client.wait, client.gather, lambda jobs: list(client.as_completed(jobs))):
            with pytest.raises(shunter.Invalid, match=r"must be a list of Jobs .*; write \[job\], or job\.wait"):
                wait(wrong)


def test_restarting_what_is_no_task_is_refused() -> None:
    with serving(script) as server, shunter.connect(server.url, "t") as client:
        [job, _] = client.submit_many([{}, {}])
        for wrong in ("x", "0~1", "a/b"):
            with pytest.raises(shunter.Rejected, match="index: must be the index of a task"):
                job.restart(wrong)
