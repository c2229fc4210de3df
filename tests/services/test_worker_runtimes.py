"""Attempts in another runtime than processes: queued, started, stopped, found again."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from shunter.model.job.spec import HealthCheck, Port
from shunter.model.protocol.worker_messages import Hello, LogData, ReadLog, ReadStats, Recall, Shutdown, Stop, StopRange
from shunter.worker.runtimes.port import Attempt
from shunter.worker.runtimes.task_log import OUT
from tests.services.memory_runtime import Box, boxed, order, until

pytestmark = pytest.mark.services


async def test_an_attempt_is_started_reported_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with boxed(tmp_path, monkeypatch, devices={"gpu": ["a", "b"]}) as (stage, boxes):
        assert stage.hello.attributes["runtime.box"] == "1.0"
        order(
            stage, first=4, shown=[40], entries=["x y"], env={"A": "b"}, ports=(Port("web", 80),), devices={"gpu": 2},
            payload=b"\0load",
        )  # fmt: skip
        [started] = await stage.until(lambda: stage.started)
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
        stage.worker.received(ReadStats(3))
        [stats] = await stage.until(lambda: stage.stats)
        assert [(each.index, each.cpu_s, each.memory_bytes, each.processes) for each in stats.tasks] == [
            (4, 1.5, 4096, 2)
        ]
        box.launch.log.write(OUT, b"world")
        assert (await stage.read(started)).data == b"hello world"
        box.exit(3)
        [ended] = await stage.until(lambda: stage.ended)
        assert (ended.first, ended.exits, ended.how, ended.segment) == (4, [3], "", started.segment)
        log = await stage.read(ended)
        assert (log.data, log.eof) == (b"hello world", True)
        await until(lambda: box.is_removed and not payload.exists())
        assert not list((stage.home / "attempts").iterdir())


async def test_what_a_runtime_writes_while_it_starts_an_attempt_can_be_read_by_the_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has told of its segment yet: that comes with its start."""
    async with boxed(tmp_path, monkeypatch) as (stage, boxes):
        boxes.gate.clear()
        order(stage, first=4)
        await until(lambda: boxes.opening)
        boxes.opening[0].log.write(OUT, b"fetching ")
        stage.worker.received(ReadLog(7, 0, 0, "stdout", 0, 2**20, 1, 0, 4, 1))
        stage.worker.received(ReadLog(8, 0, 0, "stdout", 0, 2**20, 1, 0, 5, 1))
        known, unknown = [message for message in stage.messages if isinstance(message, LogData)]
        assert (known.request, known.data, known.eof) == (7, b"fetching ", False)
        assert (unknown.request, unknown.data, unknown.error) == (8, b"", "")
        boxes.gate.set()
        [started] = await stage.until(lambda: stage.started)
        assert (await stage.read(started)).data == b"fetching hello "


async def test_a_reservation_s_width_is_kept_and_repeated_orders_run_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with boxed(tmp_path, monkeypatch) as (stage, boxes):
        for _ in range(3):
            order(stage, last=4, width=2)
        await stage.until(lambda: len(stage.started) == 2)
        assert sorted(attempt.index for attempt in boxes.all) == [0, 1]
        boxes[0].exit(0)
        await stage.until(lambda: len(stage.started) == 3)
        stage.worker.received(Recall(1, [1]))
        await stage.until(lambda: len(stage.returned) == 2)
        assert sorted(returned.first for returned in stage.returned) == [3, 4]
        order(stage, last=0)  # it has ended, whether or not that is acknowledged
        boxes[1].exit(0)
        boxes[2].exit(0)
        await stage.all_ended(3)
        order(stage, last=0, attempt=2)
        await stage.until(lambda: len(stage.started) == 4)
        assert len(boxes.all) == 4
        boxes[0].exit(0)
        await stage.all_ended(4)


async def test_a_stop_signals_then_kills_and_leaves_newer_attempts_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with boxed(tmp_path, monkeypatch) as (stage, boxes):
        order(stage, "stubborn", attempt=2)
        order(stage, first=1, reservation=2)
        await stage.until(lambda: len(stage.started) == 2)
        stage.worker.received(Stop(1, [StopRange(1, 0, 0, 1, 60.0, attempt=1, signal=signal.SIGUSR1)]))
        [ended] = await stage.until(lambda: stage.ended)
        assert (ended.first, ended.how, ended.exits) == (1, "stopped", [128 + signal.SIGUSR1])
        assert boxes[0].signals == []
        stage.worker.received(Stop(1, [StopRange(1, 0, 0, 0, 60.0)]))
        await until(lambda: boxes[0].signals)
        stage.worker.received(Stop(1, [StopRange(1, 0, 0, 0, 0.0)]))
        await stage.all_ended(2)
        assert boxes[0].signals == [signal.SIGTERM, signal.SIGKILL]
        assert (stage.ended[1].how, stage.ended[1].exits) == ("stopped", [137])


async def test_what_is_stopped_before_it_has_started_is_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with boxed(tmp_path, monkeypatch) as (stage, boxes):
        boxes.gate.clear()
        order(stage, last=1)
        await until(lambda: boxes.launching)
        stage.worker.received(Stop(1, [StopRange(1, 0, 0, 1, 5.0)]))
        await stage.until(lambda: len(stage.returned) == 2)
        assert boxes.launching == 0
        order(stage, attempt=2)
        stage.worker.received(Stop(1, [StopRange(1, 0, 0, 0, 5.0)]))  # in the same breath
        await stage.until(lambda: len(stage.returned) == 3)
        assert not boxes.all
        assert not list((stage.home / "attempts").iterdir())


async def test_a_newer_attempt_starts_when_the_older_one_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with boxed(tmp_path, monkeypatch) as (stage, boxes):
        order(stage, "stubborn")
        await stage.until(lambda: stage.started)
        order(stage, attempt=2, width=2)
        await stage.until(lambda: len(stage.started) == 2)
        assert [(ended.attempt, ended.how) for ended in stage.ended] == [(1, "stopped")]
        boxes[0].exit(0)
        await stage.all_ended(2)


async def test_what_cannot_be_started_ends_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with boxed(tmp_path, monkeypatch) as (stage, boxes):
        order(stage, "missing")
        stage.order("run", runtime="wasm", job=2)
        order(stage, job=3, stdout="relative")
        await stage.until(lambda: len(stage.ended) == 3)
        found = {ended.job: (ended.how, ended.exits, ended.detail) for ended in stage.ended}
        assert found[1] == ("error", [127], "box missing: no such box")
        assert found[2] == (
            "error",
            [126],
            "runtime wasm: this node has no such runtime, only box, docker, flink, process, spark",
        )
        assert found[3] == ("error", [126], "stdout: relative is relative; with runtime box write an absolute path")
        order(stage, "nothing", job=5)
        await stage.until(lambda: len(stage.ended) == 4)
        assert (stage.ended[-1].how, stage.ended[-1].detail) == ("error", "runtime box: launch returned None")
        boxes.is_gone = True
        order(stage, job=4)
        [lost] = await stage.until(lambda: stage.lost)
        assert (lost.job, lost.reason) == (4, "the box daemon does not answer")


async def test_a_time_limit_and_health_checks_end_it_like_any_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with boxed(tmp_path, monkeypatch) as (stage, boxes):
        order(stage, "stubborn", run_timeout_s=0.05, stop_grace_s=0.05)
        check = HealthCheck("command", command=("ok", "?"), interval_s=0.01, failures=2)
        order(stage, first=1, reservation=2, health=(check,))
        await stage.until(lambda: any(getattr(message, "health", None) for message in stage.messages))
        boxes[1].is_well = False
        await stage.all_ended(2)
        found = {ended.first: (ended.how, ended.detail) for ended in stage.ended}
        assert found[0] == ("timeout", "ran longer than 0.05 s")
        detail = "command check ok ? failed 2 times in a row: exited with 9: ok ? within 2 s"
        assert found[1] == ("unhealthy", detail)
        assert boxes[0].signals == [signal.SIGTERM, signal.SIGKILL]


async def test_the_next_worker_finds_what_runs_and_what_has_ended_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with boxed(tmp_path, monkeypatch, ports_first=31_020, ports_last=31_021) as (stage, boxes):
        stage.acknowledges = False
        order(stage, last=2, width=2, ports=(Port("web", 80),))
        order(stage, first=7, reservation=3, run_timeout_s=1000.0)
        await stage.until(lambda: len(stage.started) == 3)
        boxes[7].exit(5)
        await stage.all_ended(1)
        await stage.worker.stop(end_keepers=False)
        boxes[1].exit(6, "memory", "memory limit of 1Mi")
        boxes.all[Attempt(99, 0, 0, 1)] = Box(boxes[0].launch)
        stage.forget()
        await stage.start()
        assert boxes.orphans == [Attempt(99, 0, 0, 1)]
        held = {held.first: (held.running, held.ports) for held in stage.inventories[0].held}
        assert held[0] == (True, boxes[0].launch.ports)
        assert 2 not in held  # it waited in the worker, and will be ordered again
        await stage.all_ended(2)
        found = {ended.first: (ended.exits, ended.how) for ended in stage.ended}
        assert found == {7: ([5], ""), 1: ([6], "memory")}
        boxes[0].launch.log.write(OUT, b"again")
        order(stage, last=2, width=2, ports=(Port("web", 80),))
        await stage.until(lambda: stage.started)
        assert [started.index for started in stage.started] == [2]
        assert stage.started[0].ports == boxes[1].launch.ports  # the only other one
        boxes[0].exit(0)
        boxes[2].exit(0)
        await stage.all_ended(4)
        ended = next(ended for ended in stage.ended if ended.first == 0)
        assert (await stage.read(ended)).data == b"hello again"
        stage.acknowledges = True
        await stage.restart()
        assert not stage.inventories[0].held
        assert sorted(ended.first for ended in stage.inventories[0].ended) == [0, 1, 2, 7]
        await until(lambda: not list((stage.home / "attempts").iterdir()))


async def test_what_was_only_starting_when_the_worker_left_is_ordered_and_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with boxed(tmp_path, monkeypatch) as (stage, boxes):
        boxes.gate.clear()
        order(stage)
        await until(lambda: boxes.launching)
        assert len(list((stage.home / "attempts").iterdir())) == 1
        await stage.restart()
        assert not stage.inventories[0].held and not boxes.launching
        boxes.gate.set()
        order(stage)
        await stage.until(lambda: stage.started)
        boxes[0].exit(0)
        await stage.all_ended(1)


async def test_thousands_of_attempts_wait_their_turn_without_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with boxed(tmp_path, monkeypatch) as (stage, boxes):
        order(stage, last=20_000, width=3)
        await stage.until(lambda: len(stage.started) == 3)
        stage.worker.received(Stop(1, [StopRange(1, 0, 0, 20_000, 1.0)]))
        await stage.until(lambda: len(stage.ended) == 3)
        assert sum(each.last - each.first + 1 for each in stage.returned) == 20_001 - 3
        assert len(boxes.all) == 3


async def test_a_runtime_that_is_gone_at_the_start_loses_what_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with boxed(tmp_path, monkeypatch) as (stage, boxes):
        order(stage)
        await stage.until(lambda: stage.started)
        boxes.is_gone = True
        await stage.restart()
        [lost] = await stage.until(lambda: stage.lost)
        assert (lost.first, lost.reason) == (0, "the box daemon does not answer")


async def test_containers_and_processes_draw_from_the_same_devices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with boxed(tmp_path, monkeypatch, devices={"gpu": ["0"]}) as (stage, boxes):
        order(stage, devices={"gpu": 1})
        await stage.until(lambda: stage.started)
        stage.order("/bin/true", job=2, reservation=2, devices={"gpu": 1})
        order(stage, job=3, reservation=3, devices={"gpu": 1})
        boxes[0].exit(0)
        await stage.until(lambda: Attempt(3, 0, 0, 1) in boxes.all)
        boxes.all[Attempt(3, 0, 0, 1)].exit(0)
        await stage.until(lambda: {ended.job for ended in stage.ended} == {1, 2, 3})


async def test_a_node_whose_runtimes_have_changed_introduces_itself_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with boxed(tmp_path, monkeypatch) as (stage, boxes):
        order(stage)
        await stage.until(lambda: stage.started)
        assert boxes.changed is not None
        boxes.changed({"runtime.box": "1.0"})  # as before
        boxes.changed({"runtime.box": "2.0"})
        await stage.until(lambda: len(stage.inventories) == 2)
        hellos = [message for message in stage.messages if isinstance(message, Hello)]
        assert [hello.attributes["runtime.box"] for hello in hellos] == ["1.0", "2.0"]
        assert [held.running for held in stage.inventories[1].held] == [True]
        boxes[0].exit(0)
        await stage.all_ended(1)


async def test_when_the_cluster_stops_attempts_are_stopped_and_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with boxed(tmp_path, monkeypatch) as (stage, boxes):
        order(stage, last=1)
        await stage.until(lambda: stage.started)
        stage.worker.received(Shutdown(True))
        await stage.worker.finished.wait()
        assert [(lost.first, lost.reason) for lost in stage.lost] == [(0, "cluster stopped")]
        assert [returned.first for returned in stage.returned] == [1]
        assert boxes[0].is_removed and boxes[0].signals == [signal.SIGTERM]
        assert not list((stage.home / "attempts").iterdir())
