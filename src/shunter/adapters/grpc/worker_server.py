"""The manager's gRPC server for workers: accepts their streams, and passes them to the `WorkerAcceptor` or relays them
to the leader. Started by the app.

gRPC handles messages as bytes. They are decoded here, so that a malformed message is refused with a reason."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio
import msgspec

from shunter.adapters.grpc.byte_budget import ByteBudget
from shunter.adapters.grpc.channel import FLUSH_TIMEOUT_S, METHOD, SERVICE, STATUS, WATCH_METHOD, ReadClientTls
from shunter.adapters.grpc.codec import Malformed, decode_worker, encode_leader, encode_manager
from shunter.adapters.grpc.leader_news import LeaderNews
from shunter.adapters.grpc.listen import (
    WORKERS,
    ReadServerTls,
    ServerTimeouts,
    find_connections_max,
    open_port,
    server_options,
)
from shunter.adapters.grpc.send_buffer import SEND_BUFFER_BYTES_MAX, SendBuffer
from shunter.adapters.grpc.worker_relay import NODE, RELAYED, WorkerRelay
from shunter.log import Log
from shunter.model.errors import Rejected
from shunter.model.identity.certified_names import Bearer, find_certified_name
from shunter.model.protocol.refusals import RefusalCode, refuse
from shunter.model.protocol.worker_messages import (
    CertificateRequest,
    Hello,
    ManagerMessage,
    NewCertificate,
    Refused,
    WorkerMessage,
)
from shunter.ports.security.certificate_authority import CertificateAuthority, NoCertificateAuthority
from shunter.ports.workers import LeaderRoutes, Session, WorkerAcceptor

UNAUTHORIZED_REASON = "the worker token is missing or wrong"
NO_WATCHER_REASON = "this manager has no watcher role: workers connect to a manager that has"
CERTIFY_EVERY_S = 60.0  # of one stream
CERTIFICATE_REQUEST_BYTES_MAX = 4096  # one with a P-256 key takes 250
THREAD_MIN_BYTES = 256 * 2**10  # of a message that a thread decodes: a megabyte takes 150 ms

log = Log(__name__)

Context = grpc.aio.ServicerContext[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Peer:
    """Who has connected. `node` is whom its certificate names; None where certificates are not asked for."""

    authorization: str
    node: str | None
    is_relayed: bool


class WorkerServer:
    """`port` 0 picks a free one; `start` returns the port in use. `routes` is for one of several managers."""

    def __init__(
        self,
        acceptor: WorkerAcceptor,
        token: str,
        host: str = "127.0.0.1",
        port: int = 0,
        routes: LeaderRoutes | None = None,
        *,
        tls: ReadServerTls | None = None,
        relay_tls: ReadClientTls | None = None,
        send_buffer_bytes_max: int = SEND_BUFFER_BYTES_MAX,
        timeouts: ServerTimeouts | None = None,
        connections_max: int | None = None,
        relay_budget: ByteBudget | None = None,
        authority: CertificateAuthority | None = None,
    ) -> None:
        self._acceptor = acceptor
        self._authority = authority or NoCertificateAuthority()
        self._authorization = f"Bearer {token}".encode()
        self._routes = routes
        self._news = LeaderNews(acceptor, routes)
        self._relay = None if routes is None else WorkerRelay(routes, relay_tls, budget=relay_budget)
        self._host, self._port = host, port
        self._tls = tls
        self._timeouts = timeouts
        self._connections_max = connections_max or find_connections_max(WORKERS)
        self._send_buffer_bytes_max = send_buffer_bytes_max
        self._server: grpc.aio.Server | None = None
        self._links: set[StreamLink] = set()

    async def start(self) -> int:
        options = server_options(self._timeouts, self._connections_max)
        server = grpc.aio.server(options=options, maximum_concurrent_rpcs=WORKERS.connections_max)
        handlers = {
            METHOD: grpc.stream_stream_rpc_method_handler(self._connect),
            WATCH_METHOD: grpc.unary_stream_rpc_method_handler(self._watch_leader),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        port = open_port(server, self._host, self._port, self._tls, "workers")
        await server.start()
        self._server = server
        self._news.start()
        if self._relay is not None:
            self._relay.start()
        log.info("workers.listening", address=self._host, port=port)
        return port

    async def stop(self) -> None:
        """Ends every connection that the acceptor has not ended yet."""
        self._news.close()
        for link in list(self._links):
            link.refuse(RefusalCode.SHUTTING_DOWN, "the manager is stopping")
        if self._relay is not None:
            await self._relay.close()
        if self._server is not None:
            await self._server.stop(FLUSH_TIMEOUT_S)
            self._server = None

    @property
    def connected(self) -> int:
        """How many streams end at this manager, or pass through it."""
        return len(self._links) + (0 if self._relay is None else self._relay.streams)

    async def _connect(self, requests: AsyncIterator[bytes], context: Context) -> None:
        """One worker's connection, from its first byte to its end."""
        await context.send_initial_metadata(())
        peer = self._identify(context)
        is_relayed = isinstance(peer, Peer) and peer.is_relayed
        if isinstance(peer, Peer) and not is_relayed and self._relay is not None and self._passes_on():
            await self._relay.serve(requests, context, peer.authorization, peer.node or "")
            return
        link = StreamLink(context.write, self._send_buffer_bytes_max, is_relayed=is_relayed)
        self._links.add(link)
        session = None
        if isinstance(peer, str):
            link.refuse(RefusalCode.UNAUTHORIZED, peer)
        elif not is_relayed and self._routes is not None and (other := self._routes.refer_to()) is not None:
            link.refuse(RefusalCode.NOT_LEADER, NO_WATCHER_REASON, other)
        else:
            session = self._acceptor.connect(link)
        node = None if isinstance(peer, str) else peer.node
        certifier = None if node is None else Certifier(self._authority, node, link)
        reader = asyncio.create_task(_read(requests, session, link, node, certifier))
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

    async def _watch_leader(self, _request: bytes, context: Context) -> AsyncIterator[bytes]:
        if isinstance(problem := self._identify(context), str):
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, problem)
        async for leader in self._news.stream():
            yield encode_leader(leader)

    def _passes_on(self) -> bool:
        """Whether a new worker's stream goes to another manager."""
        assert self._routes is not None
        return self._acceptor.leading_term is None and self._routes.relay_to() is not None

    def _identify(self, context: Context) -> Peer | str:
        """Who connects, or why it may not: by its certificate where one is asked for, else by the token of workers."""
        metadata: dict[str, str | bytes] = dict(context.invocation_metadata() or ())
        authorization = _text(metadata.get("authorization", ""))
        if self._tls is not None and self._tls().authorities is not None:
            return _identify_certificate(context, authorization, metadata)
        if not hmac.compare_digest(authorization.encode(), self._authorization):
            return UNAUTHORIZED_REASON
        return Peer(authorization, None, RELAYED in metadata)


def _identify_certificate(context: Context, authorization: str, metadata: Mapping[str, str | bytes]) -> Peer | str:
    """A manager that relays a stream says whose it is."""
    names = context.auth_context().get("x509_subject_alternative_name", ())
    found = find_certified_name(_text(name) for name in names)
    if found is None:
        return "the certificate names no worker; issue one with: shunter ca issue worker NODE"
    if found.bearer is Bearer.WORKER:
        return Peer(authorization, found.name, is_relayed=False)
    if found.bearer is Bearer.MANAGER and RELAYED in metadata and metadata.get(NODE):
        return Peer(authorization, _text(metadata[NODE]), is_relayed=True)
    return f"the certificate is that of {found}, and not of a worker"


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def _name_problem(message: WorkerMessage, node: str | None) -> str:
    """A worker is the node that its certificate names, and no other one; empty if it is."""
    if node is None or not isinstance(message, Hello) or message.name == node:
        return ""
    return (
        f"the certificate is that of the node {node!r}, and the worker says that it is {message.name[:80]!r};"
        f" start it with --name {node}, or with a certificate of its own"
    )


class StreamLink:
    """The `WorkerLink` of one stream: what is sent waits in a bounded buffer, which one task writes out. The worker of
    a relayed stream is not sent to another manager: its watcher knows best where to go."""

    def __init__(self, write: Callable[[bytes], Awaitable[Any]], size_max: int, *, is_relayed: bool = False) -> None:
        self._write = write
        self._is_relayed = is_relayed
        self._buffer = SendBuffer(size_max)
        self.status = grpc.StatusCode.OK
        self.reason = ""
        self.writer = asyncio.create_task(self._write_loop())
        self.writer.add_done_callback(_forget_error)  # of writing to a worker that has gone

    def send(self, message: ManagerMessage) -> None:
        if self._buffer.closed:
            return
        if self._is_relayed and isinstance(message, Refused):
            message = msgspec.structs.replace(message, leader="")
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

    def refuse(self, code: RefusalCode, reason: str, leader: str = "") -> None:
        self.send(refuse(code, reason, leader))
        self.close(reason)

    def _abort(self) -> None:
        """The peer does not read, so it can get nothing more but the stream's status."""
        self.status, self.reason = STATUS[RefusalCode.TOO_SLOW], "the worker reads too slowly: its send buffer is full"
        self._buffer.abandon()
        self.writer.cancel()

    async def _write_loop(self) -> None:
        while (data := await self._buffer.get()) is not None:
            await self._write(data)


def _forget_error(writer: asyncio.Task[None]) -> None:
    if not writer.cancelled():
        writer.exception()


class Certifier:
    """Signs another certificate for the worker of a stream that has presented one. Once in a while: a signature takes
    some of the manager's time."""

    def __init__(self, authority: CertificateAuthority, node: str, link: StreamLink) -> None:
        self._authority, self._node, self._link = authority, node, link
        self._next_s = 0.0

    def answer(self, message: CertificateRequest) -> None:
        now_s = time.monotonic()
        if now_s < self._next_s or len(message.request) > CERTIFICATE_REQUEST_BYTES_MAX:
            return
        self._next_s = now_s + CERTIFY_EVERY_S
        try:
            certificate, authorities = self._authority.issue(self._node, message.request), self._authority.bundle()
        except (Rejected, OSError) as error:
            log.warning("worker.certificate_not_renewed", node=self._node, error=error)
            return
        log.info("worker.certificate_issued", node=self._node)
        self._link.send(NewCertificate(certificate, authorities))


async def _read(
    requests: AsyncIterator[bytes],
    session: Session | None,
    link: StreamLink,
    node: str | None,
    certifier: Certifier | None,
) -> None:
    """Deliver messages one by one. Without a session (an unauthorized peer), messages are not even decoded."""
    if session is None:
        await link.writer
        return
    async for data in requests:
        is_large = len(data) >= THREAD_MIN_BYTES
        try:
            message = await asyncio.to_thread(decode_worker, data) if is_large else decode_worker(data)
        except Malformed as error:
            link.refuse(RefusalCode.INVALID, f"not a message of the worker protocol: {error}")
            return
        if message is None:
            log.warning("message.unknown", size_bytes=len(data))
            continue
        if problem := _name_problem(message, node):
            link.refuse(RefusalCode.UNAUTHORIZED, problem)
            return
        if not isinstance(message, CertificateRequest):
            await session.received(message)
        elif certifier is not None:
            certifier.answer(message)
