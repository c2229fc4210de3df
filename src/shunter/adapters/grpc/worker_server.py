"""The manager's gRPC server for workers: accepts their streams and passes them to the `WorkerAcceptor`. Started by the
app.

gRPC handles messages as bytes. They are decoded here, so that a malformed message is refused with a reason."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import grpc.aio

from shunter.adapters.grpc.channel import FLUSH_TIMEOUT_S, METHOD, OPTIONS, SERVICE, STATUS
from shunter.adapters.grpc.codec import Malformed, decode_worker, encode_manager
from shunter.adapters.grpc.listen import ServerTls, open_port
from shunter.adapters.grpc.send_buffer import SEND_BUFFER_BYTES_MAX, SendBuffer
from shunter.log import Log
from shunter.model.protocol.refusals import RefusalCode, refuse
from shunter.model.protocol.worker_messages import ManagerMessage, Refused
from shunter.ports.workers import Session, WorkerAcceptor

CONNECTIONS_MAX = 20_000

log = Log(__name__)

Context = grpc.aio.ServicerContext[bytes, bytes]


class WorkerServer:
    """`port` 0 picks a free one; `start` returns the port in use."""

    def __init__(
        self,
        acceptor: WorkerAcceptor,
        token: str,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        tls: ServerTls | None = None,
        send_buffer_bytes_max: int = SEND_BUFFER_BYTES_MAX,
    ) -> None:
        self._acceptor = acceptor
        self._authorization = f"Bearer {token}".encode()
        self._host, self._port = host, port
        self._tls = tls
        self._send_buffer_bytes_max = send_buffer_bytes_max
        self._server: grpc.aio.Server | None = None
        self._links: set[StreamLink] = set()

    async def start(self) -> int:
        # Without this two managers could share a port and each would get half of the workers.
        options = [*OPTIONS, ("grpc.so_reuseport", 0)]
        server = grpc.aio.server(options=options, maximum_concurrent_rpcs=CONNECTIONS_MAX)
        handlers = {METHOD: grpc.stream_stream_rpc_method_handler(self._connect)}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        port = open_port(server, self._host, self._port, self._tls, "workers")
        await server.start()
        self._server = server
        log.info("workers.listening", address=self._host, port=port)
        return port

    async def stop(self) -> None:
        """Ends every connection that the acceptor has not ended yet."""
        for link in list(self._links):
            link.refuse(RefusalCode.SHUTTING_DOWN, "the manager is stopping")
        if self._server is not None:
            await self._server.stop(FLUSH_TIMEOUT_S)
            self._server = None

    async def _connect(self, requests: AsyncIterator[bytes], context: Context) -> None:
        """One worker's connection, from its first byte to its end."""
        link = StreamLink(context.write, self._send_buffer_bytes_max)
        self._links.add(link)
        await context.send_initial_metadata(())
        session = None
        if self._is_authorized(context):
            session = self._acceptor.connect(link)
        else:
            link.refuse(RefusalCode.UNAUTHORIZED, "the worker token is missing or wrong")
        reader = asyncio.create_task(_read(requests, session, link))
        try:
            await asyncio.wait({reader, link.writer}, return_when=asyncio.FIRST_COMPLETED)
            if reader.done() and (failure := reader.exception()) is not None:
                log.error("worker.failed", peer=context.peer(), error=repr(failure))
                link.refuse(RefusalCode.FAILED, "the manager failed on a message")
            link.close("the worker closed the connection")
            await asyncio.wait({link.writer})
            context.set_code(link.status)
            context.set_details(link.reason)
        finally:
            self._links.discard(link)
            link.close("the connection was lost")
            link.writer.cancel()
            reader.cancel()
            await asyncio.gather(reader, link.writer, return_exceptions=True)
            if session is not None:
                session.closed(link.reason)
            log.info("worker.disconnected", peer=context.peer(), reason=link.reason)

    def _is_authorized(self, context: Context) -> bool:
        for key, value in context.invocation_metadata() or ():
            if key == "authorization":
                given = value if isinstance(value, bytes) else value.encode()
                return hmac.compare_digest(given, self._authorization)
        return False


class StreamLink:
    """The `WorkerLink` of one stream: what is sent waits in a bounded buffer, which one task writes out."""

    def __init__(self, write: Callable[[bytes], Awaitable[Any]], size_max: int) -> None:
        self._write = write
        self._buffer = SendBuffer(size_max)
        self.status = grpc.StatusCode.OK
        self.reason = ""
        self.writer = asyncio.create_task(self._write_loop())

    def send(self, message: ManagerMessage) -> None:
        if self._buffer.closed:
            return
        try:
            data = encode_manager(message)
        except Malformed as error:
            log.error("message.not_sent", kind=type(message).__name__, error=error)
            self.refuse(RefusalCode.FAILED, f"the manager cannot encode a message: {error}")
            return
        if isinstance(message, Refused):
            self.status, self.reason = STATUS.get(message.code, grpc.StatusCode.UNKNOWN), message.reason
        if not self._buffer.put(data):
            self._abort()

    def close(self, reason: str) -> None:
        """Write queued messages, for a short while, and close."""
        if self._buffer.closed:
            return
        self.reason = self.reason or reason
        self._buffer.close()
        asyncio.get_running_loop().call_later(FLUSH_TIMEOUT_S, self.writer.cancel)

    def refuse(self, code: RefusalCode, reason: str) -> None:
        self.send(refuse(code, reason))
        self.close(reason)

    def _abort(self) -> None:
        """The peer does not read, so it can get nothing more but the stream's status."""
        self.status, self.reason = STATUS[RefusalCode.TOO_SLOW], "the worker reads too slowly: its send buffer is full"
        self._buffer.abandon()
        self.writer.cancel()

    async def _write_loop(self) -> None:
        while (data := await self._buffer.get()) is not None:
            await self._write(data)


async def _read(requests: AsyncIterator[bytes], session: Session | None, link: StreamLink) -> None:
    """Deliver messages one by one. Without a session (an unauthorized peer), messages are not even decoded."""
    if session is None:
        await link.writer
        return
    async for data in requests:
        try:
            message = decode_worker(data)
        except Malformed as error:
            link.refuse(RefusalCode.INVALID, f"not a message of the worker protocol: {error}")
            return
        if message is None:
            log.warning("message.unknown", size_bytes=len(data))
            continue
        await session.received(message)
