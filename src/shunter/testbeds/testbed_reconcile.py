"""One look at a testbed: the slots that it has are brought to those that it shall have, and what uses them is noted.

Called by the engine whenever a testbed, one of its nodes, or what runs in its slots has changed.
A slot in use is never touched: what was asked of it happens once it is free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from shunter.model.objects.object_lifecycles import SLOT, TESTBED, SlotEvent, TestbedEvent
from shunter.model.objects.testbeds import Slot, SlotPlace, SlotState, Testbed, TestbedStatus
from shunter.testbeds.slots import Layout, lay_out
from shunter.testbeds.view import LabelledNode, SlotUse


def reconcile_testbed(
    testbed: Testbed, nodes: Sequence[LabelledNode], uses: Mapping[SlotPlace, SlotUse], now_ms: int
) -> TestbedStatus:
    """Its status as it should be: the present one itself where nothing is to do."""
    layout = Layout(node_ids={}) if testbed.meta.is_deleting else lay_out(testbed.spec, nodes)
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
    """All that are in use, and all that shall be and can be made now, by their global numbers: breadth-first over the
    nodes. Those that will not be made again come last, so that they do not shift the others."""
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
    """What is left for slots that nobody uses, of nodes with leaving slots: there may be too little for all of them,
    until those are gone. On all other nodes there is enough."""
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
    """The way from what it is to what it should be, by the table; several steps where some were not seen."""
    events, state = [], slot.state
    if state in (SlotState.RESERVED, SlotState.OCCUPIED) and (use is None or use.holder != slot.holder):
        events.append(SlotEvent.FREED)
        state = SlotState.FREE
    if state is SlotState.ERROR and (use is not None or is_ready):
        events.append(SlotEvent.NODE_BACK)
        state = SlotState.FREE
    if state is SlotState.FREE and use is not None:
        events.append(SlotEvent.RESERVED)
        state = SlotState.RESERVED
    if state is SlotState.RESERVED and use is not None and use.is_running:
        events.append(SlotEvent.STARTED)
    if state is SlotState.OCCUPIED and use is not None and not use.is_running:
        events.append(SlotEvent.INTERRUPTED)
    if state is SlotState.FREE and use is None and not is_ready:
        events.append(SlotEvent.NODE_LOST)
    return events


def _testbed_event(status: TestbedStatus, layout: Layout) -> TestbedEvent:
    if not layout.fits:
        return TestbedEvent.BROKEN
    if any(slot.state is SlotState.OCCUPIED for slot in status.slots):
        return TestbedEvent.OCCUPIED
    if any(slot.state is SlotState.RESERVED for slot in status.slots):
        return TestbedEvent.RESERVED
    return TestbedEvent.BROKEN if status.node_problems else TestbedEvent.IDLE
