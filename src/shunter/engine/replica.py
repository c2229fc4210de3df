"""The committed state of the cluster in memory, and the feed of its rounds.

Every manager has one. It is loaded from the store, and then follows the rounds that the leader commits. The engine of
the leader changes its state directly, and commits the same changes. So a manager that takes the lead loads nothing."""

from __future__ import annotations

from shunter.engine import changes as c
from shunter.engine.changes.formats import FORMATS, Formats
from shunter.engine.feed import Feed, PublishedRound
from shunter.engine.jobs.finish import Summary, decode_summary
from shunter.engine.recovery import decode_logged, load_state
from shunter.engine.state.state import State
from shunter.log import Log
from shunter.model.errors import NotFound
from shunter.ports.store import LoggedRound, Store

ROUNDS_PER_READ = 1_000
log = Log(__name__)


class Replica:
    def __init__(self, store: Store, formats: Formats = FORMATS) -> None:
        self.state = State(formats)
        self.feed = Feed()
        self.is_current = False  # the state is exactly the one that the store had at its version
        self._was_loaded = False
        self._store, self._formats = store, formats

    def discard(self) -> None:
        """The state has changes that are not committed, or cannot be trusted: load it again before the next use."""
        self.is_current = False

    def begin_round(self) -> None:
        """The leader changes the state. If the commit fails, the committed one must be loaded again."""
        self.is_current = False

    def end_round(self) -> None:
        """What was changed is committed."""
        self.is_current = True

    async def catch_up(self) -> None:
        """Apply all rounds that are committed by now, and publish them."""
        if not self.is_current:
            await self._load()
            return
        while rounds := await self._read_on():
            for logged in rounds:
                await self._apply(logged)

    async def _load(self) -> None:
        """Whoever followed the old state follows again: rounds between the two are in the store."""
        state = await load_state(self._store, self._formats)
        if self._was_loaded:
            self.feed.end()
        self.state, self.is_current, self._was_loaded = state, True, True
        self.feed.version = state.version

    async def _read_on(self) -> list[LoggedRound]:
        try:
            return await self._store.rounds_after(self.state.version, ROUNDS_PER_READ)
        except NotFound:  # retention has cut the rounds that come next, so the snapshot is newer than this state
            log.warning("replica.cut_off", version=self.state.version)
            await self._load()
            return await self._store.rounds_after(self.state.version, ROUNDS_PER_READ)

    async def _apply(self, logged: LoggedRound) -> None:
        changes = decode_logged(logged, self._formats)
        summaries = await self._summaries_of(changes)
        self.is_current = False  # until all of it is applied
        for change in changes:
            self.state.apply(change)
        self.state.version, self.is_current = logged.version, True
        found = {job_id: summary for job_id, summary in summaries.items() if summary is not None}
        self.feed.publish(PublishedRound(logged.version, logged.at, changes, len(logged.body)), found)
        for purged in summaries.keys() - found.keys():
            self.feed.end_watches(purged)

    async def _summaries_of(self, changes: list[c.Change]) -> dict[int, Summary | None]:
        """The summaries of the watched jobs that end in this round, from history. They are looked up before anything is
        applied: if the store fails, or this manager is elected meanwhile, the round is read again and no watcher misses
        the end."""
        ended = [change.job for change in changes if isinstance(change, c.JobEnded)]
        summaries: dict[int, Summary | None] = {}
        while missing := [job_id for job_id in ended if job_id not in summaries and self.feed.is_watched(job_id)]:
            for job_id in missing:
                finished = await self._store.finished_job(job_id)
                summaries[job_id] = None if finished is None else decode_summary(finished.summary)
        return summaries
