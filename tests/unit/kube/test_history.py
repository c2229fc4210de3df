"""S0-25: records of Schedulings stay when the Schedulings are deleted, whether an operator sees it or not."""

from __future__ import annotations

from typing import Any

from shunter.kube.history import History
from shunter.kube.resources import OBJECTS, PAST_SCHEDULINGS
from tests.unit.kube.harness import KubeHarness
from tests.unit.kube.test_operator import bench, job, scheduling


def specs(harness: KubeHarness) -> list[dict[str, Any]]:
    found = [each["spec"] for (plural, _, _), each in harness.api.objects.items() if plural == PAST_SCHEDULINGS.plural]
    return sorted(found, key=lambda spec: spec["deleted_ms"])


def is_closed(harness: KubeHarness) -> bool:
    return any(spec["deleted_ms"] for spec in specs(harness))


async def run_one(harness: KubeHarness) -> None:
    await bench(harness)
    await job(harness, "one")
    await scheduling(harness, "one", name="first")
    await harness.wait_state("BatchJob", "one", "SubmittedState")
    await harness.wait_for(lambda: "POST pods/one-executor-0/binding" in harness.api.log)
    await harness.api.set_phase("one-executor-0", "Running")
    await harness.wait_state("BatchJob", "one", "RunningState")


async def test_a_deleted_scheduling_is_recorded_with_its_runs() -> None:
    harness = KubeHarness()
    async with harness.running():
        await run_one(harness)
        await harness.api.set_phase("one-executor-0", "Succeeded")
        await harness.wait_state("Scheduling", "first", "CompletedState")
        await harness.settle()
        [open] = specs(harness)
        assert (open["state"], open["deleted_ms"], len(open["runs"])) == ("CompletedState", 0, 1)
        await harness.api.delete(OBJECTS["Scheduling"], "first", "default")
        await harness.wait_for(lambda: is_closed(harness))
    [closed] = specs(harness)
    assert (closed["name"], closed["testbed"]["name"], closed["mode"]) == ("first", "bench", "queue")
    assert [(run["job"]["name"], run["successful"], run["nodes"]) for run in closed["runs"]] == [("one", True, ["a"])]


async def test_a_run_that_the_deletion_ends_says_so() -> None:
    harness = KubeHarness()
    async with harness.running():
        await run_one(harness)
        await harness.api.delete(OBJECTS["Scheduling"], "first", "default")
        await harness.wait_for(lambda: is_closed(harness))
    [run] = specs(harness)[0]["runs"]
    assert (run["successful"], run["reason"]) == (False, "the Scheduling was deleted before it ended")


async def test_what_was_deleted_while_no_operator_ran_is_recorded_by_the_next() -> None:
    harness = KubeHarness()
    async with harness.running():
        await run_one(harness)
        await harness.api.set_phase("one-executor-0", "Succeeded")
        await harness.wait_state("Scheduling", "first", "CompletedState")
        await harness.settle()
    await harness.api.delete(OBJECTS["Scheduling"], "first", "default")
    after = KubeHarness()
    after.restart_on(harness.api)
    async with after.running():
        await after.wait_for(lambda: is_closed(after))
        await after.settle()
    [closed] = specs(after)
    assert (closed["state"], [run["successful"] for run in closed["runs"]]) == ("CompletedState", [True])


async def test_only_the_newest_records_stay() -> None:
    harness = KubeHarness()
    harness.reconcilers.history = History(harness.view, harness.writer, records_max=3)
    async with harness.running():
        await bench(harness)
        for number in range(5):
            await scheduling(harness, "one", name=f"s{number}")
            await harness.settle()
            await harness.api.delete(OBJECTS["Scheduling"], f"s{number}", "default")
            await harness.settle()
        assert [spec["name"] for spec in specs(harness)] == ["s2", "s3", "s4"]
