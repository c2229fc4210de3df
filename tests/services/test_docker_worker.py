"""Containers as a manager sees them: ordered, started, ended, stopped, found again, with nothing left behind."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from shunter.model.job.spec import Container, HealthCheck, Port
from shunter.model.protocol.worker_messages import Health, ReadStats, Report, Shutdown, Stop, StopRange
from shunter.worker.runtimes.docker.container_spec import HOME_LABEL
from shunter.worker.runtimes.docker.daemon import Daemon
from tests.machine_limits import NO_BRIDGE
from tests.services.docker_daemon import EXCEED_MEMORY, IMAGE, TestDaemon
from tests.services.docker_harness import until
from tests.services.worker_harness import Harness, open_harness

pytestmark = pytest.mark.services


@asynccontextmanager
async def docker_worker(folder: Path, docker: TestDaemon) -> AsyncIterator[Harness]:
    """A worker with the private daemon; afterwards no container of it may be left."""
    async with open_harness(folder, docker_host=docker.host) as harness:
        yield harness
    assert await containers(harness, docker) == []


async def containers(harness: Harness, docker: TestDaemon) -> list[dict[str, Any]]:
    daemon = Daemon(docker.host)
    try:
        return await daemon.list_by_label(f"{HOME_LABEL}={(harness.home / 'docker' / 'id').read_text()}")
    finally:
        await daemon.close()


def healths(harness: Harness) -> list[Health]:
    return [each for report in harness.messages if isinstance(report, Report) for each in report.health]


def fields(network: str = "none", **others: Any) -> dict[str, Any]:
    return {"runtime": "docker", "container": Container(IMAGE, network=network), **others}


async def test_a_container_is_started_followed_ended_and_removed(tmp_path: Path, docker: TestDaemon) -> None:
    async with docker_worker(tmp_path, docker) as harness:
        script = "echo $SHUNTER_JOB $SHUNTER_ATTEMPT; until [ -e /go ]; do sleep 0.02; done; echo end; exit 5"
        harness.order("/bin/sh", "-c", script, **fields())
        [started] = await harness.until(lambda: harness.started)

        async def has_said_something() -> bool:
            return (await harness.read(started)).data == b"job 1\n"

        await until(has_said_something)
        assert not (await harness.read(started)).eof
        daemon = Daemon(docker.host)
        [found] = await containers(harness, docker)
        await daemon.execute(found["Id"], ["/bin/touch", "/go"])
        await daemon.close()
        [ended] = await harness.until(lambda: harness.ended)
        assert (ended.exits, ended.how) == ([5], "")
        log = await harness.read(ended)
        assert (log.data, log.eof) == (b"job 1\nend\n", True)

        async def nothing_is_left() -> bool:
            return await containers(harness, docker) == []

        await until(nothing_is_left)
        assert (await harness.read(ended)).data == b"job 1\nend\n"


async def test_an_array_of_containers_keeps_to_its_width(tmp_path: Path, docker: TestDaemon) -> None:
    async with docker_worker(tmp_path, docker) as harness:
        harness.order("/bin/sh", "-c", "exit $SHUNTER_TASK_INDEX", last=5, width=2, **fields())
        assert await harness.all_ended(6) == {index: index for index in range(6)}
        moments = [(run.started_ms[0], 1) for run in harness.ended] + [(run.ended_ms[0], -1) for run in harness.ended]
        running = [sum(step for at, step in moments if at < moment) for moment, _ in moments]
        assert max(running) <= 2


async def test_a_container_that_is_stopped_hears_term_first(tmp_path: Path, docker: TestDaemon) -> None:
    async with docker_worker(tmp_path, docker) as harness:
        script = "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done"
        harness.order("/bin/sh", "-c", script, **fields())
        [started] = await harness.until(lambda: harness.started)

        async def is_up() -> bool:
            return (await harness.read(started)).data == b"up\n"

        await until(is_up)
        harness.worker.received(Stop(harness.epoch, [StopRange(1, 0, 0, 0, 20.0)]))
        [ended] = await harness.until(lambda: harness.ended)
        assert (ended.exits, ended.how) == ([3], "stopped")
        assert (await harness.read(ended)).data == b"up\nbye\n"


async def test_time_and_memory_limits_are_told_as_such(tmp_path: Path, docker: TestDaemon) -> None:
    async with docker_worker(tmp_path, docker) as harness:
        late = await harness.run("/bin/sleep", "60", **fields(run_timeout_s=0.3, stop_grace_s=0.1))
        assert (late.how, late.detail) == ("timeout", "exceeded its timeout of 0.3s")
        large = await harness.run(*EXCEED_MEMORY, first=1, **fields(memory_bytes=32 * 2**20))
        assert (large.exits, large.how, large.detail) == ([137], "memory", "memory limit of 32Mi")


async def test_a_payload_and_an_image_that_is_missing(tmp_path: Path, docker: TestDaemon) -> None:
    async with docker_worker(tmp_path, docker) as harness:
        ended = await harness.run("/bin/sh", "-c", "cat $SHUNTER_PAYLOAD", **fields(payload=bytes(range(256))))
        assert (await harness.read(ended)).data == bytes(range(256))
        missing = Container("shunter-missing:1", pull="never")
        ended = await harness.run("/bin/true", first=1, runtime="docker", container=missing)
        assert (ended.how, ended.exits) == ("error", [126])
        assert ended.detail.startswith("image shunter-missing:1 is not on the node")


async def test_a_port_is_chosen_told_and_checked(tmp_path: Path, docker: TestDaemon) -> None:
    if not docker.bridge:
        pytest.skip(NO_BRIDGE)
    async with docker_worker(tmp_path, docker) as harness:
        web = Port("web", 8080)
        check = HealthCheck("http", path="/", port="web", interval_s=0.1, failures=3, start_grace_s=30.0)
        script = "cd /tmp; echo fine > index.html; exec httpd -f -p $SHUNTER_PORT_WEB"
        harness.order("/bin/sh", "-c", script, **fields("bridge", ports=(web,), health=(check,), stop_grace_s=0.0))
        [started] = await harness.until(lambda: harness.started)
        [health] = await harness.until(lambda: healths(harness))
        assert (health.is_healthy, health.index) == (True, 0)
        with socket.create_connection(("127.0.0.1", started.ports["web"]), 10) as connection:
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
        bad = HealthCheck("command", command=("/bin/false",), interval_s=0.1, failures=2)
        ended = await harness.run("/bin/sleep", "60", first=1, reservation=2, **fields(health=(bad,), stop_grace_s=0.0))
        assert ended.how == "unhealthy"


async def test_statistics_tell_of_containers(tmp_path: Path, docker: TestDaemon) -> None:
    async with docker_worker(tmp_path, docker) as harness:
        harness.order("/bin/sleep", "60", **fields(stop_grace_s=0.0))
        await harness.until(lambda: harness.started)
        harness.worker.received(ReadStats(1))
        [task] = (await harness.until(lambda: harness.stats))[0].tasks
        assert (task.job, task.index, task.attempt) == (1, 0, 1)
        assert task.processes >= 1
        assert task.memory_bytes > 0


async def test_a_worker_that_restarts_finds_its_containers_and_their_results(
    tmp_path: Path, docker: TestDaemon
) -> None:
    async with docker_worker(tmp_path, docker) as harness:
        harness.acknowledges = False
        harness.order("/bin/sh", "-c", "echo short; exit 4", **fields())
        [short] = await harness.until(lambda: harness.ended)
        script = "echo long; until [ -e /go ]; do sleep 0.02; done; echo end; exit 6"
        harness.order("/bin/sh", "-c", script, first=1, reservation=2, **fields())
        await harness.until(lambda: [each for each in harness.started if each.index == 1])
        harness.acknowledges = True
        await harness.restart()
        [inventory] = harness.inventories
        assert [(ended.first, ended.exits) for ended in inventory.ended] == [(0, [4])]
        assert [(held.first, held.running) for held in inventory.held] == [(1, True)]
        assert (await harness.read(short)).data == b"short\n"
        [found] = await containers(harness, docker)
        daemon = Daemon(docker.host)
        await daemon.execute(found["Id"], ["/bin/touch", "/go"])
        await daemon.close()
        await harness.until(lambda: [each for each in harness.ended if each.first == 1])
        ended = harness.ended[-1]
        assert ended.exits == [6]
        assert (await harness.read(ended)).data == b"long\nend\n"


async def test_a_cluster_that_stops_leaves_no_container_and_says_that_the_task_is_lost(
    tmp_path: Path, docker: TestDaemon
) -> None:
    async with docker_worker(tmp_path, docker) as harness:
        harness.order("/bin/sleep", "60", last=1, width=2, **fields(stop_grace_s=0.2))
        await harness.until(lambda: len(harness.started) == 2)
        harness.worker.received(Shutdown(stop_tasks=True))
        await harness.worker.finished.wait()
        assert {(lost.first, lost.reason) for lost in harness.lost} == {(0, "cluster stopped"), (1, "cluster stopped")}
