"""Counts the answers of all HTTP listeners by the class of their status. Implements `ports.telemetry.Probe`."""

from __future__ import annotations

from shunter.model.metrics import catalogue as m
from shunter.model.metrics.exposition import Exposition

CODES = ("2xx", "3xx", "4xx", "5xx")
ABORTED = "aborted"  # the client left before it got an answer


class ResponseCounter:
    def __init__(self) -> None:
        self._counts = dict.fromkeys((*CODES, ABORTED), 0)

    def add(self, status: int) -> None:
        code = CODES[status // 100 - 2] if 200 <= status < 600 else ABORTED
        self._counts[code] += 1

    def put(self, exposition: Exposition) -> None:
        exposition.put_each(m.HTTP_REQUESTS, self._counts.items())
