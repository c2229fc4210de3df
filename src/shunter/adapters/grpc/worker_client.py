"""The worker's gRPC end: one stream to the manager, opened again for ever. Run by the worker's process.

The worker says Hello in `connected`; whatever it sends after the connection is gone is dropped, because its keepers
hold the results until the next one.
"""

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
from shunter.model.protocol.worker_messages import Ack, Refused, WorkerMessage
from shunter.ports.workers import WorkerEnd

CONNECT_TIMEOUT_S = 10.0

log = Log(__name__)

Call = grpc.aio.StreamStreamCall[bytes, bytes]


class WorkerClient:
    """`certificate` is the PEM text of the authority that signed the manager's; None means an unprotected connection,
    fit for loopback."""

    def __init__(
        self,
        worker_end: WorkerEnd,
        address: str,
        token: str,
        *,
        certificate: bytes | None = None,
        chance: random.Random | None = None,
    ) -> None:
        self._worker_end = worker_end
        self._address = address
        self._metadata = (("authorization", f"Bearer {token}"),)
        self._certificate = certificate
        self._backoff = Backoff(chance or random.Random())
        self._stopping = asyncio.Event()
        self._uplink: StreamUplink | None = None

    async def run(self) -> None:
        """Connect, and again whenever the connection ends, until `stop`."""
        while not self._stopping.is_set():
            delay_s = await self._attempt()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), delay_s)

    def stop(self) -> None:
        """End the connection when what was sent has been written; `run` then returns."""
        self._stopping.set()
        if self._uplink is not None:
            self._uplink.hang_up()

    async def _attempt(self) -> float:
        """One connection from its beginning to its end; says how long to wait before the next."""
        conversation = Conversation(self._worker_end)
        async with self._channel() as channel:
            connect = channel.stream_stream(f"/{SERVICE}/{METHOD}", bytes, bytes)
            call: Call = connect(metadata=self._metadata)  # type: ignore[call-arg]  # the stubs want an iterator
            try:
                if await self._connected(call):
                    self._uplink = StreamUplink(call)
                    await conversation.hold(call, self._uplink)
            except grpc.aio.AioRpcError as error:
                log.info("manager.unreachable", address=self._address, reason=error.details())
            finally:
                call.cancel()
                self._uplink = None
        if conversation.settled:
            self._backoff.succeeded()
        if conversation.refused is not None and not conversation.refused.retry:
            return self._backoff.refused_delay_s()
        return self._backoff.next_delay_s()

    async def _connected(self, call: Call) -> bool:
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


class Conversation:
    """One connection as the worker's end sees it: connected, messages in order, disconnected."""

    def __init__(self, worker_end: WorkerEnd) -> None:
        self._worker_end = worker_end
        self.settled = False  # the manager has committed our inventory
        self.refused: Refused | None = None

    async def hold(self, call: Call, uplink: StreamUplink) -> None:
        reason = "the connection was cancelled"
        reader = asyncio.create_task(self._read(call))
        try:
            self._worker_end.connected(uplink)
            await asyncio.wait({reader, uplink.writer}, return_when=asyncio.FIRST_COMPLETED)
            if not reader.done():
                # The worker closed its side, so the manager now ends the stream. (An overflow has cancelled it.)
                await asyncio.wait({reader}, timeout=FLUSH_TIMEOUT_S)
            call.cancel()
            reason = self._end_of(await call.code(), await call.details())
        finally:
            uplink.hang_up()
            reader.cancel()
            uplink.writer.cancel()
            await asyncio.gather(reader, uplink.writer, return_exceptions=True)
            self._worker_end.disconnected(reason)

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
                self.settled = True
            elif isinstance(message, Refused):
                self.refused = message
            try:
                self._worker_end.received(message)
            except Exception:
                log.exception("message.failed", kind=type(message).__name__)

    def _end_of(self, code: grpc.StatusCode, details: str | None) -> str:
        if self.refused is not None:
            return f"{self.refused.code}: {self.refused.reason}"
        return f"{code.name.lower()}: {details}" if details else code.name.lower()


class StreamUplink:
    """The `Uplink` of one stream."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._buffer = SendBuffer()
        self.writer = asyncio.create_task(self._drain())

    def send(self, message: WorkerMessage) -> None:
        if self._buffer.closed:
            return
        try:
            data = encode_worker(message)
        except Malformed as error:
            self._give_up(f"a message cannot be written: {error}")
            return
        if not self._buffer.put(data):
            self._give_up("the manager reads too slowly")

    def hang_up(self) -> None:
        """Write out what waits, then end this side of the stream."""
        self._buffer.close()

    def _give_up(self, reason: str) -> None:
        log.error("uplink.dropped", reason=reason)
        self._buffer.abandon()
        self._call.cancel()

    async def _drain(self) -> None:
        while (data := await self._buffer.take()) is not None:
            await self._call.write(data)
        await self._call.done_writing()
