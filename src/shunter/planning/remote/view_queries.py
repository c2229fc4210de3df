"""Records and answers the queries of a view: values that it computes only on request.

`QueryRecorder` records what a policy asks, for the flight recorder. `full_answers` answers every query in advance, for
policies that cannot ask back. `RecordedAnswers` answers in a reader's view."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

import msgspec
import numpy as np

from shunter.model.protocol.scheduler_messages import RULES, RUNNING, Answers, ClassRow, RunningRows
from shunter.planning.view import ClusterView, IntArray, Running, TaskClass

ESTIMATED_TASKS_MAX = 64  # tasks of a class whose estimates are sent to policies that cannot ask back
NO_LOWEST_PRIORITY = 2**31  # the value of `lowest_priority` where nothing runs
Amounts = dict[int, int]
P = ParamSpec("P")
R = TypeVar("R")


class QueryRecorder:
    """Records the queries of its view, and answers them. Created for one decision."""

    def __init__(self, view: ClusterView) -> None:
        self._recorded: dict[str, Any] = {"repels": None if view.repels is None else {}}
        self._classes: dict[int, TaskClass] = {}
        self._view = view
        self.view = replace(
            view,
            running=view.running and self._running,
            classes=view.classes and self._class_of,
            tally=view.tally and self._tally,
            leaving=view.leaving and self._leaving,
            presence=view.presence and self._presence,
            matches=view.matches and self._matches,
            repels=view.repels and self._repels,
            lowest_priority=view.lowest_priority and self._lowest_priority,
            called=view.called and self._called,
            longest_s=view.longest_s and self._longest_s,
        )

    def answers(self) -> Answers | None:
        """None if nothing was asked."""
        if (
            not self._classes
            and len(self._recorded) == 1
            and not self._recorded["repels"]
            and self._view.repels is None
        ):
            return None
        return Answers(classes=[class_row(each) for each in self._classes.values()], **self._recorded)

    def _running(self) -> Running:
        running = _required(self._view.running)()
        self._recorded["running"] = running_rows(running)
        return running

    def _class_of(self, class_id: int) -> TaskClass:
        self._classes[class_id] = _required(self._view.classes)(class_id)
        return self._classes[class_id]

    def _tally(self, class_id: int) -> Mapping[int, int]:
        tally = _required(self._view.tally)(class_id)
        self._recorded.setdefault("tally", {})[class_id] = dict(tally)
        return tally

    def _leaving(self, class_id: int) -> Mapping[int, int]:
        leaving = _required(self._view.leaving)(class_id)
        self._recorded.setdefault("leaving", {})[class_id] = dict(leaving)
        return leaving

    def _presence(self, match: str) -> IntArray:
        counts = _required(self._view.presence)(match)
        self._recorded.setdefault("presence", {})[match] = sparse(counts)
        return counts

    def _matches(self, match: str, class_id: int) -> bool:
        holds = _required(self._view.matches)(match, class_id)
        self._recorded.setdefault("matches", {}).setdefault(match, {})[class_id] = holds
        return holds

    def _repels(self, class_id: int) -> IntArray | None:
        counts = _required(self._view.repels)(class_id)
        self._recorded["repels"][class_id] = None if counts is None else sparse(counts)
        return counts

    def _lowest_priority(self) -> int:
        self._recorded["lowest_priority"] = lowest = _required(self._view.lowest_priority)()
        return lowest

    def _called(self, class_id: int) -> str:
        name = _required(self._view.called)(class_id)
        self._recorded.setdefault("called", {})[class_id] = name
        return name

    def _longest_s(self, class_id: int, count: int) -> float:
        seconds = _required(self._view.longest_s)(class_id, count)
        self._recorded.setdefault("longest_s", {}).setdefault(class_id, {})[count] = seconds
        return seconds


def full_answers(view: ClusterView, wants: Collection[str]) -> Answers:
    """Answers to all queries that a policy may have about pending and running tasks."""
    recorder = QueryRecorder(view)
    recorded_view = recorder.view
    running_ids: list[int] = []
    if RUNNING in wants and recorded_view.running is not None:
        class_of = _required(recorded_view.classes)
        running_ids = np.unique(recorded_view.running().class_ids).tolist()
        for class_id in running_ids:
            class_of(class_id)
        if recorded_view.lowest_priority is not None:
            recorded_view.lowest_priority()
        for queued in recorded_view.queued if recorded_view.longest_s is not None else ():
            _required(recorded_view.longest_s)(queued.task_class.id, min(queued.count, ESTIMATED_TASKS_MAX))
    if RULES in wants:
        _query_rules(recorded_view, running_ids)
    return recorder.answers() or Answers()


def _query_rules(view: ClusterView, running_ids: list[int]) -> None:
    classes = [queued.task_class for queued in view.queued]
    if view.tally is None or view.presence is None or view.matches is None:
        return
    ruled = [each for each in classes if each.rules is not None]
    for match in dict.fromkeys(_matches_of(ruled)):
        view.presence(match)
        for class_id in {*running_ids, *(each.id for each in classes)}:
            view.matches(match, class_id)
    for each in ruled:
        view.tally(each.id)
        if view.leaving is not None:
            view.leaving(each.id)
    for each in classes if view.repels is not None else ():
        _required(view.repels)(each.id)


def _matches_of(classes: Iterable[TaskClass]) -> Iterable[str]:
    for each in classes:
        for rule in each.rules.affinity if each.rules is not None else ():
            if rule.to == "job":
                yield rule.match


class RecordedAnswers:
    """Answers from a record. A query that was not recorded is answered as if nothing ran, and `missing` counts it."""

    def __init__(self, answers: Answers, count: int, known: Mapping[int, TaskClass]) -> None:
        self._answers, self._count, self._known = answers, count, known
        self._classes = {row.id: row for row in answers.classes}
        self.missing = 0

    def running(self) -> Running:
        rows = self._answers.running
        if rows is None:
            self.missing += 1
            rows = RunningRows([], [], [], [], [], [], [])
        return read_running(rows)

    def class_of(self, class_id: int) -> TaskClass:
        known = self._known.get(class_id)
        return known if known is not None else read_class(self._classes[class_id])

    def tally(self, class_id: int) -> Mapping[int, int]:
        found = self._answers.tally.get(class_id)
        self.missing += found is None
        return found or {}

    def leaving(self, class_id: int) -> Mapping[int, int]:
        """Records from before this query existed: none, as was assumed then."""
        return self._answers.leaving.get(class_id, {})

    def presence(self, match: str) -> IntArray:
        found = self._answers.presence.get(match)
        self.missing += found is None
        return dense(found or {}, self._count)

    def matches(self, match: str, class_id: int) -> bool:
        found = self._answers.matches.get(match, {}).get(class_id)
        self.missing += found is None
        return bool(found)

    def repels(self, class_id: int) -> IntArray | None:
        recorded = self._answers.repels or {}
        self.missing += class_id not in recorded
        found = recorded.get(class_id)
        return None if found is None else dense(found, self._count)

    def lowest_priority(self) -> int:
        lowest = self._answers.lowest_priority
        self.missing += lowest is None
        return NO_LOWEST_PRIORITY if lowest is None else lowest

    def called(self, class_id: int) -> str:
        return self._answers.called.get(class_id, f"class {class_id}")

    def longest_s(self, class_id: int, count: int) -> float:
        """A value known for more tasks is a bound for fewer."""
        known = self._answers.longest_s.get(class_id, {})
        nearest = min((recorded for recorded in known if recorded >= count), default=None)
        self.missing += nearest is None
        return 0.0 if nearest is None else known[nearest]


def class_row(task_class: TaskClass) -> ClassRow:
    return msgspec.convert(task_class, ClassRow, from_attributes=True)


def read_class(row: ClassRow) -> TaskClass:
    return msgspec.convert(row, TaskClass, from_attributes=True)


def running_rows(running: Running) -> RunningRows:
    return RunningRows(*(getattr(running, name).tolist() for name in RunningRows.__struct_fields__))


def read_running(rows: RunningRows) -> Running:
    columns: dict[str, Any] = msgspec.structs.asdict(rows)
    is_stopping = np.array(columns.pop("is_stopping"), np.bool_)
    return Running(is_stopping=is_stopping, **{name: np.array(each, np.int64) for name, each in columns.items()})


def sparse(counts: IntArray) -> Amounts:
    rows = np.flatnonzero(counts)
    return dict(zip(rows.tolist(), counts[rows].tolist(), strict=True))


def dense(amounts: Amounts, count: int) -> IntArray:
    counts = np.zeros(count, np.int64)
    counts[list(amounts)] = list(amounts.values())
    return counts


def _required(query: Callable[P, R] | None) -> Callable[P, R]:
    assert query is not None, "only what the view has is wrapped"
    return query
