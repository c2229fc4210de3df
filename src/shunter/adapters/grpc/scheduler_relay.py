"""Passes the calls of external schedulers and clients on to the manager that leads, byte by byte. Used by the
gRPC server of a manager that may follow.

Every call is relayed as a stream in both directions: on the wire, a single message is a stream of one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import grpc
import grpc.aio

from shunter.adapters.grpc.channel import ReadClientTls, open_channel
from shunter.log import Log
from shunter.model.identity.source_proofs import SOURCE, Sign, address_of_peer, with_proof

RELAYED = "shunter-relayed"  # in the metadata of a call that comes from another manager
CHECK_LEADER_S = 1.0  # a leader that hangs keeps its connections open
_NOT_PASSED_ON = ("user-agent", "te", "content-type", SOURCE)

log = Log(__name__)

Leader = Callable[[], str | None]  # its gRPC address; empty if nobody leads, None if this manager does
Context = grpc.aio.ServicerContext[bytes, bytes]
Handler = Any  # of gRPC; its class is generic only in the stubs


class SchedulerRelay(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # generic only in the stubs
    """`tls` says whom to trust as the leader; None: without TLS. `answered_here`: beginnings of names of methods that
    this manager answers by itself. `sign` proves to the leader where a call came from."""

    def __init__(
        self,
        leader: Leader,
        tls: ReadClientTls | None = None,
        answered_here: tuple[str, ...] = (),
        sign: Sign | None = None,
    ) -> None:
        self._leader, self._answered_here = leader, answered_here
        self._tls, self._sign = tls, sign
        self._address = ""
        self._channel: grpc.aio.Channel | None = None

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler:
        method = handler_call_details.method
        if self._leader() is None or method.startswith(self._answered_here):
            return await continuation(handler_call_details)

        async def relay(requests: AsyncIterator[bytes], context: Context) -> None:
            await self._relay(method, requests, context)

        return grpc.stream_stream_rpc_method_handler(relay)

    async def close(self) -> None:
        if self._channel is not None:
            await self._channel.close(None)
            self._channel = None

    async def _relay(self, method: str, requests: AsyncIterator[bytes], context: Context) -> None:
        metadata = [pair for pair in context.invocation_metadata() or () if pair[0] not in _NOT_PASSED_ON]
        address = self._leader()
        if not address or any(key == RELAYED for key, _ in metadata):
            await context.abort(grpc.StatusCode.UNAVAILABLE, "no manager leads now; try again")
            return
        channel = await self._channel_to(address)
        metadata.append((RELAYED, "1"))
        if self._sign is not None:
            metadata.append((SOURCE, with_proof(address_of_peer(context.peer()), self._sign)))
        call: Any = channel.stream_stream(method, bytes, bytes)(
            requests, metadata=metadata, timeout=context.time_remaining()
        )
        watching = asyncio.create_task(self._cancel_when_replaced(address, call))
        try:
            with suppress(grpc.aio.AioRpcError):
                await self._pass_back(call, context)
            code, details = await call.code(), await call.details()
            if code is grpc.StatusCode.OK:
                return
            if self._leader() != address:
                code, details = grpc.StatusCode.UNAVAILABLE, "the leader has changed; try again"
            log.info("scheduler.relay_ended", method=method, leader=address, code=code.name, reason=details)
            await context.abort(code, details or "", tuple(await call.trailing_metadata() or ()))
        finally:
            watching.cancel()
            call.cancel()

    async def _pass_back(self, call: Any, context: Context) -> None:
        try:
            await context.send_initial_metadata(await call.initial_metadata())
            async for data in call:
                await context.write(data)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():  # by the scheduler; otherwise we have cancelled the call
                raise

    async def _cancel_when_replaced(self, address: str, call: Any) -> None:
        while self._leader() == address:
            await asyncio.sleep(CHECK_LEADER_S)
        call.cancel()

    async def _channel_to(self, address: str) -> grpc.aio.Channel:
        """One channel for all calls; a new leader gets a new one."""
        if self._channel is None or self._address != address:
            old, self._channel, self._address = (
                self._channel,
                open_channel(address, tls=self._tls),
                address,
            )
            if old is not None:
                await old.close(None)
        assert self._channel is not None
        return self._channel
