"""Waiting for many jobs takes one list and one stream of events, not a request per job; without I/O."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shunter.model.rest.job_views import JobView
from shunter.sdk.calls.wait import list_jobs, wait_for_ends
from shunter.sdk.errors import Conflict, ConnectionLost, NotFound
from shunter.sdk.transport.steps import Response
from tests.unit.sdk.manual_transport import Reply, Transcript, core, json_response, run_conversation
from tests.unit.sdk.scripted_server import job_document
from tests.unit.sdk.test_clients import CLUSTER

OPENED = Response(200)
AT_4 = json_response(200, CLUSTER)


def view(number: int, **fields: Any) -> JobView:
    return msgspec.convert(document(number, **fields), JobView)


def document(number: int, **fields: Any) -> dict[str, object]:
    return job_document(f"job-{number}", **({"id": number} | fields))


def page(*items: object, next: str | None = None) -> Response:
    return json_response(200, {"items": items, "next": next, "total": len(items)})


def event(position: str, type_: str, number: int, **fields: Any) -> bytes:
    given = {"id": position, "at": "2026-01-02T03:05:00Z", "type": type_, "namespace": "default", "run": 1}
    given |= {"name": f"job-{number}", "job": f"job-{number}", **fields}
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (position.encode(), type_.encode(), msgspec.json.encode(given))


def waited(views: list[JobView], replies: list[Reply], timeout_s: float | None = None, **settings: Any) -> Transcript:
    transcript = run_conversation(wait_for_ends(core(**settings), views, timeout_s), replies)
    transcript.items = [each for together in transcript.items for each in together]
    return transcript


def test_ten_thousand_jobs_need_a_dozen_requests() -> None:
    numbers = range(1, 10_001)
    pages = [
        page(*map(document, range(last, last - 1_000, -1)), next=str(last - 999) if last > 1_000 else None)
        for last in range(10_000, 0, -1_000)
    ]
    chunks = [
        b"".join(event(f"5-{each}", "job.succeeded", each) for each in numbers[start : start + 500])
        for start in range(0, 10_000, 500)
    ]
    transcript = waited([view(number) for number in numbers], [AT_4, *pages, OPENED, *chunks])
    assert [each.id for each in transcript.items] == list(numbers)
    assert {each.state for each in transcript.items} == {"succeeded"}
    assert len(transcript.requests) == 1 + 10 + 1
    assert transcript.requests[1].path == "/jobs?namespace=default&limit=1000&after=10001"
    assert transcript.requests[-1].path == "/events?namespace=default&after=4&follow=true"


def test_what_has_ended_before_is_in_the_list() -> None:
    ended = document(1, state="failed", counts={"failed": 1}, exit_code=3, reason="exit code 3")
    transcript = waited([view(1)], [AT_4, page(ended)])
    assert [(each.state, each.exit_code) for each in transcript.items] == [("failed", 3)]
    assert len(transcript.requests) == 2, "there is nothing to follow"


def test_an_event_says_how_a_job_ended() -> None:
    replies: list[Reply] = [
        AT_4,
        page(document(3, count=5), document(2), document(1, count=5)),
        OPENED,
        event("5-0", "tasks.failed", 2, exit_code=3) + event("5-1", "job.failed", 2, reason="exit code 3"),
        event("6-0", "job.succeeded", 1, run=2) + event("6-1", "job.succeeded", 9),  # another run, another job
        event("7-0", "job.succeeded", 1) + event("7-1", "job.cancelled", 3),
    ]
    failed, succeeded, cancelled = waited([view(1), view(2), view(3)], replies).items
    assert (failed.state, failed.counts, failed.exit_code) == ("failed", {"failed": 1}, 3)
    assert (failed.reason, failed.ended_at) == ("exit code 3", "2026-01-02T03:05:00Z")
    assert (succeeded.id, succeeded.counts, succeeded.exit_code) == (1, {"succeeded": 5}, None)
    assert (cancelled.state, cancelled.counts) == ("cancelled", {}), "only a list knows how its tasks ended"


def test_a_broken_stream_resumes_after_the_last_event() -> None:
    replies: list[Reply] = [
        AT_4, page(document(2), document(1)), OPENED, event("5-0", "job.succeeded", 1), ConnectionLost("gone"),
        OPENED, event("6-0", "job.succeeded", 2),
    ]  # fmt: skip
    transcript = waited([view(1), view(2)], replies)
    assert len(transcript.items) == 2 and "after=5-0" in transcript.requests[-1].path


def test_after_events_that_history_has_dropped_the_jobs_are_listed_again() -> None:
    gone = json_response(410, {"title": "gone", "detail": "too old"})
    ended = document(1, state="succeeded", counts={"succeeded": 1})
    transcript = waited([view(1)], [AT_4, page(document(1)), gone, AT_4, page(ended)])
    assert [each.state for each in transcript.items] == ["succeeded"]


def test_a_manager_that_does_not_name_the_run_is_asked_for_the_list() -> None:
    ended = document(1, state="succeeded", counts={"succeeded": 1})
    old = event("5-0", "job.succeeded", 1, run=None)
    transcript = waited([view(1)], [AT_4, page(document(1)), OPENED, old, AT_4, page(ended)])
    assert [each.state for each in transcript.items] == ["succeeded"]


def test_a_time_out_names_the_jobs() -> None:
    clock = iter([0.0, *[1.0] * 5, *[99.0] * 9])
    with pytest.raises(
        TimeoutError, match=r"^timed out after 5 s: 4 of 4 jobs have not ended: job-1@1, .* and 1 more$"
    ):
        waited(
            [view(number) for number in range(1, 5)],
            [AT_4, page(*map(document, (4, 3, 2, 1))), OPENED, b": still here\n\n", b": still here\n\n"],
            5.0,
            clock=lambda: next(clock),
        )


def test_a_list_starts_at_each_gap() -> None:
    transcript = run_conversation(
        list_jobs(core(), [view(5), view(90_000, namespace="film")]),
        [page(document(90_000), document(89_000), next="89000"), page(document(5))],
    )
    assert sorted(transcript.result) == [5, 90_000]
    assert [request.path for request in transcript.requests] == [
        "/jobs?namespace=%2A&limit=1000&after=90001",
        "/jobs?namespace=%2A&limit=1&after=6",
    ]


def test_what_never_ends_or_is_forgotten_is_an_error() -> None:
    with pytest.raises(Conflict, match="job-1 is a template"):
        waited([view(1, run=0)], [])
    with pytest.raises(NotFound, match="job-1@1 has ended and is no longer in history"):
        waited([view(1)], [AT_4, page()])


def test_no_jobs_need_no_request() -> None:
    assert waited([], []).items == []
