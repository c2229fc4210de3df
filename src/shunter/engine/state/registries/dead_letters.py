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

    def add(self, job: int, ref: str, group: str, index: int, ended: c.TaskEnded) -> None:
        """Called by the state when a task has failed for good."""
        self._last_number += 1
        letter = DeadLetter(self._last_number, job, ref, group, index, ended.exit_code, ended.reason, ended.ended_ms)
        self.letters[self._last_number] = letter
        if len(self.letters) > DEAD_LETTERS_MAX:
            del self.letters[next(iter(self.letters))]

    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        return {c.DeadLettersDropped: self._drop}

    def dump(self) -> list[Any]:
        letters = [
            [each.number, each.job, each.ref, each.group, each.index, each.exit_code, each.reason, each.at_ms]
            for each in self.letters.values()
        ]
        return [self._last_number, letters]

    def load(self, dump: list[Any]) -> None:
        self._last_number, letters = dump
        self.letters = {fields[0]: DeadLetter(*fields) for fields in letters}

    def _drop(self, change: c.DeadLettersDropped) -> None:
        for number in change.numbers:
            self.letters.pop(number, None)
