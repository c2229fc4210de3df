"""Recorded decisions of the flight recorder, as REST answers show them."""

from __future__ import annotations

import msgspec


class DecisionItem(msgspec.Struct, kw_only=True):
    """Tasks of one class that were placed on a node, or preempted there."""

    node: str
    count: int
    class_id: int
    who: str | None = None  # NAMESPACE/USER of the class, if it still exists
    preempted: bool = False


class DecisionView(msgspec.Struct, kw_only=True):
    id: str
    at: str
    source: str  # rounds, or the session of a scheduler
    policy: str
    version: int  # of the state that it is based on
    placed: int
    preempted: int
    schedulings: int
    left: int  # tasks that stayed queued
    reasons: list[str] = []
    items: list[DecisionItem] = []
    truncated: bool = False  # there are more items
    error: str | None = None


class DecisionPage(msgspec.Struct):
    items: list[DecisionView]
    next: str | None
    total: int


class SeenResource(msgspec.Struct, kw_only=True):
    """A resource, summed over all nodes that took work at that moment."""

    name: str
    capacity: str
    reserved: str


class SeenClass(msgspec.Struct, kw_only=True):
    """Tasks that waited, and what the decision made of them. `name` is known where the policy gave a reason."""

    class_id: int
    name: str | None
    namespace: str
    user: str
    queue: str
    priority: int
    needs: dict[str, str]
    constraints: list[str] = []
    queued: int
    waited_s: float
    placed: int
    reason: str | None = None  # why the rest was left


class DecisionDetail(msgspec.Struct, kw_only=True):
    """What the policy saw when it decided, and what it decided. The classes that the decision is about come first."""

    decision: DecisionView
    nodes: int
    eligible: int  # nodes that took work
    resources: list[SeenResource]
    queued_tasks: int
    queued_classes: int
    budget: int  # tasks that it could place at most
    classes: list[SeenClass]
    truncated: bool = False  # there were more classes


class DecisionReplay(msgspec.Struct, kw_only=True):
    """What another policy decides on the same input, and how far it agrees over the decisions of the same segment.
    `missing`: questions of the policy to which the recording has no answer."""

    id: str
    policy: str
    same: bool
    recorded: list[DecisionItem]
    replayed: list[DecisionItem]
    truncated: bool = False  # there are more items
    left: int
    reasons: list[str] = []
    missing: int
    compared: int
    equal: int
    different: list[str] = []  # ids


class PolicyPeriod(msgspec.Struct, kw_only=True):
    """Decisions of one policy, between two others. `nodes`: how many of them it placed tasks on."""

    policy: str
    start: str
    stop: str
    decisions: int
    placed: int
    preempted: int
    failed: int
    nodes: int


class ShadowAgreement(msgspec.Struct, kw_only=True):
    name: str
    compared: int
    agreed: int
    differed_ms: list[int] = []  # when it did not agree, since 1970


class FlightTimeline(msgspec.Struct, kw_only=True):
    """Decisions as columns, in the order in which they were made. `policies` are positions in `policy_names`."""

    ids: list[str]
    at_ms: list[int]
    placed: list[int]
    preempted: list[int]
    left: list[int]
    failed: list[bool]
    policies: list[int]
    policy_names: list[str]
    periods: list[PolicyPeriod] = []
    shadows: list[ShadowAgreement] = []
    truncated: bool = False  # there are older ones
