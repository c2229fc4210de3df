"""The election: who creates the leader's key leads, as long as the lease lives that the key is bound to. Called by the
coordination; lives in its thread.

A term is the revision at which the key was created, plus `first-term`. That is 0, and rises if etcd has lost its data
and counts revisions from 1 again.

Every candidate has a copy of the key by its watch. When the key vanishes, each of them tries once to create it. With
the few managers of a cluster, a queue of candidates would cost more than it saves."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from shunter.adapters.etcd.client import Backoff, EtcdClient
from shunter.adapters.etcd.errors import EtcdUnavailable, LeaseNotFound
from shunter.adapters.etcd.keys import Entry, Keys, read_first_term
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

    async def acquire(self, watch: KeyWatch, above: int) -> EtcdLease:
        backoff = Backoff()
        await self._let_others_go_first(watch)
        while True:
            await watch.wait_until(lambda: watch.is_current() and self._keys.leader not in watch.entries)
            try:
                if await self._raise_first_term(watch, above):
                    continue
                lease, revision = await self._try_to_lead(watch.entries.get(self._keys.first_term))
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
        if lease is None or watch.revision < lease.revision:
            return
        entry = watch.entries.get(self._keys.leader)
        if entry is None or entry.create_revision != lease.revision:
            self._held = None
            lease.end()

    async def _let_others_go_first(self, watch: KeyWatch) -> None:
        left_s = self._stand_back_until - read_clock()
        if left_s <= 0:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(left_s):
                await watch.wait_until(lambda: self._is_led_by_another(watch))

    def _is_led_by_another(self, watch: KeyWatch) -> bool:
        entry = watch.entries.get(self._keys.leader)
        return entry is not None and entry.value != self._name.encode()

    async def _raise_first_term(self, watch: KeyWatch, above: int) -> bool:
        """Whether the next term might not exceed `above`, so that something was done about it. Whoever leads next has
        seen it, because the leader's key cannot be created with an old one."""
        first = watch.entries.get(self._keys.first_term)
        if read_first_term(first) + watch.revision >= above:
            return False
        log.warning("election.terms_raised", revision=watch.revision, above=above)
        put = pb.PutRequest(key=self._keys.first_term, value=b"%d" % above)
        request = pb.TxnRequest(compare=[self._is_unchanged(first)], success=[pb.RequestOp(request_put=put)])
        response = await self._client.call(TXN, request)
        await watch.wait_for_revision(response.header.revision)
        return True

    async def _try_to_lead(self, first: Entry | None) -> tuple[EtcdLease | None, int]:
        """The lease, or None if another was faster; and the revision at which that was decided."""
        lease = await self._leases.grant()
        has_won = False
        try:
            response = await self._client.call(TXN, self._creation(lease, first))
            lease.revision = response.header.revision if response.succeeded else _revision_of(lease, response)
            lease.term = read_first_term(first) + lease.revision
            has_won = lease.revision > 0 and lease.is_held()
        finally:
            if not has_won:
                await self._leases.release(lease)
        return (lease if has_won else None), response.header.revision

    def _creation(self, lease: EtcdLease, first: Entry | None) -> pb.TxnRequest:
        key = self._keys.leader
        is_absent = pb.Compare(target=pb.Compare.CREATE, key=key, create_revision=0)
        put = pb.PutRequest(key=key, value=self._name.encode(), lease=lease.id)
        return pb.TxnRequest(
            compare=[is_absent, self._is_unchanged(first)],
            success=[pb.RequestOp(request_put=put)],
            failure=[pb.RequestOp(request_range=pb.RangeRequest(key=key))],
        )

    def _is_unchanged(self, first: Entry | None) -> pb.Compare:
        revision = 0 if first is None else first.mod_revision
        return pb.Compare(target=pb.Compare.MOD, key=self._keys.first_term, mod_revision=revision)


def _revision_of(lease: EtcdLease, response: pb.TxnResponse) -> int:
    """0 if another leads. The key may be ours: a first try was carried out, but its answer was lost."""
    for kv in response.responses[0].response_range.kvs:
        if kv.lease == lease.id:
            return kv.create_revision
    return 0
