"""The resources of running tasks on each node, which become free when the tasks end. Created once per decision, and
only if an item is blocked."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.view import ClusterView, IntArray, Running


@dataclass(frozen=True, slots=True)
class Occupancy:
    """`amounts[:, i]` is what one task of entry i of `running` holds."""

    running: Running
    amounts: IntArray
    by_node: IntArray  # entries, those of one node together
    starts: IntArray  # where in `by_node` the entries of each row begin; one more than there are rows
    gang: IntArray  # of each entry; 0 means none
    gangs: dict[int, IntArray]  # the entries of each gang: they end together

    def entries_on(self, row: int) -> IntArray:
        """The entries on one node."""
        return self.by_node[self.starts[row] : self.starts[row + 1]]

    def gang_entries(self, entry: int) -> IntArray:
        """The entries that end with this one: all of its gang, or only itself."""
        gang = int(self.gang[entry])
        return self.gangs[gang] if gang else np.array([entry])

    def with_counts(self, counts: IntArray) -> Occupancy:
        return replace(self, running=replace(self.running, count=counts))

    def release(self, ledger: NodeLedger, entries: IntArray, counts: IntArray) -> None:
        """This many tasks of these entries end, on a scratch copy of the ledger."""
        ledger.release(self.running.node[entries], self.amounts[:, entries] * counts, counts)

    def stopping(self) -> IntArray:
        """Entries whose tasks are stopping: their room is about to become free."""
        return np.flatnonzero(self.running.is_stopping)


def read_occupancy(view: ClusterView, ledger: NodeLedger) -> Occupancy | None:
    """None if the view does not show what runs."""
    if view.running is None or view.classes is None:
        return None
    running = view.running()
    ids, of_entry = np.unique(running.class_ids, return_inverse=True)
    table, gangs = np.zeros((len(ledger.column), len(ids)), dtype=np.int64), np.zeros(len(ids), dtype=np.int64)
    for number, class_id in enumerate(ids.tolist()):
        task_class = view.classes(class_id)
        gangs[number] = task_class.rules.gang if task_class.rules is not None else 0
        for resource, need in task_class.needs.items():
            if resource in ledger.column:
                table[ledger.column[resource], number] = need
    by_node = np.argsort(running.node, kind="stable")
    starts = np.searchsorted(running.node[by_node], np.arange(ledger.count + 1))
    gang = gangs[of_entry.ravel()]
    return Occupancy(running, table[:, of_entry.ravel()], by_node, starts, gang, _by_gang(gang))


def _by_gang(gang: IntArray) -> dict[int, IntArray]:
    entries = np.flatnonzero(gang)
    entries = entries[np.argsort(gang[entries], kind="stable")]
    numbers, firsts = np.unique(gang[entries], return_index=True)
    return dict(zip(numbers.tolist(), np.split(entries, firsts[1:]), strict=True)) if len(entries) else {}
