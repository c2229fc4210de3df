"""The worker's gRPC client: one stream to the manager that leads, which it reopens whenever it breaks. Run by the
worker's process.

The worker says Hello in `connected`. Messages sent after the connection broke are dropped, because the keepers hold the
results until the next one."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any, Protocol

import grpc
import grpc.aio

from shunter.adapters.grpc.channel import (
    CLIENT_OPTIONS,
    FLUSH_TIMEOUT_S,
    METHOD,
    QUICK_CLIENT_OPTIONS,
    SERVICE,
    ReadClientTls,
    open_channel,
)
from shunter.adapters.grpc.codec import Malformed, decode_manager, encode_worker
from shunter.adapters.grpc.leader_search import LeaderSearch, is_address
from shunter.adapters.grpc.leader_watch import LeaderWatch
from shunter.adapters.grpc.send_buffer import SendBuffer
from shunter.log import Log
from shunter.model.errors import Unauthorized
from shunter.model.protocol.refusals import RefusalCode
from shunter.model.protocol.worker_messages import (
    Ack,
    CertificateRequest,
    Leader,
    NewCertificate,
    Refused,
    Welcome,
    WorkerMessage,
)
from shunter.ports.workers import WorkerHandler

CONNECT_TIMEOUT_S = 10.0
RENEWAL_CHECK_S = 10.0  # how often the worker looks whether its certificate is to be renewed
RENEWAL_RETRY_S = 600.0  # until it asks again
CONNECT_TIMEOUT_OF_SEVERAL_S = 3.0  # a manager that does not answer keeps the worker from the others

log = Log(__name__)

Call = grpc.aio.StreamStreamCall[bytes, bytes]


class Renewal(Protocol):
    """The certificate of this worker, which it renews over its stream."""

    def request(self) -> bytes | None:
        """A certificate request (DER) if it is time for another certificate."""
        ...

    def accept(self, certificate: bytes, authorities: bytes) -> None:
        """Use them from the next connection on. Raises ValueError for what does not fit this worker, and OSError."""
        ...


class WorkerClient:
    """`addresses` are those of all managers. `tls` says whom to trust, and who this worker is; None means an
    unprotected connection, fit for loopback. An empty token is not sent."""

    def __init__(
        self,
        handler: WorkerHandler,
        addresses: str | Sequence[str],
        token: str,
        *,
        tls: ReadClientTls | None = None,
        rng: random.Random | None = None,
        renewal: Renewal | None = None,
    ) -> None:
        rng = rng or random.Random()
        self._handler = handler
        self._search = LeaderSearch([addresses] if isinstance(addresses, str) else addresses, rng)
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._tls = tls
        self._renewal = renewal
        self._watch = LeaderWatch(
            self._search.addresses, self._channel, self._metadata, lambda: self._address, self._on_news, rng
        )
        self._stopping = asyncio.Event()
        self._has_joined = False
        self._address = ""  # of the present attempt
        self._connection: Connection | None = None
        self._uplink: StreamUplink | None = None
        self._term = 0  # the newest under which a manager has welcomed this worker
        self._last_news = Leader()
        self._redirected = asyncio.Event()  # the search points to a leader that somebody told us about
        self._confirming: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Connect, and again whenever the connection ends, until `stop`. Raises Unauthorized if all managers refuse the
        token before one has ever accepted it."""
        watching = asyncio.create_task(self._watch.run()) if len(self._search.addresses) > 1 else None
        renewing = None if self._renewal is None else asyncio.create_task(self._renew(self._renewal))
        try:
            while not self._stopping.is_set():
                delay_s = await self._attempt()
                await self._wait(delay_s, asyncio.create_task(self._redirected.wait()))
                if self._redirected.is_set():
                    await self._wait(self._search.spread_s())
        finally:
            for task in (watching, renewing, self._confirming):
                if task is not None:
                    task.cancel()
                    await asyncio.wait({task})

    def stop(self) -> None:
        """Close the connection when everything was written; `run` then returns."""
        self._stopping.set()
        if self._uplink is not None:
            self._uplink.close_after_flush()

    async def _attempt(self) -> float:
        """Run one connection from start to end; returns how long to wait before the next."""
        self._redirected.clear()
        self._address = self._search.address
        connection = self._connection = Connection(self._handler, self._term, self._renewal)
        async with self._channel(self._address) as channel:
            connect = channel.stream_stream(f"/{SERVICE}/{METHOD}", bytes, bytes)
            call: Call = connect(metadata=self._metadata)  # type: ignore[call-arg]  # the stubs want an iterator
            try:
                if await self._wait_until_connected(call):
                    self._uplink = StreamUplink(call)
                    await connection.run(call, self._uplink)
            except grpc.aio.AioRpcError as error:
                log.warning("manager.unreachable", address=self._address, reason=error.details())
            finally:
                call.cancel()
                self._uplink = self._connection = None
        return self._ended(connection)

    def _ended(self, connection: Connection) -> float:
        refused = connection.refused
        if connection.is_inventory_acked:
            self._has_joined = True
            self._search.accepted()
        if connection.welcome is not None:
            self._term = max(self._term, connection.welcome.term)
        if self._redirected.is_set():
            return 0.0
        delay_s = self._search.ended(refused)
        is_unauthorized = refused is not None and refused.code == RefusalCode.UNAUTHORIZED
        if refused is not None and is_unauthorized and self._search.is_refused_by_all and not self._has_joined:
            raise Unauthorized(refused.reason)
        return delay_s

    # ---- news of the leader ----

    def _on_news(self, news: Leader, sender: str) -> None:
        """Old news is ignored, and so is what was heard before: it has been tried. A worker that has a leader leaves it
        only for a newer term, and only if the successor itself says that it leads. An attempt is not given up because
        another manager would relay to the same leader."""
        address = sender if news.here else news.address
        is_no_better = address == self._address or news.relayed
        news = Leader(address, news.term, news.here)
        welcome = None if self._connection is None else self._connection.welcome
        newest_term = self._term if welcome is None else max(self._term, welcome.term)
        if welcome is None:
            is_wanted = news.term >= newest_term and not (self._connection is not None and is_no_better)
        else:
            is_wanted = news.term > newest_term
        if not is_wanted or news == self._last_news or not is_address(address):
            log.debug("leader.news_ignored", address=address, term=news.term, newest=newest_term)
            return
        self._last_news = news
        if welcome is None or news.here:
            self._redirect(news)
        else:
            if self._confirming is not None:
                self._confirming.cancel()
            self._confirming = asyncio.create_task(self._leave_when_confirmed(news))

    async def _leave_when_confirmed(self, news: Leader) -> None:
        if await self._watch.confirm(news.address, news.term):
            welcome = None if self._connection is None else self._connection.welcome
            if welcome is None or welcome.term < news.term:  # else it has found that leader by itself meanwhile
                self._redirect(news)
        else:
            log.info("leader.unconfirmed", address=news.address, term=news.term)
            self._last_news = Leader()  # ask again when it is repeated

    def _redirect(self, news: Leader) -> None:
        log.info("leader.changed", address=news.address, term=news.term)
        self._search.point_to(news.address)
        self._redirected.set()
        if self._uplink is not None:
            self._uplink.abort(f"another manager leads: {news.address}")

    # ---- certificates ----

    async def _renew(self, renewal: Renewal) -> None:
        """Ask for another certificate when it is time, of a manager that has taken this worker."""
        delay_s = RENEWAL_CHECK_S
        while True:
            await asyncio.sleep(delay_s)
            delay_s = RENEWAL_CHECK_S
            connection, uplink = self._connection, self._uplink
            if connection is None or uplink is None or not connection.is_inventory_acked:
                continue
            try:
                request = renewal.request()
            except (OSError, ValueError) as error:
                log.warning("worker.certificate_not_renewed", error=error)
                delay_s = RENEWAL_RETRY_S
                continue
            if request is not None:
                uplink.send(CertificateRequest(request))
                delay_s = RENEWAL_RETRY_S

    # ---- steps ----

    async def _wait_until_connected(self, call: Call) -> bool:
        """Until the manager has taken the stream; False if it does not answer, or something else is to be done."""
        connecting = asyncio.create_task(call.wait_for_connection())
        redirected = asyncio.create_task(self._redirected.wait())
        is_alone = len(self._search.addresses) == 1
        await self._wait(CONNECT_TIMEOUT_S if is_alone else CONNECT_TIMEOUT_OF_SEVERAL_S, connecting, redirected)
        is_wanted = not self._stopping.is_set() and not self._redirected.is_set()
        if not connecting.done() or connecting.cancelled() or not is_wanted:
            return False
        await connecting
        return True

    async def _wait(self, seconds: float, *tasks: asyncio.Task[Any]) -> bool:
        """Until the first task is done, or the client is stopped, or the time is over; whether a task was done. Tasks
        that are not done are cancelled."""
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            done, _ = await asyncio.wait({*tasks, stopping}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            return bool(done - {stopping})
        finally:
            for task in (*tasks, stopping):
                task.cancel()

    def _channel(self, address: str) -> grpc.aio.Channel:
        options = CLIENT_OPTIONS if len(self._search.addresses) == 1 else QUICK_CLIENT_OPTIONS
        return open_channel(address, options, self._tls)


class Connection:
    """One connection as the worker's end sees it: connected, messages in order, disconnected. `term` is the newest
    that the worker knows: a manager of an older one was replaced, and is left alone."""

    def __init__(self, handler: WorkerHandler, term: int, renewal: Renewal | None = None) -> None:
        self._handler = handler
        self._renewal = renewal
        self._term = term
        self.welcome: Welcome | None = None
        self.is_inventory_acked = False  # the manager has committed our inventory
        self.refused: Refused | None = None

    async def run(self, call: Call, uplink: StreamUplink) -> None:
        reason = "the connection was cancelled"
        reader = asyncio.create_task(self._read(call, uplink))
        try:
            self._handler.connected(uplink)
            await asyncio.wait({reader, uplink.writer}, return_when=asyncio.FIRST_COMPLETED)
            if not reader.done():
                # The worker closed its side, so the manager now ends the stream. (An overflow has cancelled it.)
                await asyncio.wait({reader}, timeout=FLUSH_TIMEOUT_S)
            call.cancel()
            reason = uplink.abort_reason or self._end_reason(await call.code(), await call.details())
        finally:
            uplink.close_after_flush()
            reader.cancel()
            uplink.writer.cancel()
            await asyncio.gather(reader, uplink.writer, return_exceptions=True)
            self._handler.disconnected(reason)

    async def _read(self, call: Call, uplink: StreamUplink) -> None:
        async for data in call:
            try:
                message = decode_manager(data)
            except Malformed as error:
                log.error("message.malformed", error=error)
                return
            if message is None:
                log.warning("message.unknown", size_bytes=len(data))
                continue
            if isinstance(message, Welcome):
                if 0 < message.term < self._term:
                    uplink.abort(f"the manager leads under term {message.term}, and a newer one is {self._term}")
                    return
                self.welcome = message
            elif isinstance(message, Ack):
                self.is_inventory_acked = True
            elif isinstance(message, Refused):
                self.refused = message
            elif isinstance(message, NewCertificate):
                self._accept(message)
                continue
            try:
                self._handler.received(message)
            except Exception:
                log.exception("message.failed", kind=type(message).__name__)

    def _accept(self, message: NewCertificate) -> None:
        if self._renewal is None:
            return
        try:
            self._renewal.accept(message.certificate, message.authorities)
        except (OSError, ValueError) as error:
            log.error("worker.certificate_not_renewed", error=error)

    def _end_reason(self, code: grpc.StatusCode, details: str | None) -> str:
        if self.refused is not None:
            return f"{self.refused.code}: {self.refused.reason}"
        return f"{code.name.lower()}: {details}" if details else code.name.lower()


class StreamUplink:
    """The `Uplink` of one stream."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._buffer = SendBuffer()
        self.abort_reason = ""
        self.writer = asyncio.create_task(self._write_loop())

    def send(self, message: WorkerMessage) -> None:
        if self._buffer.closed:
            return
        try:
            data = encode_worker(message)
        except Malformed as error:
            self.abort(f"cannot encode a message: {error}")
            return
        if not self._buffer.put(data):
            self.abort("the manager reads too slowly")

    def close_after_flush(self) -> None:
        """Write queued messages, then close this side of the stream."""
        self._buffer.close()

    def abort(self, reason: str) -> None:
        """End the stream now. Queued messages are dropped: the manager does not read them, or must not."""
        log.warning("manager.connection_aborted", reason=reason)
        self.abort_reason = reason
        self._buffer.abandon()
        self._call.cancel()

    async def _write_loop(self) -> None:
        while (data := await self._buffer.get()) is not None:
            await self._call.write(data)
        await self._call.done_writing()
