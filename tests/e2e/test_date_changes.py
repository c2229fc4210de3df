"""The date of a machine jumps by a day while manager, worker and keepers run: timeouts, delays and nodes do not notice.

libfaketime shows the processes another date than the machine's; the clock that counts since boot stays as it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster, eventually
from tests.e2e.manifests import job, shell
from tests.e2e.remote import RemoteCluster, Worker
from tests.e2e.task_gates import Gate

DAY_S = 24 * 3600
# A keeper inherits next to nothing from its worker, so it gets its date from the interpreter that it is started with.
WORKER = "import sys; sys.executable = sys.argv.pop(1); from shunter.cli.main import main; sys.exit(main())"


class FakedDate:
    """Every process that is started with its environment sees the date that it was last set to."""

    def __init__(self, file: Path) -> None:
        found = [str(path) for path in Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")]
        if not found:
            pytest.skip("libfaketime not found: make setup-faketime installs it")
        self._file = file
        self.environment = {
            "LD_PRELOAD": found[0],
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_NO_CACHE": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }
        self.set_forward(0)

    def interpreter(self) -> Path:
        """A Python that sees this date."""
        script = self._file.with_suffix(".python")
        variables = " ".join(f"{name}={value}" for name, value in self.environment.items())
        script.write_text(f'#!/bin/sh\nexec env {variables} {sys.executable} "$@"\n')
        script.chmod(0o755)
        return script

    def set_forward(self, seconds: int) -> None:
        """By so much against the machine's date."""
        draft = self._file.with_suffix(".draft")
        draft.write_text(f"{seconds:+d}\n")
        draft.replace(self._file)


class DatedWorker(Worker):
    def __init__(self, manager: Cluster, home: Cluster, name: str, options: tuple[str, ...], date: FakedDate) -> None:
        super().__init__(manager, home, name, options)
        self._date = date

    def command(self) -> tuple[str, ...]:
        return (sys.executable, "-c", WORKER, str(self._date.interpreter()), *super().command()[1:])


class DatedCluster(RemoteCluster):
    def __init__(self, make_home: Callable[[], Cluster], date: FakedDate) -> None:
        def make() -> Cluster:
            made = make_home()
            made.environment |= date.environment
            return made

        super().__init__(make, timeout="10s")
        self._date = date

    def make_worker(self, name: str, home: Cluster, options: tuple[str, ...]) -> Worker:
        return DatedWorker(self.manager, home, name, options, self._date)


@pytest.fixture
def date(tmp_path: Path) -> FakedDate:
    return FakedDate(tmp_path / "date")


@pytest.fixture
def remote(make_home: Callable[[], Cluster], date: FakedDate) -> Iterator[DatedCluster]:
    running = DatedCluster(make_home, date)
    running.start_manager()
    running.add_worker("w1", "--cpu", "4")
    yield running
    running.close()


@pytest.mark.parametrize("jump_s", [DAY_S, -DAY_S])
def test_a_jump_of_the_date_changes_nothing(remote: RemoteCluster, date: FakedDate, gate: Gate, jump_s: int) -> None:
    """Without the conversion, `web` waited for a day, and durations were off by one."""
    with remote.manager.client() as client:
        across = client.submit(job("across", gate.command, timeout={"run": "10m"}))
        too_long = client.submit(shell("too-long", "sleep 600", timeout={"run": "3s"}))
        gate.reached()
        eventually(lambda: too_long.refresh().state == "running", "too-long runs")

        date.set_forward(jump_s)
        soon = {"policy": "on-failure", "max": 2, "delay": "500ms"}
        retried = client.submit(shell("retried", "exit 3", restart=soon, timeout={"queue": "1h"}))
        limited = client.submit(shell("limited", "sleep 600", timeout={"run": "2s"}))
        service = {"type": "service", "count": 2, "update": {"healthy_for": "1s", "deadline": "5m"}}
        client.submit(shell("web", "sleep 600", **service))
        client.submit(shell("web", "sleep 601", **service))
        gate.open()

        for each, state in ((across, "succeeded"), (too_long, "failed"), (retried, "failed"), (limited, "failed")):
            assert each.wait(60).state == state
        assert "timeout" in str(next(too_long.tasks()).reason)
        assert "timeout" in str(next(limited.tasks()).reason)
        assert next(retried.tasks()).attempt == 3
        for each in (across, too_long, retried, limited):
            task = next(each.tasks())
            took_s = (moment(task.ended_at) - moment(task.started_at)).total_seconds()
            assert 0 <= took_s < 60, task
            assert moment(each.view.submitted_at) <= moment(task.started_at), (each.view, task)
        eventually(lambda: remote.manager.json("job", "web")["update"]["status"] == "steady", "web is rolled out")
        assert not [event for event in client.events() if event.type in ("node.down", "node.suspect")]


def moment(text: str | None) -> datetime:
    assert text is not None
    return datetime.fromisoformat(text)
