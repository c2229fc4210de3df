"""Finds ended Schedulings that block a pending one: a Scheduling holds its claims until it is deleted, which new users
do not expect. Used by `describe` and `apply --wait`."""

from __future__ import annotations

from typing import Any

from shunter.cli.render.object_tables import state_of
from shunter.model.errors import NotFound
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.rest.object_views import ObjectView
from shunter.sdk.client import Client

LOOKUPS_MAX = 20  # BatchJobs to look up
ACQUIRE_STATE = "AcquireState"
ENDED_STATES = ("CompletedState", "FailedState")


def ended_holders(client: Client, each: ObjectView) -> list[ObjectView]:
    """Ended Schedulings that still hold what this one needs. They hold it until somebody deletes them."""
    if state_of(each) != ACQUIRE_STATE:
        return []
    claims: list[dict[str, str]] = []
    for kind, reference in [("Testbed", each.spec["testbed"]), *(("BatchJob", job) for job in _jobs(each))]:
        held = _get(client, kind, reference)
        if held is not None:
            claim = held.spec.get("activeScheduling")
            claims += held.status.get("claims", []) if kind == "Testbed" else [claim] if claim else []
    names = {(claim["namespace"], claim["name"]) for claim in claims} - {(each.namespace, each.name)}
    found = (_get(client, "Scheduling", {"namespace": space, "name": name}) for space, name in sorted(names))
    return [other for other in found if other is not None and state_of(other) in ENDED_STATES]


def claimed_jobs(client: Client, each: ObjectView) -> list[ObjectView]:
    """The BatchJobs that a Scheduling claims; it looks only at the first ones."""
    own_reference = {"namespace": each.namespace, "name": each.name}
    found = (_get(client, "BatchJob", job) for job in _jobs(each))
    return [job for job in found if job is not None and job.spec.get("activeScheduling") == own_reference]


def _jobs(each: ObjectView) -> list[dict[str, Any]]:
    if "queueBased" in each.spec:
        named = each.spec["queueBased"]
    else:
        named = [job["name"] for job in each.spec["slotBased"]["jobs"]]
    return list({(job["namespace"], job["name"]): job for job in named}.values())[:LOOKUPS_MAX]


def _get(client: Client, kind: str, reference: dict[str, Any]) -> ObjectView | None:
    try:
        return client.get(kind, reference["name"], reference["namespace"])
    except NotFound:
        return None


def release_hint(each: ObjectView) -> str:
    space = "" if each.namespace == NAMESPACE_DEFAULT else f" -n {each.namespace}"
    return f"holds its testbed and jobs until you delete it: shunter delete scheduling {each.name}{space}"
