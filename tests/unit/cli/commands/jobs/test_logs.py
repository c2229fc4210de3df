"""`shunter logs` of a job with several tasks."""

from __future__ import annotations

from io import BytesIO, TextIOWrapper

import msgspec
import pytest

from shunter.cli.commands.jobs.logs import Writer
from shunter.model.rest.log_views import JobLogEnd, JobLogLine, LogGap, TaskLogView
from tests.unit.cli.conftest import Cluster, Shunter, page
from tests.unit.sdk.scripted_server import answer, chunks, job_document


def log(index: int, data: bytes, stream: str = "stdout") -> bytes:
    fields = {"task": f"odd/{index}", "group": "main", "index": index, "attempt": 1, "stream": stream}
    view = TaskLogView(**fields, offset=0, next=len(data), data=data)  # type: ignore[arg-type]
    return msgspec.json.encode(JobLogLine(log=view)) + b"\n"


def end(left_out: tuple[LogGap, ...] = (), missing: tuple[LogGap, ...] = ()) -> bytes:
    line = JobLogLine(end=JobLogEnd(tasks=2, left_out=list(left_out), missing=list(missing)))
    return msgspec.json.encode(line) + b"\n"


def test_each_line_has_the_name_of_its_task(cluster: Cluster, shunter: Shunter) -> None:
    lines = [log(7, b"one\ntwo\n"), log(11, b"half"), log(7, b"oops\n", "stderr"), log(7, b"\xff\n"), end()]
    cluster.answers |= {
        "GET /jobs/odd": answer(200, job_document("odd", count=2)),
        "GET /jobs/id:7/logs": lambda _: chunks(200, *lines),
    }
    done = shunter("logs", "odd")
    assert done.out == "odd/7 | one\nodd/7 | two\nodd/11 | half\nodd/7  | \ufffd\n"
    assert done.err == "odd/7 | oops\n"


def test_it_says_what_was_left_out_and_what_is_missing(cluster: Cluster, shunter: Shunter) -> None:
    tail = LogGap(reason="earlier lines than the last 2", tasks=1, names=["odd/7"])
    lost = LogGap(reason="node 'n2' is not connected", tasks=40, names=["odd/7", "odd/9"])
    cluster.answers |= {
        "GET /jobs/odd": answer(200, job_document("odd", count=2)),
        "GET /jobs/id:7/logs": lambda _: chunks(200, log(7, b"x\n", "stderr"), end((tail,), (lost,))),
    }
    done = shunter("logs", "odd", "--stderr", "--tail", "2", "--failed", "--index", "7", "--grep", "a b")
    assert (done.out, done.code) == ("odd/7 | x\n", 2)
    assert done.err == (
        "shunter: left out: earlier lines than the last 2 (1 task: odd/7)\n"
        "shunter: missing: node 'n2' is not connected (40 tasks: odd/7, odd/9, …)\n"
    )
    assert cluster.received[-1].endswith("&index=7&state=failed&stream=stderr&tail=2&grep=a+b")


def test_one_task_with_options_has_no_prefix(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers |= {
        "GET /jobs/odd": answer(200, job_document("odd", count=2)),
        "GET /jobs/id:7/logs": lambda _: chunks(200, log(7, b"x\n"), end()),
    }
    assert shunter("logs", "odd/7", "--tail", "1").out == "x\n"
    assert "index=7" in cluster.received[-1]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["odd/7", "--failed"], "is one task already"),
        (["odd", "--attempt", "2", "--tail", "1"], "only option that selects"),
        (["odd", "--attempt", "2"], "must be of one task, and odd has 2"),
        (["odd", "--since", "x"], "must be a duration"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    cluster: Cluster, shunter: Shunter, words: list[str], problem: str
) -> None:
    task = {"name": "odd/7", "index": 7, "state": "running", "attempt": 1}
    cluster.answers |= {
        "GET /jobs/odd": answer(200, job_document("odd", count=2)),
        "GET /jobs/id:7/tasks": page(task),
    }
    done = shunter("logs", *words)
    assert problem in done.err and done.code == 2


def test_prefixes_have_colours_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for is_terminal, no_color, has_colours in ((True, "", True), (True, "1", False), (False, "", False)):
        monkeypatch.setenv("NO_COLOR", no_color)
        written = BytesIO()
        stream = TextIOWrapper(written)
        monkeypatch.setattr(stream, "isatty", lambda value=is_terminal: value, raising=False)
        line = msgspec.json.decode(log(7, b"x\n"), type=JobLogLine).log
        assert line is not None
        Writer(stream, has_prefix=True).write(line)
        assert (b"\x1b[" in written.getvalue()) is has_colours


@pytest.mark.parametrize(
    ("attempt", "said"),
    [
        (0, "odd/0 has not started yet; `shunter why odd/0` says why"),
        (1, "odd/0 waits for its next attempt; to print attempt 1: `shunter logs odd/0 --attempt 1`"),
    ],
)
def test_a_task_that_waits_says_why_it_shows_nothing(
    cluster: Cluster, shunter: Shunter, attempt: int, said: str
) -> None:
    task = {"name": "odd/0", "group": "main", "index": 0, "state": "queued", "attempt": attempt}
    cluster.answers |= {
        "GET /jobs/odd": answer(200, job_document("odd", state="pending")),
        "GET /jobs/id:7/tasks/0/logs": lambda _: chunks(200),
        "GET /jobs/id:7/tasks": page(task),
        "GET /jobs/id:7/tasks/0": answer(200, task),
    }
    done = shunter("logs", "odd")
    assert (done.code, done.out, done.err) == (0, "", f"shunter: {said}\n")
