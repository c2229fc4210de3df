"""Health checks of real tasks: healthy tasks are reported, unhealthy ones are stopped with the reason."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shunter.model.job.spec import HealthCheck, Port
from shunter.model.protocol.worker_messages import Health, Inventory, Report, Stop, StopRange
from shunter.plugins import HEALTH_CHECKS, Plugin
from shunter.worker.health import checks
from shunter.worker.health.port import Target, Unhealthy
from tests.services.worker_harness import Harness, open_harness

pytestmark = pytest.mark.services

WEB = (Port("web", 80),)
# Answers with the status that a file holds; "hang" means never.
SERVER = """
import http.server, os, pathlib, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status = pathlib.Path(sys.argv[1] + self.path).read_text()
        if status == "hang":
            time.sleep(60)
        self.send_response(int(status))
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(os.environ["SHUNTER_PORT_WEB"])), Handler).serve_forever()
"""


def heard(harness: Harness) -> list[Health]:
    return [each for m in harness.messages if isinstance(m, Report | Inventory) for each in m.health]


def serve(harness: Harness, folder: Path, *health: HealthCheck, **fields: Any) -> None:
    harness.order(sys.executable, "-c", SERVER, str(folder), ports=WEB, health=health, stop_grace_s=0.1, **fields)


def often(kind: str, **fields: Any) -> HealthCheck:
    """Soon and patiently: the machine may be busy, so that a start takes long."""
    return HealthCheck(kind, **{"interval_s": 0.05, "timeout_s": 10.0, "start_grace_s": 60.0, **fields})


async def test_a_task_is_well_when_all_its_checks_pass_and_ended_when_one_fails_too_often(tmp_path: Path) -> None:
    status = tmp_path / "ping"
    status.write_text("204")
    ready = tmp_path / "ready"
    async with open_harness(tmp_path) as harness:
        serve(
            harness, tmp_path, often("http", path="/ping", port="web"), often("tcp", port="80"),
            often("command", command=("test", "-e", str(ready))),
        )  # fmt: skip
        [started] = await harness.until(lambda: harness.started)
        assert list(started.ports) == ["web"]
        assert not heard(harness)
        ready.touch()
        [well] = await harness.until(lambda: heard(harness))
        assert (well.job, well.index, well.attempt, well.is_healthy, well.detail) == (1, 0, 1, True, "")
        harness.worker.received(Stop(1, [StopRange(1, 0, 0, 0, 0.0)]))
        await harness.all_ended(1)


@pytest.mark.parametrize(
    ("answer", "timeout_s", "reason"),
    [("500", 10.0, "answered 500"), ("hang", 0.5, "no answer within 0.5 s")],
)
async def test_an_unhealthy_task_is_ended_with_the_check_and_the_reason(
    tmp_path: Path, answer: str, timeout_s: float, reason: str
) -> None:
    status = tmp_path / "ping"
    status.write_text("302")
    async with open_harness(tmp_path) as harness:
        serve(harness, tmp_path, often("http", path="/ping", port="web", timeout_s=timeout_s, failures=2))
        await harness.until(lambda: heard(harness))
        status.write_text(answer)
        await harness.all_ended(1)
        [well, unwell] = heard(harness)
        assert (well.is_healthy, unwell.is_healthy) == (True, False)
        detail = f"http check of /ping on port web failed 2 times in a row: {reason}"
        assert unwell.detail == detail
        ended = harness.ended[0]
        assert (ended.how, ended.detail, ended.exits) == ("unhealthy", detail, [143])


async def test_a_task_that_never_gets_well_is_ended_after_its_grace(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        check = often("tcp", port="web", failures=3, start_grace_s=0.3)
        harness.order("/bin/sleep", "60", ports=WEB, health=(check,))
        await harness.all_ended(1)
        ended = harness.ended[0]
        assert ended.how == "unhealthy"
        assert ended.detail.startswith("tcp check of port web failed 3 times in a row: ")
        assert ended.ended_ms[0] - ended.started_ms[0] >= 300
        assert [each.is_healthy for each in heard(harness)] == [False]


async def test_a_command_check_runs_in_the_task_s_folder_with_its_variables(tmp_path: Path) -> None:
    script = "echo $FLAG > here; exec sleep 60"
    check = often("command", command=("/bin/sh", "-c", '[ "$(cat here)" = "$FLAG" ] || { echo not there; exit 3; }'))
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sh", "-c", script, health=(check,), env={"FLAG": "raised"})
        [well] = await harness.until(lambda: heard(harness))
        assert well.is_healthy
        impatient = msgspec.structs.replace(check, start_grace_s=0.0)
        harness.order("/bin/sleep", "60", job=2, reservation=2, health=(impatient,), env={"FLAG": "raised"})
        await harness.all_ended(1)
        assert harness.ended[0].job == 2
        assert harness.ended[0].detail.endswith("exited with 3: cat: here: No such file or directory not there")
        harness.worker.received(Stop(1, [StopRange(1, 0, 0, 0, 0.0)]))
        await harness.all_ended(2)


async def test_a_command_that_takes_too_long_is_killed_and_counts_as_a_failure(tmp_path: Path) -> None:
    check = often(
        "command", command=("/bin/sh", "-c", "sleep 61 & sleep 62"), timeout_s=0.1, failures=1, start_grace_s=0.0
    )
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sleep", "60", health=(check,))
        await harness.all_ended(1)
        expected = "command check /bin/sh -c sleep 61 & sleep 62 failed: no answer within 0.1 s"
        assert harness.ended[0].detail == expected


async def test_checks_start_again_when_the_worker_does(tmp_path: Path) -> None:
    status = tmp_path / "ping"
    status.write_text("200")
    async with open_harness(tmp_path) as harness:
        serve(harness, tmp_path, often("http", path="ping", port="web", failures=1))
        await harness.until(lambda: heard(harness))
        await harness.restart()
        await harness.until(lambda: heard(harness))
        assert heard(harness)[0].is_healthy
        harness.worker.disconnected("test")
        harness.forget()
        harness.worker.connected(harness)
        await harness.until(lambda: harness.inventories)
        assert [each.is_healthy for each in harness.inventories[0].health] == [True]
        status.write_text("404")
        await harness.all_ended(1)
        assert (harness.ended[0].how, harness.ended[0].detail) == (
            "unhealthy", "http check of ping on port web failed: answered 404",
        )  # fmt: skip


async def test_an_unhealthy_end_survives_a_restart_of_the_worker(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.is_open = False
        check = often("tcp", port="web", failures=1, start_grace_s=0.0)
        script = "trap '' TERM; while :; do sleep 0.01; done"
        harness.order("/bin/sh", "-c", script, ports=WEB, health=(check,), stop_grace_s=1.0)
        await harness.until(lambda: heard(harness))
        await harness.restart()
        await harness.all_ended(1)
        assert (harness.ended[0].how, harness.ended[0].exits) == ("unhealthy", [137])
        assert "tcp check of port web failed" in harness.ended[0].detail


async def test_a_stopped_task_is_not_called_unhealthy(tmp_path: Path) -> None:
    status = tmp_path / "ping"
    status.write_text("200")
    async with open_harness(tmp_path) as harness:
        serve(harness, tmp_path, often("http", path="/ping", failures=1))
        await harness.until(lambda: heard(harness))
        harness.worker.received(Stop(1, [StopRange(1, 0, 0, 0, 5.0)]))
        await harness.all_ended(1)
        assert harness.ended[0].how == "stopped"
        assert [each.is_healthy for each in heard(harness)] == [True]


async def test_plugins_bring_checks_and_an_unknown_kind_never_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def check_mood(check: HealthCheck, target: Target) -> None:
        code, mood = await target.execute(["cat", "mood"], 5.0)
        if code or mood.strip() != check.options["wanted"]:
            raise Unhealthy(f"the mood is {mood.strip()}")

    plugin = Plugin(HEALTH_CHECKS, "mood", "test 1", check_mood)
    monkeypatch.setattr(checks, "find_plugins", lambda _: [plugin])
    async with open_harness(tmp_path) as harness:
        script = "echo good > mood; exec sleep 60"
        harness.order("/bin/sh", "-c", script, health=(often("mood", options={"wanted": "good"}),))
        [well] = await harness.until(lambda: heard(harness))
        assert well.is_healthy
        await harness.run(
            "/bin/sleep", "60", job=2, reservation=2, health=(often("karma", failures=1, start_grace_s=0.0),)
        )
        assert harness.ended[0].how == "unhealthy"
        assert "no health check of kind karma" in harness.ended[0].detail
        harness.worker.received(Stop(1, [StopRange(1, 0, 0, 0, 0.0)]))
        await harness.all_ended(2)
