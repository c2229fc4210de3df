"""A scheduler outside of rounds, played by a test: it leads, gets situations, and decides."""

from __future__ import annotations

from typing import Any

from shunter.engine.policy.sessions import Session
from shunter.model.protocol.scheduler_messages import (
    WANTS_DEFAULT,
    DecisionAnswer,
    DecisionRow,
    PlacementRow,
    Situation,
)
from shunter.planning.view import ClusterView, Decision
from tests.unit.engine.harness import Harness


class RemotePolicy:
    """The active policy is a scheduler of this name."""

    fast = False

    def __init__(self, scheduler: str) -> None:
        self.scheduler, self.name = scheduler, f"remote:{scheduler}"

    def decide(self, _view: ClusterView, _now: float, _budget: int) -> Decision:
        raise AssertionError("it decides elsewhere")


async def open_leading_session(harness: Harness, name: str = "mine") -> Session:
    harness.engine.policy = RemotePolicy(name)
    return harness.engine.schedulers.open(name, WANTS_DEFAULT)


async def next_situation(harness: Harness, session: Session) -> Situation:
    situation = await harness.engine.schedulers.next(session)
    assert situation is not None
    return situation


async def decide(harness: Harness, session: Session, *placements: PlacementRow, **fields: Any) -> DecisionAnswer:
    row = DecisionRow(1, placements=list(placements), **fields)
    return await harness.engine.schedulers.decide(session.token, row)


def reasons(answer: DecisionAnswer) -> list[tuple[str, str, int]]:
    return [(each.item, each.reason, each.count) for each in answer.refusals]
