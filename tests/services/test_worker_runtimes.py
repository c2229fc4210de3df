"""Attempts in another runtime than processes: queued, started, stopped, found again."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from shunter.model.job.spec import HealthCheck, Port
from shunter.model.protocol.worker_messages import Hello, LogData, ReadLog, ReadStats, Recall, Shutdown, Stop, StopRange
from shunter.worker.runtimes.port import Attempt
from shunter.worker.runtimes.task_log import OUT
from tests.services.memory_runtime import Box, open_box_harness, order, until

pytestmark = pytest.mark.services


async def test_an_attempt_is_started_reported_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_box_harness(tmp_path, monkeypatch, devices={"gpu": ["a", "b"]}) as (harness, boxes):
        assert harness.hello.attributes["runtime.box"] == "1.0"
        order(
            harness, first=4, shown=[40], entries=["x y"], env={"A": "b"}, ports=(Port("web", 80),), devices={"gpu": 2},
            payload=b"\0load",
        )  # fmt: skip
        [started] = await harness.until(lambda: harness.started)
        box = boxes[4]
        assert box.launch.env == {
            "A": "b", "SHUNTER_JOB": "job", "SHUNTER_NAMESPACE": "default", "SHUNTER_GROUP": "main",
            "SHUNTER_TASK_INDEX": "40", "SHUNTER_TASK_COUNT": "1", "SHUNTER_ATTEMPT": "1", "SHUNTER_NODE": "stage",
            "SHUNTER_ENTRY": "x y", "SHUNTER_PORT_WEB": str(started.ports["web"]), "SHUNTER_DEVICES_GPU": "a,b",
            "CUDA_VISIBLE_DEVICES": "a,b",
        }  # fmt: skip
        assert box.launch.payload is not None
        payload = box.launch.payload
        assert payload.read_bytes() == b"\0load"
        harness.worker.received(ReadStats(3))
        [stats] = await harness.until(lambda: harness.stats)
        assert [(each.index, each.cpu_s, each.memory_bytes, each.processes) for each in stats.tasks] == [
            (4, 1.5, 4096, 2)
        ]
        box.launch.log.write(OUT, b"world")
        assert (await harness.read(started)).data == b"hello world"
        box.exit(3)
        [ended] = await harness.until(lambda: harness.ended)
        assert (ended.first, ended.exits, ended.how, ended.segment) == (4, [3], "", started.segment)
        log = await harness.read(ended)
        assert (log.data, log.eof) == (b"hello world", True)
        await until(lambda: box.is_removed and not payload.exists())
        assert not list((harness.home / "attempts").iterdir())


@pytest.mark.parametrize(
    ("code", "how", "problem"),
    [(70_000, "", "exit code 70000 is not within -1 and 32767"), (1, "oom", "how 'oom' is not one of ")],
)
async def test_an_outcome_that_no_manager_accepts_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, how: str, problem: str
) -> None:
    async with open_box_harness(tmp_path, monkeypatch) as (harness, boxes):
        order(harness, first=4)
        await harness.until(lambda: harness.started)
        boxes[4].exit(code, how)
        [ended] = await harness.until(lambda: harness.ended)
        assert (ended.exits, ended.how) == ([-1], "error")
        assert ended.detail.startswith(f"runtime box: {problem}")


async def test_what_a_runtime_writes_while_it_starts_an_attempt_can_be_read_by_the_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has told of its segment yet: that comes with its start."""
    async with open_box_harness(tmp_path, monkeypatch) as (harness, boxes):
        boxes.gate.clear()
        order(harness, first=4)
        await until(lambda: boxes.opening)
        boxes.opening[0].log.write(OUT, b"fetching ")
        harness.worker.received(ReadLog(7, 0, 0, "stdout", 0, 2**20, 1, 0, 4, 1))
        harness.worker.received(ReadLog(8, 0, 0, "stdout", 0, 2**20, 1, 0, 5, 1))
        known, unknown = [message for message in harness.messages if isinstance(message, LogData)]
        assert (known.request, known.data, known.eof) == (7, b"fetching ", False)
        assert (unknown.request, unknown.data, unknown.error) == (8, b"", "")
        boxes.gate.set()
        [started] = await harness.until(lambda: harness.started)
        assert (await harness.read(started)).data == b"fetching hello "


async def test_a_reservation_s_width_is_kept_and_repeated_orders_run_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_box_harness(tmp_path, monkeypatch) as (harness, boxes):
        for _ in range(3):
            order(harness, last=4, width=2)
        await harness.until(lambda: len(harness.started) == 2)
        assert sorted(attempt.index for attempt in boxes.all) == [0, 1]
        boxes[0].exit(0)
        await harness.until(lambda: len(harness.started) == 3)
        harness.worker.received(Recall(1, [1]))
        await harness.until(lambda: len(harness.returned) == 2)
        assert sorted(returned.first for returned in harness.returned) == [3, 4]
        order(harness, last=0)  # it has ended, whether or not that is acknowledged
        boxes[1].exit(0)
        boxes[2].exit(0)
        await harness.all_ended(3)
        order(harness, last=0, attempt=2)
        await harness.until(lambda: len(harness.started) == 4)
        assert len(boxes.all) == 4
        boxes[0].exit(0)
        await harness.all_ended(4)


async def test_a_stop_signals_then_kills_and_leaves_newer_attempts_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_box_harness(tmp_path, monkeypatch) as (harness, boxes):
        order(harness, "stubborn", attempt=2)
        order(harness, first=1, reservation=2)
        await harness.until(lambda: len(harness.started) == 2)
        harness.worker.received(Stop(1, [StopRange(1, 0, 0, 1, 60.0, attempt=1, signal=signal.SIGUSR1)]))
        [ended] = await harness.until(lambda: harness.ended)
        assert (ended.first, ended.how, ended.exits) == (1, "stopped", [128 + signal.SIGUSR1])
        assert boxes[0].signals == []
        harness.worker.received(Stop(1, [StopRange(1, 0, 0, 0, 60.0)]))
        await until(lambda: boxes[0].signals)
        harness.worker.received(Stop(1, [StopRange(1, 0, 0, 0, 0.0)]))
        await harness.all_ended(2)
        assert boxes[0].signals == [signal.SIGTERM, signal.SIGKILL]
        assert (harness.ended[1].how, harness.ended[1].exits) == ("stopped", [137])


async def test_what_is_stopped_before_it_has_started_is_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_box_harness(tmp_path, monkeypatch) as (harness, boxes):
        boxes.gate.clear()
        order(harness, last=1)
        await until(lambda: boxes.launching)
        harness.worker.received(Stop(1, [StopRange(1, 0, 0, 1, 5.0)]))
        await harness.until(lambda: len(harness.returned) == 2)
        assert boxes.launching == 0
        order(harness, attempt=2)
        harness.worker.received(Stop(1, [StopRange(1, 0, 0, 0, 5.0)]))  # in the same breath
        await harness.until(lambda: len(harness.returned) == 3)
        assert not boxes.all
        assert not list((harness.home / "attempts").iterdir())


async def test_a_newer_attempt_starts_when_the_older_one_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_box_harness(tmp_path, monkeypatch) as (harness, boxes):
        order(harness, "stubborn")
        await harness.until(lambda: harness.started)
        order(harness, attempt=2, width=2)
        await harness.until(lambda: len(harness.started) == 2)
        assert [(ended.attempt, ended.how) for ended in harness.ended] == [(1, "stopped")]
        boxes[0].exit(0)
        await harness.all_ended(2)


async def test_what_cannot_be_started_ends_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_box_harness(tmp_path, monkeypatch) as (harness, boxes):
        order(harness, "missing")
        harness.order("run", runtime="wasm", job=2)
        order(harness, job=3, stdout="relative")
        await harness.until(lambda: len(harness.ended) == 3)
        found = {ended.job: (ended.how, ended.exits, ended.detail) for ended in harness.ended}
        assert found[1] == ("error", [127], "box missing: no such box")
        assert found[2] == (
            "error",
            [126],
            "runtime wasm does not exist on this node; it has box, docker, flink, process, spark",
        )
        assert found[3] == ("error", [126], "stdout: relative is relative; with runtime box write an absolute path")
        order(harness, "nothing", job=5)
        await harness.until(lambda: len(harness.ended) == 4)
        assert (harness.ended[-1].how, harness.ended[-1].detail) == ("error", "runtime box: launch returned None")
        boxes.is_gone = True
        order(harness, job=4)
        [lost] = await harness.until(lambda: harness.lost)
        assert (lost.job, lost.reason) == (4, "the box daemon does not answer")


async def test_a_time_limit_and_health_checks_end_it_like_any_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_box_harness(tmp_path, monkeypatch) as (harness, boxes):
        order(harness, "stubborn", run_timeout_s=0.05, stop_grace_s=0.05)
        check = HealthCheck("command", command=("ok", "?"), interval_s=0.01, failures=2)
        order(harness, first=1, reservation=2, health=(check,))
        await harness.until(lambda: any(getattr(message, "health", None) for message in harness.messages))
        boxes[1].is_healthy = False
        await harness.all_ended(2)
        found = {ended.first: (ended.how, ended.detail) for ended in harness.ended}
        assert found[0] == ("timeout", "exceeded its timeout of 0.05s")
        detail = "command check ok ? failed 2 times in a row: exited with 9: ok ? within 2 s"
        assert found[1] == ("unhealthy", detail)
        assert boxes[0].signals == [signal.SIGTERM, signal.SIGKILL]


async def test_the_next_worker_finds_what_runs_and_what_has_ended_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_box_harness(tmp_path, monkeypatch, ports_first=31_020, ports_last=31_021) as (harness, boxes):
        harness.acknowledges = False
        order(harness, last=2, width=2, ports=(Port("web", 80),))
        order(harness, first=7, reservation=3, run_timeout_s=1000.0)
        await harness.until(lambda: len(harness.started) == 3)
        boxes[7].exit(5)
        await harness.all_ended(1)
        await harness.worker.stop(end_keepers=False)
        boxes[1].exit(6, "memory", "memory limit of 1Mi")
        boxes.all[Attempt(99, 0, 0, 1)] = Box(boxes[0].launch)
        harness.forget()
        await harness.start()
        assert boxes.orphans == [Attempt(99, 0, 0, 1)]
        held = {held.first: (held.running, held.ports) for held in harness.inventories[0].held}
        assert held[0] == (True, boxes[0].launch.ports)
        assert 2 not in held  # it waited in the worker, and will be ordered again
        await harness.all_ended(2)
        found = {ended.first: (ended.exits, ended.how) for ended in harness.ended}
        assert found == {7: ([5], ""), 1: ([6], "memory")}
        boxes[0].launch.log.write(OUT, b"again")
        order(harness, last=2, width=2, ports=(Port("web", 80),))
        await harness.until(lambda: harness.started)
        assert [started.index for started in harness.started] == [2]
        assert harness.started[0].ports == boxes[1].launch.ports  # the only other one
        boxes[0].exit(0)
        boxes[2].exit(0)
        await harness.all_ended(4)
        ended = next(ended for ended in harness.ended if ended.first == 0)
        assert (await harness.read(ended)).data == b"hello again"
        harness.acknowledges = True
        await harness.restart()
        assert not harness.inventories[0].held
        assert sorted(ended.first for ended in harness.inventories[0].ended) == [0, 1, 2, 7]
        await until(lambda: not list((harness.home / "attempts").iterdir()))


async def test_what_was_only_starting_when_the_worker_left_is_ordered_and_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_box_harness(tmp_path, monkeypatch) as (harness, boxes):
        boxes.gate.clear()
        order(harness)
        await until(lambda: boxes.launching)
        assert len(list((harness.home / "attempts").iterdir())) == 1
        await harness.restart()
        assert not harness.inventories[0].held and not boxes.launching
        boxes.gate.set()
        order(harness)
        await harness.until(lambda: harness.started)
        boxes[0].exit(0)
        await harness.all_ended(1)


async def test_thousands_of_attempts_wait_their_turn_without_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_box_harness(tmp_path, monkeypatch) as (harness, boxes):
        order(harness, last=20_000, width=3)
        await harness.until(lambda: len(harness.started) == 3)
        harness.worker.received(Stop(1, [StopRange(1, 0, 0, 20_000, 1.0)]))
        await harness.until(lambda: len(harness.ended) == 3)
        assert sum(each.last - each.first + 1 for each in harness.returned) == 20_001 - 3
        assert len(boxes.all) == 3


async def test_a_runtime_that_is_gone_at_the_start_loses_what_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_box_harness(tmp_path, monkeypatch) as (harness, boxes):
        order(harness)
        await harness.until(lambda: harness.started)
        boxes.is_gone = True
        await harness.restart()
        [lost] = await harness.until(lambda: harness.lost)
        assert (lost.first, lost.reason) == (0, "the box daemon does not answer")


async def test_containers_and_processes_draw_from_the_same_devices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_box_harness(tmp_path, monkeypatch, devices={"gpu": ["0"]}) as (harness, boxes):
        order(harness, devices={"gpu": 1})
        await harness.until(lambda: harness.started)
        harness.order("/bin/true", job=2, reservation=2, devices={"gpu": 1})
        order(harness, job=3, reservation=3, devices={"gpu": 1})
        boxes[0].exit(0)
        await harness.until(lambda: Attempt(3, 0, 0, 1) in boxes.all)
        boxes.all[Attempt(3, 0, 0, 1)].exit(0)
        await harness.until(lambda: {ended.job for ended in harness.ended} == {1, 2, 3})


async def test_a_node_whose_runtimes_have_changed_introduces_itself_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_box_harness(tmp_path, monkeypatch) as (harness, boxes):
        order(harness)
        await harness.until(lambda: harness.started)
        assert boxes.changed is not None
        boxes.changed({"runtime.box": "1.0"})  # as before
        boxes.changed({"runtime.box": "2.0"})
        await harness.until(lambda: len(harness.inventories) == 2)
        hellos = [message for message in harness.messages if isinstance(message, Hello)]
        assert [hello.attributes["runtime.box"] for hello in hellos] == ["1.0", "2.0"]
        assert [held.running for held in harness.inventories[1].held] == [True]
        boxes[0].exit(0)
        await harness.all_ended(1)


async def test_when_the_cluster_stops_attempts_are_stopped_and_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_box_harness(tmp_path, monkeypatch) as (harness, boxes):
        order(harness, last=1)
        await harness.until(lambda: harness.started)
        harness.worker.received(Shutdown(True))
        await harness.worker.finished.wait()
        assert [(lost.first, lost.reason) for lost in harness.lost] == [(0, "cluster stopped")]
        assert [returned.first for returned in harness.returned] == [1]
        assert boxes[0].is_removed and boxes[0].signals == [signal.SIGTERM]
        assert not list((harness.home / "attempts").iterdir())
