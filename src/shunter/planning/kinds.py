"""What constraints and datacenters say about kinds of nodes, evaluated once a kind. Owned by a `Ledger`."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from shunter.planning.constraints import parse_constraint
from shunter.planning.view import BoolArray, NodeKind

VERDICTS_MAX = 4096  # questions remembered; past it all are asked again


class Kinds:
    """Answers by kind. The engine only appends to its list of kinds, so an answer stays true and just grows longer."""

    def __init__(self, kinds: list[NodeKind]) -> None:
        self._kinds = kinds
        self._verdicts: dict[Hashable, BoolArray] = {}

    def meet(self, constraint: str) -> BoolArray:
        """Manifests are refused if a constraint cannot be read. One that another version let in holds nowhere: its
        tasks wait, and all other tasks are planned."""
        try:
            holds = parse_constraint(constraint).holds
        except ValueError:
            return np.zeros(len(self._kinds), dtype=np.bool_)
        return self._ask(constraint, holds)

    def lie_in(self, datacenters: tuple[str, ...]) -> BoolArray:
        return self._ask(("datacenters", datacenters), lambda kind: kind.datacenter in datacenters)

    def run(self, runtime: str) -> BoolArray:
        """Workers say by an attribute which runtimes they have."""
        attribute = f"runtime.{runtime}"
        return self._ask(("runtime", runtime), lambda kind: attribute in kind.attributes)

    def _ask(self, question: Hashable, holds: Callable[[NodeKind], bool]) -> BoolArray:
        known = self._verdicts.get(question)
        if known is not None and len(known) == len(self._kinds):
            return known
        if len(self._verdicts) >= VERDICTS_MAX:
            self._verdicts.clear()
        first = 0 if known is None else len(known)
        fresh = np.fromiter((holds(kind) for kind in self._kinds[first:]), dtype=np.bool_)
        verdict = fresh if known is None else np.concatenate([known, fresh])
        self._verdicts[question] = verdict
        return verdict
