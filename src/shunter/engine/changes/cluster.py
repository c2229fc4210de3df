"""Changes of queues, live settings and dead letters."""

from __future__ import annotations

from shunter.engine.changes.change_struct import ChangeStruct


class QueueSet(ChangeStruct, tag=28):
    """A named queue has these rules from now on."""

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
    """A setting of the whole cluster, changed live. An empty value means the default again."""

    name: str
    value: str
    at_ms: int


class DeadLettersDropped(ChangeStruct, tag=34):
    """Dead letters that were replayed or purged, by number."""

    numbers: list[int]
    reason: str
    at_ms: int


ClusterChange = QueueSet | QueueDropped | ClusterSet | DeadLettersDropped
