"""What this manager publishes: its own record, bound to a lease of its own, and the workers, bound to the lease with
which it leads. Called by the coordination; lives in its thread.

Callers say what shall be there. A loop writes the difference, for as long as the lease lives. So a manager that does
not lead any more cannot write over the workers of the next leader, however late it wakes."""

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
        self._record: dict[bytes, bytes] = {}
        self._has_record = asyncio.Event()
        self._registration: BoundKeys | None = None
        self._workers: BoundKeys | None = None
        self._workers_task: asyncio.Task[None] | None = None

    def register(self, key: bytes, value: bytes) -> None:
        self._record = {key: value}
        self._has_record.set()
        if self._registration is not None:
            self._registration.set(self._record)

    async def run(self) -> None:
        """Register until cancelled, with a new lease whenever one is lost."""
        backoff = Backoff()
        await self._has_record.wait()
        while True:
            try:
                lease = await self._leases.grant()
                self._registration = BoundKeys(self._client, lease)
                self._registration.set(self._record)
                try:
                    await self._registration.run()
                    backoff.reset()
                finally:
                    await self._leases.release(lease)
            except Exception as error:
                _log_failure(error)
            await backoff.wait()

    def publish_workers(self, lease: EtcdLease, values: Mapping[bytes, bytes]) -> None:
        if self._workers is None or self._workers.lease is not lease:
            self._workers = BoundKeys(self._client, lease)
            self._workers_task = asyncio.create_task(self._workers.run())  # it ends with the lease
        self._workers.set(values)

    async def list_below(self, prefix: bytes) -> dict[bytes, bytes]:
        request = pb.RangeRequest(key=prefix, range_end=end_of_prefix(prefix))
        response = await self._client.call(RANGE, request)
        return {kv.key: kv.value for kv in response.kvs}


class BoundKeys:
    """The keys of one lease. They vanish with it."""

    def __init__(self, client: EtcdClient, lease: EtcdLease) -> None:
        self.lease = lease
        self._client = client
        self._wanted: dict[bytes, bytes] = {}
        self._published: dict[bytes, bytes] = {}
        self._has_news = asyncio.Event()

    def set(self, values: Mapping[bytes, bytes]) -> None:
        self._wanted = dict(values)
        self._has_news.set()

    async def run(self) -> None:
        """Write what is wanted, until the lease is lost."""
        backoff = Backoff()
        lost = asyncio.create_task(self.lease.wait_lost())
        try:
            while not lost.done():
                self._has_news.clear()
                try:
                    await self._write()
                    backoff.reset()
                except LeaseNotFound:
                    return
                except Exception as error:
                    _log_failure(error)
                    self._has_news.set()
                    await backoff.wait()
                news = asyncio.create_task(self._has_news.wait())
                await asyncio.wait({lost, news}, return_when=asyncio.FIRST_COMPLETED)
                news.cancel()
        finally:
            lost.cancel()

    async def _write(self) -> None:
        for changes in _batches(self._published, self._wanted):
            if not self.lease.is_held():
                raise LeaseNotFound
            await self._client.call(TXN, self._transaction(changes))
            for key, value in changes.items():
                if value is None:
                    self._published.pop(key, None)
                else:
                    self._published[key] = value

    def _transaction(self, changes: Mapping[bytes, bytes | None]) -> pb.TxnRequest:
        """etcd refuses all of it if the lease has ended. Only our own keys are deleted."""
        return pb.TxnRequest(
            success=[
                self._delete_own(key)
                if value is None
                else pb.RequestOp(request_put=pb.PutRequest(key=key, value=value, lease=self.lease.id))
                for key, value in changes.items()
            ]
        )

    def _delete_own(self, key: bytes) -> pb.RequestOp:
        is_ours = pb.Compare(target=pb.Compare.LEASE, key=key, lease=self.lease.id)
        delete = pb.RequestOp(request_delete_range=pb.DeleteRangeRequest(key=key))
        return pb.RequestOp(request_txn=pb.TxnRequest(compare=[is_ours], success=[delete]))


def _log_failure(error: Exception) -> None:
    if isinstance(error, EtcdUnavailable | LeaseNotFound | Unauthorized):
        log.info("registry.failed", reason=error)
    else:
        log.exception("registry.failed")


def _batches(published: Mapping[bytes, bytes], wanted: Mapping[bytes, bytes]) -> Iterator[dict[bytes, bytes | None]]:
    """What must be written, or deleted (None), in transactions that etcd accepts."""
    changes: dict[bytes, bytes | None] = {key: None for key in published if key not in wanted}
    changes |= {key: value for key, value in wanted.items() if published.get(key) != value}
    batch: dict[bytes, bytes | None] = {}
    batch_bytes = 0
    for key, value in changes.items():
        size_bytes = len(key) + len(value or b"")
        if batch and (len(batch) == BATCH_OPERATIONS_MAX or batch_bytes + size_bytes > BATCH_BYTES_MAX):
            yield batch
            batch, batch_bytes = {}, 0
        batch[key] = value
        batch_bytes += size_bytes
    if batch:
        yield batch
