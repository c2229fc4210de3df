"""The manager's gRPC server for external schedulers, `shunter.v1.ExternalScheduler`, and for what the app adds to it.
Started by the app on request; it decides nothing. A manager that follows relays calls to the leader.

A stream sends situations only as fast as the client reads them. Changes in between go into the next message."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NoReturn, Protocol

import grpc
import grpc.aio

from shunter.adapters.grpc.channel import FLUSH_TIMEOUT_S, ReadClientTls
from shunter.adapters.grpc.listen import (
    SCHEDULERS,
    ReadServerTls,
    ServerTimeouts,
    find_connections_max,
    open_port,
    server_options,
)
from shunter.adapters.grpc.scheduler_relay import SchedulerRelay
from shunter.log import Log
from shunter.model.errors import (
    Busy,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ShunterError,
    TooLarge,
    Unauthorized,
    Unavailable,
)
from shunter.model.identity.source_proofs import Sign
from shunter.model.protocol.scheduler_messages import WANTS_DEFAULT
from shunter.ports.schedulers import SchedulerService, SchedulerSession
from shunter.proto.v1 import external_scheduler_pb2 as pb
from shunter.proto.v1 import external_scheduler_pb2_grpc as pb_grpc
from shunter.wire.situations import answer_message, read_decision, situation_message

CALLS_MAX = 500  # at once
CHECK_EVERY_S = 1.0  # whether schedulers are still permitted
REVOKED = "its token is no longer valid: it was revoked or reset, or has expired"
MODE_DEFAULT = "lead"
RETRY_AFTER = "retry-after-ms"  # in the trailing metadata where the caller is asked to be patient

STATUS: tuple[tuple[type[ShunterError], grpc.StatusCode], ...] = (
    (Unauthorized, grpc.StatusCode.UNAUTHENTICATED),
    (Forbidden, grpc.StatusCode.PERMISSION_DENIED),
    (Invalid, grpc.StatusCode.INVALID_ARGUMENT),
    (TooLarge, grpc.StatusCode.INVALID_ARGUMENT),
    (NotFound, grpc.StatusCode.NOT_FOUND),
    (Conflict, grpc.StatusCode.FAILED_PRECONDITION),
    (Busy, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (Unavailable, grpc.StatusCode.UNAVAILABLE),
)
log = Log(__name__)


class SchedulerCaller(Protocol):
    """The caller that the token of a call identifies."""

    @property
    def service(self) -> SchedulerService:
        """Raises Forbidden."""
        ...

    def is_permitted(self) -> bool:
        """Whether the token still stands for the same caller."""
        ...


Context = grpc.aio.ServicerContext[Any, Any]
Identify = Callable[[Context], Awaitable[SchedulerCaller]]


class SchedulerServer:
    """`identify` finds out who calls; it raises Unauthorized, Busy, Unavailable. `port` 0 picks a free
    port; `start` returns it. `leader` returns the gRPC address of the manager that leads: empty if nobody does, None if
    it is this one. `leader_tls` says whom to trust as the leader. `add_services` adds others, of which `answered_here`
    are not relayed. `sign` proves to the leader where a call came from."""

    def __init__(
        self,
        identify: Identify,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        tls: ReadServerTls | None = None,
        leader: Callable[[], str | None] = lambda: None,
        leader_tls: ReadClientTls | None = None,
        timeouts: ServerTimeouts | None = None,
        add_services: Callable[[grpc.aio.Server], None] = lambda _: None,
        answered_here: tuple[str, ...] = (),
        sign: Sign | None = None,
    ) -> None:
        self._relay = SchedulerRelay(leader, leader_tls, answered_here, sign)
        self._add_services = add_services
        self._servicer = _Servicer(identify)
        self._host, self._port, self._tls = host, port, tls
        self._timeouts = timeouts
        self._server: grpc.aio.Server | None = None

    async def start(self) -> int:
        server = grpc.aio.server(
            interceptors=(self._relay,),
            options=server_options(self._timeouts, find_connections_max(SCHEDULERS)),
            maximum_concurrent_rpcs=CALLS_MAX,
        )
        pb_grpc.add_ExternalSchedulerServicer_to_server(self._servicer, server)  # type: ignore[no-untyped-call]
        self._add_services(server)
        port = open_port(server, self._host, self._port, self._tls, "schedulers")
        await server.start()
        self._server = server
        log.info("schedulers.listening", address=self._host, port=port)
        return port

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(FLUSH_TIMEOUT_S)
            self._server = None
        await self._relay.close()


class _Servicer(pb_grpc.ExternalSchedulerServicer):
    """Names of methods are those of the service."""

    def __init__(self, identify: Identify) -> None:
        self._identify = identify

    async def Watch(  # noqa: N802
        self, request: pb.WatchRequest, context: grpc.aio.ServicerContext[pb.WatchRequest, pb.Situation]
    ) -> AsyncIterator[pb.Situation]:
        try:
            wants = tuple(request.wants) or WANTS_DEFAULT
            caller = await self._identify(context)
            session = await caller.service.open(request.name, wants, request.mode or MODE_DEFAULT)
        except ShunterError as error:
            await _abort(context, error)
        lease: pb.Lease | None = pb.Lease(token=session.token, lease_s=session.lease_s)
        await context.send_initial_metadata(())
        reason = "its stream ended"
        permission = asyncio.create_task(self._close_when_revoked(caller, session))
        try:
            while (situation := await session.next()) is not None:
                yield situation_message(situation, lease)
                lease = None
            reason = session.close_reason
        finally:
            permission.cancel()
            session.close(reason)
        await context.abort(grpc.StatusCode.ABORTED, reason)

    async def _close_when_revoked(self, caller: SchedulerCaller, session: SchedulerSession) -> None:
        while caller.is_permitted():
            await asyncio.sleep(CHECK_EVERY_S)
        session.close(REVOKED)

    async def Decide(  # noqa: N802
        self, request: pb.Decision, context: grpc.aio.ServicerContext[pb.Decision, pb.DecisionAnswer]
    ) -> pb.DecisionAnswer:
        try:
            service = (await self._identify(context)).service
            return answer_message(await service.decide(request.token, read_decision(request)))
        except ShunterError as error:
            await _abort(context, error)

    async def Renew(  # noqa: N802
        self, request: pb.RenewRequest, context: grpc.aio.ServicerContext[pb.RenewRequest, pb.Lease]
    ) -> pb.Lease:
        try:
            lease_s = await (await self._identify(context)).service.renew(request.token)
        except ShunterError as error:
            await _abort(context, error)
        return pb.Lease(token=request.token, lease_s=lease_s)


async def _abort(context: grpc.aio.ServicerContext[Any, Any], error: ShunterError) -> NoReturn:
    status = next((code for kind, code in STATUS if isinstance(error, kind)), grpc.StatusCode.UNKNOWN)
    retry_metadata = ((RETRY_AFTER, str(int(error.retry_after_s * 1000))),) if isinstance(error, Unavailable) else ()
    await context.abort(status, error.detail, retry_metadata)
    raise AssertionError("abort raises")
