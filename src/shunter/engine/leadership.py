"""Whether this manager leads or follows, and whether its state may be read. Owned by `engine.engine`.

The store's fence decides what is written. The lease says whether a leader may answer what it need not commit."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from shunter.engine.replica import Replica
from shunter.log import Log
from shunter.model.errors import Fenced, NewerFormat, NotLeader, ShunterError, Unavailable
from shunter.ports.clock import Clock
from shunter.ports.coordination import AlwaysHeld, Lease
from shunter.ports.store import Commit, Store

log = Log(__name__)
READ_WAIT_MAX_S = 2.0  # for the committed state, after a failed commit
FOLLOW_INTERVAL_S = 0.05  # between two looks at the store, without a hint that something was committed
FOLLOW_PAUSE_S = 0.005  # between two looks in any case, so that one look finds several rounds
FOLLOW_RETRY_S = 0.5  # after a failed look
FOLLOWER_WAIT_MAX_S = 1.0  # for a version that the caller has seen elsewhere
NOT_LEADING = "this manager is not the leader"

T = TypeVar("T")


class Leadership:
    def __init__(self, store: Store, replica: Replica, clock: Clock) -> None:
        self.epoch = 0
        self.lease: Lease = AlwaysHeld()
        self.is_following = False
        self.is_stepping_down = False
        # why nothing can be committed, from a failed commit until this manager leads again
        self.lost_reason = self.public_lost_reason = ""
        self._store, self._replica, self._clock = store, replica, clock
        # when the state was surely the newest: the last look at the store began that found all there was
        self._current_at: float | None = None
        self._in_flight: asyncio.Future[None] | None = None
        self._given_up: asyncio.Future[None]  # of this epoch
        # set while the state is a committed one: it may be read even if nothing can be committed
        self._readable = asyncio.Event()
        self._too_old: NewerFormat | None = None  # why this program can neither follow nor lead

    # ---- leading ----

    async def take(self, lease: Lease | None) -> None:
        """Begin an epoch and apply what is committed by then. Raises Fenced if a newer term leads."""
        self.lease = lease or self.lease
        began_at = self._clock.now()
        self.epoch = await self._store.begin_epoch(self.lease.term)
        await self._replica.catch_up()
        self._current_at = began_at
        self.is_following = self.is_stepping_down = False
        self._given_up = asyncio.get_running_loop().create_future()
        self.lost_reason = self.public_lost_reason = ""
        self._readable.set()

    def check(self) -> None:
        """Raises Fenced if this manager must not lead any more."""
        if self.is_stepping_down:
            raise Fenced("this manager was asked to step down")
        if not self.lease.is_held():
            raise Fenced("this manager has lost its lease")

    async def commit(self, commit: Commit) -> None:
        """Reads wait until it has ended."""
        self._in_flight = asyncio.get_running_loop().create_future()
        began_at = self._clock.now()
        try:
            await self.ask_store(self._store.commit(commit))
            self._current_at = began_at
        finally:
            self._in_flight.set_result(None)
            self._in_flight = None

    async def ask_store(self, question: Coroutine[Any, Any, T]) -> T:
        """Raises Fenced when the store is given up. A commit may still land then; the next epoch waits for it or
        refuses it. A manager that is alone has nobody to hand over to, and waits."""
        if not self.lease.term:
            return await question
        answer, given_up = asyncio.create_task(question), self._given_up
        try:
            await asyncio.wait((answer, given_up), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            answer.cancel()
            raise
        if answer.done():
            return answer.result()
        answer.add_done_callback(_retrieve_error)
        raise Fenced("the store does not answer")

    def give_up_store(self) -> None:
        """Step down, and wait no longer for what the store was asked."""
        self.is_stepping_down = True
        if not self._given_up.done():
            self._given_up.set_result(None)

    def discard_state(self, reason: str, public_reason: str = "") -> None:
        """It is not a committed one, or may not be. `public_reason` is for callers without a token, if it differs."""
        self.lost_reason, self.public_lost_reason = reason, public_reason or reason
        self._readable.clear()
        self._current_at = None
        self._replica.discard()

    async def load_readable_state(self) -> None:
        """Nothing can be committed, but the committed state can still be read."""
        if not self._readable.is_set():
            try:
                await self._replica.catch_up()
                self._readable.set()
            except Exception as error:
                log.error("engine.state_unreadable", error=error)

    async def leading_term(self) -> int:
        """The newest term that the store knows. While it is this manager's, nobody else has committed anything."""
        began_at = self._clock.now()
        term = await self._store.leading_term()
        if not self.is_following and not self.lost_reason and term == self.lease.term:
            self._current_at = began_at
        return term

    async def is_leading(self) -> bool:
        """Whether no other manager has taken the lead by now."""
        try:
            is_ours = not self.lost_reason and self.lease.is_held()
            return is_ours and await self._store.leading_epoch() == self.epoch
        except ShunterError:
            return False

    # ---- following ----

    def lose(self) -> None:
        """A leader's state has things that only a leader knows, so a follower loads its own. The store may be away, so
        until then it answers reads of what was committed last, unless a round was begun after that."""
        current_at = self._current_at if self._readable.is_set() and self._replica.is_current else None
        self.is_following = True
        self.discard_state(NOT_LEADING)
        if current_at is not None:
            self._current_at = current_at
            self._readable.set()

    async def follow_once(self) -> None:
        """Apply the rounds that were committed since the last time, and wait until it is worthwhile to look again.
        Raises NewerFormat if this program cannot read them."""
        looked_at = self._clock.now()
        try:
            await self._replica.catch_up()
            self._readable.set()
            self._current_at = looked_at
            await self._store.wait_for_commit(self._replica.state.version, FOLLOW_INTERVAL_S)
            await self._clock.sleep(FOLLOW_PAUSE_S)
        except NewerFormat as error:
            self._too_old = error
            self.discard_state(error.detail)
            raise
        except ShunterError as error:
            log.warning("replica.failed", error=error, retry_s=FOLLOW_RETRY_S)
            await self._clock.sleep(FOLLOW_RETRY_S)

    @property
    def lag_s(self) -> float | None:
        if not self.is_following:
            return 0.0
        return None if self._current_at is None else max(0.0, self._clock.now() - self._current_at)

    # ---- reading ----

    @property
    def is_readable(self) -> bool:
        return self._readable.is_set() and (self.is_following or self.lease.is_held())

    @property
    def health_problem(self) -> str:
        if not self.is_following and self.public_lost_reason:
            consequence = "only reads work" if self.is_readable else "reads do not work either"
            return f"the manager cannot commit: {self.public_lost_reason}; {consequence}"
        if not self._readable.is_set():
            return "the manager has no state to read: it is being loaded; try again"
        return "" if self.is_readable else "the manager has lost its lease, and leads no more; try again"

    @property
    def committed_version(self) -> int:
        return self._replica.state.version - (self._in_flight is not None)

    async def wait_committed(self, min_version: int) -> None:
        give_up_s = self._clock.now() + FOLLOWER_WAIT_MAX_S
        # Whatever is waited for, another commit may begin meanwhile, or this manager may begin or cease to lead.
        while True:
            await self.wait_for_commit()
            if not self._readable.is_set():
                await self._wait_readable()
            elif self.is_following and self._replica.state.version < min_version:
                await self._wait_for_version(min_version, give_up_s)
            elif self.is_following or self.lease.is_held():
                return
            else:
                raise NotLeader(f"{NOT_LEADING}; try again")

    async def wait_for_commit(self) -> None:
        """Wait until no commit is in flight, whether it succeeded or not."""
        while self._in_flight is not None:
            await asyncio.shield(self._in_flight)

    async def _wait_readable(self) -> None:
        if not await self._clock.wait(self._readable, READ_WAIT_MAX_S):
            if self._too_old is not None:
                raise self._too_old
            raise Unavailable(f"{self.lost_reason or 'the manager is starting'}; try again")

    async def _wait_for_version(self, version: int, give_up_s: float) -> None:
        """Wait a moment for a follower to get there."""
        current = self._replica.state.version
        if self._clock.now() >= give_up_s:
            raise NotLeader(f"this follower has reached version {current}, not yet {version}; try again")
        await self._clock.sleep(FOLLOW_INTERVAL_S / 5)


def _retrieve_error(answer: asyncio.Task[Any]) -> None:
    """Nobody waits for it any more."""
    if not answer.cancelled():
        answer.exception()
