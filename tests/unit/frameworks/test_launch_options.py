"""What launchers share: the link between driver and executors, children that end together, and options."""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from shunter.frameworks.executor_link import ENDED, READY, DriverConnection, DriverServer
from shunter.frameworks.flink_memory import job_manager_memory, task_manager_memory
from shunter.frameworks.port_wait import wait_until_open
from shunter.frameworks.spark import write_defaults
from tests.e2e.cluster import eventually, is_alive

WAIT_MAX_S = 60.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def test_an_executor_hears_what_was_said_before_it_came_and_after() -> None:
    port, received = free_port(), queue.Queue[str]()
    driver_server = DriverServer("127.0.0.1", port)
    driver_server.broadcast(READY)
    DriverConnection("127.0.0.1", port, received.put)
    assert received.get(timeout=WAIT_MAX_S) == READY
    driver_server.broadcast(f"{ENDED} 3")
    assert received.get(timeout=WAIT_MAX_S) == "ended 3"
    driver_server.close()
    assert received.get(timeout=WAIT_MAX_S) == ""


def test_the_last_words_are_followed_by_the_end_of_all_executors() -> None:
    port, received = free_port(), queue.Queue[str]()
    driver_server = DriverServer("127.0.0.1", port)
    script = (
        "import os, threading; from shunter.frameworks.executor_link import DriverConnection\n"
        "heard = lambda words: os._exit(0) if words.startswith('ended') else print(words, flush=True)\n"
        f"DriverConnection('127.0.0.1', {port}, heard); threading.Event().wait()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as executor:
        DriverConnection("127.0.0.1", port, received.put)  # this one only listens: it is not waited for for ever
        driver_server.broadcast(READY)
        assert executor.stdout is not None
        assert executor.stdout.readline() == "ready\n"
        assert received.get(timeout=WAIT_MAX_S) == READY
        driver_server.broadcast_and_close(f"{ENDED} 0")
        assert executor.wait(WAIT_MAX_S) == 0
    assert received.get(timeout=WAIT_MAX_S) == "ended 0"
    assert received.get(timeout=WAIT_MAX_S) == ""


def test_an_executor_that_comes_first_waits_for_the_driver() -> None:
    port, received = free_port(), queue.Queue[str]()
    script = (
        "import sys, time; from shunter.frameworks.executor_link import DriverConnection; "
        f"DriverConnection('127.0.0.1', {port}, lambda words: print(words, flush=True)); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as executor:
        driver_server = DriverServer("127.0.0.1", port)
        driver_server.broadcast(READY)
        assert executor.stdout is not None
        assert executor.stdout.readline() == "ready\n"
        executor.kill()
    driver_server.close()
    assert received.empty()


LAUNCHER = """
import os, sys
from shunter.frameworks.child_processes import ChildProcesses
children = ChildProcesses()
child = children.start(["sh", "-c", "sleep 600"], os.environ)
print(child.pid, flush=True)
print(children.wait(child), flush=True)
"""


LAUNCHER_IN_POLL = """
import os, signal
from shunter.frameworks.child_processes import ChildProcesses
children = ChildProcesses()
child = children.start(["sh", "-c", "trap '' TERM; sleep 600"], os.environ)
child._waitpid_lock.acquire()
print(child.pid, flush=True)
signal.pause()
"""


def launcher(script: str = LAUNCHER) -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


@pytest.mark.parametrize("script", [LAUNCHER, LAUNCHER_IN_POLL], ids=["while it waits", "in the middle of a poll"])
def test_a_launcher_that_is_told_to_stop_takes_its_children_with_it(script: str) -> None:
    process, child = launcher(script)
    process.send_signal(signal.SIGTERM)
    assert process.wait(WAIT_MAX_S) == 128 + signal.SIGTERM
    eventually(lambda: not is_alive(child), "the child has ended")


def test_a_child_that_a_signal_ended_has_the_code_of_a_shell() -> None:
    process, child = launcher()
    os.kill(child, signal.SIGKILL)
    assert process.stdout is not None
    assert process.stdout.readline() == "137\n"
    assert process.wait(WAIT_MAX_S) == 0


def test_waiting_for_a_port_ends_with_its_program() -> None:
    assert not wait_until_open("127.0.0.1", free_port(), 60.0, lambda: False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert wait_until_open("127.0.0.1", server.getsockname()[1], 60.0, lambda: True)


@pytest.mark.parametrize("framework", ["spark", "flink"])
def test_a_launcher_that_no_worker_started_says_what_it_lacks(framework: str, tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", f"shunter.frameworks.{framework}", "driver"]
    done = subprocess.run(command, capture_output=True, text=True, env={}, cwd=tmp_path, check=False)
    assert done.returncode == 78
    assert done.stderr == "shunter: SHUNTER_PAYLOAD is not set: only workers start launchers\n"


@pytest.mark.parametrize("mib", [640, 880, 1024, 4096, 65536])
def test_the_parts_of_a_task_manager_add_up_to_the_process(mib: int) -> None:
    sizes = {key: int(value[:-1]) for key, value in task_manager_memory(mib).settings.items()}
    inner = [size for key, size in sizes.items() if not key.endswith((".min", "batch-shuffle.size"))]
    assert sum(inner) == mib
    assert all(size > 0 for key, size in sizes.items() if not key.endswith("task.off-heap.size"))


@pytest.mark.parametrize("mib", [640, 848, 1008, 4096])
def test_the_parts_of_a_job_manager_add_up_to_the_process(mib: int) -> None:
    sizes = {key: int(value[:-1]) for key, value in job_manager_memory(mib).settings.items()}
    assert sum(size for key, size in sizes.items() if not key.endswith(".min")) == mib


def test_the_secret_of_spark_is_in_a_file_that_others_cannot_read(tmp_path: Path) -> None:
    path = tmp_path / "spark-defaults.conf"
    write_defaults(path, "c0ffee")
    assert path.stat().st_mode & 0o077 == 0
    settings = dict(line.split(" ", 1) for line in path.read_text().splitlines())
    assert settings["spark.authenticate"] == "true" and settings["spark.authenticate.secret"] == "c0ffee"
