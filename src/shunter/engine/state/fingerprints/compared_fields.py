"""Defines which attributes of a record `engine.state.fingerprints.fingerprint` compares, in what form, and which it
leaves out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from shunter.engine.state.records import TaskSet
from shunter.engine.state.state import State

T = TypeVar("T")
_COPIES: dict[type, Callable[[Any], Any]] = {list: list, dict: dict, set: set}  # what may change after it was looked at


class FingerprintContext:
    """The compared state, with cached results of repeated questions."""

    def __init__(self, state: State) -> None:
        self.state = state

    @cached_property
    def task_sets(self) -> list[TaskSet]:
        return [task_set for task_set in self.state.task_sets if task_set is not None]

    @cached_property
    def delayed(self) -> Counter[int]:
        """Queued tasks in back-off, by class: whether one is due depends on the time, not on the state."""
        delayed: Counter[int] = Counter()
        for task_set in self.task_sets:
            if task_set.delayed:
                delayed[task_set.task_class.id] += len(task_set.delayed)
        return delayed


@dataclass(frozen=True)
class ComparedFields(Generic[T]):
    """Every attribute of a type is in one of three: `plain` as it is, `described` by a function, or `left_out` for a
    reason."""

    kind: type[T]
    plain: tuple[str, ...] = ()
    described: Mapping[str, Callable[[FingerprintContext, T], Any]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    def of(self, context: FingerprintContext, record: T) -> dict[str, Any]:
        compared: dict[str, Any] = {}
        for name in self.plain:
            value = getattr(record, name)
            copy = _COPIES.get(type(value))
            compared[name] = value if copy is None else copy(value)
        for name, tell in self.described.items():
            compared[name] = tell(context, record)
        return compared


def by_resource(state: State, amounts: list[int]) -> dict[str, int]:
    """By name and without zeroes, because a column may be added later in one state than in another."""
    return {resource: amount for resource, amount in zip(state.nodes.view.resources, amounts, strict=False) if amount}


def without_zeroes(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}
