"""Simulated election servers, and each manager's client of them: leases, drifting clocks, lost and late answers.

Created by `simulation.world` for worlds with several managers; `simulation.runtime.manager_faults` takes the servers
away. The servers keep true time. A client has a clock of its own, which is up to `DRIFT_MAX` too fast or too slow."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass

from shunter.ports.clock import Clock
from shunter.ports.coordination import Lease, ManagerRecord
from shunter.simulation.runtime.process import Gate
from shunter.simulation.trace import Trace

LEASE_S = 2.0
DRIFT_MAX = 0.03
MARGIN_S = 0.1  # more than a clock can differ by within a lease
RENEW_EVERY_S = 0.5
RETRY_S = 0.2
DELAY_DEFAULT_S = 0.002
ANSWER_TIMEOUT_S = 0.5

OnHeld = Callable[["SimulatedLease"], None]


@dataclass(slots=True)
class Grant:
    """A lease as the servers know it."""

    term: int
    name: str
    expires_s: float


@dataclass(slots=True)
class Registration:
    record: ManagerRecord
    since_s: float
    expires_s: float


class ElectionServers:
    """At most one grant at a time."""

    def __init__(self, clock: Clock, rng: random.Random, trace: Trace) -> None:
        self._clock, self._rng, self._trace = clock, rng, trace
        self._grant: Grant | None = None
        self._revision = 0
        self.is_up = True
        self.cut_off: set[str] = set()  # managers that cannot reach the servers
        self.delay_s = DELAY_DEFAULT_S
        self.loss_rate = 0.0  # of answers
        self.registered: dict[str, Registration] = {}

    @property
    def terms(self) -> int:
        """How many elections there were."""
        return self._revision

    def grant(self, name: str) -> Grant | None:
        """A new lease, unless somebody has one."""
        if self.holder() is not None:
            return None
        self._revision += 1
        self._grant = Grant(self._revision, name, self._clock.now() + LEASE_S)
        self._trace.record("lease.granted", f"{name} term {self._revision}")
        return self._grant

    def renew(self, term: int) -> bool:
        holder = self.holder()
        if holder is None or holder.term != term:
            return False
        holder.expires_s = self._clock.now() + LEASE_S
        return True

    def revoke(self, term: int) -> None:
        if self._grant is not None and self._grant.term == term:
            self._trace.record("lease.revoked", f"term {term}")
            self._grant = None

    def holder(self) -> Grant | None:
        if self._grant is not None and self._grant.expires_s <= self._clock.now():
            self._grant = None
        return self._grant

    def left_s(self) -> float:
        """Until the lease of somebody expires: the servers tell whoever waits for it."""
        holder = self.holder()
        return RETRY_S if holder is None else holder.expires_s - self._clock.now()

    def register(self, record: ManagerRecord) -> None:
        self._forget_registrations()
        now_s = self._clock.now()
        known = self.registered.get(record.name)
        self.registered[record.name] = Registration(record, known.since_s if known else now_s, now_s + LEASE_S)

    def managers(self, for_s: float = 0.0) -> list[ManagerRecord]:
        """The managers that have been registered for this long."""
        self._forget_registrations()
        before_s = self._clock.now() - for_s
        return [each.record for _, each in sorted(self.registered.items()) if each.since_s <= before_s]

    def _forget_registrations(self) -> None:
        now_s = self._clock.now()
        self.registered = {name: each for name, each in self.registered.items() if each.expires_s > now_s}

    def is_reachable(self, name: str) -> bool:
        return self.is_up and name not in self.cut_off

    def loses_answer(self) -> bool:
        return self._rng.random() < self.loss_rate

    def draw_delay_s(self) -> float:
        return self._rng.expovariate(1 / self.delay_s)


class SimulatedLease:
    def __init__(self, term: int, name: str, local_now: Callable[[], float], deadline_s: float) -> None:
        self.term, self.name = term, name
        self._local_now, self._deadline_s = local_now, deadline_s
        self._ended = asyncio.Event()

    def is_held(self) -> bool:
        return not self._ended.is_set() and self._local_now() < self._deadline_s

    @property
    def left_s(self) -> float:
        return self._deadline_s - self._local_now()

    def extend(self, deadline_s: float) -> None:
        self._deadline_s = max(self._deadline_s, deadline_s)

    def end(self) -> None:
        self._ended.set()

    async def wait_lost(self) -> None:
        while self.is_held():
            try:
                async with asyncio.timeout(max(self.left_s, 0.0) + 0.001):
                    await self._ended.wait()
            except TimeoutError:
                continue


class SimulatedCoordination:
    """The client of one manager. Its renewals run in a thread of their own: a stalled event loop does not stop them, a
    paused process (`gate`) does. `on_held` is called whenever the manager has got a lease or more time for it."""

    def __init__(
        self, name: str, servers: ElectionServers, clock: Clock, gate: Gate, rng: random.Random, on_held: OnHeld
    ) -> None:
        self._name, self._servers, self._clock, self._gate = name, servers, clock, gate
        self._rng = rng
        self._rate = 1 + rng.uniform(-DRIFT_MAX, DRIFT_MAX)
        self._on_held = on_held
        self._renewals: asyncio.Task[None] | None = None
        self._registration: asyncio.Task[None] | None = None
        self._heard: list[ManagerRecord] = []
        self._heard_leader = ("", 0)  # who leads, and the term
        self.lease: SimulatedLease | None = None

    async def open(self) -> None:
        """Nothing to prepare."""

    async def close(self) -> None:
        self._end_registration()
        if self._servers.is_reachable(self._name):
            self._servers.registered.pop(self._name, None)
        if self.lease is not None:
            await self.resign(self.lease)

    async def register(self, record: ManagerRecord) -> None:
        if self._registration is None:
            self._registration = asyncio.create_task(self._renew_registration(record))

    async def acquire(self, above: int = 0) -> Lease:  # noqa: ARG002  # these servers never lose their data
        while True:
            sent_s = self._local_now()
            grant = None
            if await self._ask():
                grant = self._servers.grant(self._name)
                if not await self._answered():
                    grant = None  # it is granted, and the manager does not know
            if grant is not None:
                self.lease = SimulatedLease(grant.term, self._name, self._local_now, sent_s + LEASE_S - MARGIN_S)
                self._on_held(self.lease)
                self._renewals = asyncio.create_task(self._renew_until_lost(self.lease))
                return self.lease
            await self._clock.sleep(min(self._rng.uniform(RETRY_S / 2, RETRY_S), self._servers.left_s()))
            await self._gate.wait_open()

    async def resign(self, lease: Lease) -> None:
        assert isinstance(lease, SimulatedLease)
        lease.end()
        if self._renewals is not None:
            self._renewals.cancel()
        if await self._ask():
            self._servers.revoke(lease.term)

    def kill(self) -> None:
        """The process is gone; the servers notice when the lease expires."""
        if self.lease is not None:
            self.lease.end()
        if self._renewals is not None:
            self._renewals.cancel()
        self._end_registration()

    def managers(self) -> list[ManagerRecord]:
        return self._heard

    def leader(self) -> ManagerRecord | None:
        holder = self._servers.holder()
        return None if holder is None else ManagerRecord(holder.name)

    def leader_term(self) -> int:
        holder = self._servers.holder()
        return 0 if holder is None else holder.term

    def leader_and_term(self) -> tuple[str, int]:
        """As last heard: a manager that is cut off from the servers has old news."""
        if self._servers.is_reachable(self._name):
            holder = self._servers.holder()
            self._heard_leader = ("", self._heard_leader[1]) if holder is None else (holder.name, holder.term)
        return self._heard_leader

    async def wait_changed(self) -> None:
        await self._clock.sleep(RETRY_S)

    async def _renew_until_lost(self, lease: SimulatedLease) -> None:
        while lease.is_held():
            await self._clock.sleep(RENEW_EVERY_S)
            await self._gate.wait_open()
            sent_s = self._local_now()
            if not await self._ask():
                continue
            is_renewed = self._servers.renew(lease.term)
            if not await self._answered():
                continue
            if not is_renewed or not lease.is_held():
                lease.end()
                return
            lease.extend(sent_s + LEASE_S - MARGIN_S)
            self._on_held(lease)

    async def _renew_registration(self, record: ManagerRecord) -> None:
        """It takes no time on the way, so that it needs no random numbers."""
        while True:
            await self._gate.wait_open()
            if self._servers.is_reachable(self._name):
                self._servers.register(record)
                self._heard = self._servers.managers()
            await self._clock.sleep(RENEW_EVERY_S)

    def _end_registration(self) -> None:
        if self._registration is not None:
            self._registration.cancel()

    async def _ask(self) -> bool:
        """Send a request; returns whether it has reached the servers."""
        await self._clock.sleep(self._servers.draw_delay_s())
        if self._servers.is_reachable(self._name):
            return True
        await self._clock.sleep(ANSWER_TIMEOUT_S)
        await self._gate.wait_open()
        return False

    async def _answered(self) -> bool:
        is_lost = not self._servers.is_reachable(self._name) or self._servers.loses_answer()
        await self._clock.sleep(ANSWER_TIMEOUT_S if is_lost else self._servers.draw_delay_s())
        await self._gate.wait_open()
        return not is_lost

    def _local_now(self) -> float:
        return self._clock.now() * self._rate
