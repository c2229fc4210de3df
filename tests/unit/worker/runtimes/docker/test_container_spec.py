"""Create requests without a daemon: the differences between daemons, devices, and unusual pulls."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from shunter.model.job.spec import Container, Port, TaskSpec
from shunter.model.protocol.worker_messages import Order
from shunter.worker.runtimes.docker.container_spec import container_config
from shunter.worker.runtimes.docker.daemon import Daemon, DaemonUnavailable, Facts, find_host
from shunter.worker.runtimes.docker.images import Layer, find_auth, record_progress, summary
from shunter.worker.runtimes.port import Attempt, Launch, NotStarted
from shunter.worker.runtimes.task_log import TaskLog

DOCKER = Facts(version="20.10", cpus=2)
PODMAN = Facts(version="4.3", cpus=2, is_podman=True, has_init=False)


def launch(folder: Path, devices: dict[str, list[str]] | None = None, **fields: Any) -> Launch:
    task = TaskSpec(**{"command": ("/bin/true",), "container": Container("image:1"), **fields})
    order = Order(1, 0, 0, 0, 1, 7, 1, 1, "default", "job", "main", 1)
    log = TaskLog.create(folder, (1, 0, 0, 1), 2**20)
    ports = {port.name: port.host_port for port in task.ports}
    return Launch(Attempt(1, 0, 0, 1), order, task, dict(task.env), log, ports, devices or {})


def host_config(given: Launch, facts: Facts = DOCKER) -> dict[str, Any]:
    found: dict[str, Any] = container_config(given, "home", "node", facts)["HostConfig"]
    return found


def test_podman_keeps_the_log_that_it_has_and_may_have_no_init(tmp_path: Path) -> None:
    given = launch(tmp_path)
    assert (host_config(given)["Init"], host_config(given, PODMAN)["Init"]) == (True, False)
    assert host_config(given)["LogConfig"]["Type"] == "local"
    assert "LogConfig" not in host_config(given, PODMAN)


def test_devices_are_handed_over_where_the_daemon_knows_how(tmp_path: Path) -> None:
    given = launch(tmp_path, {"gpu": ["0", "2"]})
    assert "DeviceRequests" not in host_config(given)
    [request] = host_config(given, Facts(version="1", has_nvidia=True))["DeviceRequests"]
    assert (request["DeviceIDs"], request["Capabilities"]) == (["0", "2"], [["gpu"]])


@pytest.mark.parametrize(("cpu_milli", "nano_cpus"), [(0, None), (1500, 1_500_000_000), (2000, None), (9000, None)])
def test_processors_are_limited_below_what_the_machine_has(
    tmp_path: Path, cpu_milli: int, nano_cpus: int | None
) -> None:
    assert host_config(launch(tmp_path, cpu_milli=cpu_milli)).get("NanoCpus") == nano_cpus


def test_ports_inside_and_on_the_node_are_told_apart(tmp_path: Path) -> None:
    env = {"SHUNTER_PORT_WEB_UI": "30080"}
    ports = (Port("web-ui", 80, 30080),)
    bridged = container_config(launch(tmp_path, ports=ports, env=env), "home", "node", DOCKER)
    assert bridged["HostConfig"]["PortBindings"] == {"80/tcp": [{"HostPort": "30080"}]}
    assert "SHUNTER_PORT_WEB_UI=80" in bridged["Env"]
    on_host = launch(tmp_path, ports=ports, env=env, container=Container("image:1", network="host"))
    config = container_config(on_host, "home", "node", DOCKER)
    assert "PortBindings" not in config["HostConfig"]
    assert "SHUNTER_PORT_WEB_UI=30080" in config["Env"]


def test_a_task_without_an_image_says_which_field_to_set(tmp_path: Path) -> None:
    with pytest.raises(NotStarted, match=r"set spec\.image"):
        container_config(launch(tmp_path, container=None), "home", "node", DOCKER)


def test_the_daemon_is_where_it_was_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///named/by/environment.sock")
    assert find_host("/named/by/setting.sock") == "unix:///named/by/setting.sock"
    assert find_host("tcp://127.0.0.1:2375") == "tcp://127.0.0.1:2375"
    assert find_host() == "unix:///named/by/environment.sock"


async def test_a_socket_that_is_not_there_is_said_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(DaemonUnavailable, match=str(tmp_path)):
        await Daemon(f"{tmp_path}/none.sock").facts()


def test_credentials_are_those_of_the_image_s_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = base64.b64encode(b"me:pass:word").decode()
    (tmp_path / "config.json").write_text(json.dumps({"auths": {"registry.test:5000": {"auth": secret}}}))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    assert find_auth("registry.test:5000/team/app:1") == {"username": "me", "password": "pass:word"}
    assert find_auth("other.test/app") is None
    assert find_auth("busybox") is None


def test_the_progress_of_a_pull_is_one_sentence() -> None:
    layers: dict[str, Layer] = {}
    for item in (
        {"status": "Pulling from library/app", "id": "1"},
        {"status": "Pulling fs layer", "id": "a"},
        {"status": "Downloading", "id": "a", "progressDetail": {"current": 2**20, "total": 4 * 2**20}},
        {"status": "Pull complete", "id": "b"},
    ):
        record_progress(layers, item)
    assert summary(layers) == "1 of 2 layers, 1.0 of 4.0 MiB"
