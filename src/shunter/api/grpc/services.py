"""What the manager's gRPC server serves to clients. Called by `app.listeners`, which loads it on request."""

from __future__ import annotations

from dataclasses import dataclass

import grpc.aio

from shunter.api.grpc.callers import Callers, Context
from shunter.api.grpc.calls import Calls, Limits
from shunter.api.grpc.health import HEALTH, REFLECTION, add_health_and_reflection
from shunter.api.grpc.jobs_service import SERVICE, add_jobs_service
from shunter.api.http.app import Shared
from shunter.api.http.request_limits import RequestLimiter
from shunter.ports.gateway import Gateway
from shunter.ports.principals import Principal
from shunter.ports.schedulers import SchedulerService

SCHEDULERS = "shunter.v1.ExternalScheduler"  # added by its own server
ANSWERED_HERE = (f"/{HEALTH}/", f"/{REFLECTION}/")  # and not by the leader


class ClientServices:
    """`shared` with the HTTP listeners: wrong tokens and the memory of requests count together."""

    def __init__(
        self,
        gateway: Gateway,
        shared: Shared,
        limiter: RequestLimiter | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._gateway, self._yaml = gateway, shared.yaml
        self._callers = Callers(gateway, shared.attempts, limiter)
        self.calls = Calls(gateway, self._callers, shared.bodies, limits, shared.refusals)

    def add_to(self, server: grpc.aio.Server) -> None:
        add_jobs_service(server, self.calls, self._yaml)
        add_health_and_reflection(server, self._gateway, self._callers, (SERVICE, SCHEDULERS))

    async def identify_scheduler(self, context: Context) -> SchedulerCaller:
        """Raises Unauthorized, Forbidden, Busy, Unavailable."""
        token, caller = await self._callers.identify(context)
        return SchedulerCaller(token, caller, self._gateway, self._callers)


@dataclass(frozen=True, slots=True)
class SchedulerCaller:
    """Implements `adapters.grpc.scheduler_server.SchedulerCaller`."""

    _token: str
    _caller: Principal
    _gateway: Gateway
    _callers: Callers

    @property
    def service(self) -> SchedulerService:
        return self._gateway.for_caller(self._caller, "connectScheduler").schedulers

    def is_permitted(self) -> bool:
        return self._callers.is_still(self._token, self._caller)
