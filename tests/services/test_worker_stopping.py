"""Stops of tasks: gracefully, then by kill, with all their processes; and the return of tasks that never started."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from shunter.model.protocol.worker_messages import Recall, Returned, Shutdown, Stop, StopRange
from tests.services.worker_harness import Harness, open_harness, wait_gone

pytestmark = pytest.mark.services

LIMITS = pytest.mark.parametrize("cgroups", [True, False], ids=["cgroups", "rlimits"])


def stop(harness: Harness, first: int = 0, last: int = 0, grace_s: float = 5.0) -> None:
    harness.worker.received(Stop(harness.epoch, [StopRange(1, 0, first, last, grace_s)]))


async def written(path: Path, count: int = 1) -> list[int]:
    """Process ids that tasks write into a file, a line each."""
    while not path.exists() or len(path.read_text().splitlines()) < count:
        await asyncio.sleep(0.005)
    return [int(line) for line in path.read_text().split()]


async def test_a_stopped_task_may_tidy_up_and_keeps_its_exit_code(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sh", "-c", "trap 'echo bye; exit 7' TERM; echo $$ > pid; while :; do sleep 60; done")
        started = (await harness.until(lambda: harness.started))[0]
        await written(next((harness.home / "work").glob("*/scratch")) / "pid")
        stop(harness)
        await harness.all_ended(1)
        assert (harness.ended[0].how, harness.ended[0].exits) == ("stopped", [7])
        assert (await harness.read(started)).data == b"bye\n"


@LIMITS
async def test_a_tree_that_ignores_term_is_killed_to_the_last_process(tmp_path: Path, cgroups: bool) -> None:
    pids = tmp_path / "pids"
    stubborn = f"trap '' TERM; echo $$ >> {pids}; while :; do sleep 60; done"
    script = f"setsid sh -c '{stubborn.replace(chr(39), chr(34))}' & (setsid sleep 70 & echo $! >> {pids}) ; {stubborn}"
    async with open_harness(tmp_path, cgroups=cgroups) as harness:
        harness.order("/bin/sh", "-c", script)
        found = await written(pids, 3)
        await harness.until(lambda: harness.started)
        stop(harness, grace_s=0.1)
        await harness.all_ended(1)
        assert (harness.ended[0].how, harness.ended[0].exits) == ("stopped", [128 + 9])
        for pid in found:
            await wait_gone(pid)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may leave a control group")
async def test_a_process_that_left_its_control_group_ends_too(tmp_path: Path) -> None:
    """A task of root can write to the groups, as container tools do."""
    pids = tmp_path / "pids"
    leave = "for f in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs; do echo $$ > $f; done 2>/dev/null"
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sh", "-c", f"{leave}; trap '' TERM; echo $$ >> {pids}; while :; do sleep 0.2; done")
        [pid] = await written(pids)
        await harness.until(lambda: harness.started)
        stop(harness, grace_s=0.1)
        await harness.all_ended(1)
        assert (harness.ended[0].how, harness.ended[0].exits) == ("stopped", [128 + 9])
        await wait_gone(pid)


@LIMITS
async def test_daemons_that_a_task_leaves_behind_end_with_it(tmp_path: Path, cgroups: bool) -> None:
    pids = tmp_path / "pids"
    daemon = f"(setsid sh -c \"echo \\$\\$ >> {pids}; trap '' TERM HUP; while :; do sleep 60; done\" &)"
    async with open_harness(tmp_path, cgroups=cgroups) as harness:
        script = f"{daemon}; {daemon}; {daemon}; until [ $(wc -l < {pids}) = 3 ]; do sleep 0.01; done"
        ended = await harness.run("/bin/sh", "-c", script)
        assert (ended.how, ended.exits) == ("", [])
        for pid in await written(pids, 3):
            await wait_gone(pid)


async def test_what_forks_faster_than_it_is_killed_ends_too(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        # Every child forks its successor and ends: no list of processes is ever complete.
        relay = "sh -c 'relay() { relay_next & exit; }; relay_next() { relay; }; relay' &"
        ended = await harness.run("/bin/sh", "-c", f"{relay} {relay} {relay} sleep 0.2")
        assert ended.exits == []
        assert (await harness.run("/bin/true", first=1)).exits == []


async def test_stopping_at_once_kills_without_asking(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.05; done")
        await harness.until(lambda: harness.started)
        stop(harness, grace_s=0.0)
        await harness.all_ended(1)
        assert (harness.ended[0].how, harness.ended[0].exits) == ("stopped", [128 + 9])


async def test_a_second_stop_can_shorten_the_grace(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sh", "-c", "trap '' TERM; while :; do sleep 60; done")
        await harness.until(lambda: harness.started)
        stop(harness, grace_s=3600.0)
        stop(harness, grace_s=0.1)
        await harness.all_ended(1)
        assert harness.ended[0].exits == [128 + 9]


async def test_stopping_a_range_returns_what_has_not_started_and_ends_what_runs(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sleep", "60", last=9)
        await harness.until(lambda: harness.started)
        stop(harness, last=7, grace_s=0.5)
        await harness.until(lambda: harness.ended and harness.returned)
        assert [(ended.first, ended.how) for ended in harness.ended] == [(0, "stopped")]
        assert sorted(indexes(harness.returned)) == [1, 2, 3, 4, 5, 6, 7]
        await harness.until(lambda: len(harness.started) == 2)
        assert harness.started[1].index == 8
        stop(harness, first=8, last=9, grace_s=0.0)
        await harness.all_ended(2)


async def test_a_recall_returns_all_that_has_not_started_from_the_worker_and_from_keepers(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        # Short tasks first, so that the keeper's window is wide when the long one comes.
        harness.order("/bin/sh", "-c", "[ $SHUNTER_TASK_INDEX -lt 200 ] || exec sleep 60", last=999, reservation=4)
        await harness.until(lambda: harness.started and harness.started[-1].index >= 200)
        running = harness.started[-1].index
        harness.worker.received(Recall(harness.epoch, [4]))
        await harness.until(lambda: len(indexes(harness.returned)) == 999 - running)
        assert sorted(indexes(harness.returned)) == list(range(running + 1, 1000))
        stop(harness, last=999, grace_s=0.0)
        await harness.all_ended(running + 1)


async def test_when_the_cluster_stops_running_tasks_are_lost_not_failed(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sleep", "60", last=3)
        await harness.until(lambda: harness.started)
        harness.worker.received(Shutdown(stop_tasks=True))
        await harness.worker.finished.wait()
        assert [(lost.first, lost.last, lost.reason) for lost in harness.lost] == [(0, 0, "cluster stopped")]
        assert sorted(indexes(harness.returned)) == [1, 2, 3]
        assert not harness.ended
        assert harness.goodbyes
        assert not harness.keeper_pids()


def indexes(returned: list[Returned]) -> list[int]:
    return [index for each in returned for index in range(each.first, each.last + 1)]
