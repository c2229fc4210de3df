"""What this manager publishes: its own record, and the workers if it leads. All of it is bound to one lease, so it
vanishes with the manager. Called by the coordination; lives in its thread.

Callers say what shall be there. A loop writes the difference, and writes everything again after a lost lease."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from shunter.adapters.etcd.client import Backoff, EtcdClient
from shunter.adapters.etcd.errors import EtcdUnavailable, LeaseNotFound
from shunter.adapters.etcd.lease import EtcdLease, Leases
from shunter.adapters.etcd.methods import RANGE, TXN, end_of_prefix
from shunter.log import Log
from shunter.model.errors import Unauthorized
from shunter.proto.etcd import etcd_pb2 as pb

BATCH_OPERATIONS_MAX = 100  # in one transaction; etcd's own limit is 128
BATCH_BYTES_MAX = 512 * 1024  # etcd's own limit of a request is 1.5 MiB

log = Log(__name__)


class Registry:
    def __init__(self, client: EtcdClient, leases: Leases) -> None:
        self._client = client
        self._leases = leases
        self._wanted: dict[bytes, bytes] = {}
        self._has_news = asyncio.Event()

    def publish(self, prefix: bytes, values: Mapping[bytes, bytes]) -> None:
        """Replace all that this manager publishes below the prefix."""
        others = {key: value for key, value in self._wanted.items() if not key.startswith(prefix)}
        self._wanted = {**others, **values}
        self._has_news.set()

    async def run(self) -> None:
        """Publish until cancelled. Never raises for a fault of the servers."""
        backoff = Backoff()
        await self._has_news.wait()
        while True:
            try:
                lease = await self._leases.grant()
                try:
                    await self._publish_with(lease)
                    backoff.reset()
                finally:
                    await self._leases.release(lease)
            except (EtcdUnavailable, Unauthorized, LeaseNotFound) as error:
                log.info("registry.failed", reason=error)
            await backoff.wait()

    async def list_below(self, prefix: bytes) -> dict[bytes, bytes]:
        request = pb.RangeRequest(key=prefix, range_end=end_of_prefix(prefix))
        response = await self._client.call(RANGE, request)
        return {kv.key: kv.value for kv in response.kvs}

    async def _publish_with(self, lease: EtcdLease) -> None:
        """Return when the lease is lost."""
        published: dict[bytes, bytes] = {}
        lost = asyncio.create_task(lease.wait_lost())
        try:
            while not lost.done():
                self._has_news.clear()
                for changes in _batches(published, self._wanted):
                    await self._client.call(TXN, _transaction(lease, changes))
                    for key, value in changes.items():
                        _set(published, key, value)
                news = asyncio.create_task(self._has_news.wait())
                await asyncio.wait({lost, news}, return_when=asyncio.FIRST_COMPLETED)
                news.cancel()
        finally:
            lost.cancel()


def _batches(published: Mapping[bytes, bytes], wanted: Mapping[bytes, bytes]) -> Iterator[dict[bytes, bytes | None]]:
    """What must be written, or deleted (None), in transactions that etcd accepts."""
    changes: dict[bytes, bytes | None] = {key: None for key in published if key not in wanted}
    changes |= {key: value for key, value in wanted.items() if published.get(key) != value}
    batch: dict[bytes, bytes | None] = {}
    size_bytes = 0
    for key, value in changes.items():
        size_bytes += len(key) + len(value or b"")
        if batch and (len(batch) == BATCH_OPERATIONS_MAX or size_bytes > BATCH_BYTES_MAX):
            yield batch
            batch, size_bytes = {}, len(key) + len(value or b"")
        batch[key] = value
    if batch:
        yield batch


def _transaction(lease: EtcdLease, changes: Mapping[bytes, bytes | None]) -> pb.TxnRequest:
    return pb.TxnRequest(
        success=[
            _delete_own(key, lease)
            if value is None
            else pb.RequestOp(request_put=pb.PutRequest(key=key, value=value, lease=lease.id))
            for key, value in changes.items()
        ]
    )


def _delete_own(key: bytes, lease: EtcdLease) -> pb.RequestOp:
    """Only if the key is still bound to our lease: the next leader may have published the same worker."""
    is_ours = pb.Compare(target=pb.Compare.LEASE, key=key, lease=lease.id)
    delete = pb.RequestOp(request_delete_range=pb.DeleteRangeRequest(key=key))
    return pb.RequestOp(request_txn=pb.TxnRequest(compare=[is_ours], success=[delete]))


def _set(published: dict[bytes, bytes], key: bytes, value: bytes | None) -> None:
    if value is None:
        published.pop(key, None)
    else:
        published[key] = value
