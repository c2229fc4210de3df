"""The operator is killed at random await points, while writes fail, versions conflict, watches expire
and the API server restarts.

The end is the same for every seed: no slot is used twice, each claim is given up before the next, no ghost pod is lost
or left."""

from __future__ import annotations

import asyncio
import os
from random import Random

import pytest

from shunter.kube.resources import OBJECTS, PODS
from shunter.model.errors import Conflict, Unavailable
from tests.unit.kube.harness import KubeHarness
from tests.unit.kube.test_operator import GHOSTS, bench, job, scheduling
from tests.unit.kube.test_two_operators import Claims, run_all_executors

SEEDS = int(os.environ.get("SHUNTER_KUBE_SEEDS", "100"))  # `make kube-sim` has more
KILLS = 6
STEPS_MAX = 120  # of the loop, that an operator lives
RESTART_SHARE = 0.3  # of the operator's lives have a restart of the API server
FAULT_SHARE = 0.05  # of all writes


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_killed_anywhere_the_operator_comes_to_the_same_end(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """S0-01, S0-05, S0-09: two Schedulings of the same jobs, one after the other."""
    for name in ("operator.CONFLICT_RETRY_S", "operator.RETRY_S", "client.mirror.RETRY_S"):
        monkeypatch.setattr(f"shunter.kube.{name}", 0.0)
    random, harness = Random(seed), KubeHarness()
    api = harness.api
    api.random = random
    api.on_put = Claims(harness).check
    await bench(harness)
    for name in ("one", "two"):
        await job(harness, name)
    await scheduling(harness, "one", "one", "two", name="first")
    api.fail = lambda _method, _path: fail_sometimes(random, harness.api.is_down)
    kubelet = asyncio.create_task(run_all_executors(harness))
    try:
        for _ in range(KILLS):
            async with harness.running():
                for _ in range(random.randrange(STEPS_MAX)):
                    await asyncio.sleep(0)
                await api.set_down(random.random() < RESTART_SHARE)
                for _ in range(random.randrange(STEPS_MAX) if api.is_down else 0):
                    await asyncio.sleep(0)
                await api.set_down(False)
                api.forgotten = max((event[0] for event in api.events), default=0) if random.random() < 0.3 else 0
            harness.restart_on(api)
        api.fail = lambda _method, _path: None
        async with harness.running():
            await harness.wait_state("Scheduling", "first", "CompletedState")
            await api.delete(OBJECTS["Scheduling"], "first", "default")
            for name in ("one", "two"):
                found = await harness.wait_state("BatchJob", name, "ReadyState")
                assert [event["successful"] for event in found["status"]["scheduledEvents"]] == [True]
            await harness.wait_for(lambda: api.names(PODS) == GHOSTS)
            await harness.settle()
            assert api.names(PODS) == GHOSTS
            assert "claims" not in (await harness.get("Testbed", "bench"))["status"]
    finally:
        kubelet.cancel()
        await asyncio.gather(kubelet, return_exceptions=True)


def fail_sometimes(random: Random, is_down: bool) -> None:
    if is_down or random.random() < FAULT_SHARE:
        raise random.choice((Conflict("injected"), Unavailable("injected")))
