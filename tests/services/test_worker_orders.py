"""Orders may be repeated, late or from a leader of the past; each attempt runs once. Results wait for a manager."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from shunter.adapters.system.clock import SystemClock
from shunter.model.protocol.worker_messages import (
    Ack,
    Heartbeat,
    MachineStats,
    Orders,
    ReadStats,
    SetHeartbeat,
    Stop,
    StopRange,
    Welcome,
)
from tests.services.worker_harness import exits, staged

pytestmark = pytest.mark.services


async def test_a_repeated_order_runs_nothing_twice(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    script = f"echo $SHUNTER_TASK_INDEX >> {marks}"
    async with staged(tmp_path, warm_keepers=2) as stage:
        stage.acknowledges = False
        for _ in range(3):
            stage.order("/bin/sh", "-c", script, last=19, width=2)
        await stage.all_ended(20)
        stage.order("/bin/sh", "-c", script, last=24, width=2)
        await stage.all_ended(25)
        assert sorted(map(int, marks.read_text().split())) == list(range(25))


async def test_a_newer_attempt_ends_the_older_one_before_it_starts(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    script = f"echo begin $SHUNTER_ATTEMPT >> {marks}; trap 'exit 1' TERM; [ $SHUNTER_ATTEMPT = 2 ] || sleep 60"
    async with staged(tmp_path) as stage:
        stage.acknowledges = False
        stage.order("/bin/sh", "-c", script)
        await stage.until(lambda: stage.started)
        stage.order("/bin/sh", "-c", script, attempt=2)
        await stage.until(lambda: len(stage.ended) == 2)
        assert [(ended.attempt, ended.how) for ended in stage.ended] == [(1, "stopped"), (2, "")]
        assert marks.read_text() == "begin 1\nbegin 2\n"
        stage.order("/bin/sh", "-c", script, attempt=1)
        assert (await stage.run("/bin/true", first=1)).first == 1
        assert len(stage.ended) == 3


async def test_a_leader_of_the_past_is_not_obeyed(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        stage.order("/bin/sleep", "60")
        await stage.until(lambda: stage.started)
        stage.worker.received(Welcome(9, 1, 60.0))
        stage.worker.received(Stop(8, [StopRange(1, 0, 0, 0, 0.0)]))
        stage.epoch = 8
        stage.order("/bin/true", first=1)
        stage.epoch = 9
        stage.worker.received(Stop(9, [StopRange(1, 0, 0, 0, 0.0)]))
        await stage.all_ended(1)
        assert (await stage.run("/bin/true", first=2)).first == 2
        assert sorted(exits(stage.ended)) == [0, 2]


async def test_one_task_jobs_of_one_reservation_share_its_lanes(tmp_path: Path) -> None:
    async with staged(tmp_path, warm_keepers=2) as stage:
        for job in range(1, 101):
            stage.order("/bin/sh", "-c", "exit $SHUNTER_TASK_INDEX", job=job, job_name=f"job-{job}", width=2)
        await stage.until(lambda: len(stage.ended) == 100)
        assert sorted(ended.job for ended in stage.ended) == list(range(1, 101))
        assert len(stage.keeper_pids()) == 2


async def test_work_behind_a_long_task_is_taken_to_a_lane_that_is_free(tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    # The first hundred are short, so both lanes get wide windows; then one task holds up its lane.
    script = f"[ $SHUNTER_TASK_INDEX != 100 ] || until [ -e {go_on} ]; do sleep 0.01; done"
    async with staged(tmp_path, warm_keepers=2) as stage:
        stage.order("/bin/sh", "-c", script, last=299, width=2)
        codes = await stage.all_ended(299)
        assert set(range(300)) - set(codes) == {100}
        go_on.touch()
        await stage.all_ended(300)


async def test_results_are_repeated_to_the_next_connection_until_they_are_acknowledged(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        stage.acknowledges = False
        await stage.run("/bin/sh", "-c", "exit 3")
        stage.worker.disconnected("test")
        stage.order("/bin/sh", "-c", "exit 4", first=1)  # an order that was on its way
        stage.forget()
        stage.worker.connected(stage)
        await stage.until(lambda: stage.inventories)
        await stage.all_ended(2)
        assert exits(stage.ended) == {0: 3, 1: 4}
        last = max(message.seq for message in stage.messages if hasattr(message, "seq"))
        stage.worker.received(Ack(last))
        stage.worker.disconnected("test")
        stage.forget()
        stage.worker.connected(stage)
        await stage.until(lambda: stage.inventories)
        assert stage.inventories[0].ended == []


async def test_the_inventory_tells_what_runs_and_what_waits(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        stage.order("/bin/sleep", "60", first=5, last=9)
        started = (await stage.until(lambda: stage.started))[0]
        stage.worker.disconnected("test")
        stage.forget()
        stage.worker.connected(stage)
        held = (await stage.until(lambda: stage.inventories))[0].held
        assert [(each.first, each.last) for each in held if each.running] == [(5, 5)]
        assert next(each.record for each in held if each.running) == started.record
        waiting = [index for each in held if not each.running for index in range(each.first, each.last + 1)]
        assert sorted(waiting) == [6, 7, 8, 9]
        stage.worker.received(Stop(1, [StopRange(1, 0, 5, 9, 0.0)]))
        await stage.all_ended(1)


async def test_statistics_of_the_machine_and_of_running_tasks_can_be_asked_for(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        eat = "x = bytearray(30 * 2**20); import time; time.process_time(); print(1, flush=True); time.sleep(60)"
        stage.order(sys.executable, "-c", eat, job=3, first=2)
        started = (await stage.until(lambda: stage.started))[0]
        while not (await stage.read(started)).data:
            pass
        stage.worker.received(ReadStats(11))
        found = stage.stats[0]
        assert (found.request, found.machine.tasks_running, found.machine.keepers) == (11, 1, 1)
        assert 0 < found.machine.memory_available_bytes < found.machine.memory_total_bytes
        task = found.tasks[0]
        assert (task.job, task.index, task.attempt, task.processes) == (3, 2, 1, 1)
        assert task.memory_bytes > 30 * 2**20
        stage.worker.received(Stop(1, [StopRange(3, 0, 2, 2, 0.0)]))
        await stage.all_ended(1)


async def test_heartbeats_come_at_the_interval_that_the_manager_sets(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:

        def samples() -> list[MachineStats]:
            return [message.stats for message in stage.messages if isinstance(message, Heartbeat)]

        await stage.until(lambda: len(samples()) == 1)
        stage.worker.received(SetHeartbeat(0.02))
        found = await stage.until(lambda: samples() if len(samples()) >= 5 else None)
        assert found[-1].at_ms - found[1].at_ms >= 50


async def test_a_new_interval_begins_at_a_point_chosen_by_chance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    wait = SystemClock.wait

    async def noted(clock: SystemClock, event: asyncio.Event, timeout_s: float | None) -> bool:
        waits.append(timeout_s or 0.0)
        return await wait(clock, event, timeout_s)

    async with staged(tmp_path) as stage:
        await stage.until(lambda: any(isinstance(message, Heartbeat) for message in stage.messages))
        monkeypatch.setattr(SystemClock, "wait", noted)
        for known in range(30):
            stage.worker.received(SetHeartbeat(1000.0))
            while len(waits) == known:
                await asyncio.sleep(0)
        assert all(0.0 <= each <= 1000.0 for each in waits)
        assert len(set(waits)) == 30
        assert min(waits) < 500.0 < max(waits)  # but for a chance of one in a billion


async def test_orders_of_several_jobs_in_one_message_all_run(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        stage.order("/bin/true")
        await stage.all_ended(1)
        stage.worker.received(Orders(1, [], {}))
        assert (await stage.run("/bin/true", job=2)).job == 2
