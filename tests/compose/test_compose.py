"""deploy/compose, as a user runs it, on a private Docker daemon: the cluster comes up, survives its leader, and goes
away."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from shunter import Client, connect
from shunter.model.errors import ShunterError
from shunter.model.rest.manager_views import LEADER
from tests.compose.images import IMAGES, REPOSITORY, build_images
from tests.etcd_servers import free_ports
from tests.manager_cluster import wait_for
from tests.services import docker_daemon
from tests.services.docker_daemon import TestDaemon

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

CONTEXT = (".dockerignore", "src", "scripts", "deploy", "requirements.lock", "pyproject.toml", "README.md")
MANAGERS, WORKERS, SERVERS = ("m1", "m2", "m3"), ("w1", "w2", "w3"), ("postgres", "etcd", "redis")
IMAGE_USER = 10001
UP_MAX_S = 300.0
COMMAND_MAX_S = 1800.0
SECRETS = ("token", "worker-token", "postgres-password", "redis-password")
PORTS = {"postgres": 5432, "etcd": 2379, "redis": 6379}
# Connects to each HOST:PORT of its arguments, and prints those that accept.
CONNECT = """
import socket, sys
for place in sys.argv[1:]:
    host, _, port = place.partition(":")
    try:
        socket.create_connection((host, int(port)), timeout=3).close()
        print(place, flush=True)
    except OSError:
        pass
"""


class ComposeCluster:
    def __init__(self, daemon: TestDaemon, folder: Path) -> None:
        self.folder = folder / "deploy" / "compose"
        ports = dict(zip(("M1_PORT", "M2_PORT", "M3_PORT"), map(str, free_ports(3)), strict=True))
        self.url = ",".join(f"http://127.0.0.1:{port}" for port in ports.values())
        self._environment = {**os.environ, **IMAGES, **ports, "DOCKER_HOST": daemon.host, "DOCKER_BUILDKIT": "0"}

    def compose(self, *words: str) -> str:
        return self._run([*find_compose(), *words])

    def inspect(self, service: str) -> dict[str, object]:
        id = self.compose("ps", "--quiet", service).strip()
        [found] = json.loads(self._run(["docker", "inspect", id]))
        return dict(found)

    def addresses(self, service: str) -> list[str]:
        settings = self.inspect(service)["NetworkSettings"]
        assert isinstance(settings, dict)
        return [network["IPAddress"] for network in settings["Networks"].values()]

    def count(self, *words: str) -> int:
        """Of what `docker` lists."""
        return len(self._run(["docker", *words]).split())

    def client(self) -> Client:
        token = (self.folder / "secrets" / "token").read_text()
        return connect(self.url, token, patience_s=60)

    def _run(self, words: list[str]) -> str:
        done = subprocess.run(
            words, cwd=self.folder, env=self._environment, capture_output=True, text=True, timeout=COMMAND_MAX_S
        )
        assert done.returncode == 0, f"{' '.join(words)}: {done.stdout[-2000:]} {done.stderr[-4000:]}"
        return done.stdout


def find_compose() -> list[str]:
    """The plugin of Docker's client, or the older program."""
    if subprocess.run(["docker", "compose", "version"], capture_output=True).returncode == 0:
        return ["docker", "compose"]
    return ["docker-compose"]


@pytest.fixture(scope="module")
def daemon() -> Iterator[TestDaemon]:
    missing = [name for name in ("debootstrap", "docker-compose") if shutil.which(name) is None]
    if reason := docker_daemon.skip_reason() or (missing and f"{', '.join(missing)} not found: make setup-compose"):
        pytest.skip(reason)
    daemon = docker_daemon.start()
    try:
        yield daemon
    finally:
        docker_daemon.end(daemon)


@pytest.fixture
def cluster(daemon: TestDaemon, tmp_path: Path) -> Iterator[ComposeCluster]:
    """A clone of what the image needs, so that secrets and caches of this checkout are left alone."""
    images, clone = tmp_path / "images", tmp_path / "clone"
    images.mkdir()
    clone.mkdir()
    build_images(daemon, images)
    for name in CONTEXT:
        copy = shutil.copytree if (REPOSITORY / name).is_dir() else shutil.copy
        copy(REPOSITORY / name, clone / name)
    shutil.rmtree(clone / "deploy" / "compose" / "secrets", ignore_errors=True)
    subprocess.run(["sh", str(clone / "deploy" / "compose" / "secrets.sh")], check=True)
    running = ComposeCluster(daemon, clone)
    try:
        yield running
    finally:
        running.compose("down", "--volumes")


def test_the_cluster_survives_its_leader_and_goes_away(cluster: ComposeCluster) -> None:
    cluster.compose("up", "--detach")
    with cluster.client() as client:
        wait_for(lambda: is_complete(client), "3 managers and 3 workers", UP_MAX_S)
        run = client.run(["/bin/sh", "-c", "id -u; hostname"], count=6)
        assert run.wait(60).counts == {"succeeded": 6}
        assert f"{IMAGE_USER}\n" in "".join(run.logs())
        expect_secrets_stay_secret(cluster)
        expect_servers_out_of_reach(cluster, client)
        assert "cmdstat_evalsha" in ask_redis(cluster, "info", "commandstats"), "limits are not shared"

        leader = find_leader(client)
        state = cluster.inspect(leader)["State"]
        assert isinstance(state, dict)
        os.kill(state["Pid"], signal.SIGKILL)
        assert client.run(["/bin/true"]).wait(60).state == "succeeded"
        wait_for(lambda: find_leader(client) not in ("", leader), "another leader", UP_MAX_S)
        wait_for(lambda: is_complete(client), "the restart of the leader that was killed", UP_MAX_S)
        assert cluster.inspect(leader)["RestartCount"] == 1

        cluster.compose("kill", find_leader(client))
        assert client.run(["/bin/true"]).wait(60).state == "succeeded"
        cluster.compose("up", "--detach")
        wait_for(lambda: is_complete(client), "all containers again", UP_MAX_S)
        assert len(list(client.jobs())) == 4, "nothing is lost"
    cluster.compose("down", "--volumes")
    assert cluster.count("ps", "--all", "--quiet") == 0
    assert cluster.count("volume", "ls", "--quiet") == 0


def expect_secrets_stay_secret(cluster: ComposeCluster) -> None:
    """They are in no command, no variable and no log, and nobody is root who need not be."""
    secrets = [(cluster.folder / "secrets" / name).read_text() for name in SECRETS]
    said = cluster.compose("logs", "--no-color")
    for service in (*MANAGERS, *WORKERS, *SERVERS):
        text = json.dumps(cluster.inspect(service)) + said
        assert not any(secret in text for secret in secrets), service
    for service in (*MANAGERS, *WORKERS):
        assert cluster.compose("exec", "-T", service, "id", "-u").strip() == str(IMAGE_USER)


def expect_servers_out_of_reach(cluster: ComposeCluster, client: Client) -> None:
    """A task reaches the managers, which ask for a token, but none of their servers: neither by name nor by address.
    The private daemon filters no packets, so addresses are apart only if this machine forwards nothing."""
    places = [f"{name}:{port}" for name, port in PORTS.items()]
    if Path("/proc/sys/net/ipv4/ip_forward").read_text().strip() == "0":
        places += [f"{address}:{port}" for name, port in PORTS.items() for address in cluster.addresses(name)]
    run = client.run(["python3", "-c", CONNECT, "m1:7073", *places], count=3)
    assert run.wait(120).state == "succeeded"
    assert set("".join(run.logs()).split()) == {"m1:7073"}
    assert "NOAUTH" in cluster.compose("exec", "-T", "redis", "redis-cli", "get", "x"), "Redis asks for no password"


def ask_redis(cluster: ComposeCluster, *words: str) -> str:
    command = f'REDISCLI_AUTH="$(cat /run/secrets/redis-password)" redis-cli {" ".join(words)}'
    return cluster.compose("exec", "-T", "redis", "sh", "-c", command)


def is_complete(client: Client) -> bool:
    try:
        managers = [view for view in client.managers() if view.lag_s is not None]
        workers = [node for node in client.nodes() if node.state == "ready"]
    except ShunterError:
        return False
    return (len(managers), len(workers)) == (len(MANAGERS), len(WORKERS)) and find_leader(client) != ""


def find_leader(client: Client) -> str:
    views = client.managers()
    return next((view.name for view in views if view.role == LEADER and view.lag_s is not None), "")
