"""Testbeds: slots reserved on labelled nodes. A slot is a part of one node's resources that only executors of BatchJobs
can use. The engine stores it as a reservation on the node."""

from __future__ import annotations

from functools import cached_property

import msgspec

from shunter.model.lifecycles import State
from shunter.model.objects.object_meta import Meta, ObjectName

EXCLUSIVE, DISJOINT = "exclusive", "disjoint"  # who may use it at the same time: one Scheduling, or several that name
# disjoint slots


class SlotState(State):
    FREE = 0
    RESERVED = 1  # for an executor that has not started yet
    OCCUPIED = 2
    ERROR = 3  # its node takes no work

    @cached_property
    def wire_name(self) -> str:
        return self.name


class TestbedState(State):
    INITIAL = 0
    SUCCESS = 1  # every slot is there, and none is in use
    IN_PROGRESS = 2  # slots are reserved, and nothing runs yet; or some of them leave or cannot be made yet
    RUNNING = 3
    ERROR = 4

    @cached_property
    def wire_name(self) -> str:
        return self.name


class SlotPlace(msgspec.Struct, frozen=True, array_like=True, order=True, cache_hash=True, gc=False):
    """Where a slot is. Its global number may change with the testbed; its place does not."""

    node: str
    position: int  # on the node, from 0


class SlotHolder(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Who has a slot: one executor of a BatchJob."""

    job: ObjectName
    executor: int  # from 0
    scheduling: ObjectName


class Slot(msgspec.Struct, frozen=True, array_like=True, gc=False):
    place: SlotPlace
    node_id: int  # the value of the node's label
    size: dict[str, int]  # resource -> inner amount; an occupied slot keeps its own until it is free
    state: SlotState = SlotState.FREE
    since_ms: int = 0  # in this state
    holder: SlotHolder | None = None
    is_leaving: bool = False  # goes, or is made anew in another size, as soon as it is free


class TestbedSpec(msgspec.Struct, frozen=True, array_like=True):
    slots_per_node: int
    node_label: str  # the key; each node's value is a whole number, by which slots are ordered
    resources_per_slot: dict[str, int]  # inner amounts
    sharing: str = EXCLUSIVE


class TestbedStatus(msgspec.Struct, frozen=True, array_like=True, gc=False):
    state: TestbedState = TestbedState.INITIAL
    slots: tuple[Slot, ...] = ()  # in the order of their global numbers
    node_problems: dict[str, list[str]] = {}
    problems: list[str] = []
    observed_generation: int = 0
    claims: tuple[ObjectName, ...] = ()  # the Schedulings that use it


class Testbed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    meta: Meta
    spec: TestbedSpec
    status: TestbedStatus = TestbedStatus()
