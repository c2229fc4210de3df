"""Changes of queues, live settings, dead letters and the format of the store."""

from __future__ import annotations

from shunter.engine.changes.change_struct import ChangeStruct


class QueueSet(ChangeStruct, tag=28):
    """Sets the rules of a named queue."""

    name: str
    is_paused: bool
    is_strict: bool
    running_max: int
    queued_max: int
    at_ms: int


class QueueDropped(ChangeStruct, tag=29):
    name: str
    at_ms: int


class ClusterSet(ChangeStruct, tag=33):
    """Changes a setting of the whole cluster. An empty value means the default."""

    name: str
    value: str
    at_ms: int


class DeadLettersDropped(ChangeStruct, tag=34):
    """Dead letters were replayed or purged, by number."""

    numbers: list[int]
    reason: str
    at_ms: int


class FormatRaised(ChangeStruct, tag=51):
    """From here on the store has what came with this format. It is the first change of its round, and its fields never
    change, so that a manager that cannot read the rest can say why."""

    format: int
    by: str  # the version of the manager that raised it
    at_ms: int


ClusterChange = QueueSet | QueueDropped | ClusterSet | DeadLettersDropped | FormatRaised
