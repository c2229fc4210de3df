"""The output of a job resumes where it stopped; without I/O."""

from __future__ import annotations

from base64 import b64encode

import pytest

from shunter.sdk.calls.job_logs import JobLogSelector, read_job_logs
from shunter.sdk.errors import ConnectionLost
from shunter.sdk.transport.steps import Response
from tests.unit.sdk.manual_transport import core, run_conversation
from tests.unit.sdk.scripted_server import lines

OPENED = Response(200)
END = lines({"end": {"tasks": 1, "left_out": [], "missing": []}})


def log(data: bytes, offset: int = 0, index: int = 0) -> bytes:
    fields = {"task": f"a/{index}", "group": "main", "index": index, "attempt": 1, "stream": "stdout"}
    return lines({"log": {**fields, "offset": offset, "next": offset + len(data), "data": b64encode(data).decode()}})


def output(items: list[object], index: int = 0) -> bytes:
    return b"".join(item.log.data for item in items if item.log and item.log.index == index)  # type: ignore[attr-defined]


@pytest.mark.parametrize("cut", [ConnectionLost("x"), b""])
def test_followed_output_is_not_repeated_and_nothing_is_left_out(cut: ConnectionLost | bytes) -> None:
    first = log(b"b\nc\n", offset=2) + log(b"x\n", index=1) + log(b"lost")[:10]
    again = log(b"a\nb\nc\nd\n") + log(b"x\n", index=1) + log(b"y\n", 2, index=1) + END
    selector = JobLogSelector("a", "default", follow=True, tail=2, other=(("group", "main"),))
    transcript = run_conversation(read_job_logs(core(), selector), [OPENED, first, cut, OPENED, again])
    assert output(transcript.items) == b"b\nc\nd\n"
    assert output(transcript.items, 1) == b"x\ny\n"
    paths = ["/jobs/a/logs?namespace=default&follow=true&group=main" + rest for rest in ("&tail=2", "")]
    assert [request.path for request in transcript.requests] == paths


def test_a_resumed_stream_selects_lines_itself() -> None:
    selector = JobLogSelector("a", "default", follow=True, grep="e")
    first = log(b"one\n", 4)
    again = log(b"zero") + log(b"\none\ntwo\nthree\nfive", 4) + END
    transcript = run_conversation(read_job_logs(core(), selector), [OPENED, first, ConnectionLost("x"), OPENED, again])
    assert output(transcript.items) == b"one\nthree\nfive"


@pytest.mark.parametrize("cut", [ConnectionLost("x"), b""])
def test_output_that_is_not_followed_is_never_passed_off_as_whole(cut: ConnectionLost | bytes) -> None:
    with pytest.raises(ConnectionLost):
        run_conversation(read_job_logs(core(), JobLogSelector("a", "default")), [OPENED, log(b"one\n"), cut])


def test_the_end_of_the_output_is_the_newest_version_that_was_seen() -> None:
    asking = core(managers=2)
    end = lines({"end": {"tasks": 1}, "version": 9})
    run_conversation(read_job_logs(asking, JobLogSelector("a", "default", follow=True)), [OPENED, log(b"x\n"), end])
    assert asking.version == 9
