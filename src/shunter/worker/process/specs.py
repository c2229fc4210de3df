"""Numbers the task specs that the worker has seen, so that each is sent to a keeper once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from shunter.model.job.spec import TaskSpec

SPECS_CACHED_MAX = 10_000  # before those that nothing needs are forgotten


class Specs(Mapping[int, TaskSpec]):
    """A number is never given to another spec."""

    def __init__(self) -> None:
        self._specs: dict[int, TaskSpec] = {}
        self._numbers: dict[bytes, int] = {}
        self._last = 0
        self._prune_above = SPECS_CACHED_MAX

    def number(self, spec: TaskSpec) -> int:
        """The number of a spec with these contents."""
        contents = msgspec.json.encode(spec)
        number = self._numbers.get(contents)
        if number is None:
            self._last = number = self._last + 1
            self._numbers[contents] = number
            self._specs[number] = spec
        return number

    @property
    def needs_pruning(self) -> bool:
        return len(self._specs) > self._prune_above

    def prune(self, needed: set[int]) -> None:
        """Forget all but these."""
        self._specs = {number: spec for number, spec in self._specs.items() if number in needed}
        self._numbers = {contents: number for contents, number in self._numbers.items() if number in needed}
        self._prune_above = max(SPECS_CACHED_MAX, 2 * len(self._specs))

    def __getitem__(self, number: int) -> TaskSpec:
        return self._specs[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)
