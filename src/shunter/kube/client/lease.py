"""The lease by which one of several operators leads: an object that its holder renews, and that another one may take
when it was not renewed for its whole duration.

Times are measured on this machine's clock only: an observer counts from when it saw the last renewal."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime

from shunter.kube.client.api import KubeApi, Resource
from shunter.log import Log
from shunter.model.errors import Conflict, NotFound, ShunterError, Unavailable
from shunter.model.objects.object_meta import Document

DURATION_S = 15.0
LEASES = Resource("coordination.k8s.io", "v1", "leases")

log = Log(__name__)


class Lease:
    def __init__(
        self,
        api: KubeApi,
        namespace: str,
        name: str,
        holder: str,
        duration_s: float = DURATION_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api, self._namespace, self._name, self._holder = api, namespace, name, holder
        self._duration_s, self._clock = duration_s, clock
        self._held_until = 0.0
        self._seen: tuple[str, float] = ("", 0.0)  # the last version of another holder, and when we saw it first
        self.changed = asyncio.Event()

    @property
    def is_held(self) -> bool:
        """Ends well before another operator may take the lease, so that requests in flight are over by then."""
        return self._clock() < self._held_until

    def check(self) -> None:
        """Raises Unavailable if another operator may lead."""
        if not self.is_held:
            raise Unavailable("another operator leads")

    async def run(self) -> None:
        """Take and renew it until cancelled; then give it up, so that another one leads at once."""
        try:
            while True:
                was_held = self.is_held
                try:
                    await self._try()
                except Conflict:
                    self._held_until = 0.0
                except ShunterError as error:
                    log.warning("lease.failed", error=error)
                if self.is_held != was_held:
                    log.info("lease.taken" if self.is_held else "lease.lost", holder=self._holder)
                    self.changed.set()
                await asyncio.sleep(self._duration_s / 6)
        finally:
            await self._release()

    async def _try(self) -> None:
        asked = self._clock()
        try:
            found = await self._api.get(LEASES, self._name, self._namespace)
        except NotFound:
            await self._api.create(LEASES, self._document({}))
        else:
            if not self._may_take(found):
                self._held_until = 0.0
                return
            await self._api.replace(LEASES, self._document(found))
        self._held_until = asked + self._duration_s * 2 / 3

    def _may_take(self, found: Document) -> bool:
        spec, version, now = found.get("spec") or {}, found["metadata"]["resourceVersion"], self._clock()
        if spec.get("holderIdentity") in (None, "", self._holder):
            return True
        if version != self._seen[0]:
            self._seen = (version, now)
        return now - self._seen[1] >= float(spec.get("leaseDurationSeconds") or self._duration_s)

    def _document(self, found: Document) -> Document:
        spec, now = found.get("spec") or {}, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
        is_new = spec.get("holderIdentity") != self._holder
        taken = {"acquireTime": now, "leaseTransitions": spec.get("leaseTransitions", -1) + 1} if is_new else {}
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": found.get("metadata") or {"name": self._name, "namespace": self._namespace},
            "spec": spec
            | taken
            | {
                "holderIdentity": self._holder,
                "leaseDurationSeconds": max(1, round(self._duration_s)),
                "renewTime": now,
            },
        }

    async def _release(self) -> None:
        if not self.is_held:
            return
        self._held_until = 0.0
        try:
            found = await self._api.get(LEASES, self._name, self._namespace)
            if (found.get("spec") or {}).get("holderIdentity") == self._holder:
                found["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1}
                await self._api.replace(LEASES, found)
        except ShunterError as error:
            log.warning("lease.not_released", error=error)
