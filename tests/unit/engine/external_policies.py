"""A scheduler outside of rounds, as a test plays it: it leads, is shown situations, and decides."""

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
from tests.unit.engine.harness import Stage


class Remote:
    """The active policy is a scheduler of this name."""

    fast = False

    def __init__(self, scheduler: str) -> None:
        self.scheduler, self.name = scheduler, f"remote:{scheduler}"

    def decide(self, _view: ClusterView, _now: float, _budget: int) -> Decision:
        raise AssertionError("it decides elsewhere")


async def lead(stage: Stage, name: str = "mine") -> Session:
    stage.engine.policy = Remote(name)
    return stage.engine.schedulers.open(name, WANTS_DEFAULT)


async def shown(stage: Stage, session: Session) -> Situation:
    situation = await stage.engine.schedulers.next(session)
    assert situation is not None
    return situation


async def decide(stage: Stage, session: Session, *placements: PlacementRow, **fields: Any) -> DecisionAnswer:
    row = DecisionRow(1, placements=list(placements), **fields)
    return await stage.engine.schedulers.decide(session.token, row)


def reasons(answer: DecisionAnswer) -> list[tuple[str, str, int]]:
    return [(each.item, each.reason, each.count) for each in answer.refusals]
