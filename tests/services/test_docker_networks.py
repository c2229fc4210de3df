"""Addresses of containers: published ports on the node, the container's own address, or the host's network."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from shunter.model.job.spec import Port
from shunter.worker.runtimes.port import NotStarted
from tests.machine_limits import NO_BRIDGE
from tests.services.docker_daemon import TestDaemon
from tests.services.docker_harness import open_docker_harness, until

pytestmark = pytest.mark.services

SERVE = "cd /tmp; echo served > index.html; exec httpd -f -p $SHUNTER_PORT_WEB_UI"


@pytest.fixture
def bridge(docker: TestDaemon) -> TestDaemon:
    if not docker.bridge:
        pytest.skip(NO_BRIDGE)
    return docker


async def test_a_published_port_is_reached_on_the_node_and_at_the_container(tmp_path: Path, bridge: TestDaemon) -> None:
    port = Port("web-ui", 8080, free_port())
    async with open_docker_harness(tmp_path, bridge) as harness:
        running = await harness.launch("/bin/sh", "-c", SERVE, network="bridge", ports=(port,))
        assert await answer("127.0.0.1", port.host_port) == "served\n"
        host, number = running.address("web-ui")
        assert (host != "127.0.0.1", number) == (True, 8080)
        assert running.address("8080") == (host, number)
        assert await answer(host, number) == "served\n"
        with pytest.raises(LookupError, match="port other"):
            running.address("other")
        [again] = (await harness.restart()).values()
        assert again.address("web-ui") == (host, number)


async def test_a_container_on_the_host_s_network_serves_the_host_port(tmp_path: Path, docker: TestDaemon) -> None:
    port = free_port()
    async with open_docker_harness(tmp_path, docker) as harness:
        fields = {"network": "host", "ports": (Port("web-ui", port, port),), "env": {"SHUNTER_PORT_WEB_UI": str(port)}}
        running = await harness.launch("/bin/sh", "-c", SERVE, **fields)
        assert running.address("web-ui") == ("127.0.0.1", port)
        assert await answer("127.0.0.1", port) == "served\n"


async def test_a_port_that_is_taken_or_cannot_be_says_so(tmp_path: Path, bridge: TestDaemon) -> None:
    async with open_docker_harness(tmp_path, bridge) as harness:
        with pytest.raises(NotStarted, match="port web: a container without a network has no ports"):
            await harness.launch("/bin/true", ports=(Port("web", 80, 8080),))
        with socket.socket() as taken:
            taken.bind(("0.0.0.0", 0))
            taken.listen()
            number = taken.getsockname()[1]
            with pytest.raises(NotStarted, match=f"{number}.*in use"):
                await harness.launch("/bin/true", network="bridge", ports=(Port("web", 80, number),))


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("0.0.0.0", 0))
        return int(found.getsockname()[1])


async def answer(host: str, port: int) -> str:
    """What a web server says, once it is up."""

    async def ask() -> str:
        try:
            reader, writer = await asyncio.open_connection(host, port)
        except OSError:
            return ""
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        try:
            return (await reader.read()).decode().rpartition("\r\n\r\n")[2]
        except OSError:
            return ""
        finally:
            writer.close()

    return str(await until(ask))
