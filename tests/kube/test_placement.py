"""Executors run on the nodes of their slots, whatever else fills the nodes: bound by the operator, and placed by a
kube-scheduler that asks the extender. Most runs are on simulated nodes, some on a real kubelet."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from random import Random
from typing import Any

import pytest

from shunter.kube.client.api import KubeApi
from shunter.kube.client.connection import find_connection
from shunter.kube.resources import OBJECTS, PODS
from shunter.model.errors import NotFound
from tests.kube.kube_cluster import FOLDER, NODE, PATIENCE_S, Document, Kube, command, queue, testbed
from tests.kube.simulated_nodes import SIMULATED, SKIP_REASON, simulated_nodes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
RUNS, SMOKE_RUNS = int(os.environ.get("SHUNTER_KUBE_RUNS", "200")), 5
NODES_COUNT, SLOTS_PER_NODE = 4, 2
PLACEMENTS = ("direct", "extender")
PKI = f"{FOLDER}/pki"
EXTENDER = (
    *("--extender-listen", "127.0.0.1:26406", "--extender-client-ca", f"{PKI}/ca.crt"),
    *("--extender-cert", f"{PKI}/extender.crt", "--extender-key", f"{PKI}/extender.key"),
)
V1 = "batchjob.gcr.io/v1alpha1"


@pytest.fixture(params=PLACEMENTS)
def placement(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def placing(kube: Kube, placement: str) -> Iterator[None]:
    """An operator, which kube-scheduler asks over mutual TLS with the extender."""
    with kube.operator(*({"direct": (), "extender": EXTENDER}[placement])):
        yield


@pytest.fixture
async def api() -> AsyncIterator[KubeApi]:
    api = KubeApi(find_connection())
    yield api
    await api.close()


@pytest.mark.parametrize(
    "runs", [pytest.param(SMOKE_RUNS, marks=pytest.mark.smoke, id="few"), pytest.param(RUNS, id="all")]
)
@pytest.mark.usefixtures("placing")
@pytest.mark.skipif(bool(SKIP_REASON), reason=SKIP_REASON)
async def test_every_executor_runs_on_the_node_of_its_slot_in_random_runs(kube: Kube, api: KubeApi, runs: int) -> None:
    """S0-08, S0-14, S0-15: pods of others come and go, fill what the slots leave, and wait for more."""
    async with simulated_nodes(api, NODES_COUNT, "bench", cpu="3", memory="8Gi"):
        cluster = RandomCluster(kube, api)
        kube.apply(testbed(slotsPerNode=SLOTS_PER_NODE, resourcesPerSlot={"cpu": "1"}))
        await cluster.until("Testbed", "bench", lambda found: found["status"].get("freeSlots") == "8/8")
        for seed in range(runs):
            await cluster.run(seed)
        await cluster.until("Testbed", "bench", lambda found: found["status"].get("freeSlots") == "8/8")


class RandomCluster:
    def __init__(self, kube: Kube, api: KubeApi) -> None:
        self.kube, self.api, self.namespace = kube, api, kube.namespace

    async def run(self, seed: int) -> None:
        """Two jobs in random slots, while random pods of others are made before, meanwhile and after."""
        random = Random(seed)
        slots = random.sample(range(NODES_COUNT * SLOTS_PER_NODE), random.randint(2, NODES_COUNT * SLOTS_PER_NODE))
        split = random.randint(1, len(slots) - 1)
        given = {"one": sorted(slots[:split]), "two": sorted(slots[split:])}
        foreign = [f"foreign-{seed}-{number}" for number in range(random.randint(0, 8))]
        early = [name for name in foreign if random.random() < 0.6]
        await self.make_foreign(random, early)
        for name in given:
            await self.make(command(f"{name}-{seed}", "true"))
        jobs = [{"name": {"name": f"{name}-{seed}"}, "slotIds": ids} for name, ids in given.items()]
        spec = {"slotBased": {"mode": "relaxed", "jobs": jobs}, "testbed": {"name": "bench"}}
        await self.make({"apiVersion": V1, "kind": "Scheduling", "metadata": {"name": f"s{seed}"}, "spec": spec})
        await self.make_foreign(random, [name for name in foreign if name not in early])
        for name in given:
            await self.until("BatchJob", f"{name}-{seed}", lambda found: found["status"]["state"] == "RunningState")
        status = (await self.api.get(OBJECTS["Testbed"], "bench", self.namespace))["status"]
        for name, ids in given.items():
            for index, slot in enumerate(ids):
                pod = await self.api.get(PODS, f"{name}-{seed}-executor-{index}", self.namespace)
                assert pod["spec"]["nodeName"] == status["slots"][slot]["nodeName"], (seed, name, index)
        for name in foreign:  # no pod of others was evicted
            assert "deletionTimestamp" not in (await self.api.get(PODS, name, self.namespace))["metadata"], seed
        for name in foreign:
            await self.api.delete(PODS, name, self.namespace)
        await self.api.delete(OBJECTS["Scheduling"], f"s{seed}", self.namespace)
        for name in given:
            await self.until("BatchJob", f"{name}-{seed}", lambda found: found["status"]["state"] == "ReadyState")
            await self.api.delete(OBJECTS["BatchJob"], f"{name}-{seed}", self.namespace)
        await self.until("Testbed", "bench", lambda found: found["status"].get("freeSlots") == "8/8")

    async def make_foreign(self, random: Random, names: list[str]) -> None:
        for name in names:
            await self.api.create(PODS, self._foreign(name, random.choice((100, 300, 500, 900, 1000))))

    def _foreign(self, name: str, cpu_milli: int) -> dict[str, Any]:
        container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": f"{cpu_milli}m"}}}
        spec = {"containers": [container], "nodeSelector": SIMULATED, "terminationGracePeriodSeconds": 0}
        metadata = {"name": name, "namespace": self.namespace}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    async def make(self, document: dict[str, Any]) -> None:
        metadata = {**document["metadata"], "namespace": self.namespace}
        await self.api.create(OBJECTS[document["kind"]], {**document, "metadata": metadata})

    async def until(self, kind: str, name: str, condition: Callable[[dict[str, Any]], bool]) -> None:
        found: dict[str, Any] = {}
        try:
            async with asyncio.timeout(PATIENCE_S):
                while "status" not in found or not condition(found):
                    await asyncio.sleep(0.05)
                    found = await self.api.get(OBJECTS[kind], name, self.namespace)
        except (TimeoutError, NotFound):
            raise AssertionError(self.kube("get", "shunter,pods,events", "-o", "wide") + str(found)) from None


@pytest.mark.usefixtures("placing")
def test_executors_take_their_slots_on_a_kubelet_that_others_fill(kube: Kube) -> None:
    """S0-14, S0-15: five runs, with pods of others that fill what the slots leave, and wait for more."""
    kube("label", "node", NODE, "bench=0")
    allocatable = kube.get("node", NODE)["status"]["allocatable"]["cpu"]
    slot_milli = (int(allocatable) * 1000 - 400) // 2
    kube.apply(testbed(resourcesPerSlot={"cpu": f"{slot_milli}m"}))
    kube.wait_state("testbed", "bench", "SUCCESS")
    kube.apply(command("one", "sleep 600"), command("two", "sleep 600"), foreign("fills", "300m"))
    kube.wait(lambda: kube.get("pod", "fills")["status"]["phase"] == "Running")
    for number in range(5):
        jobs = ("one", "one") if number % 2 else ("one", "two")
        waiting = [foreign(f"waits-{number}-{size}", f"{size}m") for size in (100, slot_milli, slot_milli + 1)]
        kube.apply(*waiting, queue(f"s{number}", *jobs))
        for job in set(jobs):
            kube.wait_state("batchjob", job, "RunningState")
        names = [each["metadata"]["name"] for each in waiting]
        phases = [kube.get("pod", name)["status"]["phase"] for name in names]
        assert phases == ["Running", "Pending", "Pending"]
        kube("delete", "pod", *names)
        kube("delete", "scheduling", f"s{number}")
        kube.wait_state("batchjob", "one", "ReadyState")
        kube.wait_state("testbed", "bench", "SUCCESS")


def foreign(name: str, cpu: str) -> Document:
    resources = {"requests": {"cpu": cpu}}
    container = {"name": "c", "image": "localhost/busybox:1", "command": ["sleep", "600"], "resources": resources}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
