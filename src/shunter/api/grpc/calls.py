"""One gRPC call from its first byte to its status: who calls, may they, the request, the answers, the limits. Used by
`api.grpc.jobs_service`, whose methods turn a request into calls of the gateway.

gRPC handles messages as bytes, and every method is a stream in both directions: on the wire, a single message is a
stream of one. So the caller is known before its message is read, and a message that is malformed or too large is
refused with a reason."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError, Message

from shunter.api.audit.refusals import RefusalCounter
from shunter.api.grpc.callers import REVOKED, Callers
from shunter.api.grpc.errors import Context, abort
from shunter.api.limits.body_budget import BodyBudget
from shunter.log import Log
from shunter.model.errors import Busy, Failed, Invalid, Problem, ShunterError, TooLarge, Unauthorized, Unavailable
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.ports.gateway import CallerGateway, Gateway
from shunter.ports.principals import Principal
from shunter.ports.security.audit import Origin, request_of

REQUEST_MAX_S = 30.0  # until the message of a call is there
CHECK_EVERY_S = 1.0  # whether the caller of a stream is still permitted
STREAM_IDLE_MAX_S = 3600.0  # without any message
STREAM_STALLED_MAX_S = 60.0  # of a reader that takes nothing
STREAMS_PER_CONNECTION_MAX = 100  # of one caller
STREAMS_MAX = 300  # of all callers; external schedulers find room beside them
READS = ("get", "list", "follow", "read")  # how operations begin that change nothing
log = Log(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that tests make smaller."""

    request_s: float = REQUEST_MAX_S
    idle_s: float = STREAM_IDLE_MAX_S
    stalled_s: float = STREAM_STALLED_MAX_S
    check_every_s: float = CHECK_EVERY_S
    streams_per_connection_max: int = STREAMS_PER_CONNECTION_MAX
    streams_max: int = STREAMS_MAX


@dataclass(frozen=True, slots=True)
class Call:
    """On behalf of one caller, for one operation."""

    gateway: CallerGateway
    _all: Gateway

    def permit(self, operation: str) -> CallerGateway:
        """For another operation, which the same call also carries out. Raises Forbidden."""
        return self._all.for_caller(self.gateway.caller, operation)

    def namespace(self, named: str) -> str:
        """The default namespace belongs to the cluster. To a tenant, the same word means the default one of its own."""
        namespace = named or NAMESPACE_DEFAULT
        if namespace == NAMESPACE_DEFAULT and not self.gateway.caller.is_cluster_wide:
            return self.gateway.identity.default_namespace() or namespace
        return namespace

    @property
    def version(self) -> int:
        return self._all.replication.version


@dataclass(frozen=True, slots=True)
class Method:
    """`operation` is the name of the REST route that does the same. Exactly one of `answer` and `stream`."""

    operation: str
    request: type[Message]
    size_max: int
    answer: Callable[[Call, Any], Awaitable[Message]] | None = None
    stream: Callable[[Call, Any], Awaitable[AsyncGenerator[Message, None]]] | None = None


class Calls:
    def __init__(
        self,
        gateway: Gateway,
        callers: Callers,
        bodies: BodyBudget,
        limits: Limits | None = None,
        refusals: RefusalCounter | None = None,
    ) -> None:
        self._gateway, self._callers, self._bodies = gateway, callers, bodies
        self._refusals = refusals or RefusalCounter()
        self._limits = limits or Limits()
        self._streams: Counter[tuple[str, Principal]] = Counter()  # by connection

    def handler(self, name: str, method: Method) -> Any:
        """The handler for gRPC, whose class is generic only in the stubs."""

        async def serve(requests: AsyncIterator[bytes], context: Context) -> None:
            await self._serve(name, method, requests, context)

        return grpc.stream_stream_rpc_method_handler(serve)

    @property
    def streams(self) -> int:
        return self._streams.total()

    async def _serve(self, name: str, method: Method, requests: AsyncIterator[bytes], context: Context) -> None:
        try:
            await self._answer(method, requests, context)
            return
        except ShunterError as error:
            refusal = error
        except asyncio.CancelledError:
            raise
        except grpc.aio.AbortError:
            raise
        except Exception:
            log.exception("call.failed", method=name)
            refusal = Failed("internal error; see the log of the manager")
        is_write = not method.operation.startswith(READS)
        self._refusals.add(self._callers.address(context), refusal.status, method.operation, is_write=is_write)
        await abort(context, refusal)

    async def _answer(self, method: Method, requests: AsyncIterator[bytes], context: Context) -> None:
        token, caller = await self._callers.identify(context)
        await self._callers.count(caller)
        call = Call(self._gateway.for_caller(caller, method.operation), self._gateway)
        data = await self._read(requests, method.size_max)
        self._bodies.take(len(data), len(data))
        try:
            request = _decode(method.request, data)
            if method.answer is not None:
                origin = Origin(caller, method.operation, "grpc", self._callers.address(context))
                with request_of(origin):
                    answer = await method.answer(call, request)
                await context.write(answer.SerializeToString())
                return
        finally:
            self._bodies.give_back(len(data))
        assert method.stream is not None
        with self._stream_of(context.peer(), caller):
            async with aclosing(await method.stream(call, request)) as messages:
                await self._pass_on(messages, context, lambda: self._callers.is_still(token, caller))

    async def _read(self, requests: AsyncIterator[bytes], size_max: int) -> bytes:
        try:
            async with asyncio.timeout(self._limits.request_s):
                data = await anext(aiter(requests), None)
        except TimeoutError:
            raise Invalid([Problem("request", f"did not come within {self._limits.request_s:g} s")]) from None
        if data is None:
            raise Invalid([Problem("request", "is missing", fix="send one message")])
        if len(data) > size_max:
            raise TooLarge(f"the request is larger than {size_max:,} bytes")
        return data

    @contextmanager
    def _stream_of(self, connection: str, caller: Principal) -> Iterator[None]:
        """Counts a stream while it is open. Raises Busy."""
        key, limits = (connection, caller), self._limits
        if self._streams[key] >= limits.streams_per_connection_max:
            most = limits.streams_per_connection_max
            raise Busy(f"this connection has {most} open streams, the most that it may have", 1.0)
        if self._streams.total() >= limits.streams_max:
            raise Busy(f"{limits.streams_max} streams are open, the most that this manager serves", 1.0)
        self._streams[key] += 1
        try:
            yield
        finally:
            self._streams[key] -= 1
            if not self._streams[key]:
                del self._streams[key]

    async def _pass_on(
        self, messages: AsyncGenerator[Message, None], context: Context, is_permitted: Callable[[], bool]
    ) -> None:
        """Writes only as fast as the client reads. Raises Unauthorized soon after the caller lost its permission."""
        stream = asyncio.current_task()
        assert stream is not None
        is_revoked = False
        await context.send_initial_metadata(())  # not watched: while it is under way, gRPC can send no status

        async def watch_permission() -> None:
            nonlocal is_revoked
            while is_permitted():
                await asyncio.sleep(self._limits.check_every_s)
            is_revoked = True
            stream.cancel()

        watching = asyncio.create_task(watch_permission())
        try:
            while (message := await self._next(messages)) is not None:
                await self._write(context, message.SerializeToString())
        except asyncio.CancelledError:
            if not is_revoked:
                raise
            stream.uncancel()
            raise Unauthorized(REVOKED) from None
        finally:
            watching.cancel()

    async def _next(self, messages: AsyncGenerator[Message, None]) -> Message | None:
        try:
            async with asyncio.timeout(self._limits.idle_s):
                return await anext(messages, None)
        except TimeoutError:
            raise Unavailable(f"nothing happened for {self._limits.idle_s:g} s; call again") from None

    async def _write(self, context: Context, data: bytes) -> None:
        try:
            async with asyncio.timeout(self._limits.stalled_s):
                await context.write(data)
        except TimeoutError:
            raise Busy(f"you have read nothing for {self._limits.stalled_s:g} s; call again") from None


def _decode(kind: type[Message], data: bytes) -> Message:
    message = kind()
    try:
        message.ParseFromString(data)
    except DecodeError:
        raise Invalid([Problem("request", f"is not a {kind.DESCRIPTOR.full_name}")]) from None
    return message
