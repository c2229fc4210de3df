"""The rules of apply: what happens to a draft when the object already exists.

Called by the engine, and by test doubles of it, where they compare and write in one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from shunter.model.errors import Conflict, Problem
from shunter.model.objects.batch_jobs import BatchJob, BatchJobSpec
from shunter.model.objects.object_fields import CLAIM_LABELS
from shunter.model.objects.object_meta import Document
from shunter.model.objects.objects import SCHEDULING, Draft, Object, Spec
from shunter.model.objects.schedulings import SchedulingState
from shunter.model.schema.problems import Problems

DERIVED_STATUS_FIELDS = ("conditions", "unusedFields")  # of a status
ABSENT_REVISION = 0  # the revision of what is not there: a draft based on it makes a new object or conflicts


def resolve_spec(draft: Draft, existing: Object | None) -> Spec:
    """The spec that the object has once the draft is applied. What external schedulers remember of a BatchJob outlives
    a manifest that does not name it, unless the manifest is based on a version that its author has seen whole.

    Raises Conflict where it is based on another version than the present one."""
    revision = ABSENT_REVISION if existing is None else existing.meta.revision
    if draft.revision is not None and draft.revision != revision:
        raise Conflict(_conflict_message(draft, existing))
    if draft.revision is None and isinstance(draft.spec, BatchJobSpec) and existing is not None:
        external = existing.spec.external if isinstance(existing.spec, BatchJobSpec) else {}
        return msgspec.structs.replace(draft.spec, external=external | draft.spec.external)
    return draft.spec


def is_unchanged(draft: Draft, spec: Spec, existing: Object) -> bool:
    """Whether nothing would change."""
    meta = existing.meta
    return spec == existing.spec and draft.labels == meta.labels and draft.annotations == meta.annotations


def refuse_change(draft: Draft, before: Any) -> None:
    """Raises Conflict if an object that exists may not become this, in the state in which it is."""
    if before.meta.is_deleting:
        raise Conflict(f"{draft.kind} '{draft.name}' is being deleted; try again when it is gone")
    if draft.kind == SCHEDULING:
        if draft.spec.testbed != before.spec.testbed:  # type: ignore[union-attr]
            raise Conflict(
                f"Scheduling '{draft.name}' uses Testbed '{before.spec.testbed}', which is immutable; delete the "
                "Scheduling and create another one",
                (Problem("spec.testbed", "is immutable", None, "delete the Scheduling and create another one"),),
            )
        if draft.spec != before.spec and before.status.state in (SchedulingState.FAILED, SchedulingState.FINISHED):
            raise Conflict(
                f"Scheduling '{draft.name}' is in {before.status.state.wire_name}; delete it and create another"
            )
    if isinstance(before, BatchJob) and isinstance(draft.spec, BatchJobSpec):
        same = msgspec.structs.replace(draft.spec, external=before.spec.external) == before.spec
        if not same and before.status.application:
            raise Conflict(
                f"BatchJob '{draft.name}' is running for Scheduling '{before.status.active_scheduling}': only its "
                "externalScheduler can be changed; delete the Scheduling first to change other fields",
            )


def check_read_only_fields(drafts: Sequence[Draft], existing_objects: Sequence[Document | None]) -> None:
    """Raises Invalid if a manifest changes fields that only Shunter writes. `existing_objects`
    are the objects as documents, in the order of the drafts, None for what is not there."""
    problems = Problems()
    for number, (draft, existing) in enumerate(zip(drafts, existing_objects, strict=True)):
        item_path = f"items[{number}]." if len(drafts) > 1 else ""
        for path, value in draft.own.items():
            if value is not None and _without_derived(value) != _without_derived(_existing_value(existing, path)):
                problems.add(item_path + path, "is read-only: only Shunter sets it", value=value, fix="leave it out")
    problems.raise_any()


def _without_derived(value: object) -> object:
    """Only the stored part of a status: derived values may change."""
    return (
        {key: item for key, item in value.items() if key not in DERIVED_STATUS_FIELDS}
        if isinstance(value, dict)
        else value
    )


def _existing_value(existing: Document | None, path: str) -> object:
    section, _, rest = path.partition(".")
    if existing is None or not rest:
        return None if existing is None else existing.get(section)
    found: Document = existing.get(section, {})
    label = rest.removeprefix("labels.")
    return found.get("labels", {}).get(label) if label in CLAIM_LABELS else found.get(rest)


def _conflict_message(draft: Draft, existing: Object | None) -> str:
    object_text = f"{draft.kind} {draft.name}"
    if existing is None:
        return (
            f"{object_text} does not exist, but the manifest is based on its version {draft.revision}; remove"
            " resourceVersion to create it again"
        )
    if draft.revision == ABSENT_REVISION:
        return f"{object_text} already exists"
    return (
        f"{object_text} has changed: its version is {existing.meta.revision}, "
        "but the manifest is based on"
        f" {draft.revision}; get it again"
    )
