"""Checks what clients of several managers are told of the progress of jobs: every event of the committed history, once,
in order, with the same content from every manager.

`simulation.workload.status_followers` reports what each follower receives."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter

from shunter.engine.changes import decode_round
from shunter.engine.read.events import render
from shunter.engine.state.state import State
from shunter.model.rest.event_stream import encode_event
from shunter.ports.store import Commit
from shunter.simulation.checks.reference_records import require


class StatusOrder:
    """`shadow` is what replaying the committed rounds gives."""

    def __init__(self, shadow: State, checked: Counter[str]) -> None:
        self._shadow, self._checked = shadow, checked
        self._history: list[bytes] = []  # each event as it is sent
        self._versions: list[int] = []  # of each of them
        self._next: dict[str, int] = {}  # in the history, by follower

    def on_durable(self, commit: Commit) -> None:
        """The shadow has the round already."""
        names = self._shadow.nodes.view.names
        for event in render(commit.version, commit.at, decode_round(commit.body), names.__getitem__):
            self._history.append(encode_event(event))
            self._versions.append(commit.version)

    def begin(self, who: str, after: int) -> None:
        """A follower wants all events after this version."""
        self._next[who] = bisect_right(self._versions, after)

    def on_event(self, who: str, manager: str, message: bytes) -> None:
        position = self._next[who]
        require(position < len(self._history), f"{manager} sent {who} what is not committed: {message!r}")
        expected = self._history[position]
        require(message == expected, f"{manager} sent {who} {message!r}, and the next event is {expected!r}")
        self._next[who] = position + 1
        self._checked["status_event"] += 1

    def missing(self, who: str) -> int:
        """How many events the follower has not received yet."""
        return len(self._history) - self._next[who]
