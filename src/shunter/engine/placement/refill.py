"""Gives lanes that ran low more tasks of their class, without asking the policy again. Called by
`engine.placement.place`.

The policy chose the node for the class. That choice holds while no class ahead could use the room or has reserved it.
Classes are ordered as in the built-in planner: urgency, then fair share, then the longer wait."""

from __future__ import annotations

from shunter.engine.placement.apply_decision import assign_tasks
from shunter.engine.placement.cluster_view import longest_s, refresh_pending
from shunter.engine.round import Round
from shunter.engine.state.records import ClassRecord, Lanes
from shunter.engine.state.registries.cluster import RESERVE_SETTING
from shunter.engine.state.state import State
from shunter.engine.state.tenant_quotas import is_exceeded
from shunter.planning.filter.colocation import may_follow
from shunter.planning.order.fair_share import FairShare
from shunter.planning.order.rank import by_urgency
from shunter.planning.reserve.backfill import RESERVE_AFTER_S
from shunter.planning.view import NO_HELD_ROWS

CLASSES_AHEAD_MAX = 16  # classes ahead that are checked before lanes are simply released
PENDING_CLASSES_MAX = 64  # pending classes; with more of them every lane goes back to the policy
RESERVATIONS_TTL_MS = 1_000  # how long the policy's last statement about reservations is trusted


def refill(round: Round) -> None:
    """Refill class by class in their order, unless a class ahead could use the room."""
    underfilled = _underfilled_lanes(round)
    if not underfilled:
        return
    ahead: list[ClassRecord] = []  # classes with pending tasks
    for record in _by_rank(round, underfilled):
        for lanes in underfilled.get(record.id, ()):
            if not record.queued:
                break
            if not _is_needed_ahead(round, lanes, ahead) and not _is_reserved_ahead(round, lanes, ahead):
                _top_up(round, lanes)
        if record.queued and not round.state.queues.get(record.key.queue).is_paused:
            ahead.append(record)


def _underfilled_lanes(round: Round) -> dict[int, list[Lanes]]:
    """Underfilled lanes by class, for classes with more pending tasks."""
    underfilled: dict[int, list[Lanes]] = {}
    for class_id, node in round.dirty.underfilled:
        record = round.state.classes.get(class_id)
        lanes = record.lanes.get(node) if record else None
        if record is not None and lanes is not None and record.queued and _may_refill(round, record, lanes):
            underfilled.setdefault(class_id, []).append(lanes)
    return underfilled


def _may_refill(round: Round, record: ClassRecord, lanes: Lanes) -> bool:
    """Whether the policy's choice of the node still holds for the next tasks of the class."""
    state = round.state
    is_schedulable = state.nodes.view.eligible[lanes.node] and not state.queues.get(record.key.queue).is_paused
    is_free = not record.key.node and may_follow(record.key.rules)
    return bool(lanes.may_refill and is_schedulable and is_free and not _exceeds_limits(state, record))


def _exceeds_limits(state: State, record: ClassRecord) -> bool:
    """Whether its queue, a licence or a quota is now over its limit, or a secret is missing: lanes that become free are
    then released."""
    if state.secrets.problem_of_class(record.key):
        return True
    running_max = state.queues.get(record.key.queue).running_max
    if running_max and state.queue_lanes[record.key.queue] > running_max:
        return True
    if is_exceeded(state, record):
        return True
    return any(state.licences_used[name] > state.cluster.licences().get(name, 0) for name, _ in record.licences)


def _by_rank(round: Round, underfilled: dict[int, list[Lanes]]) -> list[ClassRecord]:
    state = round.state
    if len(underfilled) == 1 and len(state.classes) == 1:
        return list(state.classes.values())
    refresh_pending(state)
    if len(state.pending_queue) > PENDING_CLASSES_MAX:
        return []
    nodes = state.nodes.view
    totals = nodes.capacity[: nodes.count][nodes.eligible[: nodes.count]].sum(axis=0).tolist()
    fair_share = FairShare(state.usage, totals, state.tenants.namespace_owners)
    keyed = [
        (
            by_urgency(queued),
            fair_share.level((queued.task_class.namespace, None)),
            fair_share.level((queued.task_class.namespace, queued.task_class.user)),
            queued.since,
            queued.task_class.id,
        )
        for queued in state.pending_queue
    ]
    return [state.classes[entry[4]] for entry in sorted(keyed)]


def _is_needed_ahead(round: Round, lanes: Lanes, ahead: list[ClassRecord]) -> bool:
    """Whether a class ahead would fit if one of these lanes were released."""
    if len(ahead) > CLASSES_AHEAD_MAX:
        return True
    nodes, node = round.state.nodes.view, lanes.node
    own_needs = lanes.task_class.vector
    for ahead_class in ahead:
        for column, need in enumerate(ahead_class.vector.tolist()):
            free = nodes.capacity[node, column] - nodes.reserved[node, column]
            freed = int(own_needs[column]) if column < own_needs.size else 0
            if need and need > free + freed:
                break
        else:
            return True
    return False


def _is_reserved_ahead(round: Round, lanes: Lanes, ahead: list[ClassRecord]) -> bool:
    """Whether more work here might delay a class ahead for which the policy reserves room. If that is unknown or
    outdated, the lanes are released, and the policy decides."""
    state, now_ms = round.state, round.now_ms
    reserve_after_s = (
        RESERVE_AFTER_S if (configured_s := state.cluster.wait_s(RESERVE_SETTING)) is None else configured_s
    )
    reserving_ids = [record.id for record in ahead if _may_reserve(state, record, now_ms, reserve_after_s)]
    if not reserving_ids:
        return False
    decided_ms, held_rows = state.held_rows or (0, NO_HELD_ROWS)
    is_known = held_rows.class_ids is None or held_rows.class_ids.issuperset(reserving_ids)
    if now_ms - decided_ms >= RESERVATIONS_TTL_MS or not is_known:
        return True
    if lanes.node not in held_rows.until_ms:
        return False
    record = lanes.task_class
    work_ms = longest_s(state, record.id, lanes.width * record.depth) * 1000 * record.depth
    return not 0 < work_ms <= held_rows.until_ms[lanes.node] - now_ms


def _may_reserve(state: State, record: ClassRecord, now_ms: int, reserve_after_s: float) -> bool:
    """Whether the policy may reserve room for the class."""
    rules, queued = record.key.rules, state.pending_queue.get(record.id)
    is_gang = rules is not None and rules.gang > 0
    return is_gang or (queued is not None and now_ms - queued.since_ms >= reserve_after_s * 1000)


def _top_up(round: Round, lanes: Lanes) -> None:
    record = lanes.task_class
    fair_depth = max(record.queued // (2 * max(record.width, 1)), 1)  # near the end, leave work for the other lanes
    target = lanes.width * min(record.depth, fair_depth)
    if lanes.outstanding * 2 <= target or lanes.outstanding < lanes.width:
        assign_tasks(round, record, lanes.node, target - lanes.outstanding)
        round.has_backlog |= lanes.outstanding > lanes.width
