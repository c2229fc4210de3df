"""Shunter Jobs as pods: what a pod is made of, what its end means, and which room a node offers. The API server is in
memory; tests/kube has the real one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from shunter.adapters.system.clock import SystemClock
from shunter.kube.jobs.node_workers import NodeWorkers
from shunter.kube.jobs.task_pods import ATTEMPT, PodSettings
from shunter.kube.resources import NODES, PODS
from shunter.model.job.spec import Mount, Port, SecretRef, TaskSpec
from shunter.model.protocol.worker_messages import (
    Ended,
    Goodbye,
    Hello,
    Inventory,
    Lost,
    ManagerMessage,
    Order,
    Orders,
    Report,
    Stop,
    StopRange,
    Welcome,
    WorkerMessage,
)
from shunter.ports.workers import WorkerHandler
from tests.unit.kube.fake_api import FakeKubeApi

PATIENCE_S = 20.0
SETTINGS = PodSettings("c0ffee00" * 4, "default", "busybox")
ENDED_AT = "2026-01-01T00:00:05Z"


class Manager:
    """The manager's side of all connections: remembers what workers say."""

    def __init__(self) -> None:
        self.handlers: dict[str, WorkerHandler] = {}
        self.hellos: list[Hello] = []
        self.said: list[WorkerMessage] = []

    def connect(self, handler: WorkerHandler) -> Link:
        return Link(self, handler)

    def order(self, node: str, spec: TaskSpec, job: int = 7, last: int = 0, attempt: int = 1) -> None:
        order = Order(job, 0, 0, last, attempt, 1, 1, last + 1, "default", "words", "main", last + 1)
        self.handlers[node].received(Orders(1, [order], {1: spec}))

    def parts(self, kind: type[Any], field: str) -> list[Any]:
        reports = [each for each in self.said if isinstance(each, Report | Inventory)]
        return [part for each in reports for part in getattr(each, field, ()) if isinstance(part, kind)]


class Link:
    """A connection that the worker may end, and that is opened again at once."""

    def __init__(self, manager: Manager, handler: WorkerHandler) -> None:
        self._manager, self._handler = manager, handler
        self._open()

    def _open(self) -> None:
        self._handler.connected(self)

    def send(self, message: WorkerMessage) -> None:
        if isinstance(message, Hello):
            self._manager.hellos.append(message)
            self._manager.handlers[message.name] = self._handler
            asyncio.get_running_loop().call_soon(self._handler.received, _welcome())
        self._manager.said.append(message)

    def close_after_flush(self) -> None:
        self._handler.disconnected("the worker reconnects")
        asyncio.get_running_loop().call_soon(self._open)

    def close(self, reason: str) -> None:
        self._handler.disconnected(reason)


def _welcome() -> ManagerMessage:
    return Welcome(1, 1, 60.0)


@asynccontextmanager
async def workers(api: FakeKubeApi, home: Path) -> AsyncIterator[Manager]:
    manager = Manager()
    running = asyncio.create_task(NodeWorkers(api, SystemClock(), home, SETTINGS, manager.connect).run())
    try:
        await wait_for(lambda: len(manager.handlers) == len(api.names(NODES)))
        yield manager
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def wait_for(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0)


@pytest.fixture
async def api(monkeypatch: pytest.MonkeyPatch) -> FakeKubeApi:
    monkeypatch.setattr("shunter.kube.jobs.node_workers.UPDATE_EVERY_S", 0.0)
    made = FakeKubeApi()
    await made.add_node("a", {"zone": "z1"}, cpu="4", memory="8Gi")
    return made


def ended(code: int, reason: str = "") -> dict[str, Any]:
    terminated = {"exitCode": code, "reason": reason, "startedAt": "2026-01-01T00:00:01Z", "finishedAt": ENDED_AT}
    return {"containerStatuses": [{"state": {"terminated": terminated}}]}


def pods(api: FakeKubeApi) -> dict[str, Any]:
    return {name: each for (plural, _, name), each in api.objects.items() if plural == PODS.plural}


async def test_an_order_becomes_a_pod_on_the_node_and_its_end_a_report(api: FakeKubeApi, tmp_path: Path) -> None:
    async with workers(api, tmp_path) as manager:
        spec = TaskSpec(("sh", "-c", "echo $(HOME)"), {"KEY": "v"}, cpu_milli=500, memory_bytes=2**20, stop_grace_s=2)
        manager.order("a", spec, last=1)
        await wait_for(lambda: len(pods(api)) == 2)
        names = sorted(pods(api))
        assert names == ["words-7-0-0-1-c0ffee00", "words-7-0-1-1-c0ffee00"]
        made = pods(api)[names[0]]
        [container] = made["spec"]["containers"]
        assert made["metadata"]["labels"][ATTEMPT] == "7-0-0-1"
        assert (made["spec"]["nodeName"], made["spec"]["restartPolicy"]) == ("a", "Never")
        assert made["spec"]["terminationGracePeriodSeconds"] > spec.stop_grace_s
        assert container["command"] == ["sh", "-c", "echo $$(HOME)"]  # Kubernetes shall not replace it
        assert container["resources"]["limits"] == {"cpu": "500m", "memory": str(2**20)}
        assert {"name": "SHUNTER_TASK_INDEX", "value": "0"} in container["env"]
        await api.set_phase(names[0], "Failed", **ended(3))
        await api.set_phase(names[1], "Failed", **ended(137, "OOMKilled"))
        await wait_for(lambda: len(manager.parts(Ended, "ended")) == 2)
        first, second = sorted(manager.parts(Ended, "ended"), key=lambda each: each.first)
        assert (first.exits, first.how) == ([3], "")
        assert (second.how, second.detail) == ("memory", "memory limit of 1Mi")
        await wait_for(lambda: pods(api) == {})


async def test_after_a_restart_of_the_manager_pods_are_found_and_nothing_runs_twice(
    api: FakeKubeApi, tmp_path: Path
) -> None:
    async with workers(api, tmp_path) as manager:
        manager.order("a", TaskSpec(("sleep", "600")))
        await wait_for(lambda: len(pods(api)) == 1)
        [name] = pods(api)
        running: dict[str, Any] = {"containerStatuses": [{"state": {"running": {"startedAt": "2026-01-01T00:00:01Z"}}}]}
        await api.set_phase(name, "Running", **running)
        await wait_for(lambda: bool(manager.parts(object, "started")))
    orphan = {**pods(api)[name], "spec": {"nodeName": "a", "containers": []}}
    labels = {**orphan["metadata"]["labels"], ATTEMPT: "9-0-0-1"}
    metadata = {"name": "orphan", "namespace": "default", "labels": labels}
    await api.create(PODS, {**orphan, "metadata": metadata})
    async with workers(api, tmp_path) as manager:
        [held] = await _held(manager)
        assert (held.job, held.attempt, held.running) == (7, 1, True)
        manager.order("a", TaskSpec(("sleep", "600")))
        await wait_for(lambda: "orphan" not in pods(api))  # nobody knows its attempt
        await api.set_phase(name, "Succeeded", **ended(0))
        await wait_for(lambda: len(manager.parts(Ended, "ended")) == 1)
        assert sum(line.startswith("POST pods/words") for line in api.log) == 1


async def _held(manager: Manager) -> list[Any]:
    await wait_for(lambda: bool(manager.parts(object, "held")))
    return manager.parts(object, "held")


async def test_a_pod_that_kubernetes_or_somebody_ends_is_lost_and_not_failed(api: FakeKubeApi, tmp_path: Path) -> None:
    async with workers(api, tmp_path) as manager:
        manager.order("a", TaskSpec(("sleep", "600")), last=1)
        await wait_for(lambda: len(pods(api)) == 2)
        first, second = sorted(pods(api))
        await api.set_phase(first, "Failed", reason="OutOfcpu", message="Node didn't have enough resource: cpu")
        await api.delete(PODS, second, "default")
        await wait_for(lambda: len(manager.parts(Lost, "lost")) == 2)
        reasons = [each.reason for each in sorted(manager.parts(Lost, "lost"), key=lambda each: each.first)]
        assert reasons[0].startswith("OutOfcpu: Node didn't have enough")
        assert "was deleted" in reasons[1]
        assert manager.parts(Ended, "ended") == []


async def test_a_stop_deletes_the_pod_with_its_grace(api: FakeKubeApi, tmp_path: Path) -> None:
    async with workers(api, tmp_path) as manager:
        manager.order("a", TaskSpec(("sleep", "600")))
        await wait_for(lambda: len(pods(api)) == 1)
        manager.handlers["a"].received(Stop(1, [StopRange(7, 0, 0, 0, 5.0)]))
        await wait_for(lambda: pods(api) == {})


async def test_what_others_request_and_nodes_that_take_no_pods_offer_no_room(api: FakeKubeApi, tmp_path: Path) -> None:
    async with workers(api, tmp_path) as manager:
        assert (manager.hellos[-1].capacity["cpu"], manager.hellos[-1].labels) == (4000, {"zone": "z1"})
        container = {"name": "c", "resources": {"requests": {"cpu": "1500m"}}}
        metadata = {"name": "other", "namespace": "default"}
        await api.create(PODS, {"metadata": metadata, "spec": {"nodeName": "a", "containers": [container]}})
        await wait_for(lambda: manager.hellos[-1].capacity["cpu"] == 2500)
        await api.set_phase("other", "Succeeded")
        await wait_for(lambda: manager.hellos[-1].capacity["cpu"] == 4000)
        await api.change(NODES, "a", spec={"unschedulable": True})
        await wait_for(lambda: manager.hellos[-1].capacity["cpu"] == 0)


async def test_a_node_that_is_removed_says_goodbye(api: FakeKubeApi, tmp_path: Path) -> None:
    async with workers(api, tmp_path) as manager:
        await api.delete(NODES, "a")
        await wait_for(lambda: any(isinstance(each, Goodbye) for each in manager.said))


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"mounts": (Mount("/a", "/b"),)}, "mounts"),
        ({"payload": b"x"}, "payload"),
        ({"secrets": (SecretRef("s", env="S", value=b"x"),)}, "secrets"),
        ({"stdout": "/tmp/x"}, "stdout"),
        ({"stop_after_s": 1.0}, "stop_after"),
        ({"user": "nobody"}, "user"),
    ],
)
async def test_what_a_pod_cannot_have_is_refused_by_name(
    api: FakeKubeApi, tmp_path: Path, given: dict[str, Any], field: str
) -> None:
    async with workers(api, tmp_path) as manager:
        manager.order("a", TaskSpec(("true",), ports=(Port("web", 80),), **given))
        await wait_for(lambda: len(manager.parts(Ended, "ended")) == 1)
        [found] = manager.parts(Ended, "ended")
        assert (found.how, found.detail.split(":")[0]) == ("error", field)
        assert pods(api) == {}
