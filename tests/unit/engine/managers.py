"""Several engines on one store in virtual time, with a lease that the test gives and takes away."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, cast

from shunter.adapters.memory.store import MemoryStore
from shunter.engine.changes.formats import FORMATS, Formats
from shunter.engine.engine import Engine
from shunter.engine.leader_elector import Deputies, LeaderElector
from shunter.model.errors import StoreFailed, Unavailable
from shunter.planning.planner import build_policy
from shunter.ports.coordination import Lease, ManagerRecord
from shunter.ports.store import Commit, EndedRun, FinishedJob, LoggedRound, RunKey, Snapshot, Store
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.engine.harness import RecordingWorkers


class TestLease:
    __test__ = False

    def __init__(self, term: int) -> None:
        self.term = term
        self._lost = asyncio.Event()

    def is_held(self) -> bool:
        return not self._lost.is_set()

    async def wait_lost(self) -> None:
        await self._lost.wait()

    def lose(self) -> None:
        self._lost.set()


class TestElection:
    """One lease at a time, for whoever asks first after it is free."""

    __test__ = False

    def __init__(self) -> None:
        self.term = 0
        self.lease: TestLease | None = None
        self.registered: list[ManagerRecord] = []
        self.lags: dict[str, Callable[[], float | None]] = {}  # what managers answer; the others do not
        self._is_free = asyncio.Event()
        self._is_free.set()

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def register(self, record: ManagerRecord) -> None: ...

    async def acquire(self, above: int = 0) -> Lease:
        while not self._is_free.is_set():
            await self._is_free.wait()
        self._is_free.clear()
        self.term = max(self.term, above) + 1
        self.lease = TestLease(self.term)
        return self.lease

    async def resign(self, lease: Lease) -> None:
        assert isinstance(lease, TestLease)
        lease.lose()
        if lease is self.lease:
            self._is_free.set()

    def expire(self) -> None:
        """The leader's lease ends, and another manager may be elected."""
        assert self.lease is not None
        self.lease.lose()
        self._is_free.set()

    def managers(self) -> list[ManagerRecord]:
        return self.registered

    def leader(self) -> ManagerRecord | None:
        return None

    def leader_term(self) -> int:
        return 0

    async def wait_changed(self) -> None: ...

    async def ask_lag(self, record: ManagerRecord) -> float | None:
        if record.name not in self.lags:
            raise Unavailable(f"{record.name} did not answer")
        return self.lags[record.name]()


class CountingStore(MemoryStore):
    """Counts reads, and fails or never answers what it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: Counter[str] = Counter()
        self.failing: set[str] = set()
        self.silent: set[str] = set()

    def _fail(self, what: str) -> None:
        if what in self.failing:
            raise StoreFailed(f"{what} fails")

    async def _hang(self, what: str) -> None:
        if what in self.silent:
            await asyncio.Event().wait()

    async def commit(self, commit: Commit) -> None:
        self._fail("commit")
        await self._hang("commit")
        await super().commit(commit)

    async def begin_epoch(self, term: int = 0) -> int:
        self._fail("begin_epoch")
        await self._hang("begin_epoch")
        return await super().begin_epoch(term)

    async def snapshot(self) -> Snapshot | None:
        self.reads["snapshot"] += 1
        return await super().snapshot()

    async def rounds_after(self, version: int, limit: int) -> list[LoggedRound]:
        self._fail("rounds_after")
        await self._hang("rounds_after")
        rounds = await super().rounds_after(version, limit)
        self.reads["rounds"] += len(rounds)
        return rounds

    async def leading_term(self) -> int:
        self._fail("leading_term")
        await self._hang("leading_term")
        return await super().leading_term()

    async def ended_runs(self, keys: Sequence[RunKey]) -> dict[RunKey, EndedRun]:
        self._fail("ended_runs")
        await self._hang("ended_runs")
        return await super().ended_runs(keys)

    async def finished_job(self, id: int) -> FinishedJob | None:
        self._fail("finished_job")
        return await super().finished_job(id)


class StoreLink:
    """One manager's way to a store. While it is cut, requests fail at once, or are never answered."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.is_refused = self.is_silent = False

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        async def ask(*arguments: Any) -> Any:
            if self.is_refused:
                raise StoreFailed(f"{name}: connection refused")
            if self.is_silent:
                await asyncio.Event().wait()
            return await method(*arguments)

        return ask


class Manager:
    """An engine that follows and leads."""

    def __init__(
        self,
        store: MemoryStore | StoreLink,
        election: TestElection,
        formats: Formats = FORMATS,
        *,
        name: str = "leader",
        is_candidate: bool = True,
    ) -> None:
        clock = VirtualClock()
        self.workers = RecordingWorkers()
        self.engine = Engine(
            store=cast("Store", store),
            workers=self.workers,
            policy=build_policy("bin-pack"),
            clock=clock,
            random=random.Random(1),
            formats=formats,
        )
        self.leads = asyncio.Event()
        self.times_led = 0
        elector = LeaderElector(
            self.engine,
            election,
            clock,
            random.Random(1),
            self._lead,
            self._step_down,
            deputies=Deputies(name, election, clock, election.ask_lag),
            is_candidate=is_candidate,
        )
        self.running = asyncio.create_task(elector.run())

    async def _lead(self) -> None:
        self.times_led += 1
        self.leads.set()

    async def _step_down(self) -> None:
        self.leads.clear()


async def leader_and_follower(
    store: MemoryStore, leader_link: StoreLink | None = None
) -> tuple[Manager, Manager, TestElection]:
    election = TestElection()
    leader = Manager(leader_link or store, election)
    await leader.leads.wait()
    follower = Manager(store, election, name="follower")
    await follower.engine.wait_committed()
    return leader, follower, election
