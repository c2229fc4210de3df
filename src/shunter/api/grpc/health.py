"""`grpc.health.v1.Health` and server reflection, of this manager itself: a follower answers them without its leader.
Added to the manager's gRPC server by `app.listeners`.

Load balancers ask for health without a token, so the streams of `Watch` are few. Reflection shows what the OpenAPI
document shows, to the same callers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc
import grpc.aio
from google.protobuf import descriptor_pool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc

from shunter.api.grpc.callers import Callers
from shunter.api.grpc.errors import abort
from shunter.model.errors import Busy, NotFound, ShunterError, Unavailable
from shunter.ports.gateway import Gateway
from shunter.ports.principals import Principal

HEALTH = "grpc.health.v1.Health"
REFLECTION = "grpc.reflection.v1alpha.ServerReflection"
HEALTH_WATCHES_MAX = 20
HEALTH_CHECK_EVERY_S = 1.0
REFLECTION_IDLE_MAX_S = 30.0
ANYBODY = Principal("", frozenset())

Context = grpc.aio.ServicerContext[Any, Any]
Status: Any = health_pb2.HealthCheckResponse  # its stubs have no type


def add_health_and_reflection(
    server: grpc.aio.Server, gateway: Gateway, callers: Callers, services: Sequence[str]
) -> None:
    health_pb2_grpc.add_HealthServicer_to_server(Health(gateway, services), server)
    every = (*services, HEALTH, REFLECTION)
    reflection_pb2_grpc.add_ServerReflectionServicer_to_server(Reflection(gateway, callers, every), server)


class Health(health_pb2_grpc.HealthServicer):  # type: ignore[misc]  # it has no types
    """Serving, while the manager can commit."""

    def __init__(self, gateway: Gateway, services: Sequence[str]) -> None:
        self._gateway, self._services = gateway, frozenset(("", *services))
        self._watches = 0

    async def Check(self, request: health_pb2.HealthCheckRequest, context: Context) -> Any:  # noqa: N802
        if request.service not in self._services:
            await abort(context, NotFound("this service is not known"))
        return self._status()

    async def Watch(  # noqa: N802
        self, request: health_pb2.HealthCheckRequest, context: Context
    ) -> AsyncIterator[Any]:
        if self._watches >= HEALTH_WATCHES_MAX:
            await abort(context, Busy(f"{HEALTH_WATCHES_MAX} callers watch the health already; check it instead", 1.0))
        self._watches += 1
        last = None
        try:
            while True:
                status = self._status() if request.service in self._services else Status(status=Status.SERVICE_UNKNOWN)
                if status != last:
                    yield status
                    last = status
                await asyncio.sleep(HEALTH_CHECK_EVERY_S)
        finally:
            self._watches -= 1

    def _status(self) -> Any:
        try:
            self._gateway.for_caller(ANYBODY, "getHealth").cluster.check_health()
        except Unavailable:
            return Status(status=Status.NOT_SERVING)
        return Status(status=Status.SERVING)


class Reflection(reflection.aio.ReflectionServicer):  # type: ignore[misc, name-defined]  # no types
    def __init__(self, gateway: Gateway, callers: Callers, services: Sequence[str]) -> None:
        super().__init__(services, descriptor_pool.Default())
        self._gateway, self._callers = gateway, callers

    async def ServerReflectionInfo(  # noqa: N802
        self, requests: AsyncIterator[reflection_pb2.ServerReflectionRequest], context: Context
    ) -> AsyncIterator[reflection_pb2.ServerReflectionResponse]:
        try:
            _, caller = await self._callers.identify(context)
            self._gateway.for_caller(caller, "getOpenApi")
        except ShunterError as error:
            await abort(context, error)
        async for answer in super().ServerReflectionInfo(_until_idle(requests), context):
            yield answer


async def _until_idle(requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
    source = aiter(requests)
    while True:
        try:
            async with asyncio.timeout(REFLECTION_IDLE_MAX_S):
                request = await anext(source, None)
        except TimeoutError:
            return
        if request is None:
            return
        yield request
