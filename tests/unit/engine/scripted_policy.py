"""A policy that decides what a test wants, and a way for tests to run functions in a round."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shunter.engine.round import Round
from shunter.planning.view import ClusterView, Decision, Placement
from tests.unit.engine.harness import Harness


class ScriptedPolicy:
    """A policy that says what the test wants, once; after that it places nothing."""

    name, fast = "scripted", True

    def __init__(self, decide: Callable[[ClusterView], Decision]) -> None:
        self._decide: Callable[[ClusterView], Decision] | None = decide

    def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
        decide, self._decide = self._decide, None
        return decide(view) if decide is not None else Decision(view.version)


def on_nodes(class_id: int, **counts: int) -> Placement:
    """n1=2: two tasks on row 1."""
    rows = [int(name[1:]) for name in counts]
    return Placement(class_id, np.array(rows), np.array(list(counts.values())))


async def tell(harness: Harness, decide: Callable[[Round], None]) -> None:
    harness.engine.tell(decide)
    await harness.settle()
