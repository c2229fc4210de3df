"""Decides which nodes are silent, down or back, with one timer wheel for all nodes. Driven by `ticker`.

A node is silent after two missed heartbeats, or at once when its connection closes. It is down when nothing arrived for
the timeout. The verdicts go to `events`. The connection of a down node is closed, so that it returns with a fresh
inventory."""

from __future__ import annotations

from collections.abc import Callable

from shunter.model.lifecycles import NodeEvent
from shunter.ports.clock import Clock
from shunter.watcher.heartbeat_timing import HeartbeatInterval
from shunter.watcher.roster import WatchedNode
from shunter.watcher.session import SessionState
from shunter.watcher.timer_wheel import TimerWheel

Publish = Callable[[int, NodeEvent, str], None]
Disconnect = Callable[[WatchedNode, str], None]

INACTIVE = frozenset({NodeEvent.TIMED_OUT, NodeEvent.LEFT})


class Liveness:
    def __init__(self, clock: Clock, interval: HeartbeatInterval, publish: Publish, disconnect: Disconnect) -> None:
        self._clock = clock
        self._interval = interval
        self._publish = publish
        self._disconnect = disconnect
        self._wheel: TimerWheel[WatchedNode] = TimerWheel()
        self.is_suspended = False  # no node is judged by its silence

    def message_received(self, watched: WatchedNode) -> None:
        """Any message counts. A silent node is back, unless its connection is new: then its inventory comes first."""
        watched.heard_at = self._clock.now()
        live = watched.session is not None and watched.session.state is SessionState.LIVE
        if live and watched.last_event is NodeEvent.SILENT:
            self._transition(watched, NodeEvent.HEARD, "heartbeats resumed")

    def set_interval(self, watched: WatchedNode, heartbeat_s: float) -> None:
        """From now on its deadlines count on this interval."""
        if watched.heartbeat_s != heartbeat_s:
            watched.heartbeat_s = heartbeat_s
            if watched.last_event not in INACTIVE:
                self._watch(watched)

    def joining(self, watched: WatchedNode, within_s: float) -> None:
        """Its worker is connected and prepares its inventory."""
        watched.heard_at = self._clock.now()
        watched.down_not_before = watched.heard_at + within_s

    def live(self, watched: WatchedNode) -> None:
        """Its inventory was taken."""
        watched.heard_at = self._clock.now()
        watched.down_not_before = 0.0
        self._transition(watched, NodeEvent.HEARD, "connected")

    def expect(self, watched: WatchedNode, return_s: float) -> None:
        """The engine knows this node; its worker should reconnect by itself."""
        watched.heard_at = self._clock.now()
        watched.down_not_before = watched.heard_at + return_s
        if watched.last_event in INACTIVE:
            self._transition(watched, watched.last_event, "not connected")
        else:
            watched.last_event = NodeEvent.HEARD
            self._watch(watched)

    def disconnected(self, watched: WatchedNode, reason: str) -> None:
        watched.down_not_before = 0.0
        if watched.last_event is NodeEvent.HEARD:
            self._transition(watched, NodeEvent.SILENT, f"connection closed: {reason}")

    def left(self, watched: WatchedNode, reason: str) -> None:
        self._transition(watched, NodeEvent.LEFT, f"left: {reason}")

    def check(self, now: float) -> None:
        if self.is_suspended:
            return
        for watched in self._wheel.pop_due(now):
            self._check(watched, now)

    def extend_deadlines(self, seconds: float) -> None:
        now = self._clock.now()
        for watched in self._wheel:
            watched.heard_at = min(watched.heard_at + seconds, now)
            watched.down_not_before += seconds

    def __len__(self) -> int:
        """How many nodes are not gone."""
        return len(self._wheel)

    def _check(self, watched: WatchedNode, now: float) -> None:
        if watched.session is not None and watched.session.busy:
            watched.heard_at = now
        silence = f"no heartbeat for {now - watched.heard_at:.1f} s"
        if now < self._deadline(watched):
            self._watch(watched)
        elif watched.last_event is NodeEvent.HEARD:
            self._transition(watched, NodeEvent.SILENT, silence)
        elif watched.last_event is NodeEvent.SILENT:
            self._transition(watched, NodeEvent.TIMED_OUT, silence)
            self._disconnect(watched, silence)

    def _transition(self, watched: WatchedNode, event: NodeEvent, reason: str) -> None:
        watched.last_event = event
        self._publish(watched.node, event, reason)
        if event in INACTIVE:
            self._wheel.cancel(watched)
        else:
            self._watch(watched)

    def _watch(self, watched: WatchedNode) -> None:
        self._wheel.schedule(watched, self._deadline(watched))

    def _deadline(self, watched: WatchedNode) -> float:
        if watched.last_event is NodeEvent.HEARD:
            return watched.heard_at + self._interval.silent_after_s(watched.heartbeat_s)
        return max(watched.heard_at + self._interval.down_after_s(watched.heartbeat_s), watched.down_not_before)
