"""What the attempts of unfinished jobs have used so far, by group. History keeps it when a job ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from shunter.engine import changes as c
from shunter.model.usage import Usage


class JobUsageRegistry:
    def __init__(self) -> None:
        self._jobs: dict[int, dict[str, Usage]] = {}

    def of_job(self, job: int) -> Mapping[str, Usage]:
        """By the names of groups; a group of which nothing was measured is not there."""
        return self._jobs.get(job, {})

    def forget(self, job: int) -> None:
        self._jobs.pop(job, None)

    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        return {c.UsageAdded: self._add}

    def dump(self) -> list[list[Any]]:
        """Each usage as the array that it is stored as."""
        return [
            [job, {name: msgspec.to_builtins(usage) for name, usage in sorted(groups.items())}]
            for job, groups in sorted(self._jobs.items())
        ]

    def load(self, dump: list[list[Any]]) -> None:
        self._jobs = {job: msgspec.convert(groups, dict[str, Usage]) for job, groups in dump}

    def _add(self, change: c.UsageAdded) -> None:
        self._jobs.setdefault(change.job, {}).setdefault(change.group, Usage()).add(change.usage)
