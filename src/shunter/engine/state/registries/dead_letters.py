"""Dead letters: tasks that failed for good although their restart policy allowed several attempts. The newest are kept
until a user replays or purges them. Read by `engine.jobs.dead_letters`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shunter.engine import changes as c

DEAD_LETTERS_MAX = 10_000  # kept; beyond it the oldest one is dropped


@dataclass(frozen=True, slots=True)
class DeadLetter:
    number: int
    job: int
    ref: str  # NAMESPACE/NAME@RUN
    group: str
    index: int
    exit_code: int  # -1: its last attempt had none
    reason: str
    at_ms: int
    visible_index: int | None = None  # SHUNTER_TASK_INDEX of a task of an array, whose `index` is its position

    @property
    def namespace(self) -> str:
        return self.ref.partition("/")[0]

    @property
    def name(self) -> str:
        return self.ref.partition("/")[2].rpartition("@")[0]

    @property
    def run(self) -> int:
        return int(self.ref.rpartition("@")[2])


class DeadLetterRegistry:
    def __init__(self) -> None:
        self.letters: dict[int, DeadLetter] = {}  # by number, oldest first
        self._last_number = 0

    def add(self, job: int, ref: str, group: str, index: int, visible_index: int | None, ended: c.TaskEnded) -> None:
        """Called by the state when a task has failed for good."""
        self._last_number += 1
        outcome = ended.exit_code, ended.reason, ended.ended_ms
        letter = DeadLetter(self._last_number, job, ref, group, index, *outcome, visible_index)
        self.letters[self._last_number] = letter
        if len(self.letters) > DEAD_LETTERS_MAX:
            del self.letters[next(iter(self.letters))]

    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        return {c.DeadLettersDropped: self._drop}

    def dump(self) -> list[Any]:
        letters = [_dump_letter(each) for each in self.letters.values()]
        return [self._last_number, letters]

    def load(self, dump: list[Any]) -> None:
        self._last_number, letters = dump
        self.letters = {fields[0]: DeadLetter(*fields) for fields in letters}

    def _drop(self, change: c.DeadLettersDropped) -> None:
        for number in change.numbers:
            self.letters.pop(number, None)


def _dump_letter(letter: DeadLetter) -> list[Any]:
    where = [letter.number, letter.job, letter.ref, letter.group, letter.index]
    fields = [*where, letter.exit_code, letter.reason, letter.at_ms]
    return fields if letter.visible_index is None else [*fields, letter.visible_index]
