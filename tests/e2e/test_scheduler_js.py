"""The JavaScript example scheduler on a real cluster."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.cluster import Cluster, eventually
from tests.e2e.node_packages import NODE, install_packages
from tests.e2e.task_gates import Gate
from tests.e2e.test_objects import apply, command, got, testbed

EXAMPLE = Path(__file__).parents[2] / "examples" / "scheduler-js"
LINES_MAX = 80


@contextmanager
def scheduling(folder: Path, *arguments: str) -> Iterator[Path]:
    """The scheduler; yields the file with what it says. It ends when it is told to."""
    said = folder / "said"
    with said.open("wb") as output:
        process = subprocess.Popen(
            [NODE, "scheduler.mjs", *arguments], cwd=folder, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        yield said
        assert process.poll() is None, said.read_text()
        process.terminate()
        assert process.wait(20) == 0, said.read_text()
    finally:
        process.kill()
        process.wait()


def remembered(cluster: Cluster, name: str) -> Any:
    return got(cluster, "bj", name)["spec"].get("externalScheduler", {}).get("quickest")


def test_jobs_run_the_quickest_first_also_after_the_manager_was_killed(
    home: Cluster, tmp_path: Path, gate: Gate
) -> None:
    """U-01, S0-19, S1-21: a process in another language looks, schedules and remembers."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        external_address = f"127.0.0.1:{taken.getsockname()[1]}"
    options = ("--cpu", "2", "--label", "bench=0", "--external-listen", external_address, "--external-open")
    home.up(*options)
    with scheduling(install_packages(EXAMPLE, tmp_path), f"http://{external_address}", "bench", "2", "2") as said:
        apply(home, testbed(), command("slow", *gate.command), command("bad", "false"))
        gate.reached(2)
        home.kill_manager()
        home.up(*options)
        apply(home, command("quick"))
        gate.open()
        eventually(lambda: [(remembered(home, name) or [{}])[0].get("runs") for name in ("slow", "quick")] == ["2"] * 2,
                   "both have run twice")  # fmt: skip
        eventually(lambda: not home.items("get", "schedulings"), "all of them are deleted")
        told = said.read_text()
    ran = [line.partition(":")[0] for line in told.splitlines() if ": run " in line]
    assert sorted(ran) == ["bad", "quick", "quick", "slow", "slow"], told
    assert ran[-2:] == ["quick", "slow"], "what is known to be quick goes first"
    assert "bad failed:" in told
    [slow], [quick] = remembered(home, "slow"), remembered(home, "quick")
    assert float(slow["seconds"]) > float(quick["seconds"]) > 0
    assert [slot["state"] for slot in got(home, "tb", "bench")["status"]["slots"]] == ["FREE", "FREE"]


def test_the_example_is_short() -> None:
    assert len((EXAMPLE / "scheduler.mjs").read_text().splitlines()) <= LINES_MAX
