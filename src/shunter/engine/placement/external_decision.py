"""Applies decisions made outside of a round, by an external scheduler or a slow policy. They arrive through the inbox.

Each item is validated against the current state. An item that no longer holds is refused with a reason, and the others
apply. An atomic decision applies as a whole or not at all."""

from __future__ import annotations

from dataclasses import dataclass

from shunter.engine.objects.scheduling_items import apply_schedulings, check_schedulings
from shunter.engine.placement.apply_decision import apply_placement, preempt
from shunter.engine.placement.cluster_view import build_view
from shunter.engine.placement.gang_restart import gang_of, places_whole_gang
from shunter.engine.placement.validate_decision import DecisionValidator
from shunter.engine.round import Round
from shunter.model.protocol.scheduler_messages import DecisionAnswer
from shunter.planning.filter.filters import Filter
from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.view import Decision, Placement, Preemption


@dataclass(frozen=True, slots=True)
class DecisionSource:
    """The source of a decision. `refusal` says why it may not place or preempt tasks now; it may always create
    Schedulings."""

    name: str
    refusal: str = ""


def on_decision(
    round: Round, decision: Decision, source: DecisionSource, filters: tuple[Filter, ...], ledger: NodeLedger
) -> DecisionAnswer:
    """`ledger` is used for nothing else."""
    recorded, view = len(round.changes), build_view(round.state)
    ledger.sync(view.nodes)
    validator = DecisionValidator(round, view, filters, ledger.scratch())
    if source.refusal:
        _refuse_all_tasks(decision, validator, source.refusal)
        admitted: list[Placement] = []
        preemptions: list[Preemption] = []
    else:
        admitted = _admit(round, decision, validator)
        numbered = enumerate(decision.preemptions)
        preemptions = [each for number, each in numbered if validator.may_preempt(each, f"preemptions[{number}]")]
    if decision.atomic:
        check_schedulings(round, decision, validator.refuse)
        if validator.refusals:
            return DecisionAnswer(round.state.version, refusals=validator.refusals)
    apply_schedulings(round, decision, source.name, validator.refuse)
    placed = sum(_place(round, each) for each in admitted)
    if preemptions:
        preempt(round, preemptions)
    has_changed = len(round.changes) > recorded
    return DecisionAnswer(round.state.version + has_changed, placed, validator.refusals)


def _admit(round: Round, decision: Decision, validator: DecisionValidator) -> list[Placement]:
    """Admit placements; a gang that cannot be placed as a whole is left out."""
    admitted, gangs = [], dict[int, list[tuple[str, Placement]]]()
    for number, placement in enumerate(decision.placements):
        item = f"placements[{number}]"
        each = validator.admit(placement, item)
        record = round.state.classes.get(placement.class_id)
        gang = gang_of(record) if record is not None else 0
        if gang:
            gangs.setdefault(gang, []).append((item, each))
        elif each.tasks:
            admitted.append(each)
    for members in gangs.values():
        placed_counts = {each.class_id: each.tasks for _, each in members}
        if places_whole_gang(round.state, round.state.classes[members[0][1].class_id], placed_counts):
            admitted += [each for _, each in members]
        else:
            validator.refuse_gang([each for _, each in members], ", ".join(item for item, _ in members))
    return admitted


def _place(round: Round, admitted: Placement) -> int:
    """Return how many tasks found their nodes: some may have failed there before and must avoid them."""
    record = round.state.classes[admitted.class_id]
    waiting = record.queued
    apply_placement(round, admitted)
    return waiting - record.queued


def _refuse_all_tasks(decision: Decision, validator: DecisionValidator, reason: str) -> None:
    for number, placement in enumerate(decision.placements):
        validator.refuse(f"placements[{number}]", reason, count=placement.tasks)
    for number, preemption in enumerate(decision.preemptions):
        validator.refuse(f"preemptions[{number}]", reason, count=preemption.count)
