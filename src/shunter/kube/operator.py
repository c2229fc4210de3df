"""The operator: waits for changes and for the lease, and reconciles what has changed until nothing does."""

from __future__ import annotations

import asyncio

from shunter.kube.client.lease import Lease
from shunter.kube.cluster_view import ClusterView, Key
from shunter.kube.reconcilers import Reconcilers
from shunter.log import Log
from shunter.model.errors import Conflict, NotFound, ShunterError
from shunter.model.objects.objects import BATCH_JOB, SCHEDULING, TESTBED

RETRY_S = 1.0
CONFLICT_RETRY_S = 0.05
_ORDER = {TESTBED: 0, BATCH_JOB: 1, SCHEDULING: 2}

log = Log(__name__)


class Operator:
    def __init__(self, view: ClusterView, reconcilers: Reconcilers, lease: Lease | None = None) -> None:
        self._view, self._reconcilers, self._lease = view, reconcilers, lease

    async def run(self) -> None:
        """Until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._view.run())
            if self._lease is not None:
                group.create_task(self._lease.run())
            group.create_task(self._reconcile_forever())

    async def _reconcile_forever(self) -> None:
        await self._view.wait_synced()
        while True:
            await self._wait_until_leading()
            await self._view.changed.wait()
            self._view.changed.clear()
            while keys := self._take():
                for key in keys:
                    await self._reconcile(key)

    async def _wait_until_leading(self) -> None:
        lease = self._lease
        if lease is None or lease.is_held:
            return
        while not lease.is_held:
            lease.changed.clear()
            await lease.changed.wait()
        self._view.mark_all()  # the operator before may have been interrupted anywhere

    def _take(self) -> list[Key]:
        """Testbeds first, then jobs, so that a Scheduling sees all their changes at once."""
        if not self._view.dirty or (self._lease is not None and not self._lease.is_held):
            return []
        rank = min(_ORDER[kind] for kind, _ in self._view.dirty)
        keys = sorted(key for key in self._view.dirty if _ORDER[key[0]] == rank)
        self._view.dirty.difference_update(keys)
        return keys

    async def _reconcile(self, key: Key) -> None:
        kind, name = key
        try:
            await self._reconcilers.reconcile(kind, name)
        except (Conflict, NotFound) as error:
            log.debug("operator.conflict", kind=kind, name=name, error=error)
            self._mark_later(key, CONFLICT_RETRY_S)
        except ShunterError as error:
            log.warning("operator.failed", kind=kind, name=name, error=error)
            self._mark_later(key, RETRY_S)
        except Exception:
            log.exception("operator.broken", kind=kind, name=name)
            self._mark_later(key, RETRY_S)

    def _mark_later(self, key: Key, delay_s: float) -> None:
        asyncio.get_running_loop().call_later(delay_s, self._view.mark, *key)
