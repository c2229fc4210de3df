"""The command line as a whole: help, errors, exit codes, what it loads, how it ends."""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from shunter.cli import interrupts
from shunter.cli.completion import complete_jobs, complete_nodes
from shunter.cli.interrupts import StopOnInterrupt
from shunter.cli.registry import ENTRIES, build
from shunter.model.rest.job_views import JobView
from shunter.sdk.client import Job, connect

from ..sdk.scripted_server import ReceivedRequest, answer, chunks, job_document, lines, raw_response
from .conftest import Cluster, Reply, Shunter, page

SHUNTER = [sys.executable, "-c", "from shunter.cli.main import main; main()"]
# Each would cost a tenth of a second or more at every call.
HEAVY = {"pydantic", "httpx", "numpy", "starlette", "uvicorn", "grpc", "rich", "yaml", "asyncio", "psutil"}
JOB = lines({"job": job_document("echo-1")})
HELLO = lines({"log": {"stream": "stdout", "data": "aGVsbG8K"}})


def test_help_lists_every_command_in_its_section(shunter: Shunter) -> None:
    said = shunter("--help")
    assert said.code == 0
    for entry in ENTRIES.values():
        assert f"  {entry.name} " in said.out and entry.summary in said.out
    assert shunter("-h").out == said.out


@pytest.mark.parametrize("name", ENTRIES)
def test_every_command_has_help_with_an_example_or_few_options(shunter: Shunter, name: str) -> None:
    said = shunter(name, "--help")
    assert said.code == 0 and f"Usage: shunter {name}" in said.out
    assert f"\n  shunter {name}" in said.out or name in ("node", "store", "version", "top")


@pytest.mark.parametrize("name", ENTRIES)
def test_a_summary_begins_as_the_command_describes_itself(name: str) -> None:
    description = build(ENTRIES[name]).help or ""
    assert description.split()[0] == ENTRIES[name].summary.split()[0]


def test_a_command_that_does_not_exist_is_answered_with_the_nearest(shunter: Shunter) -> None:
    said = shunter("jbos")
    assert said.code == 2 and "jobs" in said.err


def test_the_version_is_printed(shunter: Shunter) -> None:
    assert shunter("--version").out == shunter("version").out == "shunter 0.3.0\n"


def test_where_no_cluster_runs_it_is_said_how_to_start_one(
    shunter: Shunter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SHUNTER_URL", raising=False)
    monkeypatch.setenv("SHUNTER_HOME", str(tmp_path))
    said = shunter("jobs")
    assert said.code == 3
    assert said.err == "shunter: error: no cluster is running here; start one with: shunter up --detach\n"
    assert shunter("run", "true").code == 125


@pytest.mark.parametrize(
    ("status", "code"), [(400, 2), (401, 2), (404, 2), (409, 2), (500, 3)], ids=lambda number: str(number)
)
def test_refusals_come_to_their_exit_codes(cluster: Cluster, shunter: Shunter, status: int, code: int) -> None:
    cluster.answers["GET /jobs/a"] = answer(status, {"detail": "it is so"})
    said = shunter("job", "a")
    assert said.code == code and "it is so" in said.err


def test_a_token_that_the_cluster_does_not_know_is_named_with_its_source(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /jobs/a"] = answer(401, {"detail": "the token is missing or wrong (header ...)"})
    assert "refused the token from SHUNTER_TOKEN" in shunter("job", "a").err


def test_a_mistake_of_ours_is_shown_with_its_trace(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /jobs"] = page(job_document(submitted_at="yesterday"))
    said = shunter("jobs")
    assert said.code == 125 and "Traceback" in said.err


def test_the_namespace_may_come_from_the_environment(
    cluster: Cluster, shunter: Shunter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHUNTER_NAMESPACE", "film")
    cluster.answers["GET /jobs"] = page()
    shunter("jobs")
    assert "namespace=film" in cluster.received[0]


@pytest.mark.parametrize(
    "arguments",
    [
        ["up", "--cpu", "lots"],
        ["up", "--listen", "7070"],
        ["up", "--store", "floppy"],
        ["up", "--simulate-nodes", "3", "--label", "bench=0"],
        ["worker", "--manager", "here:1", "--token-file", "nowhere"],
        ["worker", "--manager", "here:1"],
        ["worker", "--manager", "here", "--token-file", __file__],
    ],
)
def test_a_start_with_wrong_words_is_refused_before_anything_is_started(shunter: Shunter, arguments: list[str]) -> None:
    said = shunter(*arguments)
    assert said.code == 2 and said.err.startswith("shunter: error: --")


@pytest.mark.parametrize("family", ["node", "queue", "cron"])
def test_a_name_where_a_command_belongs_is_answered_with_how_to_see_it(shunter: Shunter, family: str) -> None:
    said = shunter(family, "vm")
    assert said.code == 2 and f"shunter {family} show vm" in said.err
    assert "shunter" in shunter(family, "shwo").err and "show" in shunter(family, "shwo").err


def test_job_and_node_names_are_completed(cluster: Cluster) -> None:
    cluster.answers |= {"GET /jobs": page(job_document("render"), job_document("fetch"), job_document("render"))}
    assert complete_jobs("re") == ["render"]
    cluster.answers.clear()
    assert complete_jobs("re") == complete_nodes("") == []


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("shunter jo", ["jobs", "job", "join-token"]),
        ("shunter wait re", ["render"]),
        ("shunter policies use bin", ["bin-pack"]),
        ("shunter queue pause fi", ["film"]),
        ("shunter jobs --state fa", ["failed"]),
    ],
)
def test_the_shell_is_offered_commands_and_names(cluster: Cluster, words: str, offered: list[str]) -> None:
    policy = {"name": "bin-pack", "kind": "score", "source": "built in", "active": True, "error": None, "failures": 0}
    queue = {"name": "film", "paused": False, "strict": False, "running_max": None, "queued_max": None, "queued": 0}
    cluster.answers |= {
        "GET /jobs": page(job_document("render")),
        "GET /policies": page(policy, policy | {"name": "binary", "kind": "filter"}),
        "GET /queues": page(queue | {"waiting": 0, "running": 0}),
    }
    received = {"_SHUNTER_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = subprocess.run(SHUNTER, env=os.environ | received, capture_output=True, text=True, check=False)
    assert done.stdout.split() == offered, done


def test_a_listing_loads_nothing_heavy(cluster: Cluster) -> None:
    cluster.answers["GET /jobs"] = page(job_document())
    program = (
        "import json, sys\nfrom shunter.cli.main import run_command\n"
        "assert run_command(['jobs']) == 0\nprint(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not HEAVY & set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_the_job_gracefully_and_a_second_one_at_once(cluster: Cluster, number: int) -> None:
    """So does whoever ends the command otherwise, `timeout` or the terminal: what runs in front runs no longer."""
    graceful, at_once = threading.Event(), threading.Event()

    def follow(_: ReceivedRequest) -> Iterator[bytes]:
        yield from chunks(201, JOB, HELLO, ended=False)
        at_once.wait(30)
        yield from chunks(201, lines({"end": job_document("echo-1", state="cancelled"), "exit_code": 137}))[1:]

    def stop(received: ReceivedRequest) -> Reply:
        (at_once if "now=true" in received.path else graceful).set()
        return raw_response(204, b"")

    cluster.answers |= {"POST /jobs": follow, "DELETE /jobs/id:7": stop}
    with subprocess.Popen(
        [*SHUNTER, "run", "x"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "hello\n"
        process.send_signal(number)
        assert graceful.wait(30)
        process.send_signal(number)
        assert at_once.wait(30)
        assert process.wait(30) == 137
        assert "Stopping echo-1 gracefully. Press Ctrl-C again to kill it." in process.stderr.read()


def test_an_interrupted_array_exits_with_130(cluster: Cluster) -> None:
    stopped = threading.Event()

    def follow(_: ReceivedRequest) -> Iterator[bytes]:
        counts = {"succeeded": 2, "cancelled": 998}
        yield from chunks(201, JOB, ended=False)
        stopped.wait(30)
        yield from chunks(201, lines({"end": job_document("echo-1", state="cancelled", counts=counts)}))[1:]

    def stop(_: ReceivedRequest) -> Reply:
        stopped.set()
        return raw_response(204, b"")

    cluster.answers |= {"POST /jobs": follow, "DELETE /jobs/id:7": stop}
    command = [*SHUNTER, "run", "--count", "1000", "x"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        eventually(lambda: bool(cluster.received))
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        said = process.stdout.read()
    assert said.startswith("echo-1 cancelled: 2 succeeded, 998 cancelled in ") and "tasks/s" not in said


def eventually(is_true: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def test_an_interrupt_is_heard_while_the_main_thread_waits_and_does_not_notice(cluster: Cluster) -> None:
    """A signal that comes right before a wait does not end the wait; one that another thread gets does not either, and
    that can be brought about at will."""
    stopped = threading.Event()

    def stop(_: ReceivedRequest) -> Reply:
        stopped.set()
        return raw_response(204, b"")

    cluster.answers["DELETE /jobs/id:7"] = stop
    reading, writing = os.pipe()

    def interrupt() -> None:
        time.sleep(0.2)  # the main thread tells nobody that it waits
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        os.write(writing, b"y" if stopped.wait(60) else b"n")

    with connect() as client, StopOnInterrupt() as interrupts:
        interrupts.watch(Job(client, msgspec.convert(job_document("echo-1"), JobView)))
        threading.Thread(target=interrupt).start()
        assert os.read(reading, 1) == b"y"  # where the main thread waits
        assert interrupts.interrupts == 1
    os.close(reading)
    os.close(writing)


def test_a_second_interrupt_ends_the_command_though_neither_the_job_nor_the_cluster_reacts(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(interrupts, "LEAVE_AFTER_S", 0.1)
    done = threading.Event()

    def stop(_: ReceivedRequest) -> Reply:
        done.wait(60)
        return raw_response(204, b"")

    cluster.answers["DELETE /jobs/id:7"] = stop
    reading, writing = os.pipe()

    def interrupt_twice() -> None:
        for _ in range(2):
            time.sleep(0.2)
            signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
        if not done.wait(60):
            os.write(writing, b"n")

    with connect() as client:
        with pytest.raises(KeyboardInterrupt), StopOnInterrupt() as interrupt:
            interrupt.watch(Job(client, msgspec.convert(job_document("echo-1"), JobView)))
            threading.Thread(target=interrupt_twice).start()
            os.read(reading, 1)
        done.set()
    os.close(reading)
    os.close(writing)
    assert "echo-1 has not ended 0.1 s after it was to be killed" in capfd.readouterr().err


def test_a_reader_that_has_seen_enough_ends_the_job_and_the_command_silently(cluster: Cluster) -> None:
    stopped = threading.Event()

    def follow(received: ReceivedRequest) -> Iterator[bytes]:
        yield from chunks(201, JOB, HELLO, ended=False)
        while not received.gone.wait(0.01):
            yield chunks(201, HELLO)[1]

    def stop(_: ReceivedRequest) -> Reply:
        stopped.set()
        return raw_response(204, b"")

    cluster.answers |= {"POST /jobs": follow, "DELETE /jobs/id:7": stop}
    with subprocess.Popen(
        [*SHUNTER, "run", "x"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "hello\n"
        process.stdout.close()
        assert process.wait(30) == 141  # as if SIGPIPE had ended it
        assert process.stderr.read() == ""
    assert stopped.is_set()


def test_a_listing_into_a_closed_pipe_ends_silently(cluster: Cluster) -> None:
    cluster.answers["GET /jobs"] = page(job_document("x" * 60), job_document("y" * 60))
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        done = subprocess.run([*SHUNTER, "jobs"], stdout=closed, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (141, "")


def test_the_page_about_the_command_line_is_what_make_docs_writes() -> None:
    root = Path(__file__).parents[3]
    generator = runpy.run_path(str(root / "scripts" / "generate_cli_docs.py"))
    written = (root / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    assert written == generator["cli_page"](), "run `make docs` and commit docs/reference/cli.md"


def test_what_cannot_be_the_head_of_an_audit_log_is_no_sign_of_a_change(shunter: Shunter) -> None:
    said = shunter("audit", "verify", "--head", "5e75f")
    assert (said.code, said.err) == (
        2,
        "shunter: error: --head: is not a hash (got '5e75f'); give all 64 digits that `shunter audit verify` printed\n",
    )
