"""Two operators at once, without a lease: their writes are compare-and-swap, so nothing is claimed or used twice."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from shunter.kube.cluster_view import ClusterView
from shunter.kube.operator import Operator
from shunter.kube.reconcilers import Images, Reconcilers
from shunter.kube.resources import OBJECTS, PODS
from shunter.kube.writer import Writer
from tests.unit.kube.harness import KubeHarness
from tests.unit.kube.test_operator import GHOSTS, bench, job, scheduling


class Claims:
    """Checked after every change: a job that has a claim gives it up before it gets another one."""

    def __init__(self, harness: KubeHarness) -> None:
        self.harness, self.of_jobs = harness, dict[str, str]()

    def check(self) -> None:
        objects = self.harness.api.objects
        for (plural, _, name), found in objects.items():
            if plural == "batchjobs":
                claim = found["spec"].get("activeScheduling", {}).get("name", "")
                before = self.of_jobs.get(name, "")
                assert not (claim and before and claim != before), f"{name}: from {before} to {claim}"
                self.of_jobs[name] = claim
        places = [
            found["metadata"]["annotations"]["shunter.dev/place"]
            for (plural, _, _), found in objects.items()
            if plural == "pods"
            and found["metadata"]["labels"]["shunter.dev/role"] == "executor"
            and found["spec"].get("nodeName")
            and found["status"]["phase"] in ("Pending", "Running")
        ]
        assert len(places) == len(set(places)), places


async def run_all_executors(harness: KubeHarness) -> None:
    """A kubelet: what is bound runs, and what runs ends."""
    while True:
        for (plural, _, name), found in list(harness.api.objects.items()):
            if plural == "pods" and name.count("-executor-") and found["spec"].get("nodeName"):
                following = {"Pending": "Running", "Running": "Succeeded"}.get(found["status"]["phase"])
                if following:
                    await harness.api.set_phase(name, following)
        await asyncio.sleep(0)


@pytest.mark.parametrize("seed", range(30))
async def test_two_that_race_for_jobs_and_slots_never_use_one_twice(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """S0-05: two Schedulings that name the same jobs run one after the other, whichever was first."""
    monkeypatch.setattr("shunter.kube.operator.CONFLICT_RETRY_S", 0.0)
    harness = KubeHarness()
    harness.api.random = Random(seed)
    claims = Claims(harness)
    harness.api.on_put = claims.check
    view = ClusterView(harness.api)
    other = Operator(view, Reconcilers(view, Writer(harness.api, view, None), Images("job", "pause")))
    tasks = [asyncio.create_task(other.run()), asyncio.create_task(run_all_executors(harness))]
    try:
        async with harness.running():
            await bench(harness)
            await job(harness, "one")
            await job(harness, "two")
            await asyncio.gather(
                scheduling(harness, "one", "one", "two", name="first"), scheduling(harness, "two", "one", name="second")
            )
            winner = await first_completed(harness, "first", "second")
            loser = {"first": "second", "second": "first"}[winner]
            await harness.api.delete(OBJECTS["Scheduling"], winner, "default")
            await harness.wait_state("Scheduling", loser, "CompletedState")
            await harness.wait_for(lambda: harness.api.names(PODS) >= GHOSTS)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def first_completed(harness: KubeHarness, *names: str) -> str:
    found: list[str] = []

    def has_completed() -> bool:
        objects = harness.api.objects
        found[:] = [
            name
            for name in names
            if objects["schedulings", "default", name].get("status", {}).get("state") == "CompletedState"
        ]
        return bool(found)

    await harness.wait_for(has_completed)
    return found[0]
