"""A lease of etcd with a deadline of our own. Granted for the election and for the registration; renewed in the
coordination's thread, read from any thread.

The server ends a lease no earlier than its TTL after it *received* the last renewal. We count from the moment at which
we *sent* the renewal, and stop a margin earlier. So the lease has ended here before it ends there, whatever is lost,
late or stopped in between."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future

from shunter.adapters.etcd.client import EtcdClient
from shunter.adapters.etcd.errors import EtcdUnavailable, LeaseNotFound
from shunter.adapters.etcd.methods import GRANT, RENEW, REVOKE
from shunter.log import Log
from shunter.model.errors import Unauthorized
from shunter.proto.etcd import etcd_pb2 as pb

# How much faster the server's clock may run than ours, as a share of the TTL. NTP slews a clock by at most 0.05 %, so
# two clocks differ by 0.1 %. The rest (0.1 s of 2 s) is for an answer that was allowed by `is_held` and is on its way.
CLOCK_MARGIN = 0.05
RENEWALS_PER_TTL = 3  # two may be lost
RETRY_S = 0.05  # after a renewal that no member answered

# Nobody sets it, and unlike `time.monotonic` it also counts while the machine is suspended.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

log = Log(__name__)


def read_clock() -> float:
    """Seconds since some moment; the same in all threads."""
    return time.clock_gettime(_CLOCK)


class EtcdLease:
    """Implements `ports.coordination.Lease`. `is_held` takes no lock and sends no message."""

    def __init__(self, id: int, ttl_s: float, sent_at: float) -> None:
        self.id = id
        self.ttl_s = ttl_s
        self.term = 0  # set once by the election, with the revision at which it was won
        self.revision = 0
        self._deadline = sent_at + ttl_s * (1 - CLOCK_MARGIN)
        self._is_ended = False
        self._ended: Future[None] = Future()

    def is_held(self) -> bool:
        if self._is_ended:
            return False
        if read_clock() < self._deadline:
            return True
        self._is_ended = True  # for good: an answer that comes too late does not revive it
        return False

    async def wait_lost(self) -> None:
        """It has a timer of its own, so it returns even if the coordination's thread does not run."""
        ended = asyncio.wrap_future(self._ended)
        while self.is_held():
            await asyncio.wait({ended}, timeout=max(self._deadline - read_clock(), 0.0))

    def extend(self, sent_at: float) -> None:
        """The renewal that was sent then was confirmed."""
        if self.is_held():
            self._deadline = max(self._deadline, sent_at + self.ttl_s * (1 - CLOCK_MARGIN))

    def end(self) -> None:
        self._is_ended = True
        if not self._ended.done():
            self._ended.set_result(None)


class Leases:
    """Grants, renews and revokes. Lives in the coordination's thread."""

    def __init__(self, client: EtcdClient, ttl_s: int) -> None:
        self._client = client
        self._ttl_s = ttl_s
        self._renewals: dict[EtcdLease, asyncio.Task[None]] = {}

    async def grant(self) -> EtcdLease:
        """A new lease, which is renewed until it is released or lost."""
        sent_at = read_clock()
        response = await self._client.call(GRANT, pb.LeaseGrantRequest(ttl=self._ttl_s))
        lease = EtcdLease(response.id, response.ttl, sent_at)
        self._renewals[lease] = asyncio.create_task(self._renew_until_ended(lease, sent_at))
        return lease

    async def release(self, lease: EtcdLease) -> None:
        """End it here at once, and then at the server, so that others need not wait."""
        lease.end()
        renewal = self._renewals.pop(lease, None)
        if renewal is not None:
            renewal.cancel()
        await self._revoke(lease)

    async def release_all(self) -> None:
        await asyncio.gather(*(self.release(lease) for lease in list(self._renewals)))

    async def _renew_until_ended(self, lease: EtcdLease, sent_at: float) -> None:
        while lease.is_held():
            await asyncio.sleep(max(sent_at + lease.ttl_s / RENEWALS_PER_TTL - read_clock(), 0.0))
            if lease.is_held():
                sent_at = await self._renew(lease, sent_at)
        lease.end()
        log.warning("etcd.lease_lost", lease=lease.id)
        self._renewals.pop(lease, None)
        await self._revoke(lease)

    async def _renew(self, lease: EtcdLease, last_sent_at: float) -> float:
        """When the last successful renewal was sent. A failure of any kind costs the lease only if it lasts."""
        sent_at = read_clock()
        try:
            response = await self._client.call(RENEW, pb.LeaseKeepAliveRequest(id=lease.id))
        except Exception as error:
            if not isinstance(error, EtcdUnavailable | Unauthorized):
                log.exception("etcd.renewal_failed", lease=lease.id)
            await asyncio.sleep(RETRY_S)
            return last_sent_at
        if response.ttl <= 0:  # it has expired or was revoked
            lease.end()
        else:
            lease.extend(sent_at)
        return sent_at

    async def _revoke(self, lease: EtcdLease) -> None:
        try:
            await self._client.call(REVOKE, pb.LeaseRevokeRequest(id=lease.id))
        except LeaseNotFound:
            pass  # it has expired there, too
        except (EtcdUnavailable, Unauthorized) as error:
            log.warning("etcd.lease_not_revoked", lease=lease.id, reason=error)
