"""Scores nodes for the next task of a class: lower is better, ties go to the lower row. Called by the planner.

A score is a plain function plus its shape, which tells `pick` how to fill many nodes at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial

import numpy as np

from shunter.model.resources import CPU, MEMORY
from shunter.planning.filter.node_ledger import NodeLedger, Rows, ShareFunction
from shunter.planning.view import FloatArray, IntArray, TaskClass

More = int | IntArray  # tasks of the class put on the row beforehand; a column of numbers gives a matrix of costs
Cost = Callable[[TaskClass, NodeLedger, Rows, More], FloatArray]
Settle = Callable[[TaskClass, NodeLedger, IntArray, IntArray], None]


class Shape(Enum):
    """RISING: every further task on a node costs at least as much as the one before. FALLING: at most as much."""

    RISING = "rising"
    FALLING = "falling"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Score:
    """`cost` may depend only on the row that it scores. A score that changes with every placed task has `settle`, which
    gets the placements; its results are not cached from one fill to the next."""

    name: str
    shape: Shape
    cost: Cost
    settle: Settle | None = None
    keep: ShareFunction | None = None  # a costly function of used shares, for the ledger to keep


# E-PVM: Amir, Awerbuch, Barak, Borgstrom and Keren, "An Opportunity Cost Approach for Job Assignment in a Scalable
# Computing Cluster", IEEE TPDS 11(7), 2000. A node costs the sum over resources of BASE ** utilisation, and a task goes
# where it raises that cost least. The reference implementation takes Lieb's square ice constant as the base.
BASE = 8 * math.sqrt(3) / 9
LOG_BASE = math.log(BASE)
SHARE_MAX = 1000.0  # beyond it all shares weigh the same: a score must stay finite, because infinite means infeasible

CLASSIC_TASKS_FULL = 4.0  # the reference implementation assumes this many tasks on a full node


def e_pvm(task_class: TaskClass, ledger: NodeLedger, rows: Rows, more: More = 0) -> FloatArray:
    """The increase of BASE ** used, for cpu and memory, where used is the larger of the reserved and the measured
    share.

    BASE**(u + r) - BASE**u is computed as BASE**u * (BASE**r - 1): the second factor is fixed for a node, so rounding
    cannot make a later task look cheaper than an earlier one."""
    cost: FloatArray | None = None
    for resource in (CPU, MEMORY):
        need = task_class.needs.get(resource, 0)
        if not need:
            continue
        rise = ledger.by_size(resource, rows, partial(_request_power, need))
        if isinstance(more, int) and more == 0:
            rise = rise * ledger.kept[ledger.column[resource]][rows]
        else:
            rise = rise * power(ledger.used_with(resource, rows, more * need))
        cost = rise if cost is None else np.add(cost, rise, out=cost)
    return fewest_tasks(task_class, ledger, rows, more) if cost is None else cost


def e_pvm_classic(task_class: TaskClass, ledger: NodeLedger, rows: Rows, more: More = 0) -> FloatArray:
    """The formula of the reference implementation: memory, and twice the number of tasks, once next to memory and once
    next to cpu; the cpu load itself cancels out.

    The reference implementation admits nodes by disk alone. Here disk is one of the resources that must fit, because
    the engine refuses what exceeds any of them."""
    need = task_class.needs.get(MEMORY, 0)
    used = ledger.reserved_with(MEMORY, rows, more * need)
    rise = ledger.by_size(MEMORY, rows, partial(_request_power, need)) * power(used)
    tasks = (ledger.tasks[rows] + more) / CLASSIC_TASKS_FULL
    cost: FloatArray = rise + 2 * power(tasks) * math.expm1(LOG_BASE / CLASSIC_TASKS_FULL)
    return cost


def power(share: FloatArray) -> FloatArray:
    """BASE ** share."""
    exponent: FloatArray = np.minimum(share, SHARE_MAX)
    exponent *= LOG_BASE
    return np.exp(exponent, out=exponent)


def _request_power(need: int, size: FloatArray) -> FloatArray:
    """BASE ** (need / size) - 1. More than a whole node fits nowhere, so it is capped there and cannot overflow."""
    return np.expm1(LOG_BASE * np.minimum(need / size, 1.0))


def greedy(task_class: TaskClass, ledger: NodeLedger, rows: Rows, more: More = 0) -> FloatArray:
    """The cpu load, reserved or measured, whichever is larger."""
    return ledger.used_with(CPU, rows, more * task_class.needs.get(CPU, 0))


def spread(task_class: TaskClass, ledger: NodeLedger, rows: Rows, more: More = 0) -> FloatArray:
    """The sum of the reserved shares of what the class needs: the emptiest node first."""
    cost: FloatArray | None = None
    for resource, need in task_class.needs.items():
        share = ledger.reserved_with(resource, rows, more * need)
        cost = share if cost is None else cost + share
    return fewest_tasks(task_class, ledger, rows, more) if cost is None else cost


def bin_pack(task_class: TaskClass, ledger: NodeLedger, rows: Rows, more: More = 0) -> FloatArray:
    """The fullest node with room first."""
    return -spread(task_class, ledger, rows, more)


def fewest_tasks(_: TaskClass, ledger: NodeLedger, rows: Rows, more: More = 0) -> FloatArray:
    """For classes without needs that a score could weigh."""
    return (ledger.tasks[rows] + more).astype(np.float64)


def round_robin(_: TaskClass, ledger: NodeLedger, rows: Rows, more: More = 0) -> FloatArray:
    """The row's turn, counted from the row that was served last; a row's next turn is a whole round later."""
    turn: IntArray = (ledger.number[rows] - ledger.cursor - 1) % ledger.count + ledger.count * more
    return turn.astype(np.float64)


def move_cursor(task_class: TaskClass, ledger: NodeLedger, rows: IntArray, counts: IntArray) -> None:
    """The rotation continues after the row whose last turn was the latest."""
    ledger.cursor = int(rows[round_robin(task_class, ledger, rows, counts - 1).argmax()])


SCORES = {
    score.name: score
    for score in (
        Score("round-robin", Shape.RISING, round_robin, settle=move_cursor),
        Score("greedy", Shape.RISING, greedy),
        Score("e-pvm", Shape.RISING, e_pvm, keep=power),
        Score("e-pvm-classic", Shape.RISING, e_pvm_classic),
        Score("bin-pack", Shape.FALLING, bin_pack),
        Score("spread", Shape.RISING, spread),
    )
}
