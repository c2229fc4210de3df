"""Recorded decisions of the flight recorder as JSON, newest first. Used by `gateway.monitor`.

A segment is read whole, in a thread: it has some megabytes at most."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.engine.engine import Engine
from shunter.gateway.explain.plan import RunInThread
from shunter.model.errors import Invalid, Problem
from shunter.model.protocol.flight_records import ROUNDS, Began, Decided, SituationRecord, Step, decode_record
from shunter.model.protocol.scheduler_messages import DecisionRow
from shunter.model.rest.monitor.analytics_views import DecisionItem, DecisionPage, DecisionView
from shunter.model.timestamps import iso
from shunter.ports.schedulers import FlightArchive

ITEMS_MAX = 200  # of one decision
SEGMENTS_MAX = 4  # that one answer reads

Recorded = tuple[int, float, str, str, int, DecisionRow]  # number, at, source, policy, version, decision


class Decisions:
    def __init__(self, engine: Engine, archive: FlightArchive | None, run_in_thread: RunInThread) -> None:
        self._engine, self._archive, self._run_in_thread = engine, archive, run_in_thread

    async def page(self, limit: int, after: str | None, has_all: bool) -> DecisionPage:
        """`has_all`: also decisions that changed nothing. A page may be shorter, and yet have a next one."""
        if (archive := self._archive) is None:
            return DecisionPage([], None, 0)
        last_segment, last_number = _parse_cursor(after)
        names = await self._run_in_thread(archive.segment_names)
        rest = [name for name in reversed(names) if last_segment is None or name <= last_segment]
        found: list[DecisionView] = []
        for name in rest[:SEGMENTS_MAX]:
            recorded = await self._run_in_thread(_read_segment, archive, name)
            for each in reversed(recorded):
                is_older = name != last_segment or each[0] < last_number
                if is_older and (has_all or _has_effect(each[5])):
                    found.append(self._view(name, each))
                if len(found) == limit:
                    return DecisionPage(found, found[-1].id, len(found))
        following = f"{rest[SEGMENTS_MAX - 1]}.0" if len(rest) > SEGMENTS_MAX else None
        return DecisionPage(found, following, len(found))

    def _view(self, segment: str, recorded: Recorded) -> DecisionView:
        number, at, source, policy, version, decision = recorded
        items = [
            self._item(row.class_id, node, count)
            for row in decision.placements
            for node, count in zip(row.nodes, row.counts, strict=True)
        ]
        items += [self._item(each.victim, each.node, each.count, preempted=True) for each in decision.preemptions]
        return DecisionView(
            id=f"{segment}.{number}",
            at=iso(at) or "",
            source=source,
            policy=policy,
            version=version,
            placed=sum(sum(row.counts) for row in decision.placements),
            preempted=sum(each.count for each in decision.preemptions),
            schedulings=len(decision.schedulings),
            left=decision.left,
            reasons=list(dict.fromkeys(decision.reasons.values()))[:ITEMS_MAX],
            items=items[:ITEMS_MAX],
            truncated=len(items) > ITEMS_MAX,
            error=decision.error or None,
        )

    def _item(self, class_id: int, node: int, count: int, *, preempted: bool = False) -> DecisionItem:
        """A node keeps its row for ever."""
        names, known = self._engine.state.nodes.view.names, self._engine.state.classes.get(class_id)
        who = None if known is None else f"{known.key.namespace}/{known.key.user}"
        name = names[node] if node < len(names) else str(node)
        return DecisionItem(node=name, count=count, class_id=class_id, who=who, preempted=preempted)


def _read_segment(archive: FlightArchive, name: str) -> Sequence[Recorded]:
    policies: dict[str, str] = {}
    shown: dict[str, tuple[float, int]] = {}
    found: list[Recorded] = []
    for number, body in enumerate(archive.read_segment(name)):
        record = decode_record(body)
        match record:
            case Began():
                policies[record.source] = record.policy
            case SituationRecord():
                shown[record.source] = record.situation.now, record.situation.delta.version
            case Step():
                at, version = record.situation.now, record.situation.delta.version
                found.append((number, at, ROUNDS, policies.get(ROUNDS, ""), version, record.decision))
            case Decided():
                at, version = shown.get(record.source, (0.0, 0))
                policy = policies.get(record.source, "")
                found.append((number, at, record.source, policy, version, record.decision))
            case _:
                pass
    return found


def _has_effect(decision: DecisionRow) -> bool:
    return bool(decision.placements or decision.preemptions or decision.schedulings or decision.error)


def _parse_cursor(after: str | None) -> tuple[str | None, int]:
    if after is None:
        return None, 0
    segment, _, number = after.partition(".")
    if not number.isdigit():
        raise Invalid([Problem("query.after", "is not the cursor of a page", after)])
    return segment, int(number)
