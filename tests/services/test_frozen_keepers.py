"""Keepers that live and do not answer: the worker ends them with all that is theirs, and says so."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from shunter.model.protocol.worker_messages import LOST_RUNNING, Shutdown, Stop, StopRange
from shunter.worker.process import keeper_pool, keeper_watch
from shunter.worker.process.launcher import KeeperLauncher
from tests.services.worker_harness import Harness, is_running, open_harness, wait_gone

pytestmark = pytest.mark.services

LIMITS = pytest.mark.parametrize("cgroups", [True, False], ids=["cgroups", "rlimits"])


async def start_sleep(harness: Harness, pids: Path) -> list[int]:
    """A running task of two processes, one of which left its session; returns their ids."""
    harness.order("/bin/sh", "-c", f"setsid sleep 60 & echo $! $$ > {pids}.new; mv {pids}.new {pids}; wait")
    await harness.until(lambda: harness.started)
    while not pids.exists():
        await asyncio.sleep(0.005)
    return [int(pid) for pid in pids.read_text().split()]


@LIMITS
async def test_a_stop_that_a_frozen_keeper_does_not_carry_out_is_carried_out_by_the_worker(
    tmp_path: Path, cgroups: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_watch, "STOP_MARGIN_S", 0.2)
    monkeypatch.setattr(keeper_watch, "ROUND_S", 0.05)
    async with open_harness(tmp_path, cgroups=cgroups) as harness:
        pids = await start_sleep(harness, tmp_path / "pids")
        [keeper] = harness.keeper_pids()
        os.kill(keeper, signal.SIGSTOP)
        harness.worker.received(Stop(harness.epoch, [StopRange(1, 0, 0, 0, 0.1)]))
        [lost] = await harness.until(lambda: harness.lost)
        assert (
            lost.reason == f"its keeper (process {keeper}) did not end it in its grace period of 0.1 s, and was killed"
        )
        assert not [pid for pid in [keeper, *pids] if is_running(pid)]
        assert (await harness.run("/bin/true", attempt=2)).exits == []


async def test_a_keeper_that_ends_a_stubborn_task_late_but_in_time_lives(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")
        await harness.until(lambda: harness.started)
        keepers = harness.keeper_pids()
        harness.worker.received(Stop(harness.epoch, [StopRange(1, 0, 0, 0, 1.0)]))
        await harness.all_ended(1)
        assert (await harness.run("/bin/true", first=1)).exits == []
        assert (harness.keeper_pids(), harness.lost) == (keepers, [])


async def test_a_task_that_freezes_its_keeper_is_lost_though_nobody_stops_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_watch, "PING_EVERY_S", 0.2)
    monkeypatch.setattr(keeper_watch, "ROUND_S", 0.05)
    monkeypatch.setattr(keeper_watch, "STOPPED_MAX_S", 0.3)
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sh", "-c", "sleep 0.1; kill -STOP $PPID; sleep 60")
        [lost] = await harness.until(lambda: harness.lost)
        assert lost.with_keeper == LOST_RUNNING
        assert "did not answer for 0.3 s, and was killed" in lost.reason


async def test_a_frozen_keeper_does_not_outlive_a_worker_that_ends_its_keepers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_pool, "END_MAX_S", 0.3)
    monkeypatch.setattr(keeper_watch, "STOP_MARGIN_S", 0.2)
    monkeypatch.setattr(keeper_watch, "ROUND_S", 0.05)
    async with open_harness(tmp_path, warm_keepers=2) as harness:
        while len(harness.keeper_pids()) < 2:
            await asyncio.sleep(0.01)
        harness.order("/bin/sh", "-c", "exec sleep 60", stop_grace_s=0.1)
        await harness.until(lambda: harness.started)
        keepers = harness.keeper_pids()
        for keeper in keepers:
            os.kill(keeper, signal.SIGSTOP)
        harness.worker.received(Shutdown(stop_tasks=True))
        await harness.worker.finished.wait()
        assert [lost.reason for lost in harness.lost] == ["cluster stopped"]
        for keeper in keepers:
            await wait_gone(keeper)


async def test_a_keeper_that_freezes_while_it_starts_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_pool, "START_MAX_S", 0.5)
    monkeypatch.setattr(keeper_pool, "START_AGAIN_S", 0.05)
    frozen: list[int] = []
    start = KeeperLauncher.start

    async def start_frozen(*args: object) -> object:
        keeper = await start(*args)  # type: ignore[arg-type]
        if not frozen:
            frozen.append(keeper.pid)
            os.kill(keeper.pid, signal.SIGSTOP)
        return keeper

    monkeypatch.setattr(KeeperLauncher, "start", start_frozen)
    async with open_harness(tmp_path) as harness:
        assert (await harness.run("/bin/true")).exits == []
        await wait_gone(frozen[0])
