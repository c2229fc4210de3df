"""Coordination without servers: `Alone` for one manager; `MemoryCoordination` for tests with several in a process.

Both pass `tests/contracts/coordination.py`."""

from __future__ import annotations

import asyncio

from shunter.ports.coordination import AlwaysHeld, Lease, ManagerRecord

CLOCK_MARGIN = 0.05  # share of the TTL by which a holder stops before the server does
STEPS_PER_TTL = 20  # `advance` moves the clock in steps; connected members renew in each
RESIGNED_S = 1.0  # how long a member that resigned lets the others go first


class Alone:
    """One manager, which always leads."""

    def __init__(self) -> None:
        self._record: ManagerRecord | None = None
        self._changed = Signal()

    async def open(self) -> None: ...

    async def close(self) -> None:
        self._record = None
        self._changed.send()

    async def register(self, record: ManagerRecord) -> None:
        self._record = record
        self._changed.send()

    async def acquire(self, above: int = 0) -> Lease:  # noqa: ARG002
        return AlwaysHeld()

    async def resign(self, lease: Lease) -> None:
        """There is nobody to hand over to."""

    def managers(self) -> list[ManagerRecord]:
        return [] if self._record is None else [self._record]

    def leader(self) -> ManagerRecord | None:
        return self._record

    def leader_term(self) -> int:
        return 0

    async def wait_changed(self) -> None:
        await self._changed.wait()


class MemoryServer:
    """What members share. Its clock stands still until `advance` moves it."""

    def __init__(self, ttl_s: float = 2.0) -> None:
        self.ttl_s = ttl_s
        self.now = 0.0
        self.term = 0
        self.holder: MemoryLease | None = None
        self.records: dict[str, ManagerRecord] = {}
        self.members: dict[str, MemoryCoordination] = {}
        self.renewed_at: dict[str, float] = {}  # of registrations, by name

    def advance(self, seconds: float) -> None:
        """Let time pass: connected members renew, leases without renewals end."""
        end = self.now + seconds
        while self.now < end:
            self.now = min(self.now + self.ttl_s / STEPS_PER_TTL, end)
            for member in list(self.members.values()):
                member.sync()
            self._expire()
            self.announce()

    def announce(self) -> None:
        for member in list(self.members.values()):
            member.hear()

    def set_holder(self, lease: MemoryLease | None) -> None:
        self.holder = lease
        self.announce()

    def _expire(self) -> None:
        if self.holder is not None and self.holder.renewed_at + self.ttl_s <= self.now:
            self.set_holder(None)
        for name, renewed_at in self.renewed_at.items():
            if renewed_at + self.ttl_s <= self.now:
                self.records.pop(name, None)


class MemoryLease:
    def __init__(self, server: MemoryServer, name: str) -> None:
        server.term += 1
        self.term = server.term
        self.name = name
        self.renewed_at = server.now
        self._server = server
        self._is_ended = False
        self._changed = Signal()

    def is_held(self) -> bool:
        if not self._is_ended and self._server.now >= self.renewed_at + self._server.ttl_s * (1 - CLOCK_MARGIN):
            self._is_ended = True
        return not self._is_ended

    async def wait_lost(self) -> None:
        while self.is_held():
            await self._changed.wait()

    def end(self) -> None:
        self._is_ended = True
        self._changed.send()

    def renew(self) -> None:
        if self.is_held():
            self.renewed_at = self._server.now

    def check(self) -> None:
        if not self.is_held():
            self._changed.send()


class MemoryCoordination:
    """One member. While `is_connected` is False, nothing that it sends arrives, and it hears nothing."""

    def __init__(self, server: MemoryServer, name: str) -> None:
        self.is_connected = True
        self._server = server
        self._name = name
        self._record: ManagerRecord | None = None
        self._lease: MemoryLease | None = None
        self._heard_at = server.now
        self._managers: list[ManagerRecord] = []
        self._leader: ManagerRecord | None = None
        self._leader_term = 0
        self._answer: tuple[list[ManagerRecord], ManagerRecord | None] = ([], None)
        self._stand_back_until = float("-inf")
        self._heard = Signal()  # something may be different for a candidate
        self._changed = Signal()

    async def open(self) -> None:
        self._server.members[self._name] = self
        self.hear()

    async def close(self) -> None:
        if self._lease is not None:
            await self.resign(self._lease)
        self._server.members.pop(self._name, None)
        if self.is_connected:
            self._server.records.pop(self._name, None)
            self._server.announce()

    async def register(self, record: ManagerRecord) -> None:
        self._record = record
        self._write()

    async def acquire(self, above: int = 0) -> Lease:
        while self._must_wait():
            await self._heard.wait()
        self._server.term = max(self._server.term, above)
        self._lease = MemoryLease(self._server, self._name)
        self._server.set_holder(self._lease)
        return self._lease

    async def resign(self, lease: Lease) -> None:
        assert isinstance(lease, MemoryLease)
        lease.end()
        self._stand_back_until = self._server.now + RESIGNED_S
        if self._server.holder is lease and self.is_connected:
            self._server.set_holder(None)

    def managers(self) -> list[ManagerRecord]:
        return self._managers

    def leader(self) -> ManagerRecord | None:
        return self._leader if self._server.now - self._heard_at <= self._server.ttl_s else None

    def leader_term(self) -> int:
        return 0 if self.leader() is None else self._leader_term

    async def wait_changed(self) -> None:
        await self._changed.wait()

    # ---- called by the server ----

    def sync(self) -> None:
        """Renew, and repeat what was registered."""
        if not self.is_connected:
            return
        if self._lease is not None and self._server.holder is self._lease:
            self._lease.renew()
        self._write()

    def hear(self) -> None:
        if self.is_connected:
            server = self._server
            self._heard_at = server.now
            self._managers = [server.records[name] for name in sorted(server.records)]
            holder = server.holder
            self._leader_term = 0 if holder is None else holder.term
            self._leader = None if holder is None else server.records.get(holder.name) or ManagerRecord(holder.name)
        if self._lease is not None:
            self._lease.check()
        self._heard.send()
        if self._answer != (self._managers, self.leader()):
            self._answer = (self._managers, self.leader())
            self._changed.send()

    def _write(self) -> None:
        if not self.is_connected:
            return
        server = self._server
        server.renewed_at[self._name] = server.now
        if self._record is not None:
            server.records[self._name] = self._record
        server.announce()

    def _must_wait(self) -> bool:
        if not self.is_connected or self._server.holder is not None:
            return True
        return self._server.now < self._stand_back_until


class Signal:
    """Wakes whoever waits. A signal that was sent before the first wait, or between two, is not lost."""

    def __init__(self) -> None:
        self._sent = 0
        self._seen = 0
        self._event = asyncio.Event()

    def send(self) -> None:
        self._sent += 1
        event, self._event = self._event, asyncio.Event()
        event.set()

    async def wait(self) -> None:
        seen = self._seen
        while self._sent == seen:
            await self._event.wait()
        self._seen = self._sent
