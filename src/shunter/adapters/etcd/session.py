"""The part of the coordination that runs in its thread: a client, the watch, the election and the registry, from
`start` to `stop`. Made by the coordination."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from shunter.adapters.etcd.client import EtcdClient
from shunter.adapters.etcd.election import Election
from shunter.adapters.etcd.errors import EtcdUnavailable
from shunter.adapters.etcd.keys import Keys, RegisteredManagers, read_managers
from shunter.adapters.etcd.lease import EtcdLease, Leases
from shunter.adapters.etcd.methods import RANGE
from shunter.adapters.etcd.registry import Registry
from shunter.adapters.etcd.settings import EtcdSettings
from shunter.adapters.etcd.watch import KeyWatch
from shunter.log import Log
from shunter.proto.etcd import etcd_pb2 as pb

CLOSE_TIMEOUT_S = 3.0  # for giving leases back; what is left expires

Hear = Callable[[RegisteredManagers, float], None]

log = Log(__name__)


class Session:
    """`hear` is called with the managers and the moment to which they are true, after each list and each change."""

    def __init__(self, settings: EtcdSettings, keys: Keys, name: str, hear: Hear) -> None:
        self._settings = settings
        self._keys = keys
        self._hear = hear
        self._client = EtcdClient(settings)
        self._leases = Leases(self._client, settings.ttl_s)
        self._watch = KeyWatch(self._client, keys.managers, settings.ttl_s, self._on_change)
        self._election = Election(self._client, keys, self._leases, name)
        self.registry = Registry(self._client, self._leases)
        self._tasks: set[asyncio.Task[None]] = set()
        self._campaigns: set[asyncio.Task[Any]] = set()
        self._is_stopping = False

    async def start(self) -> None:
        """Raises Unauthorized if etcd refuses the user. Without an answer it starts anyway, and goes on trying."""
        try:
            await self._client.call(RANGE, pb.RangeRequest(key=self._keys.leader))
        except EtcdUnavailable:
            pass  # the client has logged it
        except BaseException:
            await self._client.close()
            raise
        self._spawn(self._watch.run())
        self._spawn(self.registry.run())
        if self._client.is_reachable:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._settings.ttl_s):
                    await self._watch.wait_until(self._watch.is_current)

    async def stop(self) -> None:
        self._is_stopping = True
        running = self._tasks | self._campaigns
        for task in running:
            task.cancel()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await asyncio.gather(self._leases.release_all(), *running, return_exceptions=True)
        except TimeoutError:
            log.warning("etcd.closed_without_answer")
        await self._client.close()

    async def acquire(self, won: list[EtcdLease], above: int) -> EtcdLease:
        """The lease, also put into `won`: a caller that is cancelled at that moment gives it back."""
        campaign = asyncio.current_task()
        assert campaign is not None
        self._campaigns.add(campaign)
        try:
            won.append(await self._election.acquire(self._watch, above))
            return won[0]
        except asyncio.CancelledError:
            if self._is_stopping:
                raise EtcdUnavailable("the coordination was closed") from None
            raise
        finally:
            self._campaigns.discard(campaign)

    async def resign(self, lease: EtcdLease) -> None:
        await self._election.resign(lease)

    def give_back(self, won: list[EtcdLease]) -> None:
        for lease in won:
            lease.end()
            self._spawn(self._leases.release(lease))

    def _on_change(self) -> None:
        self._election.check(self._watch)
        self._hear(read_managers(self._keys, self._watch.entries), self._watch.heard_at)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
