"""Changes of nodes and of the reservations on them."""

from __future__ import annotations

from shunter.engine.changes.change_struct import ChangeStruct


class NodeJoined(ChangeStruct, tag=11):
    """A worker said who it is: a new node, or the facts of a known one anew."""

    node: int
    name: str
    boot: str
    capacity: dict[str, int]
    labels: dict[str, str]
    datacenter: str
    attributes: dict[str, str]
    address: str
    at_ms: int


class NodeTransitioned(ChangeStruct, tag=12):
    node: int
    event: int
    reason: str
    at_ms: int
    ref: str


class NodeLabelled(ChangeStruct, tag=13):
    """Labels set by hand; they win over those that the worker brings. An empty value takes the label away."""

    node: int
    labels: dict[str, str]
    at_ms: int
    ref: str


class NodeAttributed(ChangeStruct, tag=31):
    """Attributes set by hand; like labels, they win over those that the worker brings."""

    node: int
    attributes: dict[str, str]
    at_ms: int
    ref: str


class NodeCordonSet(ChangeStruct, tag=30):
    """Whether a node takes work: `by` is "" for yes, else cordon or quarantine."""

    node: int
    by: str
    reason: str
    at_ms: int
    ref: str


class DrainSet(ChangeStruct, tag=32):
    """Whether a node is to be drained, also when it comes back from being down, and until when it waits for its batch
    tasks; 0 means for ever."""

    node: int
    deadline_ms: int
    is_requested: bool = True


class LanesSet(ChangeStruct, tag=14):
    """The reservation of a class on a node has `width` lanes from now on; 0 ends it."""

    class_id: int
    node: int
    width: int


NodeChange = NodeJoined | NodeTransitioned | NodeLabelled | NodeAttributed | NodeCordonSet | DrainSet | LanesSet
