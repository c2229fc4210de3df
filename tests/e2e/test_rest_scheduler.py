"""A scheduler over REST on a real cluster: it schedules BatchJobs, and continues after the manager was killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.cluster import Cluster, eventually
from tests.e2e.task_gates import Gate
from tests.e2e.test_objects import apply, command, got, testbed

PROGRAM = '''
from shunter.scheduler import Decision, ExternalScheduler, ObjectName, SchedulingDraft, SchedulingSpec


class OneByOne:
    """Each job that has not run yet, one after another, on two slots; what is done is withdrawn."""

    wants = ("objects",)

    def decide(self, view, now, budget):
        decision = Decision(based_on=view.version)
        done = [name for name, each in view.schedulings.items() if each.status.state.name == "COMPLETED"]
        decision.withdrawals += done
        new = [name for name, job in view.batch_jobs.items() if not job.status.events]
        if new and not view.schedulings:
            name = ObjectName(new[0].namespace, f"run-{new[0].name}")
            spec = SchedulingSpec(next(iter(view.testbeds)), queue=(new[0], new[0]))
            decision.schedulings.append(SchedulingDraft(name, spec))
        return decision


ExternalScheduler(OneByOne(), transport="rest").run()
'''


@contextmanager
def running(cluster: Cluster, program: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program beside the cluster; its output is in `said`."""
    (folder / "program.py").write_text(program)
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "program.py"], cwd=folder, env=cluster.environment, stdout=said, stderr=said
        )
    try:
        yield process
        assert process.poll() is None, (folder / "said").read_text()
    finally:
        process.kill()
        process.wait()


def runs_of(cluster: Cluster, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = got(cluster, "bj", name)["status"].get("scheduledEvents", [])
    return found


def test_a_scheduler_over_rest_goes_on_when_the_manager_was_killed(home: Cluster, tmp_path: Path, gate: Gate) -> None:
    """U-01: remote over REST, on its own, without a door for schedulers; every job runs once."""
    home.up("--cpu", "2")
    home.shunter("node", "label", home.items("nodes")[0]["name"], "bench=0")
    with running(home, PROGRAM, tmp_path):
        apply(home, testbed(), command("first"), command("second", *gate.command), command("third"))
        gate.reached(2)
        home.kill_manager()
        home.up("--cpu", "2")
        apply(home, command("fourth"))
        gate.open()
        for name in ("first", "second", "third", "fourth"):
            eventually(lambda name=name: [run["successful"] for run in runs_of(home, name)] == [True], name)  # type: ignore[misc]
        eventually(lambda: not home.items("get", "schedulings"), "all of them are withdrawn")
    past = {each["name"]: each["state"] for each in home.items("get", "schedulings", "--past")}
    assert past == {f"run-{name}": "CompletedState" for name in ("first", "second", "third", "fourth")}
    assert [slot["state"] for slot in got(home, "tb", "bench")["status"]["slots"]] == ["FREE", "FREE"]
