"""`shunter run`: a command on the cluster as if it ran here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.task_gates import Gate


def test_output_comes_out_here_and_errors_apart(cluster: Cluster) -> None:
    """C-20: a task is started from the command line, and what it writes is seen, each stream where it belongs."""
    done = cluster.shunter("run", "--", "/bin/sh", "-c", "echo hello; echo oops >&2")
    assert (done.out, done.err) == ("hello\n", "oops\n")


def test_bytes_come_through_unchanged(cluster: Cluster, tmp_path: Path) -> None:
    """R-23: output is captured byte for byte, also where it is no text and more than one read holds."""
    source = tmp_path / "random"
    source.write_bytes(os.urandom(1_500_000))
    target = tmp_path / "copy"
    with target.open("wb") as file:
        process = cluster.begin("run", "--", "/bin/cat", str(source), stdout=file)
        assert process.communicate(timeout=60)[1] == ""
    assert target.read_bytes() == source.read_bytes()


@pytest.mark.parametrize("code", [0, 1, 3, 125, 255])
def test_the_exit_code_is_the_tasks(cluster: Cluster, code: int) -> None:
    """C-20: `run` of one task exits with the task's code."""
    cluster.shunter("run", "--", "/bin/sh", "-c", f"exit {code}", code=code)


@pytest.mark.parametrize(("name", "number"), [("KILL", 9), ("TERM", 15)])
def test_a_signal_is_128_and_its_number(cluster: Cluster, name: str, number: int) -> None:
    """C-20: a task that a signal ended has the exit code 128+n, for the caller and in the task's record."""
    done = cluster.shunter("run", "--name", f"by-{name.lower()}", "--", "/bin/sh", "-c", f"kill -{name} $$", code=None)
    assert done.code == 128 + number
    [task] = cluster.items("tasks", f"by-{name.lower()}")
    assert (task["state"], task["exit_code"]) == ("failed", 128 + number)


def test_a_program_that_does_not_exist_is_told(cluster: Cluster) -> None:
    """C-20: as in a shell, 127 means not found, and the message names the program."""
    done = cluster.shunter("run", "--", "/no/such/program", code=127)
    assert "/no/such/program" in done.err


def test_its_own_errors_are_125(cluster: Cluster, home: Cluster) -> None:
    """C-20: what is wrong with the call itself, or with the cluster, cannot be taken for the task's exit code."""
    refused = cluster.shunter("run", "--cpu", "many", "--", "/bin/true", code=125)
    assert "cpu" in refused.err
    assert "many" in refused.err
    absent = home.shunter("run", "--", "/bin/true", code=125)
    assert "shunter up --detach" in absent.err


def test_it_runs_in_the_callers_folder(cluster: Cluster, tmp_path: Path) -> None:
    """R-23: the working directory is the caller's, or the one that is named."""
    here = tmp_path / "here"
    there = tmp_path / "there"
    here.mkdir()
    there.mkdir()
    assert cluster.shunter("run", "--", "/bin/pwd", cwd=here).out == f"{here}\n"
    assert cluster.shunter("run", "--dir", str(there), "--", "/bin/pwd", cwd=here).out == f"{there}\n"


def test_the_environment_is_what_was_given_and_nothing_else(cluster: Cluster) -> None:
    """R-23: a task sees `--env`, PATH, HOME and LANG of the worker, and what Shunter tells it about itself."""
    done = cluster.shunter("run", "--name", "environment", "--env", "GIVEN=a b=c", "--", "/usr/bin/env", "--null")
    seen = dict(entry.split("=", 1) for entry in done.out.split("\0") if entry)
    told = {key: seen.pop(key) for key in list(seen) if key.startswith("SHUNTER_")}
    assert seen.pop("GIVEN") == "a b=c"
    assert set(seen) <= {"PATH", "HOME", "LANG"}
    [node] = cluster.items("nodes")
    expected = {
        "SHUNTER_JOB": "environment", "SHUNTER_GROUP": "main", "SHUNTER_TASK_INDEX": "0", "SHUNTER_TASK_COUNT": "1",
        "SHUNTER_ATTEMPT": "1", "SHUNTER_NODE": node["name"],
    }  # fmt: skip
    assert told.items() >= expected.items()


def test_a_variable_of_the_caller_is_passed_on_by_its_name(cluster: Cluster) -> None:
    cluster.environment["OF_MINE"] = "passed on"
    done = cluster.shunter("run", "--env", "OF_MINE", "--", "/bin/sh", "-c", 'echo "$OF_MINE"')
    assert done.out == "passed on\n"
    refused = cluster.shunter("run", "--env", "OF_NOBODY", "--", "/bin/true", code=125)
    assert "OF_NOBODY" in refused.err


def test_options_behind_the_program_are_the_programs(cluster: Cluster) -> None:
    done = cluster.shunter("run", "/bin/echo", "--count", "3", "--detach")
    assert done.out == "--count 3 --detach\n"


def test_detached_it_prints_the_name_and_returns(cluster: Cluster, gate: Gate) -> None:
    """D-09: a job that nobody waits for can be looked at by its name while it runs, and afterwards."""
    name = cluster.shunter("run", "--detach", "--", *gate.command).out.strip()
    gate.reached()
    cluster.until(name, "running")
    gate.open()
    cluster.shunter("wait", name)
    assert cluster.json("job", name)["state"] == "succeeded"


def test_an_array_runs_every_index_once_and_says_how_it_went(cluster: Cluster, tmp_path: Path) -> None:
    """D-23: `--count` runs so many tasks, each with its own index, and ends with a summary."""
    seen = tmp_path / "seen"
    script = f'echo "$SHUNTER_TASK_INDEX of $SHUNTER_TASK_COUNT" >> {seen}'
    done = cluster.shunter("run", "--name", "array", "--count", "50", "--", "/bin/sh", "-c", script)
    assert sorted(seen.read_text().splitlines()) == sorted(f"{index} of 50" for index in range(50))
    assert done.out.startswith("array succeeded: 50 succeeded in ")


def test_an_array_with_failures_exits_with_1_and_names_the_first(cluster: Cluster) -> None:
    """D-09: the exit code is 1 unless all succeeded; the record says which failed and why."""
    script = 'test "$SHUNTER_TASK_INDEX" -ne 3 -a "$SHUNTER_TASK_INDEX" -ne 7 || exit 9'
    done = cluster.shunter("run", "--name", "partly", "--count", "10", "--", "/bin/sh", "-c", script, code=1)
    assert "partly failed: 8 succeeded, 2 failed" in done.out
    job = cluster.json("job", "partly")
    assert job["counts"] == {"succeeded": 8, "failed": 2}
    assert "task 3" in job["reason"]
    failed = cluster.items("tasks", "partly", "--state", "failed")
    assert [(task["index"], task["exit_code"]) for task in failed] == [(3, 9), (7, 9)]


def test_an_array_counts_through_what_was_named(cluster: Cluster, tmp_path: Path) -> None:
    """C-04: `--array` gives each task an index of its own, and files for output are named by them."""
    script = 'echo "index $SHUNTER_TASK_INDEX"'
    words = (
        "run",
        "--name",
        "odd",
        "--array",
        "1-9:4,20%2",
        "--stdout",
        "out/%j-%i.txt",
        "--",
        "/bin/sh",
        "-c",
        script,
    )
    cluster.shunter(*words, cwd=tmp_path)
    written = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert written == {f"odd-{index}.txt": f"index {index}\n" for index in (1, 5, 9, 20)}
    tasks = cluster.items("tasks", "odd")
    assert [task["array_index"] for task in tasks] == [task["index"] for task in tasks] == [1, 5, 9, 20]
    assert [task["name"] for task in tasks] == ["odd/1", "odd/5", "odd/9", "odd/20"]


def test_each_line_has_a_task_of_its_own(cluster: Cluster, tmp_path: Path) -> None:
    """C-04: `--each-line` hands every task one line, whatever it holds."""
    lines = ["plain", "two words", 'quo\'ted "$HOME"', "ünïcode"]
    script = 'printf "%s\\n" "$SHUNTER_ENTRY" > "$SHUNTER_TASK_INDEX"'
    words = ("run", "--name", "lines", "--each-line", "-", "--", "/bin/sh", "-c", script)
    done = cluster.shunter(*words, stdin="\n".join(lines) + "\n\n", cwd=tmp_path)
    assert done.out.startswith("lines succeeded: 4 succeeded in ")
    assert [(tmp_path / str(number)).read_text() for number in range(4)] == [f"{line}\n" for line in lines]
    assert [task["entry"] for task in cluster.items("tasks", "lines")] == lines


def test_as_many_lines_as_there_may_be_are_taken(cluster: Cluster, tmp_path: Path) -> None:
    """C-04: a hundred thousand lines are one job."""
    (tmp_path / "lines").write_text("".join(f"line number {number}\n" for number in range(100_000)))
    cluster.shunter("run", "-d", "--hold", "--name", "many", "--each-line", str(tmp_path / "lines"), "/bin/true")
    assert cluster.json("job", "many")["counts"] == {"queued": 100_000}
    cluster.shunter("stop", "many")


def test_a_reader_that_has_seen_enough_ends_the_task(cluster: Cluster) -> None:
    """D-27: as in any pipe, a writer that nobody reads any more is ended."""
    process = cluster.begin("run", "--name", "endless", "--", "/usr/bin/yes")
    assert process.stdout is not None
    assert process.stdout.readline() == "y\n"
    process.stdout.close()
    process.wait(timeout=30)
    cluster.shunter("wait", "endless", code=1)
    assert cluster.json("job", "endless")["state"] == "cancelled"
