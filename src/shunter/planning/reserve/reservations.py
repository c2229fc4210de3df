"""Makes room for blocked items: by preemption now, or by a reservation for later. One `Reservations` exists per
decision; `reservation_cache` holds what lasts longer.

The planner reports in order which items are blocked. Before an item behind them gets a node, the planner asks for the
ceilings: no item may take what an item ahead is about to use. Ceilings are expensive, so they are computed only when an
item behind finds room, or at the end of the decision, to choose the victims."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import numpy as np

from shunter.planning.reserve.backfill import Reservation, hold, reserve
from shunter.planning.reserve.node_search import SearchBudget
from shunter.planning.reserve.occupancy import Occupancy, read_occupancy
from shunter.planning.reserve.preemption import WINNERS_MAX, PreemptionPlan, SuspendedAttempt, preempt
from shunter.planning.reserve.reservation_cache import ReservationCache
from shunter.planning.reserve.wait_thresholds import WaitThresholds
from shunter.planning.score.gangs import Item, ItemPlacement
from shunter.planning.score.pick import Picked
from shunter.planning.score.workspace import Ceiling, Workspace
from shunter.planning.view import ClusterView, HeldRows, IntArray, Preemption, Queued, TaskClass

SEARCHES_BEFORE_RESERVING_MAX = 10  # after more failed searches, a reservation waits for the next decision
BLOCKED_MAX = 4  # items for which room is made or reserved in one decision, the most urgent first
NAMED_NODES_MAX = 3  # nodes named in a reason


class Reservations:
    def __init__(
        self,
        view: ClusterView,
        workspace: Workspace,
        now_ms: int,
        wait_thresholds: WaitThresholds,
        cache: ReservationCache,
    ) -> None:
        self._view = view
        self._workspace = workspace
        self._now_ms = now_ms
        self._wait_thresholds = wait_thresholds
        self._cache = cache
        cache.sync_nodes(int(np.count_nonzero(workspace.ledger.eligible[: workspace.ledger.count])))
        self._items: dict[int, Item] = {}
        self.pending: list[Item] = []  # not computed yet
        self.granted: list[tuple[Item, ItemPlacement]] = []  # that will start there
        self._occupancy: Occupancy | None = None
        # after all stopping tasks have ended, with the winners in their places
        self._future: Workspace | None = None
        self._rows: IntArray = np.empty(0, np.int64)  # the winners' nodes
        self._lowest_priority: int | None = None  # the lowest priority of running tasks, once requested
        self._winner_nodes = 0  # nodes on which room was made
        self._reservation: Reservation | None = None
        self._items_by_role: dict[str, Item] = {}
        self._resolved_classes: set[int] = set()  # classes of the computed items
        self._search_budget = SearchBudget()
        self.is_cut_short = False  # the work of this decision is spent: the next one continues
        self.winners: dict[int, int] = {}
        self.preemptions: list[Preemption] = []
        self.reasons: dict[int, str] = {}  # class id -> why it waits
        self.again_in_ms: int | None = None  # when items that were not considered now may be considered again

    @property
    def has_items(self) -> bool:
        return bool(self._items)

    def has_item(self, item: Item) -> bool:
        """Whether the item was reported as blocked."""
        return key_of(item) in self._items

    @property
    def held_rows(self) -> HeldRows | None:
        """The reserved rows. If an item has a reservation, or enough items were considered, no other item gets one."""
        if not self._resolved_classes:
            return None
        rows, at_ms = [], 0
        if self._reservation is not None:
            rows, at_ms = (
                rows_of(self._reservation.planned_start.placed).tolist(),
                self._reservation.planned_start.at_ms,
            )
        is_all = self._reservation is not None or len(self._items) >= BLOCKED_MAX
        resolved = {each.task_class.id for each in self._view.queued} if is_all else self._resolved_classes
        return HeldRows(frozenset(resolved), dict.fromkeys(rows, at_ms))

    def block(self, item: Item) -> None:
        """The item found no room. Called in order, the most urgent first. An item that may neither preempt others nor
        get a reservation just waits."""
        if len(self._items) < BLOCKED_MAX and not self.has_item(item) and self._may_reserve(item):
            self._items[key_of(item)] = item
            self.pending.append(item)

    def ceilings(self, queued: Queued) -> list[Ceiling]:
        """What an item behind all blocked ones must leave alone."""
        self.resolve()
        ceilings: list[Ceiling] = []
        if self._future is not None and len(self._rows):
            ceilings.append(partial(_ceiling, self._future, self._rows, self._excludes_others("winner")))
        if self._reservation is not None and not self._ends_before_reservation(queued):
            rows = rows_of(self._reservation.planned_start.placed)
            ceilings.append(partial(_ceiling, self._reservation.workspace, rows, self._excludes_others("reserved")))
        return ceilings

    def record_placement(self, queued: Queued, picked: Picked) -> None:
        """An item behind them was placed. It is in their future too, unless it will have ended by then."""
        if self._future is not None:
            self._future.put(queued.task_class, picked)
        if self._reservation is not None and not self._ends_before_reservation(queued):
            self._reservation.workspace.put(queued.task_class, picked)

    def can_admit(self, placed: ItemPlacement) -> bool:
        """Whether all of these together, each below its ceilings, leave the room of items ahead alone."""
        futures = [(self._future, self._rows)] if self._future is not None and len(self._rows) else []
        if self._reservation is not None:
            futures.append((self._reservation.workspace, rows_of(self._reservation.planned_start.placed)))
        for workspace, rows in futures:
            free = workspace.ledger.free.copy()
            for queued, picked in placed:
                if workspace is self._future or not self._ends_before_reservation(queued):
                    for resource, need in queued.task_class.needs.items():
                        free[workspace.ledger.column[resource]][picked.rows] -= need * picked.counts
            touched = rows[np.isin(rows, rows_of(placed))]
            if (free[:, touched] < np.minimum(workspace.ledger.free[:, touched], 0)).any():
                return False
        return True

    def explain_held(self, queued: Queued) -> None:
        """A class got less than there was room for: record for which item."""
        if self._reservation is not None and not self._ends_before_reservation(queued):
            at_ms = self._reservation.planned_start.at_ms
            until = f"until about {_format_time(at_ms)}" if at_ms else "until it starts"
            self.reasons[queued.task_class.id] = (
                f"room is reserved for {self._item_name(self._items_by_role['reserved'])} {until}"
            )
        elif "winner" in self._items_by_role:
            name = self._item_name(self._items_by_role["winner"])
            self.reasons[queued.task_class.id] = f"room is reserved for {name}, which waits for tasks that are stopping"

    def explain_limit(self, class_id: int, item: Item, what: str) -> None:
        """A class waits since what is left of a queue or a licence is the item's."""
        self.reasons[class_id] = f"the rest of {what} is reserved for {self._item_name(item)}"

    def explain(self, item: Item, text: str) -> None:
        for each in item.members:
            self.reasons[each.task_class.id] = text

    def has_waited_long(self, item: Item) -> bool:
        """Whether what it lacks is now held for it, although it is unknown when that will be enough."""
        return self._has_waited(item, self._wait_thresholds.hold_after_s)

    def could_start(self, item: Item) -> bool:
        """Whether nodes would have room for the item after all stopping tasks have ended."""
        if not self._project_future():
            return False
        assert self._future is not None and self._occupancy is not None
        return hold(item, self._future, self._occupancy) is not None

    def finish(self) -> None:
        """All items were considered: choose the victims, if there can be any."""
        if any(self._may_preempt(item) for item in self.pending):
            self.resolve()
        self._cache.expire(self._now_ms)

    def _may_reserve(self, item: Item) -> bool:
        return (
            item.is_all_or_nothing
            or self._has_waited(item, self._wait_thresholds.reserve_after_s)
            or self._may_preempt(item)
        )

    def _may_preempt(self, item: Item) -> bool:
        if self._lowest_priority is None and self._view.lowest_priority is not None:
            self._lowest_priority = self._view.lowest_priority()
        return item.priority - self._wait_thresholds.preempt_gap >= (self._lowest_priority or 0)

    def _has_waited(self, item: Item, seconds: float) -> bool:
        return self._now_ms - item.since_ms >= seconds * 1000

    def resolve(self) -> None:
        if self.is_cut_short:
            return
        pending, self.pending = self.pending, []
        if not pending or not self._project_future():
            return
        assert self._future is not None and self._occupancy is not None
        for index, item in enumerate(pending):
            before = self._search_budget.searches
            has_room = self._preempt_for(item, self._future, self._occupancy)
            if not has_room and self._search_budget.searches < before - SEARCHES_BEFORE_RESERVING_MAX:
                # enough was spent on unsuccessful searches for victims: the reservation comes next
                self.is_cut_short = True
            if self.is_cut_short:
                self.pending = pending[index:]
                return
            self._resolved_classes.update(each.task_class.id for each in item.members)
            if not has_room:
                self._reserve(item, self._future, self._occupancy)

    def _project_future(self) -> bool:
        """Compute the room after all stopping tasks have ended; False if the view does not show what runs."""
        if self._future is None:
            self._occupancy = read_occupancy(self._view, self._workspace.ledger)
            if self._occupancy is not None:
                self._future, self._occupancy = _after_stopping(self._workspace, self._occupancy)
                self._search_budget.charge(len(self._occupancy.running.count))
        return self._future is not None

    def _preempt_for(self, item: Item, future: Workspace, occupancy: Occupancy) -> bool:
        key = key_of(item)
        if self._winner_nodes >= WINNERS_MAX:
            return False
        if (retry_in_ms := self._cache.retry_in_ms(key, self._now_ms)) > 0:
            self.again_in_ms = min(retry_in_ms, self.again_in_ms or retry_in_ms)
            return False
        suspended, gap = self._cache.suspended.pop(key, None), self._wait_thresholds.preempt_gap
        plan = preempt(self._avoiding_reserved(item), future, occupancy, gap, self._search_budget, suspended)
        if isinstance(plan, SuspendedAttempt):
            self._cache.suspended, self.is_cut_short = {key: plan}, True
            return False
        if plan is None:
            self._cache.failed_searches[key] = self._now_ms
            return False
        self._future, self._occupancy = plan.workspace, _minus_victims(occupancy, plan)
        self._rows = np.array(sorted({*self._rows.tolist(), *rows_of(plan.placed).tolist()}), dtype=np.int64)
        self._winner_nodes += plan.winners
        first = item.members[0].task_class.id
        if plan.chosen or first in self._cache.winners:
            self.winners[first] = sum(int(picked.counts.sum()) for _, picked in plan.placed)
        self._items_by_role.setdefault("winner", item)
        self.preemptions += plan.preemptions
        self.granted.append((item, plan.placed))
        self._explain_winner(item, plan)
        return True

    def _reserve(self, item: Item, future: Workspace, occupancy: Occupancy) -> None:
        """Only the first gets a reservation: that is what makes it EASY. For a class of independent tasks, one task
        gets it."""
        if self._reservation is not None:
            return
        if not item.is_all_or_nothing:
            if not self._has_waited(item, self._wait_thresholds.reserve_after_s):
                return
            item = Item((replace(item.members[0], count=1),))
        key = key_of(item)
        reservation = reserve(item, future, occupancy, self._now_ms, self._cache.planned_starts.get(key))
        if reservation is None and self.has_waited_long(item):
            reservation = hold(item, future, occupancy)
        if reservation is None:
            return
        self._reservation = reservation
        self._items_by_role["reserved"] = item
        self._cache.planned_starts = {key: reservation.planned_start}
        self.granted.append((item, reservation.planned_start.placed))
        where, at_ms = self._node_names(rows_of(reservation.planned_start.placed)), reservation.planned_start.at_ms
        text = f"from about {_format_time(at_ms)}" if at_ms else "as it becomes free"
        self.explain(item, f"room on {where} is reserved for it {text}")

    def _avoiding_reserved(self, item: Item) -> Item:
        """An item that preempts others avoids the nodes reserved for an item ahead, unless it may preempt that one."""
        if self._reservation is None:
            return item
        if self._items_by_role["reserved"].priority <= item.priority - self._wait_thresholds.preempt_gap:
            return item
        avoided_rows = frozenset(rows_of(self._reservation.planned_start.placed).tolist())
        return replace(item, members=tuple(replace(each, avoid=each.avoid | avoided_rows) for each in item.members))

    def _explain_winner(self, item: Item, plan: PreemptionPlan) -> None:
        victims = sum(plan.chosen.values())
        text = f"{victims} tasks are being preempted for it" if victims != 1 else "a task is being preempted for it"
        if not victims:
            text = f"tasks on {self._node_names(rows_of(plan.placed))} are stopping, and their room is reserved for it"
        self.explain(item, text)

    def _ends_before_reservation(self, queued: Queued) -> bool:
        """Whether it is expected to end before the reserved item starts."""
        assert self._reservation is not None
        return 0 < queued.estimate_s * 1000 <= self._reservation.planned_start.at_ms - self._now_ms

    def _excludes_others(self, role: str) -> bool:
        """Whether no other task may join the item on its nodes, because its rules might forbid it."""
        item = self._items_by_role.get(role)
        rules = [each.task_class.rules for each in item.members] if item is not None else []
        return any(each is not None and (each.exclusive or each.affinity) for each in rules)

    def _item_name(self, item: Item) -> str:
        first = item.members[0].task_class.id
        name = self._view.called(first) if self._view.called is not None else f"class {first}"
        return f"gang {name}" if item.is_all_or_nothing and " " not in name else name  # or a phrase

    def _node_names(self, rows: IntArray) -> str:
        names = [self._view.nodes.names[row] for row in rows[:NAMED_NODES_MAX].tolist()]
        more = f" and {len(rows) - NAMED_NODES_MAX} more" if len(rows) > NAMED_NODES_MAX else ""
        return ", ".join(names) + more


def key_of(item: Item) -> int:
    """Gangs and classes are numbered separately; the sign distinguishes them."""
    return -item.gang if item.gang else item.members[0].task_class.id


def rows_of(placed: ItemPlacement) -> IntArray:
    rows = sorted({row for _, picked in placed for row in picked.rows.tolist()})
    return np.array(rows, dtype=np.int64)


def _after_stopping(workspace: Workspace, occupancy: Occupancy) -> tuple[Workspace, Occupancy]:
    """The workspace after all stopping tasks have ended, and the other running tasks."""
    future, stopping = workspace.scratch(), occupancy.stopping()
    running = occupancy.running
    occupancy.release(future.ledger, stopping, running.count[stopping])
    return future, occupancy.with_counts(np.where(running.is_stopping, 0, running.count))


def _minus_victims(occupancy: Occupancy, plan: PreemptionPlan) -> Occupancy:
    count = occupancy.running.count.copy()
    for entry, preempted in plan.chosen.items():
        count[entry] -= preempted
    return occupancy.with_counts(count)


def _ceiling(future: Workspace, rows: IntArray, is_closed: bool, task_class: TaskClass, count: int) -> IntArray:
    ceiling = np.full(future.ledger.count, count, dtype=np.int64)
    ceiling[rows] = 0 if is_closed else np.maximum(future.ledger.room(task_class, rows, count), 0)
    return ceiling


def _format_time(time_ms: int) -> str:
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%H:%M} UTC"
