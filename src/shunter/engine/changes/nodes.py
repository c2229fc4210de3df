"""Changes of nodes and of the reservations on them."""

from __future__ import annotations

from shunter.engine.changes.change_struct import ChangeStruct


class NodeJoined(ChangeStruct, tag=11):
    """A worker introduced itself: a new node, or new facts about a known one."""

    node: int
    name: str
    boot: str
    capacity: dict[str, int]
    labels: dict[str, str]
    datacenter: str
    attributes: dict[str, str]
    address: str
    at_ms: int
    worker_id: str = ""
    machine: str = ""
    machine_boot: str = ""


class NodeTransitioned(ChangeStruct, tag=12):
    node: int
    event: int
    reason: str
    at_ms: int
    ref: str


class NodeLabelled(ChangeStruct, tag=13):
    """Labels set by hand; they override the worker's. An empty value removes the label."""

    node: int
    labels: dict[str, str]
    at_ms: int
    ref: str


class NodeAttributed(ChangeStruct, tag=31):
    """Attributes set by hand; like labels, they override the worker's."""

    node: int
    attributes: dict[str, str]
    at_ms: int
    ref: str


class NodeCordonSet(ChangeStruct, tag=30):
    """Whether a node accepts work: `by` is "" for yes, else cordon or quarantine."""

    node: int
    by: str
    reason: str
    at_ms: int
    ref: str


class DrainSet(ChangeStruct, tag=32):
    """Whether to drain a node, also after it was down, and until when its batch tasks may run; 0 means without a
    deadline."""

    node: int
    deadline_ms: int
    is_requested: bool = True


class LanesSet(ChangeStruct, tag=14):
    """Sets the reservation of a class on a node to `width` lanes; 0 ends it."""

    class_id: int
    node: int
    width: int


NodeChange = NodeJoined | NodeTransitioned | NodeLabelled | NodeAttributed | NodeCordonSet | DrainSet | LanesSet
