"""The election: who creates the leader's key leads, as long as the lease lives that the key is bound to. Called by the
coordination; lives in its thread.

Every candidate has a copy of the key by its watch. When the key vanishes, each of them tries once to create it. With
the few managers of a cluster, a queue of candidates would cost more than it saves."""

from __future__ import annotations

import asyncio

from shunter.adapters.etcd.client import Backoff, EtcdClient
from shunter.adapters.etcd.errors import EtcdUnavailable, LeaseNotFound
from shunter.adapters.etcd.keys import Keys
from shunter.adapters.etcd.lease import EtcdLease, Leases, read_clock
from shunter.adapters.etcd.methods import TXN
from shunter.adapters.etcd.watch import KeyWatch
from shunter.log import Log
from shunter.model.errors import Unauthorized
from shunter.proto.etcd import etcd_pb2 as pb

RESIGNED_S = 1.0  # how long a manager that resigned lets the others go first, if nobody takes the lead

log = Log(__name__)


class Election:
    def __init__(self, client: EtcdClient, keys: Keys, leases: Leases, name: str) -> None:
        self._client = client
        self._keys = keys
        self._leases = leases
        self._name = name
        self._held: EtcdLease | None = None
        self._stand_back_until = float("-inf")

    async def acquire(self, watch: KeyWatch) -> EtcdLease:
        backoff = Backoff()
        await self._let_others_go_first(watch)
        while True:
            await watch.wait_until(lambda: watch.is_current() and self._keys.leader not in watch.entries)
            try:
                lease, revision = await self._try_to_lead()
            except (EtcdUnavailable, Unauthorized, LeaseNotFound) as error:
                log.info("election.failed", reason=error)
                await backoff.wait()
                continue
            if lease is not None:
                self._held = lease
                log.info("election.won", manager=self._name, term=lease.term)
                return lease
            await watch.wait_for_revision(revision)  # until the copy shows who was faster

    async def resign(self, lease: EtcdLease) -> None:
        self._stand_back_until = read_clock() + RESIGNED_S
        await self._leases.release(lease)

    def check(self, watch: KeyWatch) -> None:
        """End a lease whose key is gone. It can vanish early if somebody deletes it, or by a fault of etcd: before
        2024, a leader that was stuck on its disk could revoke leases that its successor had renewed."""
        lease = self._held
        if lease is None or watch.revision < lease.term:
            return
        entry = watch.entries.get(self._keys.leader)
        if entry is None or entry.create_revision != lease.term:
            self._held = None
            lease.end()

    async def _let_others_go_first(self, watch: KeyWatch) -> None:
        left_s = self._stand_back_until - read_clock()
        if left_s <= 0:
            return
        try:
            async with asyncio.timeout(left_s):
                await watch.wait_until(lambda: self._is_led_by_another(watch))
        except TimeoutError:
            pass

    def _is_led_by_another(self, watch: KeyWatch) -> bool:
        entry = watch.entries.get(self._keys.leader)
        return entry is not None and entry.value != self._name.encode()

    async def _try_to_lead(self) -> tuple[EtcdLease | None, int]:
        """The lease, or None if another was faster; and the revision at which that was decided."""
        lease = await self._leases.grant()
        has_won = False
        try:
            response = await self._client.call(TXN, self._creation(lease))
            term = response.header.revision if response.succeeded else _term_of(lease, response)
            has_won = term > 0 and lease.is_held()
            lease.term = term
        finally:
            if not has_won:
                await self._leases.release(lease)
        return (lease if has_won else None), response.header.revision

    def _creation(self, lease: EtcdLease) -> pb.TxnRequest:
        key = self._keys.leader
        is_absent = pb.Compare(target=pb.Compare.CREATE, key=key, create_revision=0)
        put = pb.PutRequest(key=key, value=self._name.encode(), lease=lease.id)
        return pb.TxnRequest(
            compare=[is_absent],
            success=[pb.RequestOp(request_put=put)],
            failure=[pb.RequestOp(request_range=pb.RangeRequest(key=key))],
        )


def _term_of(lease: EtcdLease, response: pb.TxnResponse) -> int:
    """0 if another leads. The key may be ours: a first try was carried out, but its answer was lost."""
    for kv in response.responses[0].response_range.kvs:
        if kv.lease == lease.id:
            return kv.create_revision
    return 0
