"""Standard input of `shunter run`: it reaches a single task, or is refused. It is never dropped silently."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.e2e.cluster import SHUNTER, Cluster, eventually
from tests.e2e.terminal import Terminal

MIB = 2**20


def test_a_pipe_reaches_the_task(cluster: Cluster) -> None:
    process = cluster.begin("run", "--", "cat", stdin=subprocess.PIPE)
    assert process.communicate("two\nlines\n", timeout=60) == ("two\nlines\n", "")


def test_a_file_of_a_mebibyte_reaches_the_task_byte_for_byte(cluster: Cluster, tmp_path: Path) -> None:
    data = bytes(range(256)) * (MIB // 256)
    (tmp_path / "in").write_bytes(data)
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as target:
        process = cluster.begin("run", "--", "cat", stdin=source, stdout=target)
        assert process.communicate(timeout=60)[1] == ""
    assert (tmp_path / "out").read_bytes() == data


def test_every_attempt_reads_it_from_the_beginning(cluster: Cluster) -> None:
    script = 'cat; test "$SHUNTER_ATTEMPT" = 2'
    done = cluster.shunter("run", "--retries", "1", "--", "sh", "-c", script, stdin="data\n")
    assert done.out == "data\n" * 2


def test_a_job_in_the_background_reads_it_too(cluster: Cluster) -> None:
    cluster.shunter("run", "--detach", "--name", "reader", "--", "cat", stdin="later\n")
    cluster.shunter("wait", "reader")
    assert cluster.shunter("logs", "reader").out == "later\n"


@pytest.mark.parametrize(
    ("options", "data", "problem"),
    [
        (["--count", "2"], "x", "standard input: can be passed to one task only, not to 2; add --no-stdin"),
        (["--array", "1-9:2"], "x", "standard input: can be passed to one task only, not to 5"),
        (["--image", "busybox"], "x", "standard input: cannot be passed to a container; add --no-stdin"),
        ([], "x" * (MIB + 1), "standard input: must be at most 1,048,576 bytes; write it to a file"),
    ],
)
def test_what_cannot_be_passed_on_is_refused(cluster: Cluster, options: list[str], data: str, problem: str) -> None:
    before = len(cluster.items("jobs"))
    done = cluster.shunter("run", *options, "--", "cat", code=125, stdin=data)
    assert problem in done.err
    assert len(cluster.items("jobs")) == before


def test_the_user_is_told_what_run_waits_for(cluster: Cluster) -> None:
    process = cluster.begin("run", "--", "cat", stdin=subprocess.PIPE)
    assert process.stderr is not None
    assert process.stderr.readline() == (
        "shunter: reading standard input until it ends; add --no-stdin if the command does not need it\n"
    )
    assert process.communicate("late\n", timeout=60)[0] == "late\n"


@pytest.mark.parametrize("options", [["--no-stdin"], ["--count", "2"], ["--no-stdin", "--count", "2"]])
def test_a_pipe_that_stays_open_delays_no_job_that_reads_nothing(cluster: Cluster, options: list[str]) -> None:
    process = cluster.begin("run", *options, "--", "cat", stdin=subprocess.PIPE)
    assert process.wait(timeout=60) == 0
    assert process.stdin is not None
    process.stdin.close()


def test_input_that_comes_after_an_array_has_started_is_reported(cluster: Cluster, tmp_path: Path) -> None:
    script = f"while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"
    command = ["run", "--name", "late", "--count", "2", "--", "sh", "-c", script]
    process = cluster.begin(*command, stdin=subprocess.PIPE)
    eventually(lambda: cluster.items("jobs", "--name", "late") or None, "the array is submitted")
    assert process.stdin is not None and process.stderr is not None
    process.stdin.write("data\n")
    process.stdin.flush()
    (tmp_path / "go").touch()
    assert process.wait(timeout=60) == 0
    assert "shunter: standard input was not read: it can be passed to one task only, not to 2" in process.stderr.read()


def test_a_loop_over_lines_keeps_them_with_no_stdin(cluster: Cluster) -> None:
    loop = f'printf "1\\n2\\n3\\n" | while read line; do {SHUNTER} run --no-stdin -- echo "line $line"; done'
    done = subprocess.run(["sh", "-c", loop], env=cluster.environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("line 1\nline 2\nline 3\n", "")


@pytest.mark.parametrize("redirection", ["</dev/null", "<&-"])
def test_nothing_is_read_where_nothing_can_come(cluster: Cluster, redirection: str) -> None:
    command = ["sh", "-c", f"{SHUNTER} run -- cat {redirection}"]
    done = subprocess.run(command, env=cluster.environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("command", ["submit -f -", "run --each-line - -- true"])
def test_closed_standard_input_is_empty(cluster: Cluster, command: str) -> None:
    words = ["sh", "-c", f"{SHUNTER} {command} <&-"]
    done = subprocess.run(words, env=cluster.environment, capture_output=True, text=True, check=False)
    assert done.returncode in (2, 125)
    assert done.stderr.startswith("shunter: error: ")


def test_a_terminal_is_not_read(cluster: Cluster) -> None:
    with Terminal(cluster, "run", "--", "sh", "-c", "cat; echo ended") as terminal:
        terminal.see("ended")
        assert terminal.end() == 0
