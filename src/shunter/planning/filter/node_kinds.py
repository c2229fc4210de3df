"""Evaluates constraints and datacenters once per kind of node, where they depend on nothing else. Owned by a
`NodeLedger`; called by filters and rules."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import NDArray

from shunter.planning.filter.cel import Constraint, Scope, parse_constraint
from shunter.planning.view import BoolArray, IntArray, NodeKind, Nodes, TaskClass

RUNTIME_BUILT_IN = "process"  # every worker has it
VERDICTS_MAX = 4096  # cached constraints; beyond it the cache is cleared
ROW_VERDICTS_MAX = 256  # those on single nodes, which take more memory
SIZE_VERDICTS_MAX = 65536  # cached results by kind and capacity for one constraint

Rows = slice | IntArray


class NodeKindIndex:
    """Caches results by kind. The engine only appends to its list of kinds, so a result stays valid and only grows."""

    def __init__(self, kinds: list[NodeKind], nodes: Nodes | None = None) -> None:
        self._kinds = kinds
        self._nodes = nodes
        self._verdicts: dict[Hashable, BoolArray] = {}
        self._by_row: dict[str, _RowVerdicts] = {}

    def hold_on(self, constraint: str, rows: Rows) -> BoolArray:
        """The rows on which it holds, whatever it depends on."""
        assert self._nodes is not None, "rows are asked about only where there are nodes"
        parsed = _parse(constraint)
        if parsed is None or parsed.scope == Scope.KIND:
            return self.meet(constraint)[self._nodes.kind[: self._nodes.count][rows]]
        known = self._by_row.get(constraint)
        if known is None:
            if len(self._by_row) >= ROW_VERDICTS_MAX:
                self._by_row.clear()
            known = self._by_row[constraint] = _RowVerdicts(parsed, self._nodes)
        return known.evaluate(rows)

    def meet(self, constraint: str) -> BoolArray:
        """Evaluates a constraint by kind. Invalid constraints are refused in manifests. One that another version
        accepted holds nowhere: its tasks wait, and all other tasks are planned."""
        parsed = _parse(constraint)
        if parsed is None or parsed.scope != Scope.KIND:
            return np.zeros(len(self._kinds), dtype=np.bool_)
        return self._evaluate(constraint, parsed.holds)

    def lie_in(self, datacenters: tuple[str, ...]) -> BoolArray:
        return self._evaluate(("datacenters", datacenters), lambda kind: kind.datacenter in datacenters)

    def run(self, runtime: str) -> BoolArray:
        """Workers announce their runtimes by an attribute."""
        attribute = f"runtime.{runtime}"
        return self._evaluate(("runtime", runtime), lambda kind: attribute in kind.attributes)

    def suit(self, task_class: TaskClass) -> BoolArray:
        """Which kinds meet all requirements of the class, except those on single nodes."""
        suits = np.ones(len(self._kinds), dtype=np.bool_)
        if task_class.datacenters:
            suits &= self.lie_in(task_class.datacenters)
        if task_class.runtime != RUNTIME_BUILT_IN:
            suits &= self.run(task_class.runtime)
        for text in task_class.constraints:
            parsed = _parse(text)
            if parsed is None or parsed.scope == Scope.KIND:
                suits &= self.meet(text)
        return suits

    def __len__(self) -> int:
        return len(self._kinds)

    def _evaluate(self, key: Hashable, holds: Callable[[NodeKind], bool]) -> BoolArray:
        known = self._verdicts.get(key)
        if known is not None and len(known) == len(self._kinds):
            return known
        if len(self._verdicts) >= VERDICTS_MAX:
            self._verdicts.clear()
        first = 0 if known is None else len(known)
        fresh = np.fromiter((holds(kind) for kind in self._kinds[first:]), dtype=np.bool_)
        verdict = fresh if known is None else np.concatenate([known, fresh])
        self._verdicts[key] = verdict
        return verdict


class _RowVerdicts:
    """One constraint on capacity or name, evaluated row by row. A row is evaluated again when its kind or capacity
    changes; nodes with equal kind and capacity are evaluated once, unless the name matters."""

    def __init__(self, constraint: Constraint, nodes: Nodes) -> None:
        self._constraint, self._nodes = constraint, nodes
        self._verdicts: BoolArray = np.zeros(0, dtype=np.bool_)
        self._kind: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self._capacity: IntArray = np.zeros((0, 0), dtype=np.int64)
        self._verdicts_by_size: dict[tuple[int, bytes], bool] = {}

    def evaluate(self, rows: Rows) -> BoolArray:
        nodes = self._nodes
        if len(self._verdicts) < nodes.count or self._capacity.shape[1] != len(nodes.resources):
            self._grow()
        requested_rows = np.arange(nodes.count)[rows]
        changed = (self._kind[requested_rows] != nodes.kind[requested_rows]) | (
            self._capacity[requested_rows] != nodes.capacity[requested_rows, : len(nodes.resources)]
        ).any(axis=1)
        for row in requested_rows[changed].tolist():
            self._verdicts[row] = self._evaluate(row)
        stale = requested_rows[changed]
        self._kind[stale] = nodes.kind[stale]
        self._capacity[stale] = nodes.capacity[stale, : len(nodes.resources)]
        verdict: BoolArray = self._verdicts[requested_rows]
        return verdict

    def _evaluate(self, row: int) -> bool:
        nodes, constraint = self._nodes, self._constraint
        kind, amounts = int(nodes.kind[row]), nodes.capacity[row, : len(nodes.resources)]
        sizes = {name: amount for name, amount in zip(nodes.resources, amounts.tolist(), strict=True) if amount}
        if constraint.scope == Scope.NAME:
            return constraint.holds(nodes.kinds[kind], nodes.names[row], sizes)
        key = (kind, amounts.tobytes())
        verdict = self._verdicts_by_size.get(key)
        if verdict is None:
            if len(self._verdicts_by_size) >= SIZE_VERDICTS_MAX:
                self._verdicts_by_size.clear()
            verdict = self._verdicts_by_size[key] = constraint.holds(nodes.kinds[kind], capacity=sizes)
        return verdict

    def _grow(self) -> None:
        """New rows, and all rows after a new resource, get no kind, so that they are evaluated."""
        rows = len(self._nodes.kind)
        self._verdicts = np.zeros(rows, dtype=np.bool_)
        self._kind = np.full(rows, -1, dtype=np.int32)
        self._capacity = np.zeros((rows, len(self._nodes.resources)), dtype=np.int64)
        self._verdicts_by_size.clear()


def _parse(constraint: str) -> Constraint | None:
    try:
        return parse_constraint(constraint)
    except ValueError:
        return None
