"""Testbeds: their slots, the numbering, and what happens to slots when nodes or sizes change."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shunter.model.objects.object_meta import Meta
from shunter.model.objects.testbeds import (
    SlotHolder,
    SlotPlace,
    SlotState,
    Testbed,
    TestbedSpec,
    TestbedState,
    TestbedStatus,
)
from shunter.testbeds.testbed_reconcile import reconcile_testbed
from shunter.testbeds.view import LabelledNode, SlotUse
from tests.unit.testbeds.memory_cluster import AMPLE_CAPACITY, MemoryCluster, object_name, queue_spec

HELD = SlotHolder(object_name("a"), 0, object_name("s"))
RESERVED, RUNS = SlotUse(HELD, False), SlotUse(HELD, True)


def place(node: str, position: int = 0) -> SlotPlace:
    return SlotPlace(node, position)


def node(name: str, label: str, **fields: Any) -> LabelledNode:
    return LabelledNode(name, label, **({"free": AMPLE_CAPACITY} | fields))


class ReconciledTestbed:
    """A testbed that is looked at again and again."""

    def __init__(self, slots_per_node: int = 2, **size: int) -> None:
        self.testbed = Testbed(
            Meta(1, "default", "tb", 1, "ann"), TestbedSpec(slots_per_node, "yard", size or {"cpu": 500})
        )
        self.now_ms = 1_000

    def reconcile(self, nodes: list[LabelledNode], uses: dict[SlotPlace, SlotUse] | None = None) -> TestbedStatus:
        self.now_ms += 1_000
        status = reconcile_testbed(self.testbed, nodes, uses or {}, self.now_ms)
        self.testbed = Testbed(self.testbed.meta, self.testbed.spec, status)
        assert reconcile_testbed(self.testbed, nodes, uses or {}, self.now_ms + 1) is status
        return status

    def change(self, slots_per_node: int, **size: int) -> None:
        meta = self.testbed.meta
        meta = Meta(meta.uid, "default", "tb", 1, "ann", generation=meta.generation + 1)
        self.testbed = Testbed(meta, TestbedSpec(slots_per_node, "yard", size), self.testbed.status)

    def delete(self) -> None:
        meta = self.testbed.meta
        meta = Meta(meta.uid, "default", "tb", 1, "ann", generation=meta.generation, deleting_ms=5)
        self.testbed = Testbed(meta, self.testbed.spec, self.testbed.status)


def slot_names(status: TestbedStatus) -> list[str]:
    return [f"{slot.place.node}/{slot.place.position}" + "-" * slot.is_leaving for slot in status.slots]


def states(status: TestbedStatus) -> list[str]:
    return [slot.state.wire_name for slot in status.slots]


THREE = [node("c", "2"), node("a", "10"), node("b", "0")]


# ---- numbering ----


def test_slots_are_numbered_breadth_first_by_position_and_then_by_node_id() -> None:
    """S0-07: three nodes with two slots each have the ids 0 to 5."""
    status = ReconciledTestbed(2).reconcile(THREE)
    assert slot_names(status) == ["b/0", "c/0", "a/0", "b/1", "c/1", "a/1"]
    assert [slot.node_id for slot in status.slots] == [0, 2, 10, 0, 2, 10]
    assert status.state is TestbedState.SUCCESS
    assert {slot.since_ms for slot in status.slots} == {2_000}
    assert all(slot.size == {"cpu": 500} for slot in status.slots)


def test_numbers_may_begin_with_zeros() -> None:
    """As `seq -w` writes them."""
    assert slot_names(ReconciledTestbed(1).reconcile([node("a", "10"), node("b", "02"), node("c", "00")])) == [
        "c/0",
        "b/0",
        "a/0",
    ]


def test_two_nodes_with_the_same_number_are_ordered_by_name_and_that_is_told() -> None:
    status = ReconciledTestbed(1).reconcile([node("b", "1"), node("a", "1"), node("c", "0")])
    assert slot_names(status) == ["c/0", "a/0", "b/0"]
    assert status.state is TestbedState.SUCCESS
    assert status.problems == [
        "Nodes a, b all have yard=1: their slots are ordered by node name. Give each node a unique number: "
        "shunter node label b yard=NUMBER"
    ]


@pytest.mark.parametrize("label", ["", "one", "1.5", "-1", "1234567890", "²"])
def test_a_label_that_is_no_whole_number_gives_its_node_no_slots_and_a_problem_with_the_fix(label: str) -> None:
    status = ReconciledTestbed(1).reconcile([node("a", label), node("b", "0")])
    assert slot_names(status) == ["b/0"]
    assert status.node_problems == {
        "a": [
            f"Label yard is {label!r}, but must be a whole number from 0 to 999999999. "
            f"Set it: shunter node label a yard=0"
        ]
    }
    assert status.state is TestbedState.ERROR


def test_a_testbed_without_nodes_says_which_label_is_missing() -> None:
    status = ReconciledTestbed(1).reconcile([])
    assert status.slots == ()
    assert status.state is TestbedState.SUCCESS
    assert status.problems == [
        "No node has the label yard. Set it on the nodes that should have slots: shunter node label NODE yard=0"
    ]


# ---- room ----


def test_a_testbed_that_does_not_fit_names_exactly_the_nodes_and_resources_that_lack_and_reserves_nothing() -> None:
    """S0-10."""
    bed = ReconciledTestbed(2, cpu=700, memory=2**29)
    small, other = {"cpu": 1_000, "memory": 2**30}, {"cpu": 1_400, "memory": 2**29}
    status = bed.reconcile([node("a", "0"), node("b", "1", free=small), node("c", "2", free=other)])
    assert status.state is TestbedState.ERROR
    assert status.slots == ()
    assert status.node_problems == {
        "b": ["Requires 1400m of cpu resources. Available: 1000m"],
        "c": ["Requires 1Gi of memory resources. Available: 512Mi"],
    }


def test_what_does_not_fit_any_more_keeps_its_used_slots_only_and_comes_back_with_the_room() -> None:
    bed = ReconciledTestbed(2, cpu=500)
    nodes = [node("a", "0", free={"cpu": 1_000}), node("b", "1", free={"cpu": 1_000})]
    bed.reconcile(nodes, {place("a", 1): RUNS})
    shrunk = [nodes[0], node("b", "1", free={"cpu": 900})]
    status = bed.reconcile(shrunk, {place("a", 1): RUNS})
    assert (slot_names(status), status.state) == (["a/1"], TestbedState.ERROR)
    assert status.node_problems == {"b": ["Requires 1000m of cpu resources. Available: 900m"]}
    status = bed.reconcile(nodes, {place("a", 1): RUNS})
    assert (slot_names(status), status.state) == (["a/0", "b/0", "a/1", "b/1"], TestbedState.RUNNING)


def test_a_node_that_has_more_than_enough_of_what_a_slot_does_not_name_is_fine() -> None:
    assert (
        ReconciledTestbed(1, gpu=1).reconcile([node("a", "0", free={"cpu": 0, "gpu": 1})]).state is TestbedState.SUCCESS
    )
    assert ReconciledTestbed(1, gpu=1).reconcile([node("a", "0", free={"cpu": 9_000})]).node_problems == {
        "a": ["Requires 1 of gpu resources. Available: 0"]
    }


# ---- healing ----


def test_a_slot_that_is_lost_is_made_again_and_a_node_that_loses_its_label_loses_its_slots() -> None:
    """S0-09."""
    bed = ReconciledTestbed(1)
    bed.reconcile(THREE)
    bed.testbed = Testbed(
        bed.testbed.meta, bed.testbed.spec, TestbedStatus(TestbedState.SUCCESS, bed.testbed.status.slots[:1])
    )
    assert slot_names(bed.reconcile(THREE)) == ["b/0", "c/0", "a/0"]
    assert slot_names(bed.reconcile(THREE[:2])) == ["c/0", "a/0"]
    assert slot_names(bed.reconcile([*THREE, node("d", "1")])) == ["b/0", "d/0", "c/0", "a/0"]


def test_free_slots_get_their_new_size_at_once() -> None:
    """S0-09: the place stays, the reservation is made anew."""
    bed = ReconciledTestbed(1, cpu=500)
    before = bed.reconcile(THREE)
    bed.change(1, cpu=501)
    after = bed.reconcile(THREE)
    assert [slot.size for slot in after.slots] == [{"cpu": 501}] * 3
    assert [slot.place for slot in after.slots] == [slot.place for slot in before.slots]
    assert after.observed_generation == 2


def test_a_node_with_another_number_moves_its_slots_in_the_order() -> None:
    bed = ReconciledTestbed(1)
    bed.reconcile(THREE)
    status = bed.reconcile([node("c", "2"), node("a", "10"), node("b", "5")], {place("b"): RUNS})
    assert slot_names(status) == ["c/0", "b/0", "a/0"]
    assert not any(slot.is_leaving for slot in status.slots)


def test_what_does_not_change_stays_the_same_object() -> None:
    bed = ReconciledTestbed(2)
    before = bed.reconcile(THREE)
    after = bed.reconcile(THREE, {place("c", 1): RESERVED})
    changed = [
        number for number, pair in enumerate(zip(before.slots, after.slots, strict=True)) if pair[0] is not pair[1]
    ]
    assert changed == [4]
    assert bed.reconcile(THREE, {place("c", 1): RESERVED}) is after


# ---- use ----


def test_a_slot_is_free_reserved_occupied_and_free_again_with_who_and_since_when() -> None:
    """S0-16."""
    bed, seen = ReconciledTestbed(1), []
    for uses in ({}, {place("a"): RESERVED}, {place("a"): RESERVED}, {place("a"): RUNS}, {}):
        status = bed.reconcile([node("a", "0")], uses)
        seen.append(
            (status.slots[0].state.wire_name, status.slots[0].holder, status.slots[0].since_ms, status.state.wire_name)
        )
    assert seen == [
        ("FREE", None, 2_000, "SUCCESS"),
        ("RESERVED", HELD, 3_000, "IN_PROGRESS"),
        ("RESERVED", HELD, 3_000, "IN_PROGRESS"),
        ("OCCUPIED", HELD, 5_000, "RUNNING"),
        ("FREE", None, 6_000, "SUCCESS"),
    ]


def test_a_reservation_for_an_executor_that_vanished_is_free_again() -> None:
    """S0-16."""
    bed = ReconciledTestbed(1)
    bed.reconcile([node("a", "0")], {place("a"): RESERVED})
    assert states(bed.reconcile([node("a", "0")])) == ["FREE"]


def test_an_executor_that_starts_again_has_its_slot_reserved_meanwhile() -> None:
    bed = ReconciledTestbed(1)
    bed.reconcile([node("a", "0")], {place("a"): RUNS})
    assert states(bed.reconcile([node("a", "0")], {place("a"): RESERVED})) == ["RESERVED"]


def test_a_slot_that_goes_from_one_job_to_the_next_unseen_has_the_next_since_now() -> None:
    bed = ReconciledTestbed(1)
    bed.reconcile([node("a", "0")], {place("a"): RUNS})
    other = SlotHolder(object_name("b"), 1, object_name("t"))
    (slot,) = bed.reconcile([node("a", "0")], {place("a"): SlotUse(other, True)}).slots
    assert (slot.state, slot.holder, slot.since_ms) == (SlotState.OCCUPIED, other, 3_000)


def test_the_free_slots_of_a_node_that_takes_no_work_are_in_error_and_used_ones_are_not() -> None:
    bed = ReconciledTestbed(2)
    bed.reconcile([node("a", "0"), node("b", "1")])
    down = node("b", "1", is_ready=False, not_ready_reason="it was not heard of for 30 s")
    status = bed.reconcile([node("a", "0"), down], {place("b", 1): RUNS})
    assert states(status) == ["FREE", "ERROR", "FREE", "OCCUPIED"]
    assert status.state is TestbedState.RUNNING
    advice = "To exclude it: shunter node label b yard-"
    assert status.node_problems == {"b": [f"The node is not schedulable: it was not heard of for 30 s. {advice}"]}
    status = bed.reconcile([node("a", "0"), down])
    assert (states(status), status.state) == (["FREE", "ERROR", "FREE", "ERROR"], TestbedState.ERROR)
    status = bed.reconcile([node("a", "0"), node("b", "1")])
    assert (states(status), status.state, status.node_problems) == (["FREE"] * 4, TestbedState.SUCCESS, {})


# ---- changed while it is used ----


def test_a_used_slot_keeps_its_size_until_it_is_free() -> None:
    """S1-34."""
    bed = ReconciledTestbed(2, cpu=500)
    bed.reconcile([node("a", "0")], {place("a", 0): RUNS})
    bed.change(2, cpu=700)
    status = bed.reconcile([node("a", "0")], {place("a", 0): RUNS})
    assert [(slot.size["cpu"], slot.is_leaving) for slot in status.slots] == [(500, True), (700, False)]
    assert status.state is TestbedState.RUNNING
    status = bed.reconcile([node("a", "0")])
    assert [(slot.size["cpu"], slot.is_leaving) for slot in status.slots] == [(700, False), (700, False)]


def test_new_slots_wait_for_the_room_of_those_that_leave() -> None:
    """S1-34: a node is never promised twice."""
    bed = ReconciledTestbed(2, cpu=500)
    tight = [node("a", "0", free={"cpu": 1_000})]
    bed.reconcile(tight, {place("a", 0): RUNS, place("a", 1): RUNS})
    bed.change(4, cpu=250)
    assert slot_names(bed.reconcile(tight, {place("a", 0): RUNS, place("a", 1): RUNS})) == ["a/0-", "a/1-"]
    assert slot_names(bed.reconcile(tight, {place("a", 1): RUNS})) == ["a/0", "a/1-", "a/2"]
    assert slot_names(bed.reconcile(tight)) == ["a/0", "a/1", "a/2", "a/3"]


def test_fewer_slots_a_node_take_effect_when_the_surplus_is_free_and_do_not_shift_the_others() -> None:
    """S1-34."""
    bed = ReconciledTestbed(2)
    bed.reconcile([node("a", "0"), node("b", "1")], {place("a", 1): RUNS})
    bed.change(1, cpu=500)
    status = bed.reconcile([node("a", "0"), node("b", "1")], {place("a", 1): RUNS})
    assert slot_names(status) == ["a/0", "b/0", "a/1-"]
    assert slot_names(bed.reconcile([node("a", "0"), node("b", "1")])) == ["a/0", "b/0"]


def test_a_node_without_its_label_keeps_its_used_slots_behind_the_others() -> None:
    """S1-34."""
    bed = ReconciledTestbed(1)
    bed.reconcile(THREE, {place("b"): RUNS})
    status = bed.reconcile(THREE[:2], {place("b"): RUNS})
    assert slot_names(status) == ["c/0", "a/0", "b/0-"]
    assert status.slots[2].node_id == 0
    assert slot_names(bed.reconcile(THREE, {place("b"): RUNS})) == ["b/0", "c/0", "a/0"], "it got its label back"
    assert slot_names(bed.reconcile(THREE[:2])) == ["c/0", "a/0"]


def test_a_deleted_testbed_gives_back_its_free_slots_at_once_and_the_others_when_they_are_free() -> None:
    """S1-34."""
    bed = ReconciledTestbed(2)
    bed.reconcile([node("a", "0")], {place("a", 1): RUNS})
    bed.delete()
    assert slot_names(bed.reconcile([node("a", "0")], {place("a", 1): RUNS})) == ["a/1-"]
    assert bed.reconcile([node("a", "0")]).slots == ()


def test_a_job_runs_on_untouched_while_its_testbed_is_resized_and_deleted_under_it() -> None:
    """S1-34: nothing leaks."""
    cluster = (
        MemoryCluster()
        .with_nodes(2)
        .testbed(slots_per_node=2)
        .with_jobs("a")
        .scheduling("s", queue_spec(*"aaa"))
        .settle()
    )
    cluster.runs("a").settle()
    places = cluster.jobs[object_name("a")].status.places
    cluster.testbed(slots_per_node=1, size={"cpu": 100}).settle()
    assert cluster.jobs[object_name("a")].status.places == places
    cluster.delete("tb").settle()
    assert cluster.job_state("a") == "RunningState"
    assert len(cluster.testbeds[object_name("tb")].status.slots) == 3
    cluster.completes("a").settle()
    assert cluster.status("s").state.wire_name == "CompletedState"
    cluster.delete("s").settle()
    assert not cluster.testbeds
    assert cluster.job_state("a") == "ReadyState"


# ---- whatever happens ----

labels = st.sampled_from(["0", "1", "2", "2", "x"])
node_lists = st.dictionaries(
    st.sampled_from("abcd"), st.tuples(labels, st.integers(0, 2_500), st.booleans()), max_size=4
).map(lambda found: [node(name, at, free={"cpu": cpu}, is_ready=ready) for name, (at, cpu, ready) in found.items()])
specs = st.tuples(st.integers(1, 4), st.sampled_from([250, 500, 750]))
looks = st.lists(
    st.tuples(node_lists, specs, st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9))), min_size=1, max_size=8
)


@settings(max_examples=300)
@given(looks)
def test_used_slots_are_never_touched_numbering_is_in_order_and_nodes_are_never_promised_twice(looks: Any) -> None:
    """S0-01, S0-17, S1-34: a second look writes nothing; that is asked after each."""
    bed = ReconciledTestbed(1, cpu=500)
    uses: dict[SlotPlace, SlotUse] = {}
    for nodes, (slots_per_node, cpu), ended, started in looks:
        bed.change(slots_per_node, cpu=cpu)
        before = {slot.place: slot for slot in bed.testbed.status.slots}
        uses = {at: use for number, (at, use) in enumerate(uses.items()) if number not in ended}
        ready = [slot for slot in bed.testbed.status.slots if slot.state is SlotState.FREE and not slot.is_leaving]
        for number, slot in enumerate(ready):
            if number in started:
                uses[slot.place] = SlotUse(SlotHolder(object_name("a"), number, object_name("s")), number % 2 == 0)
        status = bed.reconcile(nodes, dict(uses))
        slots = {slot.place: slot for slot in status.slots}
        assert len(slots) == len(status.slots)
        assert set(uses) <= set(slots)
        for at in uses:
            assert slots[at].size == before[at].size
            assert slots[at].state in (SlotState.RESERVED, SlotState.OCCUPIED)
        lasting = [slot for slot in status.slots if slot.place in slots and not slot.is_leaving]
        order = [(slot.place.position, slot.node_id, slot.place.node) for slot in lasting]
        assert order == sorted(order)
        for each in nodes:
            here = [slot for slot in status.slots if slot.place.node == each.name]
            if all(slot.place in uses for slot in here):
                continue  # what is used was promised when there was room
            assert sum(slot.size["cpu"] for slot in here) <= each.free["cpu"]
        if any(slots_per_node * cpu > each.free["cpu"] for each in nodes if each.label != "x"):
            assert status.state is TestbedState.ERROR
            assert set(slots) == set(uses)


def test_whatever_a_slot_was_its_state_is_what_is_seen_now() -> None:
    """S0-16: also where states in between were not seen; a way that the table does not have would raise."""
    seen = {
        (None, True): "FREE", (None, False): "ERROR", (RESERVED, True): "RESERVED",
        (RESERVED, False): "RESERVED", (RUNS, True): "OCCUPIED", (RUNS, False): "OCCUPIED",
    }  # fmt: skip
    for facts in ((first, second) for first in seen for second in seen):
        bed = ReconciledTestbed(1)
        for use, is_ready in facts:
            status = bed.reconcile([node("a", "0", is_ready=is_ready)], {place("a"): use} if use else {})
            assert states(status) == [seen[use, is_ready]]
