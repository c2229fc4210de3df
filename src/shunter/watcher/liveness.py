"""Which nodes are silent, down or back: the rules, for all nodes in one timer wheel. Driven by `ticker`.

A node is silent after two missed heartbeats, or at once when its connection closes; it is down when nothing was heard
for the timeout. The verdicts go to `events`; a node that is down has its connection cut, so that it comes back with a
fresh inventory.
"""

from __future__ import annotations

from collections.abc import Callable

from shunter.model.lifecycles import NodeEvent
from shunter.ports.clock import Clock
from shunter.watcher.heartbeat_interval import Pace
from shunter.watcher.roster import Watched
from shunter.watcher.session import SessionState
from shunter.watcher.timer_wheel import TimerWheel

Say = Callable[[int, NodeEvent, str], None]
Cut = Callable[[Watched, str], None]

GONE = frozenset({NodeEvent.TIMED_OUT, NodeEvent.LEFT})


class Liveness:
    def __init__(self, clock: Clock, pace: Pace, say: Say, cut: Cut) -> None:
        self._clock = clock
        self._pace = pace
        self._say = say
        self._cut = cut
        self._wheel: TimerWheel[Watched] = TimerWheel()

    def heard(self, watched: Watched) -> None:
        """Any message counts. A silent node is back, unless its connection is new: then its inventory comes first."""
        watched.heard_at = self._clock.now()
        live = watched.session is not None and watched.session.state is SessionState.LIVE
        if live and watched.said is NodeEvent.SILENT:
            self._tell(watched, NodeEvent.HEARD, "heard again")

    def keep_pace(self, watched: Watched, heartbeat_s: float) -> None:
        """From now on its deadlines count on this interval."""
        if watched.heartbeat_s != heartbeat_s:
            watched.heartbeat_s = heartbeat_s
            if watched.said not in GONE:
                self._watch(watched)

    def joins(self, watched: Watched, within_s: float) -> None:
        """Its worker is connected and prepares its inventory."""
        watched.heard_at = self._clock.now()
        watched.down_not_before = watched.heard_at + within_s

    def live(self, watched: Watched) -> None:
        """Its inventory was taken."""
        watched.heard_at = self._clock.now()
        watched.down_not_before = 0.0
        self._tell(watched, NodeEvent.HEARD, "connected")

    def expect(self, watched: Watched, return_s: float) -> None:
        """The engine knows this node from before; its worker should connect by itself."""
        watched.heard_at = self._clock.now()
        watched.down_not_before = watched.heard_at + return_s
        if watched.said in GONE:
            self._tell(watched, watched.said, "not connected")
        else:
            watched.said = NodeEvent.HEARD
            self._watch(watched)

    def disconnected(self, watched: Watched, reason: str) -> None:
        watched.down_not_before = 0.0
        if watched.said is NodeEvent.HEARD:
            self._tell(watched, NodeEvent.SILENT, f"connection closed: {reason}")

    def left(self, watched: Watched, reason: str) -> None:
        self._tell(watched, NodeEvent.LEFT, f"left: {reason}")

    def check(self, now: float) -> None:
        for watched in self._wheel.due(now):
            self._check(watched, now)

    def forgive(self, seconds: float) -> None:
        now = self._clock.now()
        for watched in self._wheel:
            watched.heard_at = min(watched.heard_at + seconds, now)
            watched.down_not_before += seconds

    def __len__(self) -> int:
        """How many nodes are not gone."""
        return len(self._wheel)

    def _check(self, watched: Watched, now: float) -> None:
        if watched.session is not None and watched.session.busy:
            watched.heard_at = now
        silence = f"no heartbeat for {now - watched.heard_at:.1f} s"
        if now < self._deadline(watched):
            self._watch(watched)
        elif watched.said is NodeEvent.HEARD:
            self._tell(watched, NodeEvent.SILENT, silence)
        elif watched.said is NodeEvent.SILENT:
            self._tell(watched, NodeEvent.TIMED_OUT, silence)
            self._cut(watched, silence)

    def _tell(self, watched: Watched, event: NodeEvent, reason: str) -> None:
        watched.said = event
        self._say(watched.node, event, reason)
        if event in GONE:
            self._wheel.drop(watched)
        else:
            self._watch(watched)

    def _watch(self, watched: Watched) -> None:
        self._wheel.put(watched, self._deadline(watched))

    def _deadline(self, watched: Watched) -> float:
        if watched.said is NodeEvent.HEARD:
            return watched.heard_at + self._pace.silent_after_s(watched.heartbeat_s)
        return max(watched.heard_at + self._pace.down_after_s(watched.heartbeat_s), watched.down_not_before)
