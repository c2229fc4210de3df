"""Orders may be repeated, late or from an old leader; each attempt runs once. Results wait for a manager."""

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
from tests.services.worker_harness import exits, open_harness

pytestmark = pytest.mark.services


async def test_a_repeated_order_runs_nothing_twice(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    script = f"echo $SHUNTER_TASK_INDEX >> {marks}"
    async with open_harness(tmp_path, warm_keepers=2) as harness:
        harness.acknowledges = False
        for _ in range(3):
            harness.order("/bin/sh", "-c", script, last=19, width=2)
        await harness.all_ended(20)
        harness.order("/bin/sh", "-c", script, last=24, width=2)
        await harness.all_ended(25)
        assert sorted(map(int, marks.read_text().split())) == list(range(25))


async def test_a_newer_attempt_ends_the_older_one_before_it_starts(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    script = f"echo begin $SHUNTER_ATTEMPT >> {marks}; trap 'exit 1' TERM; [ $SHUNTER_ATTEMPT = 2 ] || sleep 60"
    async with open_harness(tmp_path) as harness:
        harness.acknowledges = False
        harness.order("/bin/sh", "-c", script)
        await harness.until(lambda: harness.started)
        harness.order("/bin/sh", "-c", script, attempt=2)
        await harness.until(lambda: len(harness.ended) == 2)
        assert [(ended.attempt, ended.how) for ended in harness.ended] == [(1, "stopped"), (2, "")]
        assert marks.read_text() == "begin 1\nbegin 2\n"
        harness.order("/bin/sh", "-c", script, attempt=1)
        assert (await harness.run("/bin/true", first=1)).first == 1
        assert len(harness.ended) == 3


async def test_a_leader_of_the_past_is_not_obeyed(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sleep", "60")
        await harness.until(lambda: harness.started)
        harness.worker.received(Welcome(9, 1, 60.0))
        harness.worker.received(Stop(8, [StopRange(1, 0, 0, 0, 0.0)]))
        harness.epoch = 8
        harness.order("/bin/true", first=1)
        harness.epoch = 9
        harness.worker.received(Stop(9, [StopRange(1, 0, 0, 0, 0.0)]))
        await harness.all_ended(1)
        assert (await harness.run("/bin/true", first=2)).first == 2
        assert sorted(exits(harness.ended)) == [0, 2]


async def test_one_task_jobs_of_one_reservation_share_its_lanes(tmp_path: Path) -> None:
    async with open_harness(tmp_path, warm_keepers=2) as harness:
        for job in range(1, 101):
            harness.order("/bin/sh", "-c", "exit $SHUNTER_TASK_INDEX", job=job, job_name=f"job-{job}", width=2)
        await harness.until(lambda: len(harness.ended) == 100)
        assert sorted(ended.job for ended in harness.ended) == list(range(1, 101))
        assert len(harness.keeper_pids()) == 2


async def test_work_behind_a_long_task_is_taken_to_a_lane_that_is_free(tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    # The first hundred are short, so both lanes get wide windows; then one task holds up its lane.
    script = f"[ $SHUNTER_TASK_INDEX != 100 ] || until [ -e {go_on} ]; do sleep 0.01; done"
    async with open_harness(tmp_path, warm_keepers=2) as harness:
        harness.order("/bin/sh", "-c", script, last=299, width=2)
        codes = await harness.all_ended(299)
        assert set(range(300)) - set(codes) == {100}
        go_on.touch()
        await harness.all_ended(300)


async def test_results_are_repeated_to_the_next_connection_until_they_are_acknowledged(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.acknowledges = False
        await harness.run("/bin/sh", "-c", "exit 3")
        harness.worker.disconnected("test")
        harness.order("/bin/sh", "-c", "exit 4", first=1)  # an order that was on its way
        harness.forget()
        harness.worker.connected(harness)
        await harness.until(lambda: harness.inventories)
        await harness.all_ended(2)
        assert exits(harness.ended) == {0: 3, 1: 4}
        last = max(message.seq for message in harness.messages if hasattr(message, "seq"))
        harness.worker.received(Ack(last))
        harness.worker.disconnected("test")
        harness.forget()
        harness.worker.connected(harness)
        await harness.until(lambda: harness.inventories)
        assert harness.inventories[0].ended == []


async def test_the_inventory_tells_what_runs_and_what_waits(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sleep", "60", first=5, last=9)
        started = (await harness.until(lambda: harness.started))[0]
        harness.worker.disconnected("test")
        harness.forget()
        harness.worker.connected(harness)
        held = (await harness.until(lambda: harness.inventories))[0].held
        assert [(each.first, each.last) for each in held if each.running] == [(5, 5)]
        assert next(each.record for each in held if each.running) == started.record
        waiting = [index for each in held if not each.running for index in range(each.first, each.last + 1)]
        assert sorted(waiting) == [6, 7, 8, 9]
        harness.worker.received(Stop(1, [StopRange(1, 0, 5, 9, 0.0)]))
        await harness.all_ended(1)


async def test_statistics_of_the_machine_and_of_running_tasks_can_be_asked_for(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        eat = "x = bytearray(30 * 2**20); import time; time.process_time(); print(1, flush=True); time.sleep(60)"
        harness.order(sys.executable, "-c", eat, job=3, first=2)
        started = (await harness.until(lambda: harness.started))[0]
        while not (await harness.read(started)).data:
            pass
        harness.worker.received(ReadStats(11))
        found = harness.stats[0]
        assert (found.request, found.machine.tasks_running, found.machine.keepers) == (11, 1, 1)
        assert 0 < found.machine.memory_available_bytes < found.machine.memory_total_bytes
        task = found.tasks[0]
        assert (task.job, task.index, task.attempt, task.processes) == (3, 2, 1, 1)
        assert task.memory_bytes > 30 * 2**20
        harness.worker.received(Stop(1, [StopRange(3, 0, 2, 2, 0.0)]))
        await harness.all_ended(1)


async def test_heartbeats_come_at_the_interval_that_the_manager_sets(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:

        def samples() -> list[MachineStats]:
            return [message.stats for message in harness.messages if isinstance(message, Heartbeat)]

        await harness.until(lambda: len(samples()) == 1)
        harness.worker.received(SetHeartbeat(0.02))
        found = await harness.until(lambda: samples() if len(samples()) >= 5 else None)
        assert found[-1].at_ms - found[1].at_ms >= 50


async def test_a_new_interval_begins_at_a_point_chosen_by_chance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    wait = SystemClock.wait

    async def noted(clock: SystemClock, event: asyncio.Event, timeout_s: float | None) -> bool:
        waits.append(timeout_s or 0.0)
        return await wait(clock, event, timeout_s)

    async with open_harness(tmp_path) as harness:
        await harness.until(lambda: any(isinstance(message, Heartbeat) for message in harness.messages))
        monkeypatch.setattr(SystemClock, "wait", noted)
        for known in range(30):
            harness.worker.received(SetHeartbeat(1000.0))
            while len(waits) == known:
                await asyncio.sleep(0)
        assert all(0.0 <= each <= 1000.0 for each in waits)
        assert len(set(waits)) == 30
        assert min(waits) < 500.0 < max(waits)  # but for a chance of one in a billion


async def test_orders_of_several_jobs_in_one_message_all_run(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/true")
        await harness.all_ended(1)
        harness.worker.received(Orders(1, [], {}))
        assert (await harness.run("/bin/true", job=2)).job == 2
