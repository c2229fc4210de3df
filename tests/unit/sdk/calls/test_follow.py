"""Broken streams resume where they stopped; without I/O."""

from __future__ import annotations

from base64 import b64encode

import pytest

from shunter.sdk.calls.follow import (
    LOG_CHUNK_BYTES,
    LogSelector,
    follow_events,
    follow_job,
    follow_log,
    follow_submit,
    read_log,
)
from shunter.sdk.errors import ConnectionLost, NotFound, NotReachable, StreamEnded
from shunter.sdk.transport.steps import Response
from tests.unit.sdk.manual_transport import Reply, Transcript, core, json_response, run_conversation
from tests.unit.sdk.scripted_server import job_document, lines

OPENED = Response(200)
MANIFEST = {"kind": "Job"}
JOB = lines({"job": job_document()})
END = lines({"end": job_document(state="succeeded", counts={"succeeded": 1}), "exit_code": 0})
PART = LogSelector("id:7", "default", 3)


def log(data: bytes, stream: str = "stdout") -> bytes:
    return lines({"log": {"stream": stream, "data": b64encode(data).decode()}})


def event(number: str) -> bytes:
    document = f'{{"id":"{number}","at":"2026-01-01T00:00:00Z","type":"job.submitted","name":"render"}}'
    return f"id: {number}\nevent: job.submitted\ndata: {document}\n\n".encode()


def output(items: list[object]) -> bytes:
    return b"".join(item.log.data for item in items if item.log is not None)  # type: ignore[attr-defined]


def test_a_submit_that_is_followed_is_one_request() -> None:
    transcript = run_conversation(follow_submit(core(), MANIFEST, "end"), [Response(201), JOB + END, b""])
    assert [request.path for request in transcript.requests] == ["/jobs?namespace=default&follow=end"]
    assert (transcript.result.view.state, transcript.result.exit_code, transcript.result.created) == (
        "succeeded",
        0,
        True,
    )
    assert [bool(line.job) for line in transcript.items] == [True, False]


def test_lines_are_whole_however_the_network_cuts_them() -> None:
    text = JOB + log(b"hello") + END
    pieces = [text[start : start + 5] for start in range(0, len(text), 5)]
    transcript = run_conversation(follow_submit(core(), MANIFEST, "logs"), [OPENED, *pieces, b""])
    assert output(transcript.items) == b"hello"


def test_a_connection_lost_before_the_acknowledgement_submits_again_with_the_same_key() -> None:
    transcript = run_conversation(
        follow_submit(core(), MANIFEST, "end"), [OPENED, ConnectionLost("x"), OPENED, JOB + END, b""]
    )
    assert transcript.requests[0] == transcript.requests[1]


def test_a_connection_lost_after_the_acknowledgement_follows_that_job() -> None:
    replies: list[Reply] = [Response(201), JOB, ConnectionLost("x"), OPENED, JOB + END, b""]
    transcript = run_conversation(follow_submit(core(), MANIFEST, "end"), replies)
    assert [request.path for request in transcript.requests][1] == "/jobs/id:7/follow?namespace=default&mode=end"
    assert [bool(line.job) for line in transcript.items] == [True, False]
    assert transcript.result.created


def test_a_stream_that_ends_without_the_end_is_gone_on_with_but_not_in_a_hurry() -> None:
    transcript = run_conversation(follow_submit(core(), MANIFEST, "end"), [OPENED, JOB, b"", OPENED, JOB + END, b""])
    assert transcript.result.view.state == "succeeded"
    assert transcript.pauses == [StreamEnded.retry_after_s]


def test_output_that_was_shown_is_not_shown_again() -> None:
    first = JOB + log(b"one ") + log(b"warning ", "stderr") + log(b"two ")
    again = JOB + log(b"one two th") + log(b"warning ", "stderr") + log(b"ree") + END
    transcript = run_conversation(
        follow_submit(core(), MANIFEST, "logs"), [OPENED, first, ConnectionLost("x"), OPENED, again, b""]
    )
    assert output([i for i in transcript.items if i.log and i.log.stream == "stdout"]) == b"one two three"
    assert output([i for i in transcript.items if i.log and i.log.stream == "stderr"]) == b"warning "


def test_half_a_line_is_forgotten_with_its_stream() -> None:
    cut = JOB + log(b"lost")[:10]
    transcript = run_conversation(
        follow_submit(core(), MANIFEST, "logs"), [OPENED, cut, ConnectionLost("x"), OPENED, JOB + END, b""]
    )
    assert transcript.result.exit_code == 0


def test_a_cluster_that_stays_away_is_given_up_with_an_error() -> None:
    now = iter(range(0, 1000, 10))
    with pytest.raises(NotReachable):
        run_conversation(
            follow_submit(core(clock=lambda: next(now)), MANIFEST, "end"), [OPENED, JOB, b"", *[NotReachable("x")] * 9]
        )


def test_a_job_that_is_not_there_is_an_error_at_once() -> None:
    with pytest.raises(NotFound):
        run_conversation(
            follow_job(core(), "nope", "default", "end", None), [json_response(404, {"detail": "no such job"})]
        )


def test_a_wait_has_an_end_of_its_own() -> None:
    now = iter([0.0, 0.0, 4.0, 4.0, 10.0, 10.0])
    waiting = follow_job(core(clock=lambda: next(now)), "a", "default", "end", timeout_s=10.0)
    with pytest.raises(TimeoutError):
        run_conversation(waiting, [OPENED, JOB, TimeoutError()])


def test_every_read_of_a_wait_gets_the_time_that_is_left() -> None:
    now = iter([0.0, 1.0, 4.0, 9.0])
    waiting = follow_job(core(clock=lambda: next(now)), "a", "default", "end", timeout_s=10.0)
    assert run_conversation(waiting, [OPENED, JOB + END, b""]).timeouts == [9.0, 6.0, 1.0]


def test_a_log_is_read_in_chunks_to_its_end() -> None:
    full = Response(200, {}, b"x" * LOG_CHUNK_BYTES)
    transcript = run_conversation(read_log(core(), PART), [full, Response(200, {"x-log-truncated": "true"}, b"end")])
    assert [len(item) for item in transcript.items] == [LOG_CHUNK_BYTES, 3]
    assert transcript.result is True
    assert transcript.requests[1].path == (
        f"/jobs/id:7/tasks/3/logs?namespace=default&stream=stdout&offset={LOG_CHUNK_BYTES}&limit={LOG_CHUNK_BYTES}"
    )


def test_an_empty_log_shows_nothing() -> None:
    assert run_conversation(read_log(core(), PART), [Response(200)]).items == []


def test_a_followed_log_goes_on_at_its_offset() -> None:
    transcript = run_conversation(
        follow_log(core(), PART), [OPENED, b"one ", b"two", ConnectionLost("x"), OPENED, b" three", b""]
    )
    assert b"".join(transcript.items) == b"one two three"
    assert "offset=7" in transcript.requests[1].path and "follow=true" in transcript.requests[1].path


def test_followed_events_go_on_after_the_last_one_seen() -> None:
    cut = event("5-0") + b": still there\n\n" + event("5-1")[:20]
    replies: list[Reply] = [
        OPENED,
        cut,
        ConnectionLost("x"),
        OPENED,
        event("5-1"),
        b"",
        json_response(404, {"detail": "too old"}),
    ]
    transcript = Transcript()
    with pytest.raises(NotFound):
        run_conversation(follow_events(core(), "*", None, "4"), replies, transcript)
    assert [item.id for item in transcript.items] == ["5-0", "5-1"]
    assert [request.path.partition("after=")[2] for request in transcript.requests] == [
        "4&follow=true",
        "5-0&follow=true",
        "5-1&follow=true",
    ]


def test_a_follower_that_was_dropped_goes_on_from_the_position_it_was_given() -> None:
    dropped = b"id: 8\n: you read too slowly\n\n"
    replies: list[Reply] = [OPENED, event("5-0") + dropped, b"", json_response(404, {"detail": "too old"})]
    transcript = Transcript()
    with pytest.raises(NotFound):
        run_conversation(follow_events(core(), "*", None, "4"), replies, transcript)
    assert [item.id for item in transcript.items] == ["5-0"]
    assert transcript.requests[-1].path.endswith("after=8&follow=true")


def test_events_from_now_on_begin_at_the_present_version() -> None:
    cluster = {
        "name": "c", "version": "0", "state_version": 41, "epoch": 1, "policy": "p", "heartbeat_s": 1.0,
        "simulated": False, "nodes": {},
        "started_at": "2026-01-01T00:00:00Z", "jobs": {}, "tasks": {}, "capacity": {}, "reserved": {},
    }  # fmt: skip
    transcript = Transcript()
    with pytest.raises(NotFound):
        run_conversation(
            follow_events(core(), None, "render", None), [json_response(200, cluster), json_response(404)], transcript
        )
    assert transcript.requests[1].path == "/events?namespace=default&job=render&after=41&follow=true"


def test_the_end_of_a_job_is_the_newest_version_that_was_seen() -> None:
    asking = core(managers=2)
    end = lines({"end": job_document(state="succeeded"), "version": 9})
    run_conversation(follow_submit(asking, MANIFEST, "end"), [Response(201, {"shunter-version": "7"}), JOB + end, b""])
    assert asking.version == 9


def test_the_version_at_the_end_of_a_followed_log_is_asked_for() -> None:
    asking = core(managers=2)
    at_end = Response(200, {"shunter-version": "9"})
    transcript = run_conversation(follow_log(asking, PART), [OPENED, b"one", b"", at_end])
    assert (output_bytes(transcript.items), asking.version) == (b"one", 9)
    assert transcript.requests[-1].path.endswith("offset=3&limit=1")
    gone = json_response(404, {"detail": "deleted"})
    run_conversation(follow_log(core(managers=2), PART), [OPENED, b"", gone])


def output_bytes(items: list[object]) -> bytes:
    return b"".join(item for item in items if isinstance(item, bytes))
