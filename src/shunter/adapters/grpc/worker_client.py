"""The worker's gRPC client: one stream to the manager, which it reopens whenever it breaks. Run by the worker's
process.

The worker says Hello in `connected`. Messages sent after the connection broke are dropped, because the keepers hold the
results until the next one."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress

import grpc
import grpc.aio

from shunter.adapters.grpc.backoff import Backoff
from shunter.adapters.grpc.channel import FLUSH_TIMEOUT_S, METHOD, OPTIONS, SERVICE
from shunter.adapters.grpc.codec import Malformed, decode_manager, encode_worker
from shunter.adapters.grpc.send_buffer import SendBuffer
from shunter.log import Log
from shunter.model.errors import Unauthorized
from shunter.model.protocol.refusals import RefusalCode
from shunter.model.protocol.worker_messages import Ack, Refused, WorkerMessage
from shunter.ports.workers import WorkerHandler

CONNECT_TIMEOUT_S = 10.0

log = Log(__name__)

Call = grpc.aio.StreamStreamCall[bytes, bytes]


class WorkerClient:
    """`certificate` is the PEM text of the authority that signed the manager's; None means an unprotected connection,
    fit for loopback."""

    def __init__(
        self,
        handler: WorkerHandler,
        address: str,
        token: str,
        *,
        certificate: bytes | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._handler = handler
        self._address = address
        self._metadata = (("authorization", f"Bearer {token}"),)
        self._certificate = certificate
        self._backoff = Backoff(rng or random.Random())
        self._stopping = asyncio.Event()
        self._has_joined = False
        self._uplink: StreamUplink | None = None

    async def run(self) -> None:
        """Connect, and again whenever the connection ends, until `stop`. Raises Unauthorized if the manager refuses the
        token before it has ever accepted it."""
        while not self._stopping.is_set():
            delay_s = await self._attempt()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), delay_s)

    def stop(self) -> None:
        """Close the connection when everything was written; `run` then returns."""
        self._stopping.set()
        if self._uplink is not None:
            self._uplink.close_after_flush()

    async def _attempt(self) -> float:
        """Run one connection from start to end; returns how long to wait before the next."""
        connection = Connection(self._handler)
        async with self._channel() as channel:
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
                self._uplink = None
        if connection.is_inventory_acked:
            self._has_joined = True
            self._backoff.reset()
        if (
            connection.refused is not None
            and connection.refused.code == RefusalCode.UNAUTHORIZED
            and not self._has_joined
        ):
            raise Unauthorized(connection.refused.reason)
        if connection.refused is not None and not connection.refused.retry:
            return self._backoff.refused_delay_s()
        return self._backoff.next_delay_s()

    async def _wait_until_connected(self, call: Call) -> bool:
        """Until the manager has taken the stream; False if it does not answer, or this client is stopped first."""
        connecting = asyncio.create_task(call.wait_for_connection())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            tasks = {connecting, stopping}
            await asyncio.wait(tasks, timeout=CONNECT_TIMEOUT_S, return_when=asyncio.FIRST_COMPLETED)
            if connecting.done() and not self._stopping.is_set():
                await connecting
                return True
            return False
        finally:
            connecting.cancel()
            stopping.cancel()

    def _channel(self) -> grpc.aio.Channel:
        # A pool of its own: otherwise gRPC's own back-off of an earlier channel would delay this one.
        options = [*OPTIONS, ("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0)]
        if self._certificate is None:
            return grpc.aio.insecure_channel(self._address, options)
        credentials = grpc.ssl_channel_credentials(self._certificate)
        return grpc.aio.secure_channel(self._address, credentials, options)


class Connection:
    """One connection as the worker's end sees it: connected, messages in order, disconnected."""

    def __init__(self, handler: WorkerHandler) -> None:
        self._handler = handler
        self.is_inventory_acked = False  # the manager has committed our inventory
        self.refused: Refused | None = None

    async def run(self, call: Call, uplink: StreamUplink) -> None:
        reason = "the connection was cancelled"
        reader = asyncio.create_task(self._read(call))
        try:
            self._handler.connected(uplink)
            await asyncio.wait({reader, uplink.writer}, return_when=asyncio.FIRST_COMPLETED)
            if not reader.done():
                # The worker closed its side, so the manager now ends the stream. (An overflow has cancelled it.)
                await asyncio.wait({reader}, timeout=FLUSH_TIMEOUT_S)
            call.cancel()
            reason = self._end_reason(await call.code(), await call.details())
        finally:
            uplink.close_after_flush()
            reader.cancel()
            uplink.writer.cancel()
            await asyncio.gather(reader, uplink.writer, return_exceptions=True)
            self._handler.disconnected(reason)

    async def _read(self, call: Call) -> None:
        async for data in call:
            try:
                message = decode_manager(data)
            except Malformed as error:
                log.error("message.malformed", error=error)
                return
            if message is None:
                log.warning("message.unknown", size_bytes=len(data))
                continue
            if isinstance(message, Ack):
                self.is_inventory_acked = True
            elif isinstance(message, Refused):
                self.refused = message
            try:
                self._handler.received(message)
            except Exception:
                log.exception("message.failed", kind=type(message).__name__)

    def _end_reason(self, code: grpc.StatusCode, details: str | None) -> str:
        if self.refused is not None:
            return f"{self.refused.code}: {self.refused.reason}"
        return f"{code.name.lower()}: {details}" if details else code.name.lower()


class StreamUplink:
    """The `Uplink` of one stream."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._buffer = SendBuffer()
        self.writer = asyncio.create_task(self._write_loop())

    def send(self, message: WorkerMessage) -> None:
        if self._buffer.closed:
            return
        try:
            data = encode_worker(message)
        except Malformed as error:
            self._abort(f"cannot encode a message: {error}")
            return
        if not self._buffer.put(data):
            self._abort("the manager reads too slowly")

    def close_after_flush(self) -> None:
        """Write queued messages, then close this side of the stream."""
        self._buffer.close()

    def _abort(self, reason: str) -> None:
        log.error("manager.connection_aborted", reason=reason)
        self._buffer.abandon()
        self._call.cancel()

    async def _write_loop(self) -> None:
        while (data := await self._buffer.get()) is not None:
            await self._call.write(data)
        await self._call.done_writing()
