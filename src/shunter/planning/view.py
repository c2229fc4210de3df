"""What a policy sees and what it answers. The engine owns the columns; a policy reads them and never writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class NodeKind:
    """What constraints can ask about; many nodes share one kind, so a constraint is evaluated once a kind."""

    datacenter: str
    labels: Mapping[str, str]
    attributes: Mapping[str, str]


@dataclass(slots=True)
class Nodes:
    """All nodes as columns. Row 0 is no node at all and never eligible; a node keeps its row for good.

    Only the first `count` rows are used. `changed[i]` is the value that `tick` had when row i last changed, so that a
    policy can look at just the rows that changed since it looked last.
    """

    resources: list[str]  # the names of the columns of capacity and reserved: cpu, memory, disk, then custom ones
    capacity: IntArray  # [rows, resources], inner amounts
    reserved: IntArray
    busy: FloatArray  # measured share of cpu in use, 0 to 1, in steps of 5 %
    tasks: IntArray  # assigned and running
    eligible: BoolArray  # ready, and not switched off by hand
    kind: NDArray[np.int32]  # index into kinds
    changed: IntArray
    kinds: list[NodeKind] = field(default_factory=list)  # only ever appended to
    names: list[str] = field(default_factory=list)
    ineligible_because: dict[int, str] = field(default_factory=dict)  # row -> "down: no heartbeat for 5 s"
    count: int = 1
    tick: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class TaskClass:
    """Tasks that a planner cannot tell apart."""

    id: int
    needs: Mapping[str, int]  # inner amounts above zero
    namespace: str
    user: str
    priority: int
    datacenters: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()


@dataclass(slots=True)
class Queued:
    """Tasks of one class that wait now. `since` orders classes of the same priority: the oldest submission first."""

    task_class: TaskClass
    count: int
    since: int


@dataclass(frozen=True, slots=True)
class ClusterView:
    version: int
    nodes: Nodes
    queued: Sequence[Queued]


@dataclass(frozen=True, slots=True)
class Placement:
    """`counts[i]` tasks of the class go to row `nodes[i]`."""

    class_id: int
    nodes: IntArray
    counts: IntArray


@dataclass(frozen=True, slots=True)
class Left:
    """Tasks that stay queued. Why is worked out only when someone asks: see `planning.explain`."""

    class_id: int
    count: int


@dataclass(slots=True)
class Decision:
    based_on: int
    placements: list[Placement] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)


class Policy(Protocol):
    """The brain. `fast` policies run inside a round; all others get a view and answer through the inbox."""

    name: str
    fast: bool

    def decide(self, view: ClusterView, now: float, budget: int) -> Decision:
        """Place at most `budget` tasks. Must not place more than fits: every item is checked before it applies."""
        ...
