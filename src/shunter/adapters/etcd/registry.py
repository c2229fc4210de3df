"""The record of this manager in etcd, bound to a lease of its own: it vanishes some seconds after the manager. Called
by the coordination; lives in its thread.

The caller says what shall be there. A loop writes it, again after a fault, and with a new lease when one was lost."""

from __future__ import annotations

import asyncio

from shunter.adapters.etcd.client import Backoff, EtcdClient
from shunter.adapters.etcd.errors import EtcdUnavailable, LeaseNotFound
from shunter.adapters.etcd.lease import EtcdLease, Leases
from shunter.adapters.etcd.methods import TXN
from shunter.log import Log
from shunter.model.errors import Unauthorized
from shunter.proto.etcd import etcd_pb2 as pb

log = Log(__name__)


class Registry:
    def __init__(self, client: EtcdClient, leases: Leases) -> None:
        self._client = client
        self._leases = leases
        self._key = self._value = b""
        self._has_news = asyncio.Event()

    def register(self, key: bytes, value: bytes) -> None:
        self._key, self._value = key, value
        self._has_news.set()

    async def run(self) -> None:
        """Register until cancelled, with a new lease whenever one is lost."""
        backoff = Backoff()
        await self._has_news.wait()
        while True:
            try:
                lease = await self._leases.grant()
                try:
                    await self._write_until_lost(lease)
                    backoff.reset()
                finally:
                    await self._leases.release(lease)
            except Exception as error:
                _log_failure(error)
            await backoff.wait()

    async def _write_until_lost(self, lease: EtcdLease) -> None:
        backoff = Backoff()
        lost = asyncio.create_task(lease.wait_lost())
        try:
            while not lost.done():
                self._has_news.clear()
                try:
                    await self._write(lease)
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

    async def _write(self, lease: EtcdLease) -> None:
        """etcd refuses it if the lease has ended."""
        put = pb.RequestOp(request_put=pb.PutRequest(key=self._key, value=self._value, lease=lease.id))
        await self._client.call(TXN, pb.TxnRequest(success=[put]))


def _log_failure(error: Exception) -> None:
    if isinstance(error, EtcdUnavailable | LeaseNotFound | Unauthorized):
        log.info("registry.failed", reason=error)
    else:
        log.exception("registry.failed")
