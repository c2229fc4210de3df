"""Recorded decisions of the flight recorder as JSON, newest first. Used by `gateway.monitor`."""

from __future__ import annotations

from collections.abc import Callable

from shunter.engine.engine import Engine
from shunter.gateway.monitor.recording import SEGMENTS_MAX, RecordedDecision, Recording, parse_id
from shunter.model.protocol.scheduler_messages import DecisionRow
from shunter.model.rest.monitor.decision_views import DecisionItem, DecisionPage, DecisionView
from shunter.model.timestamps import iso

ITEMS_MAX = 200  # of one decision

Named = Callable[[int], str | None]  # a row of the nodes, or a class, by its number


class Decisions:
    def __init__(self, engine: Engine, recording: Recording) -> None:
        self._engine, self._recording = engine, recording

    async def page(self, limit: int, after: str | None, has_all: bool) -> DecisionPage:
        """`has_all`: also decisions that changed nothing. A page may be shorter, and yet have a next one."""
        last_segment, last_number = (None, 0) if after is None else parse_id(after, "query.after")
        names = await self._recording.names()
        rest = [name for name in reversed(names) if last_segment is None or name <= last_segment]
        found: list[DecisionView] = []
        for name in rest[:SEGMENTS_MAX]:
            segment = await self._recording.segment(name, is_closed=name != names[-1])
            for each in reversed(segment.decisions):
                is_older = name != last_segment or each.number < last_number
                if is_older and (has_all or each.has_effect):
                    found.append(decision_view(name, each, self._node_name, self._who))
                if len(found) == limit:
                    return DecisionPage(found, found[-1].id, len(found))
        following = f"{rest[SEGMENTS_MAX - 1]}.0" if len(rest) > SEGMENTS_MAX else None
        return DecisionPage(found, following, len(found))

    def _node_name(self, row: int) -> str | None:
        """A node keeps its row for ever."""
        names = self._engine.state.nodes.view.names
        return names[row] if row < len(names) else None

    def _who(self, class_id: int) -> str | None:
        known = self._engine.state.classes.get(class_id)
        return None if known is None else f"{known.key.namespace}/{known.key.user}"


def decision_view(segment: str, recorded: RecordedDecision, node_name: Named, who: Named) -> DecisionView:
    row, items = recorded.row, decision_items(recorded.row, node_name, who)
    return DecisionView(
        id=f"{segment}.{recorded.number}",
        at=iso(recorded.at) or "",
        source=recorded.source,
        policy=recorded.policy,
        version=recorded.version,
        placed=recorded.placed,
        preempted=recorded.preempted,
        schedulings=len(row.schedulings),
        left=row.left,
        reasons=list(dict.fromkeys(row.reasons.values()))[:ITEMS_MAX],
        items=items[:ITEMS_MAX],
        truncated=len(items) > ITEMS_MAX,
        error=row.error or None,
    )


def decision_items(row: DecisionRow, node_name: Named, who: Named) -> list[DecisionItem]:
    def item(class_id: int, node: int, count: int, *, preempted: bool = False) -> DecisionItem:
        name = node_name(node) or str(node)
        return DecisionItem(node=name, count=count, class_id=class_id, who=who(class_id), preempted=preempted)

    items = [
        item(each.class_id, node, count)
        for each in row.placements
        for node, count in zip(each.nodes, each.counts, strict=True)
    ]
    return items + [item(each.victim, each.node, each.count, preempted=True) for each in row.preemptions]
