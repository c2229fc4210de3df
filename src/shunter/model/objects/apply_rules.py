"""What becomes of a draft beside the object that is there: the rules of apply.

Whoever keeps objects calls them where it compares and writes in one step: the engine, and every stand-in for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shunter.model.errors import Conflict
from shunter.model.objects.batch_jobs import BatchJobSpec
from shunter.model.objects.object_fields import CLAIM_LABELS
from shunter.model.objects.object_meta import Document
from shunter.model.objects.objects import Draft, Object, Spec
from shunter.model.schema.problems import Problems

DERIVED = ("conditions", "unusedFields")  # of a status
ABSENT = 0  # the revision of what is not there: a draft based on it makes a new object or conflicts


def settle(draft: Draft, present: Object | None) -> Spec:
    """The spec that the object has once the draft is applied. What external schedulers remember of a BatchJob outlives
    a manifest that does not name it, unless the manifest is based on a version that its author has seen whole.

    Raises Conflict where it is based on another version than the present one."""
    revision = ABSENT if present is None else present.meta.revision
    if draft.revision is not None and draft.revision != revision:
        raise Conflict(_conflict(draft, present))
    if draft.revision is None and isinstance(draft.spec, BatchJobSpec) and present is not None:
        kept = present.spec.external if isinstance(present.spec, BatchJobSpec) else {}
        return msgspec.structs.replace(draft.spec, external=kept | draft.spec.external)
    return draft.spec


def is_settled(draft: Draft, spec: Spec, present: Object) -> bool:
    """Whether nothing would change."""
    meta = present.meta
    return spec == present.spec and draft.labels == meta.labels and draft.annotations == meta.annotations


def check_own(drafts: Sequence[Draft], presents: Sequence[Document | None]) -> None:
    """Raises Invalid where a manifest sets what only Shunter writes to something else than it is. `presents` are the
    objects as documents, in the order of the drafts, None for what is not there."""
    problems = Problems()
    for number, (draft, present) in enumerate(zip(drafts, presents, strict=True)):
        at = f"items[{number}]." if len(drafts) > 1 else ""
        for path, value in draft.own.items():
            if value is not None and _kept(value) != _kept(_found(present, path)):
                problems.add(at + path, "is written by Shunter alone", value=value, fix="leave it out")
    problems.raise_any()


def _kept(value: object) -> object:
    """Of a status only what is kept: what is merely worked out when it is shown may come out otherwise."""
    return {key: item for key, item in value.items() if key not in DERIVED} if isinstance(value, dict) else value


def _found(present: Document | None, path: str) -> object:
    section, _, rest = path.partition(".")
    if present is None or not rest:
        return None if present is None else present.get(section)
    found: Document = present.get(section, {})
    label = rest.removeprefix("labels.")
    return found.get("labels", {}).get(label) if label in CLAIM_LABELS else found.get(rest)


def _conflict(draft: Draft, present: Object | None) -> str:
    who = f"{draft.kind} {draft.name}"
    if present is None:
        return (
            f"{who} is not there (any more), and the manifest is based on its version {draft.revision}: leave"
            " resourceVersion out to make it anew"
        )
    if draft.revision == ABSENT:
        return f"{who} is there already"
    return (
        f"{who} was changed in the meantime: its version is {present.meta.revision}, and the manifest is based on"
        f" {draft.revision}: get it again"
    )
