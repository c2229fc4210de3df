"""The history record of a deleted Scheduling."""

from __future__ import annotations

import msgspec

from shunter.model.objects.object_meta import ObjectName


class PastRun(msgspec.Struct, frozen=True):
    """One run of a BatchJob by the Scheduling."""

    job: ObjectName
    slot_ids: tuple[int, ...]
    nodes: tuple[str, ...]
    start_ms: int
    stop_ms: int
    successful: bool | None
    reason: str = ""


class PastScheduling(msgspec.Struct, frozen=True):
    uid: int
    namespace: str
    name: str
    testbed: ObjectName
    mode: str  # queue, strict or relaxed
    user: str
    state: str  # when it was deleted
    problems: tuple[str, ...]
    created_ms: int
    deleted_ms: int
    runs: tuple[PastRun, ...]


class PastSchedulingPage(msgspec.Struct):
    items: list[PastScheduling]
    next: str | None
    total: int
