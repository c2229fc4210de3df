"""Reconciles one testbed: which slots it should have, and what state each of them is in.

Called by the engine whenever a testbed, one of its nodes, or what runs in its slots has changed. A slot in use is never
changed: its change waits until it is free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from shunter.model.objects.object_lifecycles import SLOT, TESTBED, SlotEvent, TestbedEvent
from shunter.model.objects.testbeds import Slot, SlotPlace, SlotState, Testbed, TestbedStatus
from shunter.testbeds.slots import Layout, LayoutCache
from shunter.testbeds.view import LabelledNode, SlotUse

_EVENTS_TO_FREE: dict[SlotState, tuple[SlotEvent, ...]] = {
    SlotState.FREE: (),
    SlotState.RESERVED: (SlotEvent.FREED,),
    SlotState.OCCUPIED: (SlotEvent.FREED,),
    SlotState.ERROR: (SlotEvent.NODE_BACK,),
}


def reconcile_testbed(
    testbed: Testbed,
    nodes: Sequence[LabelledNode],
    uses: Mapping[SlotPlace, SlotUse],
    now_ms: int,
    layouts: LayoutCache | None = None,
) -> TestbedStatus:
    """The status that the testbed should have: the same object if nothing changes."""
    layout = (
        Layout(node_ids={}) if testbed.meta.is_deleting else (layouts or LayoutCache()).lay_out(testbed.spec, nodes)
    )
    unready_nodes = {node.name for node in nodes if not node.is_ready}
    desired = _desired_slots(testbed, layout, nodes, uses, now_ms)
    slots = tuple(
        _with_state(slot, uses.get(slot.place), slot.place.node not in unready_nodes, now_ms) for slot in desired
    )
    status = msgspec.structs.replace(
        testbed.status,
        slots=slots,
        node_problems={name: list(problems) for name, problems in sorted(layout.node_problems.items())},
        problems=list(layout.problems),
        observed_generation=testbed.meta.generation,
    )
    event = _testbed_event(status, layout)
    if TESTBED.allows(status.state, event):  # else it is in that state already
        status = msgspec.structs.replace(status, state=TESTBED.move(status.state, event))
    return testbed.status if status == testbed.status else status


# ---- which slots there are ----


def _desired_slots(
    testbed: Testbed, layout: Layout, nodes: Sequence[LabelledNode], uses: Mapping[SlotPlace, SlotUse], now_ms: int
) -> list[Slot]:
    """All slots in use, and all wanted slots that fit now, in the order of their global numbers: breadth-first over the
    nodes. Slots that are no longer wanted come last, so that they do not shift the others."""
    size = testbed.spec.resources_per_slot
    present = {slot.place: slot for slot in testbed.status.slots}

    def slot_at(place: SlotPlace) -> Slot:
        return present.get(place) or Slot(place, layout.node_ids.get(place, 0), size, since_ms=now_ms)

    used = {place: _used(slot_at(place), layout, size) for place in uses}
    headroom = _headroom_with_leaving(used, nodes)
    slots = []
    for place, node_id in layout.node_ids.items():
        if place in used:
            slots.append(used[place])
        elif layout.fits and (place.node not in headroom or _try_allocate(headroom[place.node], size)):
            slots.append(_unused(slot_at(place), node_id, size))
    leaving = [slot for place, slot in used.items() if place not in layout.node_ids]
    leaving.sort(key=lambda slot: (slot.place.position, slot.node_id, slot.place.node))
    return slots + leaving


def _used(slot: Slot, layout: Layout, size: dict[str, int]) -> Slot:
    node_id = layout.node_ids.get(slot.place, slot.node_id)
    is_leaving = slot.place not in layout.node_ids or slot.size != size
    if (slot.node_id, slot.is_leaving) == (node_id, is_leaving):
        return slot
    return msgspec.structs.replace(slot, node_id=node_id, is_leaving=is_leaving)


def _unused(slot: Slot, node_id: int, size: dict[str, int]) -> Slot:
    if slot.node_id == node_id and slot.size == size and not slot.is_leaving:
        return slot
    return msgspec.structs.replace(slot, node_id=node_id, size=size, is_leaving=False)


def _headroom_with_leaving(used: Mapping[SlotPlace, Slot], nodes: Sequence[LabelledNode]) -> dict[str, dict[str, int]]:
    """The resources left for idle slots on nodes with leaving slots, which may not suffice until those are gone. Every
    other node has enough."""
    nodes_with_leaving = {place.node for place, slot in used.items() if slot.is_leaving}
    headroom = {node.name: dict(node.free) for node in nodes if node.name in nodes_with_leaving}
    for place, slot in used.items():
        for resource, amount in slot.size.items() if place.node in headroom else ():
            headroom[place.node][resource] = headroom[place.node].get(resource, 0) - amount
    return headroom


def _try_allocate(headroom: dict[str, int], size: Mapping[str, int]) -> bool:
    if any(headroom.get(resource, 0) < amount for resource, amount in size.items()):
        return False
    for resource, amount in size.items():
        headroom[resource] -= amount
    return True


# ---- what state they are in ----


def _with_state(slot: Slot, use: SlotUse | None, is_ready: bool, now_ms: int) -> Slot:
    state, holder = slot.state, use.holder if use else None
    if state is SlotState.FREE and use is None and is_ready:
        return slot  # as most of them
    for event in _slot_events(slot, use, is_ready):
        state = SLOT.move(state, event)
    if state is slot.state and holder == slot.holder:
        return slot
    return msgspec.structs.replace(slot, state=state, holder=holder, since_ms=now_ms)


def _slot_events(slot: Slot, use: SlotUse | None, is_ready: bool) -> list[SlotEvent]:
    """The events from the present state to the desired one; several if steps in between were not observed."""
    return _events_to_idle(slot.state, is_ready) if use is None else _events_to_used(slot, use)


def _events_to_idle(state: SlotState, is_ready: bool) -> list[SlotEvent]:
    if is_ready:
        return [*_EVENTS_TO_FREE[state]]
    return [] if state is SlotState.ERROR else [*_EVENTS_TO_FREE[state], SlotEvent.NODE_LOST]


def _events_to_used(slot: Slot, use: SlotUse) -> list[SlotEvent]:
    """A slot changes hands by way of FREE."""
    is_kept = slot.state in (SlotState.RESERVED, SlotState.OCCUPIED) and slot.holder == use.holder
    if is_kept and slot.state is SlotState.OCCUPIED:
        return [] if use.is_running else [SlotEvent.INTERRUPTED]
    reserve = [] if is_kept else [*_EVENTS_TO_FREE[slot.state], SlotEvent.RESERVED]
    return [*reserve, SlotEvent.STARTED] if use.is_running else reserve


def _testbed_event(status: TestbedStatus, layout: Layout) -> TestbedEvent:
    if not layout.fits:
        return TestbedEvent.BROKEN
    if any(slot.state is SlotState.OCCUPIED for slot in status.slots):
        return TestbedEvent.OCCUPIED
    if any(slot.state is SlotState.RESERVED for slot in status.slots):
        return TestbedEvent.RESERVED
    return TestbedEvent.BROKEN if status.node_problems else TestbedEvent.IDLE
