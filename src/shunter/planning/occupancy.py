"""What runs on nodes, as amounts that come free when it ends. Made once a decision, and only if somebody waits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shunter.planning.ledger import Ledger
from shunter.planning.view import ClusterView, IntArray, Running


@dataclass(frozen=True, slots=True)
class Occupancy:
    """`amounts[:, i]` is what one task of entry i of `running` holds."""

    running: Running
    amounts: IntArray

    def release(self, ledger: Ledger, entries: IntArray, counts: IntArray) -> None:
        """So many tasks of these entries end, on a scratch of the ledger."""
        ledger.release(self.running.node[entries], self.amounts[:, entries] * counts, counts)

    def stopping(self) -> IntArray:
        """Entries whose tasks were told to end: their room is coming."""
        return np.flatnonzero(self.running.is_stopping)


def read_occupancy(view: ClusterView, ledger: Ledger) -> Occupancy | None:
    """None where the view does not say what runs."""
    if view.running is None or view.classes is None:
        return None
    running = view.running()
    ids, of_entry = np.unique(running.class_ids, return_inverse=True)
    table = np.zeros((len(ledger.column), len(ids)), dtype=np.int64)
    for number, class_id in enumerate(ids.tolist()):
        for resource, need in view.classes(class_id).needs.items():
            if resource in ledger.column:
                table[ledger.column[resource], number] = need
    return Occupancy(running, table[:, of_entry.ravel()])
