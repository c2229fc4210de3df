"""A manager on the objects of a Kubernetes cluster: REST, `/external`, STOMP and the web UI, as on its own objects."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import aiohttp
import pytest
import yaml

from tests.kube.kube_cluster import NODE, PATIENCE_S, Kube, command, queue, testbed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SHUNTER = str(Path(sys.executable).parent / "shunter")


@dataclass
class Manager:
    home: Path
    url: str
    token: str

    def ask(self, method: str, path: str, body: object = None) -> Any:
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(self.url + path, data, headers, method=method), timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    def wait(self, path: str, field: str, wanted: object) -> Any:
        end = time.monotonic() + PATIENCE_S
        while (found := self.ask("GET", path)).get(field) != wanted:
            assert time.monotonic() < end, found
            time.sleep(0.1)
        return found

    def shunter(self, *words: str, stdin: str | None = None) -> str:
        environment = {**os.environ, "SHUNTER_HOME": str(self.home)}
        done = subprocess.run(
            [SHUNTER, *words], env=environment, input=stdin, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def manager(kube: Kube, home: Path) -> Iterator[Manager]:
    """With the permissions that `shunter operator install` gives to a manager, and no others."""
    listen = ("--listen", "127.0.0.1:0", "--workers-listen", "127.0.0.1:0", "--store", "memory")
    objects = ("--objects", "kubernetes", "--kubeconfig", str(kube.kubeconfig("shunter-manager")))
    home.mkdir()
    with (home / "manager.log").open("wb") as log:
        environment = {**os.environ, "SHUNTER_HOME": str(home)}
        process = subprocess.Popen([SHUNTER, "manager", *listen, *objects], env=environment, stdout=log, stderr=log)
    try:
        end = time.monotonic() + PATIENCE_S
        while not (described := list(home.glob("cluster.json"))):
            assert process.poll() is None and time.monotonic() < end, (home / "manager.log").read_text()
            time.sleep(0.05)
        url = json.loads(described[0].read_text())["url"]
        yield Manager(home, url, (home / "token").read_text().strip())
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.smoke
def test_a_manager_serves_the_objects_of_kubernetes_over_every_interface(kube: Kube, tmp_path: Path) -> None:
    """S0-19, S0-25, S1-19, S1-21, S1-22: a Scheduling that came by HTTP behaves as one that kubectl has applied, and is
    history afterwards."""
    kube("label", "node", NODE, "bench=0")
    inside = f"?namespace={kube.namespace}"
    with kube.operator(), manager(kube, tmp_path / "home") as found:
        file = yaml.safe_dump_all([testbed(), command("one", "echo hello")])
        assert "created" in found.shunter("apply", "-n", kube.namespace, "-f", "-", stdin=file)
        kube.apply(command("two", "true"))
        found.wait(f"/external/testbeds/bench{inside}", "state", "SUCCESS")
        assert sorted(found.ask("GET", f"/external/jobs{inside}")) == ["one", "two"]
        topic = asyncio.run(messages_of(found, kube, "s"))
        assert topic[-1] == "CompletedState"
        by_http = kube.get("scheduling", "s")["status"]["state"]
        kube("delete", "scheduling", "s")
        kube.wait_state("batchjob", "one", "ReadyState")
        kube.apply(queue("k", "one", "two"))
        assert found.wait(f"/external/schedulings/k{inside}", "state", "CompletedState")["state"] == by_http
        found.ask("DELETE", f"/external/schedulings/k{inside}")
        kube.wait(lambda: len(found.ask("GET", f"/api/v1/schedulings/past{inside}")["items"]) == 2)
        newest, oldest = found.ask("GET", f"/api/v1/schedulings/past{inside}")["items"]
        assert [run["name"] for run in newest["runs"]] == ["one", "two"]
        assert all(run["successful"] and run["nodes"] == [NODE] for run in (*newest["runs"], *oldest["runs"]))
        assert found.ask("GET", f"/api/v1/schedulings/past/{oldest['uid']}") == oldest
        assert oldest["user"] == "admin"
        assert "two" in found.shunter("get", "batchjobs", "-n", kube.namespace)


async def messages_of(found: Manager, kube: Kube, name: str) -> list[str]:
    """The states that subscribers of the topic are told, until the Scheduling is complete."""
    states: list[str] = []
    url = found.url.replace("http", "ws") + "/scheduler"
    async with aiohttp.ClientSession() as session, session.ws_connect(url, protocols=("v12.stomp",)) as socket:
        await socket.send_str(f"CONNECT\naccept-version:1.2\nhost:x\npasscode:{found.token}\n\n\0")
        assert (await socket.receive_str()).startswith("CONNECTED")
        topic = f"destination:/topic/schedulings/{name}\nnamespace:{kube.namespace}"
        await socket.send_str(f"SUBSCRIBE\nid:0\n{topic}\n\n\0")
        body = {"name": name, "testBed": "bench", "queue": ["one", "two"]}
        path = f"/external/schedulings?namespace={kube.namespace}"
        await asyncio.to_thread(found.ask, "POST", path, body)
        async with asyncio.timeout(PATIENCE_S):
            while not states or states[-1] not in ("CompletedState", "FailedState"):
                frame = await socket.receive_str()
                states.append(json.loads(frame.partition("\n\n")[2].rstrip("\0\n"))["resource"]["state"])
    return states
