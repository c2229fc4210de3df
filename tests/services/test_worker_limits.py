"""Limits of one task: memory, processor, disk, time; by control groups, and by rlimits where there are none."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from shunter.model.protocol.worker_messages import Hello
from tests.machine_limits import NO_CGROUPS
from tests.services.worker_harness import Harness, open_harness

pytestmark = pytest.mark.services

MI = 2**20
EAT = "blocks = []\nwhile True:\n    blocks.append(bytearray(4 * 2**20))"
SPIN = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"


def limits_of(harness: Harness) -> str:
    hello = harness.messages[0]
    assert isinstance(hello, Hello)
    return hello.attributes["limits"]


async def test_a_task_that_passes_its_memory_limit_is_ended_and_its_keeper_is_not(tmp_path: Path) -> None:
    """D-26: by control groups."""
    async with open_harness(tmp_path) as harness:
        if limits_of(harness) == "rlimits":
            pytest.skip(NO_CGROUPS)
        await harness.run("/bin/true", first=9)
        keepers = harness.keeper_pids()
        ended = await harness.run(sys.executable, "-c", EAT, memory_bytes=64 * MI)
        assert (ended.how, ended.detail, ended.exits) == ("memory", "memory limit of 64Mi", [137])
        assert harness.keeper_pids() == keepers
        fine = await harness.run(sys.executable, "-c", "bytearray(40 * 2**20)", memory_bytes=64 * MI, first=1)
        assert (fine.how, fine.exits) == ("", [])
        free = await harness.run(sys.executable, "-c", "bytearray(200 * 2**20)", first=2)
        assert (free.how, free.exits) == ("", [])


async def test_without_control_groups_memory_is_limited_by_rlimits_and_the_hello_says_so(tmp_path: Path) -> None:
    """D-26: by rlimits."""
    async with open_harness(tmp_path, cgroups=False) as harness:
        assert limits_of(harness) == "rlimits"
        ended = await harness.run(sys.executable, "-c", f"import time; time.sleep(0.2)\n{EAT}", memory_bytes=64 * MI)
        assert ended.exits == [1]
        assert b"MemoryError" in (await harness.read(ended, "stderr")).data


async def test_a_task_gets_no_more_processor_than_it_asked_for(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        if limits_of(harness) == "rlimits":
            pytest.skip(NO_CGROUPS)
        began = time.monotonic()
        await harness.run(sys.executable, "-S", "-c", SPIN, cpu_milli=200)
        # 0.3 s of processor time at a fifth of a core, the keeper's own allowance included, less the first period.
        assert time.monotonic() - began > 0.8


async def test_a_file_larger_than_the_disk_limit_ends_the_task(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        ended = await harness.run("/bin/sh", "-c", "head -c 3000000 /dev/zero > big", disk_bytes=MI)
        assert (ended.how, ended.detail) == ("disk", "disk limit of 1Mi")


async def test_many_small_files_beyond_the_disk_limit_end_the_task_too(tmp_path: Path) -> None:
    script = "for i in 1 2 3 4 5 6 7 8; do head -c 500000 /dev/zero > $i; done; sleep 60"
    async with open_harness(tmp_path) as harness:
        ended = await harness.run("/bin/sh", "-c", script, disk_bytes=MI)
        assert (ended.how, ended.detail) == ("disk", "disk limit of 1Mi")
        await harness.run("/bin/true", first=1)
        assert not list((harness.home / "work").glob("*/scratch/*"))


async def test_a_task_that_runs_too_long_is_ended(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        ended = await harness.run("/bin/sleep", "60", run_timeout_s=0.2)
        assert (ended.how, ended.detail, ended.exits) == ("timeout", "exceeded its timeout of 0.2s", [128 + 15])
        took_ms = ended.ended_ms[0] - ended.started_ms[0]
        assert took_ms >= 190


async def test_a_task_that_never_stops_writing_runs_and_times_out_like_any_other(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sh", "-c", "while :; do echo line; done", run_timeout_s=0.3, log_max_bytes=10_000)
        await harness.until(lambda: harness.started)
        await harness.all_ended(1)
        assert harness.ended[0].how == "timeout"
        assert (await harness.read(harness.ended[0])).truncated


async def test_a_task_that_ignores_the_signal_of_its_timeout_is_killed_after_the_grace(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        script = "trap '' TERM; while :; do sleep 60; done"
        ended = await harness.run("/bin/sh", "-c", script, run_timeout_s=0.1, stop_grace_s=0.1)
        assert (ended.how, ended.exits) == ("timeout", [128 + 9])


async def test_a_task_that_cannot_start_more_processes_says_that_it_reached_the_limit(tmp_path: Path) -> None:
    forks = "import os, time\nwhile True:\n    if os.fork() == 0: time.sleep(60)"
    async with open_harness(tmp_path, task_pids_max=20) as harness:
        if limits_of(harness) == "rlimits":
            pytest.skip(NO_CGROUPS)
        ended = await harness.run(sys.executable, "-c", forks)
        limit = "it reached the limit of 20 processes and threads (worker.task_pids_max)"
        assert (ended.how, ended.detail, ended.exits) == ("", f"exit code 1; {limit}", [1])
        quiet = await harness.run("/bin/sh", "-c", "sleep 0.1; exit 3", first=1)
        assert (quiet.how, quiet.detail, quiet.exits) == ("", "", [3])
