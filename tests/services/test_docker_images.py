"""Image pulls: once per image, reported in the log, retried after temporary failures only."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from shunter.worker.runtimes.docker.daemon import Daemon
from shunter.worker.runtimes.docker.images import PULLS_MAX, TRIES_MAX, Images
from shunter.worker.runtimes.port import NotStarted
from tests.services.docker_daemon import TestDaemon
from tests.services.docker_harness import PATIENCE_S, open_docker_harness, until
from tests.services.docker_registry import registry

pytestmark = pytest.mark.services


async def test_a_missing_image_is_pulled_and_the_log_tells(tmp_path: Path, docker: TestDaemon) -> None:
    with registry("first") as server:
        async with open_docker_harness(tmp_path, docker) as harness:
            outcome, out, err = await harness.run("/bin/cat", "/mark", image=server.image)
            assert (outcome.exit_code, out) == (0, b"first")
            assert err.startswith(f"[shunter: image {server.image}: pulling]\n".encode())
            assert b": pulled in " in err
            requested_paths = server.requested_paths
            _, out, err = await harness.run("/bin/cat", "/mark", image=server.image)
            assert (out, err, server.requested_paths) == (b"first", b"", requested_paths)


async def test_pull_always_asks_the_registry_again_and_never_does_not(tmp_path: Path, docker: TestDaemon) -> None:
    with registry("policy") as server:
        async with open_docker_harness(tmp_path, docker) as harness:
            with pytest.raises(NotStarted, match="is not on the node, and pull is never"):
                await harness.launch("/bin/true", image=server.image, pull="never")
            assert server.requested_paths == 0
            await harness.run("/bin/true", image=server.image)
            requested_paths = server.requested_paths
            assert (await harness.run("/bin/true", image=server.image, pull="always"))[0].exit_code == 0
            assert server.requested_paths > requested_paths


async def test_output_after_a_pull_survives_a_restart_of_the_worker(tmp_path: Path, docker: TestDaemon) -> None:
    with registry("restart") as server:
        async with open_docker_harness(tmp_path, docker) as harness:
            await harness.launch("/bin/sh", "-c", "echo task >&2; exit 1", image=server.image)
            [running] = (await harness.restart()).values()
            assert (await running.ended()).exit_code == 1
            lines = harness.read("stderr").splitlines()
            assert (lines[0].endswith(b"pulling]"), lines[-1], lines.count(b"task")) == (True, b"task", 1)


async def test_a_failure_that_may_pass_is_tried_again_with_a_growing_delay(docker: TestDaemon) -> None:
    told: list[str] = []
    daemon = Daemon(docker.host)
    with registry("again") as server:
        server.failures = 2
        await Images(daemon, delay_s=0.05).pull(server.image, told.append)
        failed = [text for text in told if "failed" in text]
        assert failed
        assert "503" in failed[0]
        assert all(server.image in text for text in told)
        assert "pulled in" in told[-1]
        server.failures = 1000
        with pytest.raises(NotStarted, match=f"image {server.image} cannot be pulled, tried {TRIES_MAX} times"):
            await Images(daemon, delay_s=0.01).pull(server.image, told.append)
    await daemon.close()


async def test_an_image_that_no_registry_has_fails_at_once(tmp_path: Path, docker: TestDaemon) -> None:
    with registry() as server:
        image = f"127.0.0.1:{server.port}/nothing:7"
        async with open_docker_harness(tmp_path, docker) as harness:
            with pytest.raises(NotStarted, match=f"image {image} cannot be pulled: .*unknown"):
                await harness.launch("/bin/true", image=image)
        assert server.requested_paths <= 3  # the daemon itself asks in several ways, once


async def test_all_that_wait_for_an_image_share_one_pull(docker: TestDaemon) -> None:
    told: list[list[str]] = [[], [], []]
    daemon = Daemon(docker.host)
    images = Images(daemon)
    with registry("shared") as server:
        await asyncio.gather(*(images.pull(server.image, each.append) for each in told))
    assert [sum("pulling" in text for text in each) for each in told] == [1, 1, 1]
    assert server.requested_paths <= 3
    await images.close()
    await daemon.close()


async def test_who_joins_a_pull_late_hears_how_far_it_is(docker: TestDaemon) -> None:
    first: list[str] = []
    late: list[str] = []
    daemon = Daemon(docker.host)
    images = Images(daemon)
    with registry("late") as server:
        server.is_serving.clear()
        pulling = asyncio.ensure_future(images.pull(server.image, first.append))
        await until(lambda: first)
        joining = asyncio.ensure_future(images.pull(server.image, late.append))
        await until(lambda: late)
        assert late == first
        server.is_serving.set()
        await asyncio.gather(pulling, joining)
    await images.close()
    await daemon.close()


async def test_a_pull_that_nobody_waits_for_any_longer_keeps_no_other_from_its_turn(docker: TestDaemon) -> None:
    daemon = Daemon(docker.host)
    images = Images(daemon)
    with registry("hung") as server, registry("other") as other:
        server.is_serving.clear()
        hung = [f"127.0.0.1:{server.port}/pulled:1-{number}" for number in range(PULLS_MAX)]
        told: list[str] = []
        pulls = [asyncio.ensure_future(images.pull(image, told.append)) for image in hung]
        await until(lambda: len(told) == PULLS_MAX)
        for pull in pulls:
            pull.cancel()
        await asyncio.gather(*pulls, return_exceptions=True)
        async with asyncio.timeout(PATIENCE_S):
            await images.pull(other.image, told.append)
        server.is_serving.set()
        await images.pull(hung[0], told.append)  # somebody wants it after all
    await images.close()
    await daemon.close()


async def test_a_registry_that_falls_silent_is_asked_again(docker: TestDaemon) -> None:
    told: list[str] = []
    daemon = Daemon(docker.host)
    with registry("silent") as server:
        server.is_serving.clear()
        with pytest.raises(NotStarted, match=f"tried {TRIES_MAX} times: no data for 0.3 s"):
            await Images(daemon, delay_s=0.01, silent_max_s=0.3).pull(server.image, told.append)
        assert sum("try" in text for text in told) == TRIES_MAX - 1
    await daemon.close()


async def test_nothing_is_kept_of_an_attempt_that_did_not_start(tmp_path: Path, docker: TestDaemon) -> None:
    with registry() as server:
        async with open_docker_harness(tmp_path, docker) as harness:
            with pytest.raises(NotStarted):
                await harness.launch("/bin/true", image=f"127.0.0.1:{server.port}/nothing:7")
            assert [path.name for path in (harness.settings.home / "docker").iterdir()] == ["id"]
