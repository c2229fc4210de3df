"""The guide to writing a scheduler works: its files and commands are taken from the page and run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster, eventually

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "write-a-scheduler.md").read_text(encoding="utf-8")
LINES_MAX = 20
BLOCK_MAX_S = 90.0
FILES = dict(re.findall(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
SECTIONS = {
    title: re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    for title, text in re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
}


class Reader:
    """Somebody who follows the guide in a folder, section by section."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        for name, text in FILES.items():
            (folder / name).write_text(text)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._environment = {**cluster.environment, "PATH": path, "PYTHONUNBUFFERED": "1"}

    @contextmanager
    def follow(self, title: str, *, code: int | None = 0, change: tuple[str, str] = ("", "")) -> Iterator[Path]:
        """Run the script of the section; what it starts in the background runs until the block ends. Yields the file
        with the output so far."""
        [script] = SECTIONS[title]
        assert change[0] in script
        script = script.replace(*change) if change[0] else script
        said = self.folder / "said"
        with said.open("wb") as output:
            shell = subprocess.Popen(
                ["bash", "-e", "-c", script],
                cwd=self.folder,
                env=self._environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            shell.wait(BLOCK_MAX_S)
            assert code is None or shell.returncode == code, f"{said.read_text()}\n{self.cluster.log()}"
            yield said
        finally:
            try:
                os.killpg(shell.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has started nothing that goes on

    def source(self, name: str) -> str:
        """What `shunter policies` says of one."""
        found = [each for each in self.cluster.items("policies") if each["name"] == name]
        return str(found[0]["source"]) if found else ""

    def decisions(self, name: str) -> int:
        """Of one that decides from outside, once it has been asked to."""
        self.cluster.shunter("run", "--", "true")
        found = re.search(r"connected, ([\d,]+) decisions?", self.source(name))
        return int(found[1].replace(",", "")) if found else 0


@pytest.fixture
def reader(home: Cluster, tmp_path: Path) -> Reader:
    return Reader(home, tmp_path)


@pytest.mark.parametrize("name", ["my_scheduler.py", "my_shadow.py", "batch_scheduler.py"])
def test_a_scheduler_has_twenty_lines_at_most(name: str) -> None:
    assert 0 < len(FILES[name].splitlines()) <= LINES_MAX


def test_a_policy_runs_as_a_process_of_its_own_and_inside_the_manager(reader: Reader) -> None:
    """U-01: live, remote and in process."""
    with reader.follow("Run it as its own process") as said:
        assert "100 succeeded" in said.read_text()
        eventually(lambda: reader.decisions("remote:most-room") >= 1, "the scheduler decides")
        with reader.follow("Run it inside the manager") as said:
            told = said.read_text()
            assert "100 succeeded" in told
            assert re.search(r"^\*  my_scheduler:MostRoom +policy +module my_scheduler *$", told, re.MULTILINE), told


def test_a_policy_places_tasks_without_room(reader: Reader) -> None:
    reader.cluster.shunter("up", "--detach", "--policy", "first_fit:FirstFit", cwd=reader.folder)
    reader.cluster.shunter("run", "--count", "50", "--cpu", "500m", "--memory", "10Mi", "--", "true")
    [found] = [each for each in reader.cluster.items("policies") if each["active"]]
    assert (found["name"], found["failures"], found["refusals"]) == ("first_fit:FirstFit", 0, 0), found


def test_a_shadow_is_compared_and_a_recording_replayed(reader: Reader) -> None:
    """U-01: in shadow beside the built-in planner."""
    reader.cluster.up()
    with reader.follow("Run it in shadow mode") as said:
        assert "200 succeeded" in said.read_text()

        def compared() -> re.Match[str] | None:
            reader.cluster.shunter("run", "--count", "5", "--", "true")
            return re.search(r"agrees with ([\d,]+) of ([\d,]+) decisions", reader.source("my-shadow"))

        found = eventually(lambda: match if (match := compared()) and match[2] != "0" else None, "it was compared")
        agreed, decisions = (int(each.replace(",", "")) for each in found.groups())
        assert 0 <= agreed <= decisions
        eventually(lambda: re.search(r"^\d+ agreed, [1-9]\d* differed$", said.read_text(), re.MULTILINE), "it differs")
    with reader.follow("Replay recorded decisions", code=1) as said:
        assert re.search(r"[\d,]+ decisions: [\d,]+ equal, [1-9][\d,]* different", said.read_text()), said.read_text()


def test_a_policy_is_tried_in_simulated_worlds(reader: Reader) -> None:
    """U-01: simulated, without a cluster."""
    reader.cluster.up()  # nothing is left of it but its home
    reader.cluster.down()
    with reader.follow("Run it in the simulator", change=("--seeds 0-3", "--seeds 1-2")) as said:  # two quick worlds
        told = said.read_text()
    assert told.splitlines()[0].split() == ["POLICY", "PASSED", "TASKS", "MEAN", "WAIT", "MEAN", "DURATION"]
    assert re.search(r"^my_scheduler:MostRoom +2 of 2 ", told, re.MULTILINE), told
    assert re.search(r"^e-pvm +2 of 2 ", told, re.MULTILINE), told


def test_batch_jobs_are_scheduled_on_a_testbed(reader: Reader) -> None:
    """U-01: over REST, and the same class inside the manager."""
    reader.cluster.up()
    with reader.follow("Schedule BatchJobs on a testbed"):
        expect_runs(reader, "first", "second")
    assert reader.cluster.shunter("logs", "bj.first/executor/1").out == "1 of 2\n"
    reader.cluster.down()
    reader.cluster.shunter(
        "up", "--detach", "--label", "bench=0", "--policy", "batch_scheduler:OneByOne", cwd=reader.folder
    )
    job = FILES["bench.yaml"].split("---\n")[1].replace("name: first", "name: third")
    reader.cluster.shunter("apply", "-f", "-", stdin=job)
    expect_runs(reader, "first", "second", "third")
    reader.cluster.shunter("run", "--", "true")  # tasks are placed by the built-in planner meanwhile


def expect_runs(reader: Reader, *names: str) -> None:
    def past() -> list[str]:
        return sorted(each["name"] for each in reader.cluster.items("get", "schedulings", "--past"))

    eventually(lambda: past() == sorted(f"run-{name}" for name in names), f"{names} have run, each once")
