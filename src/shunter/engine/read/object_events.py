"""Events of Testbeds, BatchJobs and Schedulings. Part of the catalogue of `engine.read.events`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shunter.engine import changes as c
from shunter.model.objects.objects import BATCH_JOB

CATALOGUE: dict[str, tuple[str, str]] = {
    "testbed.set": ("api", "a Testbed was created, changed or marked for deletion"),
    "testbed.moved": (
        "engine",
        "slots of a Testbed were created, dropped, reserved, occupied or freed, or a Scheduling claimed it",
    ),
    "testbed.deleted": ("engine", "a Testbed and its last slot were deleted"),
    "batchjob.set": ("api", "a BatchJob was created or changed, or a scheduler stored data with it"),
    "batchjob.claimed": ("engine", "a Scheduling claimed a BatchJob, or requested it to run in slots"),
    "batchjob.released": ("engine", "a Scheduling released a BatchJob"),
    "batchjob.moved": ("engine", "the state of a BatchJob changed"),
    "batchjob.deleted": ("api", "a BatchJob was deleted; history keeps its runs"),
    "scheduling.set": ("api", "a Scheduling was created, extended or marked for deletion"),
    "scheduling.moved": ("engine", "the state of a Scheduling, or of one of its jobs, changed"),
    "scheduling.deleted": ("engine", "a Scheduling was deleted; history keeps what it did"),
}


def _set(change: c.ObjectSet, _: Callable[[int], str]) -> dict[str, Any]:
    meta = change.meta
    reason = (
        "marked for deletion"
        if meta.is_deleting
        else "made"
        if meta.generation == 1
        else f"generation {meta.generation}"
    )
    return {**_object("set", change.type, str(meta.object_name)), "reason": reason}


def _moved(change: c.ObjectStatusSet, _: Callable[[int], str]) -> dict[str, Any]:
    return {**_object("moved", change.type, change.ref), "state": change.state}


def _claimed(change: c.BatchJobClaimed, _: Callable[[int], str]) -> dict[str, Any]:
    verb = "released" if bytes(change.claim) == bytes(c.NO_CLAIM) else "claimed"
    return {**_object(verb, BATCH_JOB, change.ref), "reason": f"scheduling {change.by}"}


def _dropped(change: c.ObjectDropped, _: Callable[[int], str]) -> dict[str, Any]:
    return _object("deleted", change.type, change.ref)


def _object(verb: str, kind: str, ref: str) -> dict[str, Any]:
    namespace, _, name = ref.partition("/")
    return {"type": f"{kind.lower()}.{verb}", "name": name, "namespace": namespace}


RENDERERS: dict[type, Callable[[Any, Callable[[int], str]], dict[str, Any]]] = {
    c.ObjectSet: _set,
    c.ObjectStatusSet: _moved,
    c.BatchJobClaimed: _claimed,
    c.ObjectDropped: _dropped,
}
