"""One look at a testbed: the slots that it has are brought to those that it shall have, and what uses them is noted.

Called by the engine, and by the operator, whenever a testbed, one of its nodes, or what runs in its slots has changed.
A slot in use is never touched: what was asked of it happens once it is free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from shunter.model.object_lifecycles import SLOT, TESTBED, SlotEvent, TestbedEvent
from shunter.model.testbeds import Slot, SlotPlace, SlotState, Testbed, TestbedStatus
from shunter.testbeds.slots import Layout, lay_out
from shunter.testbeds.view import LabelledNode, SlotUse


def reconcile_testbed(
    testbed: Testbed, nodes: Sequence[LabelledNode], uses: Mapping[SlotPlace, SlotUse], now_ms: int
) -> TestbedStatus:
    """Its status as it should be: the present one itself where nothing is to do."""
    layout = Layout(node_ids={}) if testbed.meta.is_deleting else lay_out(testbed.spec, nodes)
    ready = {node.name: node.is_ready for node in nodes}
    wanted = _wanted(testbed, layout, nodes, uses, now_ms)
    slots = tuple(_moved(slot, uses.get(slot.place), ready.get(slot.place.node, True), now_ms) for slot in wanted)
    status = msgspec.structs.replace(
        testbed.status,
        slots=slots,
        node_problems={name: list(problems) for name, problems in sorted(layout.node_problems.items())},
        problems=list(layout.problems),
        observed_generation=testbed.meta.generation,
    )
    event = _event(status, layout)
    if TESTBED.allows(status.state, event):  # else it is in that state already
        status = msgspec.structs.replace(status, state=TESTBED.move(status.state, event))
    return testbed.status if status == testbed.status else status


# ---- which slots there are ----


def _wanted(
    testbed: Testbed, layout: Layout, nodes: Sequence[LabelledNode], uses: Mapping[SlotPlace, SlotUse], now_ms: int
) -> list[Slot]:
    """All that are in use, and all that shall be and can be made now, by their global numbers: breadth-first over the
    nodes. Those that will not be made again come last, so that they do not shift the others."""
    size = testbed.spec.resources_per_slot
    present = {slot.place: slot for slot in testbed.status.slots}

    def slot_in(place: SlotPlace) -> Slot:
        return present.get(place) or Slot(place, layout.node_ids.get(place, 0), size, since_ms=now_ms)

    used = {place: _used(slot_in(place), layout, size) for place in uses}
    places = _made_now(layout, used, nodes, size) if layout.fits else ()
    slots = [*used.values(), *(_unused(slot_in(place), layout.node_ids[place], size) for place in places)]
    slots.sort(key=lambda slot: (slot.place not in layout.node_ids, slot.place.position, slot.node_id, slot.place.node))
    return slots


def _used(slot: Slot, layout: Layout, size: dict[str, int]) -> Slot:
    node_id = layout.node_ids.get(slot.place, slot.node_id)
    is_leaving = slot.place not in layout.node_ids or slot.size != size
    if (slot.node_id, slot.is_leaving) == (node_id, is_leaving):
        return slot
    return msgspec.structs.replace(slot, node_id=node_id, is_leaving=is_leaving)


def _unused(slot: Slot, node_id: int, size: dict[str, int]) -> Slot:
    if (slot.node_id, slot.size, slot.is_leaving) == (node_id, size, False):
        return slot
    return msgspec.structs.replace(slot, node_id=node_id, size=size, is_leaving=False)


def _made_now(
    layout: Layout, used: Mapping[SlotPlace, Slot], nodes: Sequence[LabelledNode], size: Mapping[str, int]
) -> Iterator[SlotPlace]:
    """Places of slots that nobody uses. On a node with leaving slots there may be room for some of them only, until
    those are gone."""
    crowded = {place.node for place, slot in used.items() if slot.is_leaving}
    room = {node.name: dict(node.free) for node in nodes if node.name in crowded}
    for place, slot in used.items():
        if place.node in room:
            _take(room[place.node], slot.size)
    for place in layout.node_ids:
        if place in used:
            continue
        if place.node in room:
            if any(room[place.node].get(resource, 0) < amount for resource, amount in size.items()):
                continue
            _take(room[place.node], size)
        yield place


def _take(room: dict[str, int], size: Mapping[str, int]) -> None:
    for resource, amount in size.items():
        room[resource] = room.get(resource, 0) - amount


# ---- what state they are in ----


def _moved(slot: Slot, use: SlotUse | None, is_ready: bool, now_ms: int) -> Slot:
    state, holder = slot.state, use.holder if use else None
    for event in _events(slot, use, is_ready):
        state = SLOT.move(state, event)
    if state is slot.state and holder == slot.holder:
        return slot
    return msgspec.structs.replace(slot, state=state, holder=holder, since_ms=now_ms)


def _events(slot: Slot, use: SlotUse | None, is_ready: bool) -> list[SlotEvent]:
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


def _event(status: TestbedStatus, layout: Layout) -> TestbedEvent:
    states = {slot.state for slot in status.slots}
    if not layout.fits:
        return TestbedEvent.BROKEN
    if SlotState.OCCUPIED in states:
        return TestbedEvent.OCCUPIED
    if SlotState.RESERVED in states:
        return TestbedEvent.RESERVED
    return TestbedEvent.BROKEN if status.node_problems else TestbedEvent.IDLE
