"""How long tasks of each name took in earlier runs. Updated as jobs end; read by backfill and start estimates."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

NAMES_MAX = 4_096  # remembered; beyond it the one that was updated longest ago is dropped
WEIGHT = 0.3  # weight of the newest run against all before it
SHORT_S = 0.1  # names seen once with shorter tasks are not worth remembering

Name = tuple[str, str, str]  # namespace, job, group


class DurationRegistry:
    def __init__(self) -> None:
        self._means: OrderedDict[Name, tuple[float, int]] = OrderedDict()  # seconds, runs

    def estimate_s(self, namespace: str, job: str, group: str) -> float:
        """0 means unknown."""
        return self._means.get((namespace, job, group), (0.0, 0))[0]

    def runs(self, namespace: str, job: str, group: str) -> int:
        """How many runs the estimate comes from."""
        return self._means.get((namespace, job, group), (0.0, 0))[1]

    def record_run(self, name: Name, mean_s: float, is_first: bool) -> None:
        """Tasks of a run took `mean_s` each, on average."""
        existing = self._means.pop(name, None)
        if existing is None:
            if is_first and mean_s < SHORT_S:
                return
            self._means[name] = (mean_s, 1)
        else:
            self._means[name] = (existing[0] + WEIGHT * (mean_s - existing[0]), existing[1] + 1)
        if len(self._means) > NAMES_MAX:
            self._means.popitem(last=False)

    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        return {}

    def dump(self) -> list[list[Any]]:
        return [[*name, mean_s, runs] for name, (mean_s, runs) in self._means.items()]

    def load(self, dump: list[list[Any]]) -> None:
        self._means = OrderedDict(
            ((namespace, job, group), (mean_s, runs)) for namespace, job, group, mean_s, runs in dump
        )
