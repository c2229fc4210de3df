"""Mistakes that show with several managers: leases, terms, fences and versions."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace

import pytest

from shunter.adapters.memory.store import MemoryStore
from shunter.engine import upgrade
from shunter.engine.engine import Engine
from shunter.engine.feed import PublishedRound
from shunter.engine.leader_elector import LeaderElector
from shunter.engine.leadership import Leadership
from shunter.engine.replica import Replica
from shunter.engine.state.registries.format import FormatRegistry
from shunter.gateway.streams.event_hub import EventHub, Follower, Subject
from shunter.gateway.streams.events import Events
from shunter.model.errors import Fenced, NotLeader, StoreFailed
from shunter.model.rest.cluster_views import EventView
from shunter.ports.admin import EventPosition, EventQuery
from shunter.ports.coordination import AlwaysHeld, Lease
from shunter.ports.store import Commit, LoggedRound
from shunter.simulation.runtime import coordination
from shunter.simulation.world import MANAGERS_FROM

Patch = pytest.MonkeyPatch
Mistake = Callable[[Patch], None]


def lead_without_a_lease(patch: Patch) -> None:
    """Nothing but a refused commit tells a leader that another one leads."""
    start = Engine.start

    async def careless(self: Engine, lease: Lease | None = None) -> None:
        await start(self, lease)
        self._leadership.lease = _Eternal(self._leadership.lease.term)

    patch.setattr(Engine, "start", careless)


class _Eternal(AlwaysHeld):
    def __init__(self, term: int) -> None:
        self.term = term


def answer_reads_until_the_next_commit(patch: Patch) -> None:
    """The lease vouches for requests, and not for reads."""
    wait_committed = Engine.wait_committed

    async def careless(self: Engine, min_version: int = 0) -> None:
        try:
            await wait_committed(self, min_version)
        except NotLeader:
            if self.is_following:
                raise

    async def never(_self: LeaderElector, _lease: Lease) -> None:
        return None

    patch.setattr(Engine, "wait_committed", careless)
    patch.setattr(LeaderElector, "_wake_when_lost", never)


def acknowledge_what_changes_nothing_without_a_lease(patch: Patch) -> None:
    """The lease vouches for reads, and not for requests."""
    patch.setattr(Leadership, "check", _check_step_down)


def _check_step_down(self: Leadership) -> None:
    if self.is_stepping_down:
        raise Fenced("asked to step down")


def trust_clocks_without_a_margin(patch: Patch) -> None:
    patch.setattr(coordination, "MARGIN_S", 0.0)


def look_at_the_fence_before_the_commit(patch: Patch) -> None:
    """The store looks at the epoch first and writes a moment later."""
    commit = MemoryStore.commit

    async def racy(self: MemoryStore, written: Commit) -> None:
        self._check_epoch(written.epoch)
        await asyncio.sleep(0.02)
        if written.version != self._last_version() + 1:
            raise StoreFailed("a gap")
        epoch, self._epoch = self._epoch, written.epoch
        try:
            await commit(self, written)
        finally:
            self._epoch = epoch

    patch.setattr(MemoryStore, "commit", racy)


def take_the_lead_back(patch: Patch) -> None:
    """A manager that loads its state again begins an epoch, whoever leads by now."""
    begin, check_lead = MemoryStore.begin_epoch, Leadership.check

    async def lax(self: MemoryStore, term: int = 0) -> int:
        self._term = min(self._term, term)
        return await begin(self, term)

    def check_unless_reloading(self: Leadership) -> None:
        (_check_step_down if self.lost_reason else check_lead)(self)

    patch.setattr(MemoryStore, "begin_epoch", lax)
    patch.setattr(Leadership, "check", check_unless_reloading)


def ignore_the_version_that_a_client_has_seen(patch: Patch) -> None:
    wait_committed = Engine.wait_committed

    async def hasty(self: Engine, _min_version: int = 0) -> None:
        await wait_committed(self)

    patch.setattr(Engine, "wait_committed", hasty)


def skip_a_round(patch: Patch) -> None:
    apply, counter = Replica._apply, itertools.count(1)

    async def careless(self: Replica, logged: LoggedRound) -> None:
        if next(counter) % 20:
            await apply(self, logged)
        else:
            self.state.version = logged.version

    patch.setattr(Replica, "_apply", careless)


def follow_with_what_was_not_committed(patch: Patch) -> None:
    """A deposed leader follows with the state that it changed, its last round included."""
    patch.setattr(Replica, "begin_round", lambda _self: None)
    patch.setattr(Replica, "discard", lambda _self: None)


def answer_reads_of_what_was_not_committed(patch: Patch) -> None:
    """A deposed leader answers them until it has loaded its state again."""
    patch.setattr(Replica, "begin_round", lambda _self: None)


def read_what_is_being_committed(patch: Patch) -> None:
    async def hasty(_self: Leadership) -> None:
        return None

    patch.setattr(Leadership, "wait_for_commit", hasty)


def begin_an_epoch_twice(patch: Patch) -> None:
    start = Engine.start

    async def twice(self: Engine, lease: Lease | None = None) -> None:
        await start(self, lease)
        await start(self)

    patch.setattr(Engine, "start", twice)


def wait_long_before_the_next_campaign(patch: Patch) -> None:
    run = LeaderElector.run

    async def late(self: LeaderElector) -> None:
        await self._clock.sleep(8.0)
        await run(self)

    patch.setattr(LeaderElector, "run", late)


def write_what_older_managers_cannot_read(patch: Patch) -> None:
    """A newer leader stores what it can, whatever the others know."""
    patch.setattr(FormatRegistry, "check", lambda _self, _value: None)


def raise_the_format_when_the_leader_knows_it(patch: Patch) -> None:
    """Without a look at the other managers."""
    patch.setattr(upgrade, "common_format", lambda managers: max((each.format for each in managers), default=0))


def resume_a_stream_at_the_beginning_of_a_round(patch: Patch) -> None:
    """A client that left in the middle of a round gets its first events again."""
    render = Events._render

    def careless(
        self: Events, published: PublishedRound, query: EventQuery, _after: EventPosition | None
    ) -> list[EventView]:
        return render(self, published, query, None)

    patch.setattr(Events, "_render", careless)


def resume_a_stream_with_the_next_round(patch: Patch) -> None:
    """A client that comes from another manager misses what was committed since it left."""
    join = EventHub.join

    def careless(self: EventHub, subject: Subject, version: int) -> Follower | None:
        return join(self, subject, max(version, self._feed.version))

    stream = Events._stream

    def forgetful(self: Events, query: EventQuery, version: int) -> AsyncGenerator[bytes, None]:
        return stream(self, replace(query, after=None), version)

    patch.setattr(EventHub, "join", careless)
    patch.setattr(Events, "_stream", forgetful)


STALE = r"answered as leader at version \d+, but \d+ was committed before"
MISTAKES: tuple[tuple[Mistake, str, int], ...] = (
    (lead_without_a_lease, STALE, MANAGERS_FROM + 7),
    (answer_reads_until_the_next_commit, STALE, MANAGERS_FROM + 43),
    (acknowledge_what_changes_nothing_without_a_lease, STALE, MANAGERS_FROM + 3),
    (trust_clocks_without_a_margin, "have a lease at the same time", MANAGERS_FROM + 12),
    (look_at_the_fence_before_the_commit, r"wrote after epoch \d+ had begun", MANAGERS_FROM),
    (take_the_lead_back, r"of term \d+ after term \d+ had begun", MANAGERS_FROM + 12),
    (ignore_the_version_that_a_client_has_seen, "to a client that had seen", MANAGERS_FROM + 2),
    (skip_a_round, "never was|is not what the committed rounds give", MANAGERS_FROM + 3),
    (follow_with_what_was_not_committed, "never was|which is not committed", MANAGERS_FROM + 3),
    (answer_reads_of_what_was_not_committed, "never was|which is not committed", MANAGERS_FROM + 7),
    (read_what_is_being_committed, "which is not committed", MANAGERS_FROM),
    (begin_an_epoch_twice, r"epochs began, with \d+ elections", MANAGERS_FROM),
    (wait_long_before_the_next_campaign, "nobody leads", MANAGERS_FROM + 5),
    (write_what_older_managers_cannot_read, r"which needs format \d+; \d+ is active", MANAGERS_FROM + 41),
    (raise_the_format_when_the_leader_knows_it, r"was raised while m\d+ knows only", MANAGERS_FROM + 49),
    (resume_a_stream_at_the_beginning_of_a_round, "the next event is|what is not committed", MANAGERS_FROM + 1),
    (resume_a_stream_with_the_next_round, "the next event is|misses .* events", MANAGERS_FROM + 1),
)
