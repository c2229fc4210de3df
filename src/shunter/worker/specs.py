"""Task specs that the worker has seen, each under a number of its own: keepers are told a spec once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from shunter.model.jobs import TaskSpec

SPECS_MAX = 10_000


class Specs(Mapping[int, TaskSpec]):
    """Numbers stay valid for as long as this object lives; the oldest specs go when there are too many."""

    def __init__(self) -> None:
        self._specs: dict[int, TaskSpec] = {}
        self._numbers: dict[bytes, int] = {}
        self._last = 0

    def number(self, spec: TaskSpec) -> int:
        """The number of a spec with these contents."""
        contents = msgspec.json.encode(spec)
        number = self._numbers.get(contents)
        if number is None:
            self._last = number = self._last + 1
            self._numbers[contents] = number
            self._specs[number] = spec
        return number

    def keep_only(self, needed: set[int]) -> None:
        """Forget all but these, once there are many."""
        if len(self._specs) > SPECS_MAX:
            self._specs = {number: spec for number, spec in self._specs.items() if number in needed}
            self._numbers = {contents: number for contents, number in self._numbers.items() if number in needed}

    def __getitem__(self, number: int) -> TaskSpec:
        return self._specs[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)
