"""A scheduler over REST on a real cluster: it schedules BatchJobs, and continues after the manager was killed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from shunter.model.errors import Conflict
from shunter.model.protocol.scheduler_messages import DecisionRow
from shunter.scheduler import ObjectName, SchedulingDraft, SchedulingSpec
from shunter.sdk.endpoint import finder
from shunter.sdk.schedulers.rest_link import RestLink
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

STUBBORN = '''
from shunter.scheduler import Decision, ExternalScheduler, ObjectName, SchedulingDraft, SchedulingSpec


class Stubborn:
    """Schedules more executors than there are slots."""

    wants = ("objects",)

    def decide(self, view, now, budget):
        spec = SchedulingSpec(ObjectName("default", "bench"), queue=(ObjectName("default", "crawler"),) * 3)
        return Decision(based_on=view.version, schedulings=[SchedulingDraft(ObjectName("default", "s"), spec)])


ExternalScheduler(Stubborn(), transport="rest").run()
'''
JOB = ObjectName("default", "crawler")


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


def test_it_is_listed_while_it_lives_with_what_was_refused(home: Cluster, tmp_path: Path) -> None:
    """The session is renewed although nothing happens, and ends with the scheduler."""
    home.up("--cpu", "2")
    home.shunter("cluster", "set", "lease=1s")
    home.shunter("node", "label", home.items("nodes")[0]["name"], "bench=0")
    apply(home, testbed(), command("crawler"))

    def listed() -> list[dict[str, Any]]:
        return [each for each in home.items("policies") if each["name"] == "remote:stubborn"]

    with running(home, STUBBORN, tmp_path):
        eventually(lambda: [each["state"] for each in listed()] == ["connected"], "it has a session")
        eventually(lambda: "schedulings[0]" in str(listed()[0]["last_refusal"]), "its Scheduling was refused")
        for _ in range(3):
            home.shunter("run", "--", "sleep", "0.5")
            assert [each["state"] for each in listed()] == ["connected"]
    eventually(lambda: [each["state"] for each in listed()] == ["silent"], "nobody renews it")


def test_the_newer_of_two_with_one_name_decides(home: Cluster) -> None:
    home.up("--cpu", "2")
    home.shunter("node", "label", home.items("nodes")[0]["name"], "bench=0")
    apply(home, testbed(), command("crawler"))
    url = json.loads((home.home / "cluster.json").read_text())["url"]
    first, second = (RestLink(finder(url, (home.home / "token").read_text().strip())) for _ in range(2))
    draft = SchedulingDraft(ObjectName("default", "s"), SchedulingSpec(ObjectName("default", "bench"), queue=(JOB,)))
    row = DecisionRow(0, 0, schedulings=[draft])
    try:
        leases = [next(link.watch("mine", "lead", ("objects",)))[1] for link in (first, second)]
        with pytest.raises(Conflict, match="another session took over"):
            first.decide(leases[0].token if leases[0] else "", row)
        assert not second.decide(leases[1].token if leases[1] else "", row).refusals
    finally:
        first.close()
        second.close()
    assert all(each["name"] != "remote:mine" for each in home.items("policies"))
