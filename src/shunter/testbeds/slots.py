"""Computes which slots a testbed should have on which nodes, and whether they fit. Called by `reconcile_testbed`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.testbeds import Slot, SlotPlace, SlotState, TestbedSpec
from shunter.model.resources import CPU, format_amount
from shunter.testbeds.view import LabelledNode

_WHOLE_NUMBER = re.compile("[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Layout:
    """The desired slots of a testbed."""

    node_ids: Mapping[SlotPlace, int]  # of every slot that it shall have, by their global numbers
    node_problems: Mapping[str, list[str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    fits: bool = True


class LayoutCache:
    """The layout of one testbed, from one reconcile to the next: most change only what its slots are used for."""

    def __init__(self) -> None:
        self._spec: TestbedSpec | None = None
        self._nodes: list[LabelledNode] = []
        self._layout = Layout(node_ids={})

    def lay_out(self, spec: TestbedSpec, nodes: Sequence[LabelledNode]) -> Layout:
        if self._spec is not spec or self._nodes != nodes:
            self._spec, self._nodes, self._layout = spec, list(nodes), lay_out(spec, nodes)
        return self._layout


def lay_out(spec: TestbedSpec, nodes: Sequence[LabelledNode]) -> Layout:
    """`slots_per_node` on every node whose label is an integer. If one node has no room for its slots, the testbed does
    not fit and has no slots anywhere."""
    numbered = [(int(node.label), node) for node in nodes if _WHOLE_NUMBER.fullmatch(node.label)]
    numbered.sort(key=lambda pair: (pair[0], pair[1].name))
    shortages_by_node = {node.name: found for _, node in numbered if (found := shortages(spec, node))}
    node_problems = {node.name: found for node in nodes if (found := problems_of_node(spec, node, shortages_by_node))}
    return Layout(
        node_ids={
            SlotPlace(node.name, position): number
            for position in range(spec.slots_per_node)
            for number, node in numbered
        },
        node_problems=node_problems,
        problems=_testbed_problems(spec, nodes, numbered),
        fits=not shortages_by_node,
    )


def problems_of_node(spec: TestbedSpec, node: LabelledNode, shortages_by_node: Mapping[str, list[str]]) -> list[str]:
    """`shortages_by_node` has the missing resources of nodes."""
    if not _WHOLE_NUMBER.fullmatch(node.label):
        return [
            f"Label {spec.node_label} is {node.label!r}, but must be a whole number from 0 to 999999999. "
            f"Set it: shunter node label {node.name} {spec.node_label}=0"
        ]
    problems = list(shortages_by_node.get(node.name, ()))
    if not node.is_ready:
        problems.append(
            f"The node is not schedulable: {node.not_ready_reason or 'it is not ready'}. "
            f"To exclude it: shunter node label {node.name} {spec.node_label}-"
        )
    return problems


def shortages(spec: TestbedSpec, node: LabelledNode) -> list[str]:
    """One for each resource that is too small for all slots of the node."""
    found = []
    for resource, amount in sorted(spec.resources_per_slot.items()):
        required, available = spec.slots_per_node * amount, max(node.free.get(resource, 0), 0)
        if required > available:
            needed, had = _format_comparable(resource, required, available)
            found.append(f"Requires {needed} of {resource} resources. Available: {had}")
    return found


def _format_comparable(resource: str, *amounts: int) -> list[str]:
    """Amounts to compare: cores as thousandths, unless all of them are whole."""
    if resource == CPU and any(amount % 1000 for amount in amounts):
        return [f"{amount}m" for amount in amounts]
    return [format_amount(resource, amount) for amount in amounts]


def _testbed_problems(
    spec: TestbedSpec, nodes: Sequence[LabelledNode], numbered: Sequence[tuple[int, LabelledNode]]
) -> list[str]:
    if not nodes:
        return [
            f"No node has the label {spec.node_label}. Set it on the nodes that should have slots: "
            f"shunter node label NODE {spec.node_label}=0"
        ]
    names: dict[int, list[str]] = {}
    for number, node in numbered:
        names.setdefault(number, []).append(node.name)
    return [
        f"Nodes {', '.join(sorted(node_names))} all have {spec.node_label}={number}: "
        "their slots are ordered by node name. "
        f"Give each node a unique number: shunter node label {max(node_names)} {spec.node_label}=NUMBER"
        for number, node_names in sorted(names.items())
        if len(node_names) > 1
    ]


def free_slot_ids(slots: Sequence[Slot], submitted: Iterable[BatchJob] = ()) -> list[int]:
    """The global numbers of the slots that a job can get now, without those that were requested for the `submitted`
    jobs and do not show as reserved yet."""
    places: set[SlotPlace] = set()
    numbers: set[int] = set()
    for job in submitted:
        places.update(job.status.places)
        if job.claim is not None and job.claim.request is not None and not job.status.places:
            numbers.update(job.claim.request.slot_ids)
    return [
        number
        for number, slot in enumerate(slots)
        if slot.state is SlotState.FREE and not slot.is_leaving and number not in numbers and slot.place not in places
    ]
