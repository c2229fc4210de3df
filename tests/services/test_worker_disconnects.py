"""A worker without contact to a manager stops the tasks that must not go on then: `disconnect.stop_after`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from shunter.model.protocol.worker_messages import Ping
from shunter.worker.process import keeper_watch
from tests.services.worker_harness import PATIENCE_S, Harness, is_running, kill_marked, open_harness, wait_gone

pytestmark = pytest.mark.services

STOP_AFTER_S = 0.4  # manifests allow no less than 10 s


async def test_tasks_stop_without_contact_and_are_lost_not_failed(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sleep", "60", stop_after_s=STOP_AFTER_S, width=2, reservation=1)
        harness.order("/bin/sleep", "60", job=2, reservation=2)
        await harness.until(lambda: len(harness.started) == 2)
        harness.answers_pings = False
        [lost] = await harness.until(lambda: harness.lost)
        assert (lost.job, lost.first, lost.with_keeper) == (1, 0, "")
        assert "no contact with the manager for 0.4 s" in lost.reason
        assert harness.ended == []


async def test_tasks_of_a_frozen_keeper_stop_without_contact_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_watch, "STOP_MARGIN_S", 0.2)
    monkeypatch.setattr(keeper_watch, "ROUND_S", 0.05)
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sleep", "60", stop_after_s=STOP_AFTER_S, stop_grace_s=0.1)
        await harness.until(lambda: harness.started)
        [keeper] = harness.keeper_pids()
        os.kill(keeper, signal.SIGSTOP)
        harness.answers_pings = False
        [lost] = await harness.until(lambda: harness.lost)
        assert "no contact with the manager for 0.4 s" in lost.reason
        assert (lost.with_keeper, is_running(keeper)) == ("", False)


async def test_tasks_go_on_while_there_is_contact(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sh", "-c", "sleep 1; exit 3", stop_after_s=STOP_AFTER_S)
        assert await harness.all_ended(1) == {0: 3}
        assert harness.lost == []


async def test_a_worker_without_such_tasks_sends_no_pings(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        await harness.run("/bin/true")
        assert not any(isinstance(message, Ping) for message in harness.messages)


async def test_orders_that_may_be_late_wait_for_contact(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.answers_pings = False
        harness.order("/bin/true", stop_after_s=STOP_AFTER_S)
        await harness.until(lambda: any(isinstance(message, Ping) for message in harness.messages))
        assert harness.ended == []
        harness.answers_pings = True
        assert await harness.all_ended(1) == {0: 0}


async def test_orders_that_waited_for_contact_are_dropped_with_their_connection(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.answers_pings = False
        harness.order("/bin/true", stop_after_s=STOP_AFTER_S)
        harness.worker.disconnected("test")
        harness.forget()
        harness.answers_pings = True
        harness.worker.connected(harness)
        [inventory] = await harness.until(lambda: harness.inventories)
        assert inventory.held == []
        await harness.run("/bin/true", job=2, reservation=2)
        assert [ended.job for ended in harness.ended] == [2]


async def test_a_worker_that_restarts_without_a_connection_counts_on(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sleep", "60", stop_after_s=STOP_AFTER_S)
        await harness.until(lambda: harness.started)
        harness.answers_pings = False
        await harness.restart()
        [lost] = await harness.until(lambda: harness.lost)
        assert "no contact with the manager" in lost.reason


@asynccontextmanager
async def _worker_process(home: Path, script: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A worker in a process of its own whose tasks run; it has contact until it is paused or killed."""
    arguments = "-m", "tests.services.lonely_worker", str(home), str(STOP_AFTER_S), "/bin/sh", "-c", script
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readline(), PATIENCE_S) == b"running\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def _next_worker(home: Path) -> AsyncIterator[Harness]:
    harness = await Harness(home).start()
    try:
        yield harness
        await harness.close()
    finally:
        left = kill_marked(home)
    assert not left


@pytest.mark.parametrize("fault", [signal.SIGSTOP, signal.SIGKILL], ids=["paused", "dead"])
@pytest.mark.parametrize("trap", ["", "trap '' TERM; "], ids=["gentle", "stubborn"])
async def test_the_tasks_of_a_worker_process_that_is_paused_or_dead_stop_too(
    tmp_path: Path, fault: signal.Signals, trap: str
) -> None:
    pids = tmp_path / "pids"
    script = f"{trap}echo $$ >> {pids}; while :; do sleep 0.1; done"
    async with _worker_process(tmp_path / "home", script) as process:
        process.send_signal(fault)
        [pid] = [int(word) for word in pids.read_text().split()]
        await wait_gone(pid)
    async with _next_worker(tmp_path / "home") as harness:
        lost = await harness.until(lambda: len(harness.lost) > 1 and harness.lost)
        assert {(each.job, each.with_keeper) for each in lost} == {(2, "")}
        firsts = {each.first for each in lost}  # a report that is not acknowledged in time comes again
        assert firsts == {*range(len(firsts))}
        assert all("no contact with the manager for 0.4 s" in each.reason for each in lost)
        assert harness.ended == []
        assert len(pids.read_text().split()) == 1, "what waited in the keeper has not started"


async def test_tasks_of_a_worker_that_is_replaced_in_time_go_on(tmp_path: Path) -> None:
    script = f"while [ ! -e {tmp_path}/end ]; do sleep 0.1; done"
    async with _worker_process(tmp_path / "home", script):
        pass
    (tmp_path / "home" / "contact.json").unlink()  # the keepers know what needs contact
    async with _next_worker(tmp_path / "home") as harness:
        await harness.until(lambda: sum(isinstance(message, Ping) for message in harness.messages) > 30)
        (tmp_path / "end").touch()
        assert (await harness.all_ended(2)).items() >= {0: 0, 1: 0}.items()
        assert harness.lost == []
