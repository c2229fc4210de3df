"""Runs one Scheduling as an external scheduler: creates it, waits until all its jobs have completed, and deletes it in
any case. Called by `profiler`; uses only the public client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import datetime
from typing import Any, Protocol, cast

from shunter.model.objects.objects import API_VERSIONS, BATCH_JOB, SCHEDULING, TESTBED
from shunter.model.rest.object_views import AppliedView, ObjectView, WatchLine
from shunter.schedulers.profiler.pairing import JOBS_PER_NODE, SlotLayout
from shunter.sdk.errors import Invalid, NotFound, Problem, Rejected

COMPLETED, FAILED = "CompletedState", "FailedState"
UNUSABLE = (FAILED, "FailedSubmissionState")  # of a BatchJob: a user has to act first
DELETED = "DELETED"
OWNER_LABEL = "batchjob.tuberlin.de/scheduler"  # the label by which a scheduler knows its own

Report = Callable[[str], None]


class RunFailed(Exception):
    """A Scheduling that did not complete, with the reason."""


class SchedulerClient(Protocol):
    """The part of `shunter.aio.Client` that a scheduler needs."""

    async def objects(self, kind: str | None = None, namespace: str | None = None) -> list[ObjectView]: ...
    async def get(self, kind: str, name: str, namespace: str | None = None) -> ObjectView: ...
    async def apply(self, documents: Any, namespace: str | None = None) -> list[AppliedView]: ...
    async def delete(
        self, kind: str, name: str, namespace: str | None = None, *, version: int | None = None
    ) -> ObjectView: ...
    async def write_external(
        self, name: str, data: Mapping[str, Iterable[Mapping[str, str]]], namespace: str | None = None
    ) -> ObjectView: ...
    def watch(
        self,
        kind: str | None = None,
        name: str | None = None,
        namespace: str | None = None,
        *,
        after: int | None = None,
        present: bool = False,
    ) -> AsyncIterator[WatchLine]: ...


@asynccontextmanager
async def completed_scheduling(
    client: SchedulerClient, name: str, queue: Sequence[str], testbed: str, run_max_s: float
) -> AsyncIterator[None]:
    """Inside, all jobs of the queue have completed and are still claimed; afterwards the Scheduling is gone. Raises
    RunFailed."""
    is_created = True
    try:
        try:
            await client.apply(_manifest(name, queue, testbed))
        except Rejected as error:
            is_created = False  # whatever has that name
            raise RunFailed(f"{name} was rejected: {error}") from error
        try:
            async with asyncio.timeout(run_max_s):
                found = await wait_until(client, SCHEDULING, name, _is_terminal)
        except TimeoutError as error:
            raise RunFailed(f"{name} did not complete within {run_max_s:.0f} s") from error
        if found.status["state"] != COMPLETED:
            raise RunFailed(f"{name} failed: {'; '.join(found.status['problems']) or 'without a reason'}")
        yield
    finally:
        if is_created:
            await delete_and_wait(client, name)


async def wait_until(
    client: SchedulerClient, kind: str, name: str, predicate: Callable[[ObjectView], bool]
) -> ObjectView:
    """The object, as soon as it is as wanted. Raises NotFound if it is not there, or goes."""
    found = await client.get(kind, name)
    if predicate(found):
        return found
    lines = client.watch(kind, name, after=found.resource_version)
    async with aclosing(cast("Any", lines)) as changes:
        async for line in changes:
            if line.type == DELETED:
                break
            if predicate(line.object):
                return cast("ObjectView", line.object)
    raise NotFound(f"{kind} {name} was deleted")


async def delete_and_wait(client: SchedulerClient, name: str) -> None:
    """Delete a Scheduling and wait until it is gone: then its Testbed and jobs are released."""
    with suppress(NotFound):
        await client.delete(SCHEDULING, name)
        await wait_until(client, SCHEDULING, name, lambda _: False)


async def remove_leftovers(client: SchedulerClient, prefix: str, testbed: str) -> list[str]:
    """Delete Schedulings that an earlier process of this scheduler left on this Testbed, found by its label."""
    names = [each.name for each in await client.objects(SCHEDULING) if _is_leftover(each, prefix, testbed)]
    for name in names:
        await delete_and_wait(client, name)
    return names


def _is_leftover(each: ObjectView, prefix: str, testbed: str) -> bool:
    owner: str | None = each.metadata.get("labels", {}).get(OWNER_LABEL)
    return owner == prefix and str(each.spec["testbed"]["name"]) == testbed


async def usable_jobs(client: SchedulerClient, report: Report) -> list[ObjectView]:
    """All BatchJobs that may run, by name; waits until there are at least two."""
    while True:
        found = sorted(filter(_is_usable, await client.objects(BATCH_JOB)), key=lambda job: job.name)
        if len(found) >= JOBS_PER_NODE:
            return found
        report(f"waiting for {JOBS_PER_NODE} BatchJobs that can run; found {len(found)}")
        usable: set[str] = set()
        async with aclosing(cast("Any", client.watch(BATCH_JOB, present=True))) as changes:
            async for line in changes:
                is_usable = line.type != DELETED and _is_usable(line.object)
                (usable.add if is_usable else usable.discard)(line.object.name)
                if len(usable) >= JOBS_PER_NODE:
                    break


def _is_usable(job: ObjectView) -> bool:
    return job.status.get("state") not in UNUSABLE and "deletionTimestamp" not in job.metadata


async def wait_for_free_slots(client: SchedulerClient, name: str, report: Report) -> SlotLayout:
    """The Testbed's room, once all of it is free. Raises Invalid where a node has no two slots."""
    testbed = await client.get(TESTBED, name)
    if not _is_free(testbed):
        reasons = [*testbed.status.get("problems", []), *map(str, testbed.status.get("nodeProblems", {}).values())]
        state = testbed.status.get("state", "new") if layout_of(testbed).slots else "without slots"
        report(f"waiting for Testbed {name}, which is {'; '.join([state, *reasons])}")
        testbed = await wait_until(client, TESTBED, name, _is_free)
    layout = layout_of(testbed)
    if layout.slots_per_node < JOBS_PER_NODE:
        fix = f"use at least {JOBS_PER_NODE}: jobs run side by side"
        raise Invalid([Problem(f"Testbed {name}: spec.slotsPerNode", "is too small", layout.slots_per_node, fix)])
    return layout


def layout_of(testbed: ObjectView) -> SlotLayout:
    nodes = {slot["nodeName"] for slot in testbed.status.get("slots", []) if not slot.get("leaving")}
    return SlotLayout(len(nodes), int(testbed.spec["slotsPerNode"]))


def _is_free(testbed: ObjectView) -> bool:
    return testbed.status.get("state") == "SUCCESS" and layout_of(testbed).slots > 0


def last_duration_s(job: ObjectView, scheduling: str) -> int:
    """How long the job's last run took, in whole seconds. Raises RunFailed if that was none of this Scheduling."""
    events = job.status.get("scheduledEvents", [])
    last = events[-1] if events else {}
    if not last.get("successful") or not last.get("stop") or last["scheduling"]["name"] != scheduling:
        raise RunFailed(f"{job.name} has no run of {scheduling} among its scheduledEvents")
    return int((datetime.fromisoformat(last["stop"]) - datetime.fromisoformat(last["start"])).total_seconds())


def _is_terminal(scheduling: ObjectView) -> bool:
    return scheduling.status.get("state") in (COMPLETED, FAILED)


def _manifest(name: str, queue: Sequence[str], testbed: str) -> dict[str, Any]:
    """Version 0 means that the object must not exist: another user's Scheduling is never replaced."""
    labels = {OWNER_LABEL: name.rpartition("-")[0]}
    return {
        "apiVersion": API_VERSIONS[0],
        "kind": SCHEDULING,
        "metadata": {"name": name, "resourceVersion": "0", "labels": labels},
        "spec": {"queueBased": [{"name": job} for job in queue], "testbed": {"name": testbed}},
    }
