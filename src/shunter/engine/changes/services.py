"""Changes of long-running jobs: a new spec, and instances that are replaced or stopped."""

from __future__ import annotations

import msgspec

from shunter.engine.changes.change_struct import ChangeStruct


class JobUpdated(ChangeStruct, tag=17):
    """A long-running job has a new spec. Tasks of the older one are replaced step by step. `how` is update, scale,
    rollback or restart. With a `node`, only tasks on that node are replaced."""

    job: int
    version: int
    priority: int
    labels: dict[str, str]
    groups: msgspec.Raw
    options: msgspec.Raw
    at_ms: int
    reason: str
    ref: str
    cause: str = "update"
    node: int = 0


class RolloutSettled(ChangeStruct, tag=40):
    """The rollout of a long-running job has ended: all instances are healthy at the current spec, or it stays
    half-way."""

    job: int
    version: int
    is_stable: bool
    at_ms: int
    reason: str
    ref: str


class InstanceDownSet(ChangeStruct, tag=41):
    """One instance of a long-running job is stopped until it is started again."""

    job: int
    group: str
    index: int
    is_down: bool
    at_ms: int
    ref: str


class InstanceRestartRequested(ChangeStruct, tag=42):
    """One instance of a long-running job is to be replaced by a new one with the same spec."""

    job: int
    group: str
    index: int
    at_ms: int
    ref: str


ServiceChange = JobUpdated | RolloutSettled | InstanceDownSet | InstanceRestartRequested
