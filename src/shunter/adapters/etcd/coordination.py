"""Coordination by etcd. Implements `ports.coordination`; used by managers that share a store.

Everything that talks to etcd is in a thread with an event loop of its own. Its results come to the caller's loop as
values that are never changed: the lease's deadline, and the managers as last heard."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from shunter.adapters.etcd.errors import EtcdUnavailable
from shunter.adapters.etcd.keys import Keys, RegisteredManagers, encode_record
from shunter.adapters.etcd.lease import EtcdLease, read_clock
from shunter.adapters.etcd.loop_thread import LoopThread
from shunter.adapters.etcd.session import Session
from shunter.adapters.etcd.settings import EtcdSettings
from shunter.ports.coordination import Lease, ManagerRecord


class EtcdCoordination:
    """`name` is this manager's, and no other's. Call all methods in the loop that called `open`."""

    def __init__(self, settings: EtcdSettings, name: str) -> None:
        self._settings = settings
        self._name = name
        self._keys = Keys(settings.prefix)
        self._session: Session | None = None
        self._thread: LoopThread | None = None
        # Written by the thread, read here.
        self._registered = RegisteredManagers()
        self._heard_at = float("-inf")
        self._answer: tuple[RegisteredManagers, ManagerRecord | None] = (self._registered, None)
        self._version = 0  # of the answer
        self._seen_version = 0
        self._changed = asyncio.Event()

    async def open(self) -> None:
        self._home = asyncio.get_running_loop()
        thread = LoopThread("etcd")
        thread.start()
        try:
            self._session = await thread.run(self._start_session())
        except BaseException:
            thread.stop()
            raise
        self._thread = thread

    async def close(self) -> None:
        thread, self._thread = self._thread, None
        session, self._session = self._session, None
        if thread is None or session is None:
            return
        try:
            await thread.run(session.stop())
        finally:
            thread.stop()

    async def register(self, record: ManagerRecord) -> None:
        assert record.name == self._name
        thread, session = self._opened()
        thread.post(session.registry.register, self._keys.manager(self._name), encode_record(record))

    async def acquire(self, above: int = 0) -> Lease:
        thread, session = self._opened()
        won: list[EtcdLease] = []
        try:
            return await thread.run(session.acquire(won, above))
        except asyncio.CancelledError:
            thread.post(session.give_back, won)  # it may have been won just now
            raise

    async def resign(self, lease: Lease) -> None:
        assert isinstance(lease, EtcdLease)
        lease.end()
        if self._thread is not None and self._session is not None:  # else `close` has given it back
            await self._thread.run(self._session.resign(lease))

    def managers(self) -> list[ManagerRecord]:
        return list(self._registered.managers)

    def leader(self) -> ManagerRecord | None:
        is_current = read_clock() - self._heard_at <= self._settings.ttl_s
        return self._registered.leader if is_current else None

    def leader_term(self) -> int:
        return 0 if self.leader() is None else self._registered.term

    async def wait_changed(self) -> None:
        seen = self._seen_version
        while self._version == seen:
            await self._changed.wait()
        self._seen_version = self._version

    def _opened(self) -> tuple[LoopThread, Session]:
        if self._thread is None or self._session is None:
            raise EtcdUnavailable("the coordination is not open")
        return self._thread, self._session

    # ---- in the thread ----

    async def _start_session(self) -> Session:
        session = Session(self._settings, self._keys, self._name, self._hear)
        await session.start()
        return session

    def _hear(self, registered: RegisteredManagers, heard_at: float) -> None:
        self._registered, self._heard_at = registered, heard_at
        answer = registered, self.leader()
        if answer != self._answer:
            self._answer = answer
            self._version += 1
            with suppress(RuntimeError):  # the caller's loop has ended
                self._home.call_soon_threadsafe(self._wake)

    # ---- in the caller's loop ----

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
