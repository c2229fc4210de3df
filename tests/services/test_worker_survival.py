"""Keepers survive their worker, results survive both, tasks end with their keeper, and everything ends with its
home."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from shunter.model.protocol.worker_messages import LOST_RUNNING, LOST_WAITING
from shunter.worker.process import keeper_pool, launcher
from tests.services.worker_harness import Harness, exits, groups_left, is_running, marked_pids, open_harness, wait_gone

pytestmark = pytest.mark.services

LIMITS = pytest.mark.parametrize("cgroups", [True, False], ids=["cgroups", "rlimits"])


async def test_a_worker_that_restarts_finds_its_running_task_and_later_its_result(tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sh", "-c", f"echo begun; until [ -e {go_on} ]; do sleep 0.01; done; exit 5", last=1)
        first = (await harness.until(lambda: harness.started))[0]
        keepers = harness.keeper_pids()
        await harness.restart()
        assert harness.keeper_pids() == keepers
        running = [held for held in harness.inventories[0].held if held.running]
        assert [(held.first, held.started_ms, held.record) for held in running] == [(0, first.started_ms, first.record)]
        go_on.touch()
        harness.order("/bin/sh", "-c", "exit 5", last=1)  # the manager orders again what the inventory lacked
        assert await harness.all_ended(2) == {0: 5, 1: 5}
        assert (await harness.read(first)).data == b"begun\n"


async def test_results_that_nobody_acknowledged_survive_the_worker(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.acknowledges = False
        harness.order("/bin/sh", "-c", "exit $SHUNTER_TASK_INDEX", last=9)
        await harness.all_ended(10)
        harness.acknowledges = True
        await harness.restart()
        assert exits(harness.inventories[0].ended) == {index: index for index in range(10)}
        await asyncio.sleep(0)  # the acknowledgement is on its way to the keeper
        await harness.restart()
        assert harness.inventories[0].ended == []


async def test_a_result_that_nobody_acknowledged_survives_the_stop_of_the_cluster(tmp_path: Path) -> None:
    """As when the manager's disk is full: nothing can be committed until it has room again."""
    async with open_harness(tmp_path, warm_keepers=2) as harness:
        harness.acknowledges = False
        harness.order("/bin/sh", "-c", "[ $SHUNTER_TASK_INDEX = 1 ] || exit 4; exec sleep 60", last=1)
        harness.order("/bin/sleep", "60", job=2, reservation=2)
        await harness.until(lambda: harness.ended and {started.index for started in harness.started} == {0, 1})
        await harness.worker.stop(end_keepers=True)
        assert len(harness.keeper_pids()) == 1
        harness.forget()
        harness.acknowledges = True
        await harness.start()
        [inventory] = harness.inventories
        assert exits(inventory.ended) == {0: 4}
        # The task that the stop ended has no result of its own; that of the other keeper is just not there.
        assert [(lost.job, lost.first, lost.reason) for lost in inventory.lost] == [(1, 1, "cluster stopped")]
        assert inventory.held == []


async def test_tasks_go_on_and_end_while_there_is_no_worker(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sh", "-c", f"sleep 0.1; echo done > {mark}; exit 3")
        await harness.until(lambda: harness.started)
        await harness.worker.stop(end_keepers=False)
        while not mark.exists():
            await asyncio.sleep(0.01)
        harness.forget()
        await harness.start()
        assert await harness.all_ended(1) == {0: 3}


@LIMITS
async def test_when_a_keeper_is_killed_its_tasks_are_lost_and_their_processes_end(
    tmp_path: Path, cgroups: bool
) -> None:
    pids = tmp_path / "pids"
    script = f"(setsid sleep 60 & echo $! >> {pids}); echo $$ >> {pids}; exec sleep 60"
    async with open_harness(tmp_path, cgroups=cgroups) as harness:
        harness.order("/bin/sh", "-c", script, last=4)
        await harness.until(lambda: harness.started)
        while len(pids.read_text().split()) < 2 if pids.exists() else True:
            await asyncio.sleep(0.005)
        [keeper] = harness.keeper_pids()
        os.kill(keeper, signal.SIGKILL)
        lost = (await harness.until(lambda: harness.lost))[0]
        assert lost.first == 0
        assert f"its keeper (process {keeper}) died" in lost.reason
        assert lost.with_keeper == LOST_RUNNING
        assert {each.with_keeper for each in harness.lost[1:]} <= {LOST_WAITING}
        # Whatever is lost runs again elsewhere, so it must not run here any more by the time that is said.
        assert not [pid for pid in pids.read_text().split() if is_running(int(pid))]
        # The lane gets a new keeper, which runs what still waits.
        assert (await harness.run("/bin/true", job=2, reservation=2)).exits == []
        assert keeper not in harness.keeper_pids()


async def test_a_task_that_kills_its_keeper_is_the_one_that_is_named(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sh", "-c", "kill -9 $PPID; sleep 60", last=2)
        await harness.until(lambda: any(each.with_keeper == LOST_RUNNING for each in harness.lost))


async def test_results_reported_before_a_keeper_died_stay_reported(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.acknowledges = False
        await harness.run("/bin/sh", "-c", "exit 6")
        [keeper] = harness.keeper_pids()
        os.kill(keeper, signal.SIGKILL)
        await wait_gone(keeper)
        harness.worker.disconnected("test")
        harness.forget()
        harness.worker.connected(harness)
        inventory = (await harness.until(lambda: harness.inventories))[0]
        assert exits(inventory.ended) == {0: 6}
        assert inventory.lost == []


@LIMITS
async def test_what_a_keeper_left_that_died_without_a_worker_is_ended_by_the_next_one(
    tmp_path: Path, cgroups: bool
) -> None:
    async with open_harness(tmp_path, cgroups=cgroups) as harness:
        harness.order("/bin/sleep", "60")
        await harness.until(lambda: harness.started)
        [keeper] = harness.keeper_pids()
        await harness.worker.stop(end_keepers=False)
        os.kill(keeper, signal.SIGKILL)
        await wait_gone(keeper)
        assert marked_pids(harness.home)
        harness.forget()
        await harness.start()
        assert harness.inventories[0].held == []
        assert set(marked_pids(harness.home)) <= set(harness.keeper_pids())


LEAVE_GROUPS = "for f in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs; do echo $$ > $f; done 2>/dev/null"


async def test_what_has_left_its_control_groups_is_ended_with_its_keeper(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sh", "-c", f"{LEAVE_GROUPS}; echo left; sleep 600 & wait")
        [started] = await harness.until(lambda: harness.started)
        while (await harness.read(started)).data != b"left\n":
            await asyncio.sleep(0.01)
        os.kill(harness.keeper_pids()[0], signal.SIGKILL)
        await harness.until(lambda: harness.lost)
        assert set(marked_pids(harness.home)) <= set(harness.keeper_pids())


@LIMITS
async def test_what_hides_from_its_keeper_and_kills_it_ends_too(tmp_path: Path, cgroups: bool) -> None:
    """It has left its groups, its session and its environment, and its parents are dead."""
    pids = tmp_path / "pids"
    hide = f"env -i setsid /bin/sh -c '(env -i /bin/sleep 611 & echo $! > {pids}.new; mv {pids}.new {pids}) &'"
    bystander = subprocess.Popen(["sleep", "600"], env={}, start_new_session=True)
    try:
        async with open_harness(tmp_path, cgroups=cgroups) as harness:
            script = f"{LEAVE_GROUPS}; {hide}; until [ -e {pids} ]; do sleep 0.01; done; kill -9 $PPID; sleep 60"
            harness.order("/bin/sh", "-c", script)
            await harness.until(lambda: harness.lost)
            hidden = int(pids.read_text())
            assert not Path(f"/proc/{hidden}").exists()  # not even as a zombie
            assert (await harness.run("/bin/true", attempt=2)).exits == []
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


async def test_what_a_keeper_of_the_first_version_left_is_ended_by_its_own_mark(tmp_path: Path) -> None:
    """0.1.0 wrote no mark into its records; its tasks had SHUNTER_LANE."""
    home = tmp_path / "home"
    (home / "keepers").mkdir(parents=True)
    (home / "keepers" / "3.json").write_text('{"pid": 0, "groups": {}}')
    left = [
        subprocess.Popen(["sleep", "600"], env={"SHUNTER_LANE": f"{home}:{number}"}, start_new_session=True)
        for number in (3, 4)
    ]
    try:
        async with open_harness(tmp_path):
            assert left[0].wait(60) == -signal.SIGKILL
            assert left[1].poll() is None
    finally:
        left[1].kill()
        left[1].wait()


@LIMITS
async def test_a_keeper_that_does_not_answer_is_ended_rather_than_left_to_wake_up_later(
    tmp_path: Path, cgroups: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "ATTACH_MAX_S", 0.2)
    async with open_harness(tmp_path, cgroups=cgroups) as harness:
        harness.order("/bin/sleep", "60", last=3)
        await harness.until(lambda: harness.started)
        [keeper] = harness.keeper_pids()
        await harness.worker.stop(end_keepers=False)
        os.kill(keeper, signal.SIGSTOP)
        harness.forget()
        await harness.start()
        assert harness.inventories[0].held == []
        await wait_gone(keeper)
        assert (await harness.run("/bin/true", attempt=2)).exits == []


async def test_keepers_that_cannot_start_are_tried_again_and_not_too_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, tries = tmp_path / "broken.py", tmp_path / "tries"
    broken.write_text(f"open('{tries}', 'a').write('x')")
    works = launcher.KEEPER_PROGRAM
    monkeypatch.setattr(launcher, "KEEPER_PROGRAM", str(broken))
    monkeypatch.setattr(keeper_pool, "START_AGAIN_S", 0.3)
    async with open_harness(tmp_path) as harness:
        began_s = time.monotonic()
        harness.order("/bin/true")
        while not tries.exists() or len(tries.read_text()) < 3:
            await asyncio.sleep(0.01)
        assert len(tries.read_text()) <= 2 + (time.monotonic() - began_s) / keeper_pool.START_AGAIN_S
        monkeypatch.setattr(launcher, "KEEPER_PROGRAM", works)
        assert await harness.all_ended(1) == {0: 0}


async def test_a_keeper_is_deaf_to_the_signals_that_end_its_worker(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sh", "-c", f"while [ ! -e {tmp_path}/gate ]; do sleep 0.01; done; exit 4")
        await harness.until(lambda: harness.started)
        [keeper] = harness.keeper_pids()
        assert os.getsid(keeper) == keeper
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            os.kill(keeper, number)
        (tmp_path / "gate").touch()
        assert await harness.all_ended(1) == {0: 4}


async def test_keepers_and_tasks_end_when_their_home_is_gone(tmp_path: Path) -> None:
    harness = Harness(tmp_path / "home")
    await harness.start()
    harness.order("/bin/sleep", "60")
    await harness.until(lambda: harness.started)
    [keeper] = harness.keeper_pids()
    await harness.worker.stop(end_keepers=False)
    shutil.rmtree(harness.home)
    await wait_gone(keeper)
    assert marked_pids(harness.home) == []
    assert groups_left(harness.home) == []


async def test_a_keeper_with_nothing_to_run_and_no_worker_ends(tmp_path: Path) -> None:
    harness = Harness(tmp_path / "home", keeper_alone_max_s=0.2, keeper_results_max_s=0.5)
    await harness.start()
    harness.order("/bin/sh", "-c", f"sleep 0.5; echo done > {tmp_path}/mark")
    await harness.until(lambda: harness.started)
    [keeper] = harness.keeper_pids()
    await harness.worker.stop(end_keepers=False)
    await wait_gone(keeper)
    assert (tmp_path / "mark").exists()
    assert groups_left(harness.home) == []


async def test_a_keeper_without_a_worker_keeps_its_results(tmp_path: Path) -> None:
    harness = Harness(tmp_path / "home", keeper_alone_max_s=0.1)
    await harness.start()
    harness.order("/bin/sh", "-c", "sleep 0.3; exit 3")
    await harness.until(lambda: harness.started)
    [keeper] = harness.keeper_pids()
    await harness.worker.stop(end_keepers=False)
    await asyncio.sleep(1.0)
    assert harness.keeper_pids() == [keeper]
    harness.forget()
    await harness.start()
    assert await harness.all_ended(1) == {0: 3}
    await harness.close()


async def test_an_idle_keeper_ends_at_once_on_term_and_a_busy_one_when_its_task_is_done(tmp_path: Path) -> None:
    harness = Harness(tmp_path / "home", warm_keepers=2, keeper_alone_max_s=60.0, keeper_results_max_s=0.1)
    await harness.start()
    while len(harness.keeper_pids()) < 2:
        await asyncio.sleep(0.01)
    harness.order("/bin/sh", "-c", f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; touch {tmp_path}/done")
    await harness.until(lambda: harness.started)
    await harness.worker.stop(end_keepers=False)
    pids = harness.keeper_pids()
    begun = time.monotonic()
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    while len(harness.keeper_pids()) > 1:
        await asyncio.sleep(0.01)
    assert time.monotonic() - begun < 1.5  # an idle one looks around every 2 seconds
    [busy] = harness.keeper_pids()
    await asyncio.sleep(0.1)
    assert is_running(busy)
    (tmp_path / "go").touch()
    await wait_gone(busy)
    assert (tmp_path / "done").exists()


async def test_a_home_with_a_long_path_works(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30) / ("longer" * 10)
    folder.mkdir(parents=True)
    async with open_harness(folder) as harness:
        assert len(str(harness.home)) > 150
        assert (await harness.run("/bin/true")).exits == []
        await harness.restart()
        assert (await harness.run("/bin/true", first=1)).exits == []


async def test_keepers_beyond_the_warm_ones_retire_when_they_are_idle(tmp_path: Path) -> None:
    async with open_harness(tmp_path, warm_keepers=1, keeper_idle_max_s=0.1) as harness:
        harness.order("/bin/sleep", "0.2", last=2, width=3)
        await harness.all_ended(3)
        while len(harness.keeper_pids()) > 1:
            await asyncio.sleep(0.01)
        assert (await harness.run("/bin/true", job=2)).exits == []


async def test_only_as_many_keepers_are_started_as_the_limit_allows(tmp_path: Path) -> None:
    async with open_harness(tmp_path, keepers_max=2) as harness:
        harness.order("/bin/sleep", "0.05", last=9, width=10)
        await harness.all_ended(10)
        assert len(harness.keeper_pids()) <= 2
