"""Decisions that were made outside of a round: by an external scheduler, or by a policy that takes its time. They come
in through the inbox.

Each item is checked against the present state: what no longer holds is refused with its reason, and the rest applies.
An atomic decision applies whole or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass

from shunter.engine.objects.scheduling_items import apply_schedulings, check_schedulings
from shunter.engine.placement.apply_decision import apply_placement, preempt
from shunter.engine.placement.cluster_view import build_view
from shunter.engine.placement.gangs import gang_of, is_whole
from shunter.engine.placement.validate_decision import Admitted, ItemChecks
from shunter.engine.round import Round
from shunter.model.protocol.scheduler_messages import DecisionAnswer
from shunter.planning.filter.filters import Filter
from shunter.planning.filter.node_ledger import Ledger
from shunter.planning.view import Decision, Placement, Preemption


@dataclass(frozen=True, slots=True)
class Decider:
    """Whoever decided. `unless` says why it may not place or end tasks now; Schedulings it makes in any case."""

    name: str
    unless: str = ""


def on_decision(
    round: Round, decision: Decision, decider: Decider, filters: tuple[Filter, ...], ledger: Ledger
) -> DecisionAnswer:
    """`ledger` is one that only this is used for."""
    recorded, view = len(round.changes), build_view(round.state)
    ledger.sync(view.nodes)
    checks = ItemChecks(round, view, filters, ledger.scratch())
    if decider.unless:
        _refuse_tasks(decision, checks, decider.unless)
        admitted: list[Admitted] = []
        preemptions: list[Preemption] = []
    else:
        admitted = _admit(round, decision, checks)
        numbered = enumerate(decision.preemptions)
        preemptions = [each for number, each in numbered if checks.may_preempt(each, f"preemptions[{number}]")]
    if decision.atomic:
        check_schedulings(round, decision, checks.refuse)
        if checks.refusals:
            return DecisionAnswer(round.state.version, refusals=checks.refusals)
    apply_schedulings(round, decision, decider.name, checks.refuse)
    placed = sum(_place(round, each) for each in admitted)
    if preemptions:
        preempt(round, preemptions)
    has_changed = len(round.changes) > recorded
    return DecisionAnswer(round.state.version + has_changed, placed, checks.refusals)


def _admit(round: Round, decision: Decision, checks: ItemChecks) -> list[Admitted]:
    """What of a gang cannot be placed whole is left out, all of it."""
    admitted, gangs = [], dict[int, list[tuple[str, Admitted]]]()
    for number, placement in enumerate(decision.placements):
        item = f"placements[{number}]"
        each = checks.admit(placement, item)
        record = round.state.classes.get(placement.class_id)
        gang = gang_of(record) if record is not None else 0
        if gang:
            gangs.setdefault(gang, []).append((item, each))
        elif each.tasks:
            admitted.append(each)
    for members in gangs.values():
        given = {each.class_id: each.tasks for _, each in members}
        if is_whole(round.state, round.state.classes[members[0][1].class_id], given):
            admitted += [each for _, each in members]
        else:
            checks.refuse_gang([each for _, each in members], ", ".join(item for item, _ in members))
    return admitted


def _place(round: Round, admitted: Admitted) -> int:
    """Returns how many tasks found their nodes: some may have failed there before, and are to go elsewhere."""
    record = round.state.classes[admitted.class_id]
    waiting = record.queued
    apply_placement(round, Placement(admitted.class_id, admitted.rows, admitted.counts))
    return waiting - record.queued


def _refuse_tasks(decision: Decision, checks: ItemChecks, reason: str) -> None:
    for number, placement in enumerate(decision.placements):
        checks.refuse(f"placements[{number}]", reason, count=int(placement.counts.sum()))
    for number, preemption in enumerate(decision.preemptions):
        checks.refuse(f"preemptions[{number}]", reason, count=preemption.count)
