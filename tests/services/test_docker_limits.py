"""Limits of containers, and how containers end when they exceed one or are stopped."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path

import pytest

from tests.services.docker_daemon import EXCEED_MEMORY, IMAGE, TestDaemon
from tests.services.docker_harness import open_docker_harness, until

pytestmark = pytest.mark.services


async def test_a_container_over_its_memory_is_killed_and_says_so(tmp_path: Path, docker: TestDaemon) -> None:
    async with open_docker_harness(tmp_path, docker) as harness:
        outcome, _, _ = await harness.run(*EXCEED_MEMORY, memory_bytes=32 * 2**20)
        assert (outcome.exit_code, outcome.how, outcome.detail) == (137, "memory", "memory limit of 32Mi")
        outcome, _, _ = await harness.run("/bin/sh", "-c", "kill -9 $$", memory_bytes=32 * 2**20)
        maybe = "exit code 137: killed, perhaps because it exceeded its memory limit of 32Mi"
        assert (outcome.exit_code, outcome.how, outcome.detail) == (137, "", maybe)
        outcome, _, _ = await harness.run("/bin/sh", "-c", "kill -9 $$")
        assert (outcome.exit_code, outcome.how, outcome.detail) == (137, "", "")


async def test_cpu_memory_and_processes_are_limited_by_the_kernel(tmp_path: Path, docker: TestDaemon) -> None:
    """D-26: by a container."""
    async with open_docker_harness(tmp_path, docker) as harness:
        await harness.launch("/bin/sleep", "60", cpu_milli=250, memory_bytes=64 * 2**20, pids_max=20)
        limits = (await harness.inspect())["HostConfig"]
        assert limits["NanoCpus"] == 250_000_000
        assert (limits["Memory"], limits["MemorySwap"], limits["PidsLimit"]) == (64 * 2**20, 64 * 2**20, 20)


async def test_more_processors_than_there_are_is_no_limit(tmp_path: Path, docker: TestDaemon) -> None:
    async with open_docker_harness(tmp_path, docker) as harness:
        assert (await harness.run("/bin/true", cpu_milli=1_000_000))[0].exit_code == 0


async def test_a_container_cannot_have_more_processes_than_its_limit(tmp_path: Path, docker: TestDaemon) -> None:
    async with open_docker_harness(tmp_path, docker) as harness:
        script = "for i in $(seq 40); do sleep 60 & done; echo all"
        outcome, out, err = await harness.run("/bin/sh", "-c", script, pids_max=20)  # starting a container takes some
        assert (outcome.exit_code != 0, out) == (True, b"")
        assert b"fork" in err


async def test_a_container_that_fills_the_disk_is_ended_and_says_so(tmp_path: Path, docker: TestDaemon) -> None:
    async with open_docker_harness(tmp_path, docker) as harness:
        script = "dd if=/dev/zero of=/file bs=1M count=20 2>/dev/null; sleep 60"
        outcome, _, _ = await harness.run("/bin/sh", "-c", script, disk_bytes=10 * 2**20)
        assert (outcome.how, outcome.detail) == ("disk", "disk limit of 10Mi")


async def test_a_signal_reaches_the_task_and_kill_ends_whatever_it_does(tmp_path: Path, docker: TestDaemon) -> None:
    async with open_docker_harness(tmp_path, docker) as harness:
        running = await harness.launch("/bin/sh", "-c", "trap 'exit 7' TERM; echo up; while :; do sleep 0.1; done")
        await until(lambda: harness.read() == b"up\n")
        await running.signal(signal.SIGTERM)
        assert (await running.ended()).exit_code == 7
        deaf = await harness.launch("/bin/sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.1; done")
        await until(lambda: harness.read() == b"up\n")
        await deaf.signal(signal.SIGTERM)
        await deaf.signal(signal.SIGKILL)
        outcome = await deaf.ended()
        assert (outcome.exit_code, outcome.how) == (137, "")
        await deaf.signal(signal.SIGKILL)  # it has ended: nothing happens


async def test_an_image_may_name_the_signal_that_ends_it(tmp_path: Path, docker: TestDaemon) -> None:
    config = {"Image": IMAGE, "Cmd": ["/bin/true"], "StopSignal": "SIGUSR1"}
    pattern = (await docker.ask("POST", "containers/create", config))["Id"]
    await docker.ask("POST", "commit", {}, container=pattern, repo="shunter-usr1", tag="1")
    await docker.ask("DELETE", f"containers/{pattern}")
    script = "trap 'exit 3' USR1; trap 'exit 4' TERM; echo up; while :; do sleep 0.1; done"
    async with open_docker_harness(tmp_path, docker) as harness:
        running = await harness.launch("/bin/sh", "-c", script, image="shunter-usr1:1")
        await until(lambda: harness.read() == b"up\n")
        await running.signal(signal.SIGTERM)
        assert (await running.ended()).exit_code == 3


async def test_usage_counts_processor_time_memory_and_processes(tmp_path: Path, docker: TestDaemon) -> None:
    async with open_docker_harness(tmp_path, docker) as harness:
        running = await harness.launch("/bin/sh", "-c", "(while :; do :; done) & sleep 60")

        async def is_busy() -> bool:
            usage = await running.usage()
            return usage is not None and usage.cpu_s > 0.05 and usage.memory_bytes > 0 and usage.processes >= 3

        await until(is_busy)
        await running.signal(signal.SIGKILL)
        await running.ended()


async def test_a_command_runs_beside_the_task_and_is_ended_when_it_takes_too_long(
    tmp_path: Path, docker: TestDaemon
) -> None:
    async with open_docker_harness(tmp_path, docker) as harness:
        running = await harness.launch("/bin/sh", "-c", "echo inside > /tmp/file; sleep 60")
        code, output = await running.execute(["/bin/sh", "-c", "cat /tmp/file; echo bad >&2; exit 4"], 30.0)
        assert (code, sorted(output.split())) == (4, ["bad", "inside"])
        begun = time.monotonic()
        with pytest.raises(TimeoutError):
            await running.execute(["/bin/sleep", "77"], 0.5)
        assert time.monotonic() - begun < 20

        async def only_the_task_is_left() -> bool:
            _, listed = await running.execute(["/bin/ps"], 30.0)
            return "sleep 77" not in listed

        await until(only_the_task_is_left)
        code, output = await running.execute(["/bin/not-there"], 30.0)
        assert (code, "not-there" in output) == (126, True)
        await running.signal(signal.SIGKILL)
        await running.ended()
        with pytest.raises(OSError, match="is not running"):
            await running.execute(["/bin/true"], 30.0)


async def test_a_launch_that_is_cancelled_leaves_nothing(tmp_path: Path, docker: TestDaemon) -> None:
    async with open_docker_harness(tmp_path, docker) as harness:
        for pause_s in (0.0, 0.02, 0.1, 0.2):
            launching = asyncio.ensure_future(harness.runtime.launch(harness.prepare("/bin/sleep", "60")))
            await asyncio.wait([launching], timeout=pause_s)
            launching.cancel()
            await asyncio.gather(launching, return_exceptions=True)
            if not launching.cancelled():
                harness.running.append(launching.result())
                continue

            async def nothing_is_left() -> bool:
                return len(await harness.containers()) == len(harness.running)

            await until(nothing_is_left)
