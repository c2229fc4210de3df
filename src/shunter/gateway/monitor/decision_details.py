"""One recorded decision: what the policy saw, what it decided, what it left and why; and what another policy would have
decided on the same input. Used by `gateway.monitor`.

Both read the segment from its start, because it records changes, in a thread. A replay has a limited time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from shunter.engine.policy.replay import Replay
from shunter.gateway.explain.plan import RunInThread
from shunter.gateway.monitor.decisions import ITEMS_MAX, Named, decision_items, decision_view
from shunter.gateway.monitor.recording import RecordedDecision, parse_id
from shunter.log import Log
from shunter.model.errors import Invalid, NotFound, Problem
from shunter.model.protocol.flight_records import (
    ROUNDS,
    Began,
    Decided,
    FlightRecord,
    Replayed,
    SituationRecord,
    Step,
    decode_record,
)
from shunter.model.protocol.scheduler_messages import DecisionRow, Situation
from shunter.model.resources import CPU, format_amount
from shunter.model.rest.monitor.decision_views import DecisionDetail, DecisionReplay, SeenClass, SeenResource
from shunter.planning.explain.wait_reasons import explain, limits_reached
from shunter.planning.filter.filters import format_amount_short
from shunter.planning.policies import REMOTE_PREFIX, Catalogue
from shunter.planning.remote.view_reader import GapInDeltas, ViewReader
from shunter.planning.view import ClusterView, Nodes, Queued, TaskClass
from shunter.ports.schedulers import FlightArchive

CLASSES_MAX = 200  # of one decision
EXPLAINED_MAX = 20  # classes
REASONS_MAX = 3  # of a class
REPLAY_MAX_S = 3.0
DIFFERENT_MAX = 500
log = Log(__name__)


class DecisionDetails:
    """One replay at a time, because each takes as much CPU time as the policy itself."""

    def __init__(self, archive: FlightArchive | None, catalogue: Catalogue, run_in_thread: RunInThread) -> None:
        self._archive, self._catalogue, self._run_in_thread = archive, catalogue, run_in_thread
        self._replaying = asyncio.Lock()

    async def find(self, id: str) -> DecisionDetail:
        segment, number = parse_id(id, "path.decision")
        return await self._run_in_thread(_look, self._existing(id), segment, number)

    async def replay(self, id: str, policy: str) -> DecisionReplay:
        segment, number = parse_id(id, "path.decision")
        if policy.startswith(REMOTE_PREFIX):
            fix = "name a policy that decides in the manager; `shunter policies` lists them"
            raise Invalid([Problem("query.policy", "decides in another process", policy, fix)])
        self._catalogue.build(policy)
        archive = self._existing(id)
        async with self._replaying:
            return await self._run_in_thread(_replay, archive, self._catalogue, policy, segment, number)

    def _existing(self, id: str) -> FlightArchive:
        if self._archive is None:
            raise _gone(id)
        return self._archive


@dataclass(slots=True)
class _Source:
    """What a policy has been shown so far, and what it has been shown but not decided on yet."""

    policy: str
    reader: ViewReader
    deferred: list[Situation]
    situation: Situation | None = None
    view: ClusterView | None = None

    def read(self, situation: Situation) -> None:
        self.view, self.situation = self.reader.read(situation.delta), situation

    def catch_up(self, number: int) -> None:
        while self.deferred and self.deferred[0].delta.number <= number:
            self.read(self.deferred.pop(0))


def _look(archive: FlightArchive, segment: str, wanted: int) -> DecisionDetail:
    sources: dict[str, _Source] = {}
    try:
        for number, body in enumerate(archive.read_segment(segment)):
            record = decode_record(body)
            match record:
                case Began():
                    sources[record.source] = _Source(record.policy, ViewReader(record.wants), [])
                case SituationRecord() if record.source in sources:
                    sources[record.source].deferred.append(record.situation)
                case Step() if ROUNDS in sources:
                    sources[ROUNDS].read(record.situation)
                case Decided() if record.source in sources:
                    sources[record.source].catch_up(record.number)
                case _:
                    pass
            if number == wanted:
                return _detail(segment, number, record, sources)
    except GapInDeltas:
        pass
    raise _gone(f"{segment}.{wanted}")


def _detail(segment: str, number: int, record: FlightRecord, sources: dict[str, _Source]) -> DecisionDetail:
    name = record.source if isinstance(record, Decided) else ROUNDS
    source = sources.get(name)
    if not isinstance(record, Step | Decided) or source is None or source.view is None or source.situation is None:
        raise _gone(f"{segment}.{number}")
    view, situation, row = source.view, source.situation, record.decision
    recorded = RecordedDecision(number, situation.now, name, source.policy, situation.delta.version, row)
    classes = _classes(view, row, situation.now)
    return DecisionDetail(
        decision=decision_view(segment, recorded, _node_namer(view.nodes.names), _class_namer(view)),
        nodes=max(0, view.nodes.count - 1),
        eligible=int(view.nodes.eligible[: view.nodes.count].sum()),
        resources=_resources(view),
        queued_tasks=sum(each.count for each in view.queued),
        queued_classes=len(view.queued),
        budget=situation.budget,
        classes=classes,
        truncated=len(classes) < len(view.queued),
    )


def _resources(view: ClusterView) -> list[SeenResource]:
    """The resources of the nodes that take work."""
    nodes = view.nodes
    rows = nodes.eligible[: nodes.count]
    capacity = nodes.capacity[: nodes.count][rows].sum(axis=0).tolist()
    reserved = nodes.reserved[: nodes.count][rows].sum(axis=0).tolist()
    return [
        SeenResource(name=name, capacity=_format_total(name, int(whole)), reserved=_format_total(name, int(used)))
        for name, whole, used in zip(nodes.resources, capacity, reserved, strict=True)
        if whole > 0
    ]


def _format_total(resource: str, amount: int) -> str:
    """The amount of a whole cluster, for which thousandths of a processor do not matter."""
    return f"{amount / 1000:g}" if resource == CPU else format_amount_short(resource, amount)


def _classes(view: ClusterView, row: DecisionRow, now: float) -> list[SeenClass]:
    """The classes: first those that the decision is about, then those with the most tasks."""
    placed: dict[int, int] = {}
    for each in row.placements:
        placed[each.class_id] = placed.get(each.class_id, 0) + sum(each.counts)

    def weight(queued: Queued) -> tuple[bool, bool, int]:
        id = queued.task_class.id
        return id not in placed, id not in row.reasons, -queued.count

    after = _after(view, row)
    found = []
    for number, queued in enumerate(sorted(view.queued, key=weight)[:CLASSES_MAX]):
        task_class, count = queued.task_class, placed.get(queued.task_class.id, 0)
        reason = row.reasons.get(task_class.id)
        if reason is None and count < queued.count and number < EXPLAINED_MAX:
            reason = _explain(task_class, view, after)
        found.append(_class(view, queued, count, reason, now))
    return found


def _after(view: ClusterView, row: DecisionRow) -> Nodes:
    """The nodes as the decision leaves them: placed tasks are added, and preempted ones stay until they end."""
    nodes = view.nodes
    reserved = nodes.reserved.copy()
    by_id = {queued.task_class.id: queued.task_class for queued in view.queued}
    for placement in row.placements:
        if (task_class := by_id.get(placement.class_id)) is not None:
            for resource, amount in task_class.needs.items():
                if resource in nodes.resources:
                    column = nodes.resources.index(resource)
                    np.add.at(reserved, (placement.nodes, column), np.array(placement.counts) * amount)
    return replace(nodes, reserved=reserved)


def _explain(task_class: TaskClass, view: ClusterView, after: Nodes) -> str | None:
    """A policy in rounds gives no reasons, because that takes time; they follow from what was left."""
    limits = list(limits_reached(task_class, view))
    reasons = [
        f"{each.text} ({each.nodes:,} node{'' if each.nodes == 1 else 's'})" for each in explain(task_class, after)
    ]
    return "; ".join([*limits, *reasons][:REASONS_MAX]) or None


def _class(view: ClusterView, queued: Queued, placed: int, reason: str | None, now: float) -> SeenClass:
    one = queued.task_class
    return SeenClass(
        class_id=one.id,
        name=_class_namer(view)(one.id),
        namespace=one.namespace,
        user=one.user,
        queue=one.queue,
        priority=one.priority,
        needs={name: format_amount(name, amount) for name, amount in one.needs.items()},
        constraints=list(one.constraints),
        queued=queued.count,
        waited_s=max(0.0, now - queued.since_ms / 1000) if queued.since_ms else 0.0,
        placed=placed,
        reason=reason,
    )


def _replay(archive: FlightArchive, catalogue: Catalogue, policy: str, segment: str, wanted: int) -> DecisionReplay:
    deadline, position = time.monotonic() + REPLAY_MAX_S, -1
    found: Replayed | None = None
    compared, different = 0, list[str]()

    def records() -> Iterator[FlightRecord]:
        nonlocal position
        for position, body in enumerate(archive.read_segment(segment)):  # noqa: B007, read below
            yield decode_record(body)

    try:
        for replayed in Replay(catalogue.build, policy, catalogue.filters).run(records()):
            compared += 1
            if not replayed.is_same:
                different.append(f"{segment}.{position}")
            if position == wanted:
                found = replayed
            if position >= wanted and time.monotonic() > deadline:
                break
    except GapInDeltas:
        pass
    except Exception as error:  # a policy of a plugin may raise anything
        log.warning("replay.failed", policy=policy, error=error)
        raise Invalid([Problem("query.policy", f"failed: {type(error).__name__}: {error}", policy)]) from error
    if found is None:
        raise _gone(f"{segment}.{wanted}")
    namer = _node_namer(found.names)
    recorded, made = (decision_items(row, namer, lambda _: None) for row in (found.recorded, found.made))
    return DecisionReplay(
        id=f"{segment}.{wanted}",
        policy=policy,
        same=found.is_same,
        recorded=recorded[:ITEMS_MAX],
        replayed=made[:ITEMS_MAX],
        truncated=max(len(recorded), len(made)) > ITEMS_MAX,
        left=found.made.left,
        reasons=list(dict.fromkeys(found.made.reasons.values()))[:ITEMS_MAX],
        missing=found.missing,
        compared=compared,
        equal=compared - len(different),
        different=different[-DIFFERENT_MAX:],
    )


def _node_namer(names: list[str]) -> Named:
    return lambda row: names[row] if row < len(names) else None


def _class_namer(view: ClusterView) -> Named:
    """Jobs by name, where the policy asked for it: only then it is recorded."""

    def name(class_id: int) -> str | None:
        called = None if view.called is None else view.called(class_id)
        return None if called == f"class {class_id}" else called

    return name


def _gone(id: str) -> NotFound:
    return NotFound(f"decision {id} is not recorded; `GET /flight/decisions` lists those that are")
