"""The verbs of the extender, and its HTTP server, on an operator with an API server in memory."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import aiohttp
import pytest

from shunter.kube.extender.server import ExtenderListener, ExtenderServer
from shunter.kube.extender.verbs import choose_victims, filter_nodes
from shunter.kube.pod_templates import Placement
from shunter.kube.reconcilers import Images
from shunter.kube.resources import PODS
from shunter.model.errors import Unavailable
from tests.unit.kube.harness import KubeHarness
from tests.unit.kube.test_operator import GHOSTS, bench, job, pod

EXECUTOR = "words-executor-0"


async def with_one_executor(harness: KubeHarness) -> dict[str, Any]:
    """Its slot is the second one: that on node b."""
    await bench(harness)
    await job(harness)
    jobs = [{"name": {"name": "words"}, "slotIds": [1]}]
    await harness.apply("Scheduling", "first", slotBased={"mode": "strict", "jobs": jobs}, testbed={"name": "bench"})
    await harness.wait_state("BatchJob", "words", "SubmittedState")
    await harness.settle()
    return pod(harness, EXECUTOR)


def extended() -> KubeHarness:
    return KubeHarness(Images("job", "pause", Placement.EXTENDER))


def victims(*nodes: str) -> dict[str, Any]:
    return {node: {"Pods": [{"UID": f"somebody-on-{node}"}], "NumPDBViolations": 1} for node in nodes}


async def test_the_filter_offers_only_the_node_of_the_slot() -> None:
    """S0-11: and no node if that one is not among the candidates, in the form of the question."""
    harness = extended()
    async with harness.running():
        executor = await with_one_executor(harness)
        answer = filter_nodes({"Pod": executor, "NodeNames": ["a", "b"]}, harness.view)
        assert (answer["NodeNames"], list(answer["FailedNodes"])) == (["b"], ["a"])
        answer = filter_nodes({"Pod": executor, "NodeNames": ["a"]}, harness.view)
        assert (answer["NodeNames"], answer["FailedNodes"]) == ([], {"a": "its slot is on node b"})
        nodes = {"items": [{"metadata": {"name": name}} for name in "ab"]}
        answer = filter_nodes({"Pod": executor, "Nodes": nodes}, harness.view)
        assert answer["Nodes"] == {"items": [{"metadata": {"name": "b"}}]}


async def test_the_only_victim_is_the_ghost_pod_of_the_slot() -> None:
    """S0-12, S0-14: whoever kube-scheduler would evict."""
    harness = extended()
    async with harness.running():
        executor = await with_one_executor(harness)
        ghost = pod(harness, "ghostpod-bench-on-b-0")["metadata"]["uid"]
        for given in ("NodeNameToMetaVictims", "NodeNameToVictims"):
            answer = choose_victims({"Pod": executor, given: victims("a", "b")}, harness.view)
            assert answer == {"NodeNameToMetaVictims": {"b": {"Pods": [{"UID": ghost}], "NumPDBViolations": 0}}}
        answer = choose_victims({"Pod": executor, "NodeNameToMetaVictims": victims("a")}, harness.view)
        assert answer == {"NodeNameToMetaVictims": {}}


async def test_an_executor_gets_the_same_slot_however_often_one_asks() -> None:
    """S0-13: in any order of the verbs, and nothing is written."""
    harness = extended()
    async with harness.running():
        executor, random = await with_one_executor(harness), Random(1)
        writes = harness.api.writes
        for _ in range(10):
            if random.random() < 0.5:
                nodes = filter_nodes({"Pod": executor, "NodeNames": ["b", "a"]}, harness.view)["NodeNames"]
            else:
                found = choose_victims({"Pod": executor, "NodeNameToMetaVictims": victims("b", "a")}, harness.view)
                nodes = list(found["NodeNameToMetaVictims"])
            assert nodes == ["b"]
        await harness.settle()
        assert harness.api.writes == writes


async def test_the_ghost_pod_stays_until_its_executor_is_bound() -> None:
    """S0-16, S0-17: preempted by kube-scheduler, or deleted by the operator where the node had room for both."""
    harness = extended()
    async with harness.running():
        executor = await with_one_executor(harness)
        spec = executor["spec"]
        assert (spec["schedulerName"], spec["priorityClassName"]) == ("shunter-extender", "shunter-executor-preempting")
        testbed = await harness.get("Testbed", "bench")
        assert testbed["status"]["slots"][1]["state"] == "RESERVED"
        assert harness.api.names(PODS) == {*GHOSTS, EXECUTOR}
        await harness.api.change(PODS, EXECUTOR, "default", spec={"nodeName": "b"})
        await harness.wait_for(lambda: "ghostpod-bench-on-b-0" not in harness.api.names(PODS))
        await harness.api.set_phase(EXECUTOR, "Running")
        await harness.wait_state("BatchJob", "words", "RunningState")
        assert (await harness.get("Testbed", "bench"))["status"]["slots"][1]["state"] == "OCCUPIED"


async def test_pods_of_others_pass_and_unknown_executors_are_asked_again() -> None:
    harness = extended()
    async with harness.running():
        executor = await with_one_executor(harness)
        foreign = {"metadata": {"name": "x", "namespace": "default", "uid": "u"}, "spec": {}}
        assert filter_nodes({"Pod": foreign, "NodeNames": ["a", "b"]}, harness.view)["NodeNames"] == ["a", "b"]
        proposed = {"NodeNameToMetaVictims": victims("a")}
        assert choose_victims({"Pod": foreign, **proposed}, harness.view) == proposed
        forged = {**executor, "metadata": {**executor["metadata"], "uid": "another"}}
        with pytest.raises(Unavailable):
            filter_nodes({"Pod": forged, "NodeNames": ["b"]}, harness.view)


async def test_a_slot_that_its_last_executor_still_uses_is_offered_to_nobody() -> None:
    """S1-11."""
    harness = extended()
    async with harness.running():
        executor = await with_one_executor(harness)
        late = {**executor, "metadata": {**executor["metadata"], "name": "late", "uid": ""}}
        late["spec"] = {**executor["spec"], "nodeName": "b"}
        late["metadata"]["annotations"] = {**executor["metadata"]["annotations"], "shunter.dev/batchjob": "default/old"}
        await harness.api.create(PODS, {**late, "status": {"phase": "Running"}})
        await harness.wait_for(lambda: any(name.name == "late" for name in harness.view.pods.items))
        answer = filter_nodes({"Pod": executor, "NodeNames": ["b"]}, harness.view)
        assert (answer["NodeNames"], answer["FailedNodes"]) == ([], {"b": "its slot is still used by pod default/late"})
        asked = {"Pod": executor, "NodeNameToMetaVictims": victims("b")}
        assert choose_victims(asked, harness.view) == {"NodeNameToMetaVictims": {}}


async def test_only_the_leader_answers_and_only_requests_of_a_scheduler(unused_tcp_port: int) -> None:
    harness, leads = extended(), [False]
    async with harness.running(), aiohttp.ClientSession(f"http://127.0.0.1:{unused_tcp_port}") as client:
        executor = await with_one_executor(harness)
        server = ExtenderServer(ExtenderListener("127.0.0.1", unused_tcp_port), harness.view, lambda: leads[0])
        task = asyncio.create_task(server.run())
        await server.is_listening.wait()
        try:
            body = {"Pod": executor, "NodeNames": ["a", "b"]}
            assert [
                (await client.get("/readyz")).status,
                (await client.post("/extender/filter", json=body)).status,
            ] == [
                503,
                503,
            ]
            leads[0] = True
            assert (await client.get("/readyz")).status == 200
            answer = await (await client.post("/extender/filter", json=body)).json()
            assert answer["NodeNames"] == ["b"]
            forged = {**executor, "metadata": {**executor["metadata"], "uid": "another"}}
            answer = await (await client.post("/extender/filter", json={**body, "Pod": forged})).json()
            assert answer["Error"] == f"pod default/{EXECUTOR} has no slot yet"
            for wrong in (b"{", b"[]", b'{"Pod": 5}', b'{"Pod": {"metadata": {}}}'):
                assert (await client.post("/extender/preemption", data=wrong)).status == 400, wrong
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
