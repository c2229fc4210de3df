"""Decisions of schedulers that create and delete Schedulings over REST, in a session. Owned by the scheduler service,
called by the gateway around each such request.

A scheduler over gRPC answers one situation after another. One over REST reads and writes as it likes, so a decision is
one request, and is based on the version of the last answer that it read. The decisions of a shadow are not applied:
each waits until the cluster has done something with the same testbed or Scheduling, and is compared with that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from shunter.engine.policy.sessions import Session
from shunter.engine.state.registries.objects import ObjectRegistry
from shunter.model.errors import Busy, Rejected
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import SCHEDULING, Draft
from shunter.model.objects.schedulings import SchedulingSpec
from shunter.model.protocol.flight_records import Shadowed
from shunter.model.protocol.scheduler_messages import (
    DecisionAnswer,
    DecisionRow,
    ItemRefusal,
    SchedulingDraft,
    Situation,
)

UNDECIDED_MAX = 1_000  # decisions of one shadow that wait for their counterpart; beyond it, the oldest are forgotten
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RestDecision:
    """What one request creates or deletes."""

    drafts: tuple[Draft, ...] = ()
    withdrawals: tuple[ObjectName, ...] = ()

    def row(self, based_on: int, number: int) -> DecisionRow:
        schedulings = [
            SchedulingDraft(each.name, each.spec) for each in self.drafts if isinstance(each.spec, SchedulingSpec)
        ]
        return DecisionRow(based_on, number, schedulings=schedulings, withdrawals=list(self.withdrawals))


def is_decision(drafts: Iterable[Draft]) -> bool:
    return any(each.kind == SCHEDULING for each in drafts)


async def apply_recorded(
    session: Session,
    decision: RestDecision,
    situation: Situation,
    apply: Callable[[], Awaitable[T]],
    record: Callable[[Situation, DecisionRow, DecisionAnswer], None],
) -> T:
    """Apply it as every request is applied, and record it with its result."""
    row = decision.row(session.seen_version, situation.delta.number)
    try:
        applied = await apply()
    except (Rejected, Busy) as error:
        item = "withdrawals[0]" if row.withdrawals else "schedulings[0]"
        session.refused += 1
        session.refusals.refuse(f"{item}: {error.detail}")
        session.decisions += 1
        record(situation, row, DecisionAnswer(situation.delta.version, refusals=[ItemRefusal(item, error.detail)]))
        raise
    session.decisions += 1
    record(situation, row, DecisionAnswer(situation.delta.version))
    return applied


class ShadowDecisions:
    """The decisions of one shadow that wait for what the cluster does."""

    def __init__(self) -> None:
        self._number = 0
        self._by_testbed: dict[ObjectName, tuple[int, int, SchedulingDraft]] = {}  # number, based_on
        self._withdrawals: dict[ObjectName, tuple[int, int]] = {}

    def add(self, decision: RestDecision, based_on: int) -> None:
        self._number += 1
        row = decision.row(based_on, self._number)
        for each in row.schedulings:
            _put(self._by_testbed, each.spec.testbed, (self._number, based_on, each))
        for name in row.withdrawals:
            _put(self._withdrawals, name, (self._number, based_on))

    def settle(self, session: Session, objects: ObjectRegistry) -> list[Shadowed]:
        """Compare what can be compared by now."""
        if not self._by_testbed and not self._withdrawals:
            return []
        settled = []
        for testbed in [each for each in self._by_testbed if objects.schedulings_by_testbed.get(each)]:
            number, based_on, draft = self._by_testbed.pop(testbed)
            actual = [objects.schedulings[name].spec for name in objects.schedulings_by_testbed[testbed]]
            decided = DecisionRow(based_on, number, schedulings=[draft])
            settled.append(Shadowed(session.name, number, decided, draft.spec in actual))
        for name in [each for each in self._withdrawals if each not in objects.schedulings]:
            number, based_on = self._withdrawals.pop(name)
            settled.append(Shadowed(session.name, number, DecisionRow(based_on, number, withdrawals=[name]), True))
        session.decisions += len(settled)
        session.refused += sum(not each.is_same for each in settled)
        return settled


def _put(waiting: dict[ObjectName, T], name: ObjectName, item: T) -> None:
    waiting.pop(name, None)
    if len(waiting) >= UNDECIDED_MAX:
        del waiting[next(iter(waiting))]
    waiting[name] = item
