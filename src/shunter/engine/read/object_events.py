"""Events of Testbeds, BatchJobs and Schedulings. Part of the catalogue of `engine.read.events`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shunter.engine import changes as c
from shunter.model.objects.objects import BATCH_JOB

CATALOGUE: dict[str, tuple[str, str]] = {
    "testbed.set": ("api", "a testbed was made, changed, or asked to go"),
    "testbed.moved": ("engine", "slots of a testbed were made, dropped, reserved, occupied or freed, or it is claimed"),
    "testbed.deleted": ("engine", "a testbed is gone, and its last slot with it"),
    "batchjob.set": ("api", "a BatchJob was made or changed, or a scheduler keeps other data with it"),
    "batchjob.claimed": ("engine", "a scheduling claims a BatchJob, or asks it to run in slots"),
    "batchjob.released": ("engine", "a scheduling lets a BatchJob go"),
    "batchjob.moved": ("engine", "a BatchJob has another state"),
    "batchjob.deleted": ("api", "a BatchJob is gone; history keeps its runs"),
    "scheduling.set": ("api", "a scheduling was made, extended, or asked to go"),
    "scheduling.moved": ("engine", "a scheduling has another state, or got further with one of its jobs"),
    "scheduling.deleted": ("engine", "a scheduling is gone; history keeps what it did"),
}


def _set(change: c.ObjectSet, _: Callable[[int], str]) -> dict[str, Any]:
    meta = change.meta
    reason = "asked to go" if meta.is_deleting else "made" if meta.generation == 1 else f"generation {meta.generation}"
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
