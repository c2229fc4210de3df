"""What couples tasks to one another and to other jobs: distinct, spread, affinity, exclusive. Called by `site`.

A `Couplings` lives as long as one decision and remembers what that decision placed, for the view knows only what was
there before. Hard rules become rows that are not allowed, each with its reason; soft ones become a bias on prices.

The unit of a weight is the span between the best and the worst node's price: a spread of weight 1 evens out before it
looks for cheap nodes, one of 0.1 lets ten tasks pile up before a dear node is taken instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from shunter.model.job.spec import Affinity
from shunter.planning.filter.filters import Filter, Refusal
from shunter.planning.filter.node_ledger import Ledger, Rows
from shunter.planning.view import BoolArray, ClusterView, FloatArray, IntArray, Rules, TaskClass

HOST = "host"  # as a label: every node has a value of its own
UNLABELLED = 0  # the code of nodes that lack a label


@dataclass(frozen=True, slots=True)
class Evenness:
    """One `spread` of a class: the code of each row's value, and how many tasks are on nodes with each code now."""

    weight: float
    code: IntArray
    tasks: IntArray


@dataclass(frozen=True, slots=True)
class Coupling:
    """What holds for the next tasks of one class, by row."""

    allowed: BoolArray
    a_node_max: int | None = None  # tasks of the class that one node may get now
    bias: FloatArray | None = None  # added to a price, in spans
    again: FloatArray | None = None  # added once a task of the class has gone to the row
    evenness: tuple[Evenness, ...] = ()
    apart: IntArray | None = None  # codes of the values of which no two tasks may share one
    together: bool = False  # the first task may go anywhere, and all others must follow it


@dataclass(slots=True)
class Placed:
    """What one decision has placed of a class, as it was told; negative counts were taken back."""

    task_class: TaskClass
    parts: list[tuple[IntArray, IntArray]] = field(default_factory=list)

    def tally(self) -> Counter[int]:
        tally: Counter[int] = Counter()
        for rows, counts in self.parts:
            tally.update(dict(zip(rows.tolist(), counts.tolist(), strict=True)))
        return tally


class Couplings:
    """The rules of all classes of one decision. `note` must hear of every placement, also of classes without rules:
    others may have to keep away from them."""

    def __init__(self, view: ClusterView, ledger: Ledger) -> None:
        self._view = view
        self._ledger = ledger
        self._placed: dict[int, Placed] = {}
        self._codes: dict[str, IntArray] = {}
        self._repelling = 0  # placed classes with a hard anti-affinity to jobs

    def couples(self, task_class: TaskClass) -> bool:
        """False where `of` would say that everything is allowed; it costs nothing to ask."""
        return task_class.rules is not None or self._repelling > 0 or self._view.repels is not None

    def note(self, task_class: TaskClass, rows: IntArray, counts: IntArray) -> None:
        """Tasks of the class were placed; negative counts take them back."""
        placed = self._placed.get(task_class.id)
        if placed is None:
            placed = self._placed[task_class.id] = Placed(task_class)
            if task_class.rules is not None:
                self._repelling += any(_repels(each) for each in _affinities(task_class))
        placed.parts.append((rows, counts))

    def on(self, ledger: Ledger) -> Couplings:
        """A copy that speaks of another ledger of the same nodes."""
        copy = Couplings(self._view, ledger)
        copy._placed = {id: Placed(placed.task_class, placed.parts.copy()) for id, placed in self._placed.items()}
        copy._codes, copy._repelling = self._codes, self._repelling
        return copy

    def of(self, task_class: TaskClass) -> Coupling:
        allowed = np.ones(self._ledger.count, dtype=np.bool_)
        for _, refused in self.refusals(task_class):
            allowed &= ~refused
        rules = task_class.rules
        if rules is None:
            return Coupling(allowed)
        tally = self._staying(task_class) if rules.spread else Counter()
        evenness = tuple(self._evenness(each.label, each.weight, tally) for each in rules.spread if each.weight)
        bias, again = self._soft(task_class)
        is_alone = rules.distinct == HOST or any(
            _repels(each) and self._is_own(each, task_class) for each in rules.affinity
        )
        return Coupling(
            allowed=allowed,
            a_node_max=1 if is_alone else None,
            bias=bias,
            again=again,
            evenness=evenness,
            apart=self._code(rules.distinct) if rules.distinct not in ("", HOST) else None,
            together=any(self._is_first(each, task_class) for each in rules.affinity),
        )

    def refusals(self, task_class: TaskClass) -> Iterator[tuple[str, BoolArray]]:
        """Every hard rule that has something against a row: the reason, and which rows are refused."""
        if self._view.repels is not None:
            repelled = self._view.repels(task_class.id)
            if repelled is not None:
                yield (
                    "a job that runs there keeps this one away by its anti-affinity",
                    repelled[: self._ledger.count] > 0,
                )
        if self._repelling:
            yield from self._repelled_by_placed(task_class)
        if task_class.rules is None:
            return
        if task_class.rules.exclusive:
            yield "exclusive: the node is in use", ~self._is_empty(task_class.rules.job)
        for each in task_class.rules.affinity:
            if each.require:
                yield from self._refused_by(each, task_class)
        if task_class.rules.distinct:
            yield from self._taken(task_class, task_class.rules.distinct)

    # ---- hard rules ----

    def _refused_by(self, rule: Affinity, task_class: TaskClass) -> Iterator[tuple[str, BoolArray]]:
        if rule.to == "node":
            holds = self._matching_nodes(rule)
            refused = holds if rule.anti else ~holds
            yield why_refused(rule), refused
        elif rule.anti:
            present = self._presence(rule.match) > 0
            for placed in self._placed.values():
                if self.holds(rule.match, placed.task_class.id):
                    present[_rows_of(placed.tally())] = True
            yield f"anti-affinity: a job runs there for which {rule.match}", present
        elif not self._is_first(rule, task_class):
            yield f"affinity: no job runs there for which {rule.match}", ~self._company(rule)

    def _repelled_by_placed(self, task_class: TaskClass) -> Iterator[tuple[str, BoolArray]]:
        for placed in self._placed.values():
            if placed.task_class.id == task_class.id:
                continue
            if any(_repels(each) and self.holds(each.match, task_class.id) for each in _affinities(placed.task_class)):
                refused = np.zeros(self._ledger.count, dtype=np.bool_)
                refused[_rows_of(placed.tally())] = True
                yield "a job that starts there keeps this one away by its anti-affinity", refused

    def _taken(self, task_class: TaskClass, distinct: str) -> Iterator[tuple[str, BoolArray]]:
        rows = _rows_of(self._tally(task_class))
        if distinct == HOST:
            refused = np.zeros(self._ledger.count, dtype=np.bool_)
            refused[rows] = True
            yield "distinct host: the node has a task of this group", refused
        else:
            code = self._code(distinct)
            yield f"distinct {distinct}: the node has no such label", code == UNLABELLED
            yield f"distinct {distinct}: a node with the same value has a task of this group", np.isin(code, code[rows])

    def _is_empty(self, job: int) -> BoolArray:
        """Nodes that nobody uses, or that the job has for itself already."""
        ledger, count = self._ledger, self._ledger.count
        unused = (ledger.free[:, :count] == self._view.nodes.capacity[:count].T).all(axis=0)
        unused = unused & (ledger.tasks[:count] == 0) & (ledger.owner[:count] == 0)
        empty: BoolArray = unused | (ledger.owner[:count] == job)
        return empty

    def _company(self, rule: Affinity) -> BoolArray:
        """Where jobs are for which the rule's match holds for certain. A class without rules may belong to several
        jobs, so what was placed of it this time counts only when the next view has it."""
        present = self._presence(rule.match) > 0
        for placed in self._placed.values():
            if placed.task_class.rules is not None and self.holds(rule.match, placed.task_class.id):
                present[_rows_of(placed.tally())] = True
        return present

    def _is_first(self, rule: Affinity, task_class: TaskClass) -> bool:
        """Whether the class must be beside its own job, of which nothing runs yet."""
        if not is_beside_jobs(rule) or not self._is_own(rule, task_class):
            return False
        return not self._company(rule).any()

    # ---- soft rules ----

    def _soft(self, task_class: TaskClass) -> tuple[FloatArray | None, FloatArray | None]:
        """What attracts (negative) and repels (positive), and what changes with the first task on a row."""
        assert task_class.rules is not None
        soft = [each for each in task_class.rules.affinity if each.weight and not each.require]
        if not soft:
            return None, None
        bias, again = np.zeros(self._ledger.count), np.zeros(self._ledger.count)
        for each in soft:
            holds = self._matching_nodes(each) if each.to == "node" else self._company(each)
            weight = each.weight if each.anti else -each.weight
            bias[holds] += weight
            if self._is_own(each, task_class):
                again[~holds] += weight
        return bias, again if again.any() else None

    def _evenness(self, label: str, weight: float, tally: Counter[int]) -> Evenness:
        code = self._code(label)
        rows = _rows_of(tally)
        tasks = np.bincount(code[rows], weights=[tally[row] for row in rows.tolist()], minlength=int(code.max()) + 1)
        return Evenness(weight, code, tasks.astype(np.int64))

    # ---- what runs where ----

    def _tally(self, task_class: TaskClass) -> Counter[int]:
        """Tasks of the class's job and group by row, whatever version they follow: those of the view, and those of this
        decision."""
        tally: Counter[int] = Counter()
        if self._view.tally is not None:
            tally.update(self._view.tally(task_class.id))
        for placed in self._placed.values():
            if _is_same_group(placed.task_class.rules, task_class.rules):
                tally.update(placed.tally())
        return tally

    def _staying(self, task_class: TaskClass) -> Counter[int]:
        """The same without those that leave: what is spread evenly is what will be there when they have gone. A rule
        that must hold at any time counts them."""
        tally = self._tally(task_class)
        if self._view.leaving is not None:
            tally.subtract(self._view.leaving(task_class.id))
        return tally

    def _presence(self, match: str) -> IntArray:
        count = self._ledger.count
        if self._view.presence is None:
            return np.zeros(count, dtype=np.int64)
        return self._view.presence(match)[:count]

    def _matching_nodes(self, rule: Affinity) -> BoolArray:
        return self._ledger.kinds.hold_on(rule.match, slice(0, self._ledger.count))

    def holds(self, match: str, class_id: int) -> bool:
        """Whether a match over jobs holds for any job with tasks of the class."""
        return self._view.matches is not None and self._view.matches(match, class_id)

    def _is_own(self, rule: Affinity, task_class: TaskClass) -> bool:
        return rule.to == "job" and self.holds(rule.match, task_class.id)

    def _code(self, label: str) -> IntArray:
        """A number for each value of the label, by row."""
        if label == HOST:
            return self._ledger.number[: self._ledger.count]
        if label not in self._codes:
            numbers: dict[str | None, int] = {None: UNLABELLED}
            kinds = self._view.nodes.kinds
            by_kind = [numbers.setdefault(kind.labels.get(label), len(numbers)) for kind in kinds]
            self._codes[label] = np.array(by_kind, dtype=np.int64)
        return self._codes[label][self._ledger.kind[: self._ledger.count]]


def is_of_nodes(rule: Affinity) -> bool:
    """Whether it says which nodes are out of the question, whatever runs there."""
    return rule.to == "node" and rule.require


def is_beside_jobs(rule: Affinity) -> bool:
    """Whether it says that tasks must be where certain jobs run."""
    return rule.to == "job" and rule.require and not rule.anti


def why_refused(rule: Affinity) -> str:
    """By a rule of nodes."""
    return f"anti-affinity: the node matches {rule.match}" if rule.anti else f"affinity: not {rule.match}"


def minds_company(task_class: TaskClass) -> bool:
    """Whether it matters to the next task of the class where its last one went."""
    rules = task_class.rules
    return rules is not None and bool(rules.distinct or rules.spread or rules.affinity or rules.exclusive)


def coupling_filter(couplings: Couplings) -> Filter:
    """The hard rules as a filter, for `explain`."""

    def accepts(task_class: TaskClass, _: Ledger, rows: Rows) -> BoolArray | None:
        return couplings.of(task_class).allowed[rows] if couplings.couples(task_class) else None

    def reasons(task_class: TaskClass, _: Ledger, rows: IntArray) -> Iterator[Refusal]:
        for text, refused in couplings.refusals(task_class):
            yield text, rows[refused[rows]]
            rows = rows[~refused[rows]]

    return Filter("rules", accepts, reasons)


def _affinities(task_class: TaskClass) -> tuple[Affinity, ...]:
    return task_class.rules.affinity if task_class.rules is not None else ()


def _is_same_group(one: Rules | None, other: Rules | None) -> bool:
    return one is not None and other is not None and (one.job, one.group) == (other.job, other.group)


def _repels(rule: Affinity) -> bool:
    return rule.to == "job" and rule.anti and rule.require


def _rows_of(tally: Counter[int]) -> IntArray:
    return np.array([row for row, count in tally.items() if count > 0], dtype=np.int64)
