"""What the manager's gRPC server serves to clients. Called by `app.listeners`, which loads it on request."""

from __future__ import annotations

import grpc.aio

from shunter.api.grpc.callers import Callers
from shunter.api.grpc.calls import Calls, Limits
from shunter.api.grpc.health import HEALTH, REFLECTION, add_health_and_reflection
from shunter.api.grpc.jobs_service import SERVICE, add_jobs_service
from shunter.api.http.app import Shared
from shunter.api.http.request_limits import RequestLimiter
from shunter.ports.gateway import Gateway

SCHEDULERS = "shunter.v1.ExternalScheduler"  # added by its own server
ANSWERED_HERE = (f"/{HEALTH}/", f"/{REFLECTION}/")  # and not by the leader


class ClientServices:
    """`shared` with the HTTP listeners: wrong tokens and the memory of requests count together."""

    def __init__(
        self,
        gateway: Gateway,
        shared: Shared,
        limiter: RequestLimiter | None = None,
        *,
        has_peers: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self._gateway, self._yaml = gateway, shared.yaml
        self._callers = Callers(gateway, shared.attempts, limiter, has_peers=has_peers)
        self.calls = Calls(gateway, self._callers, shared.bodies, limits, shared.refusals)

    def add_to(self, server: grpc.aio.Server) -> None:
        add_jobs_service(server, self.calls, self._yaml)
        add_health_and_reflection(server, self._gateway, self._callers, (SERVICE, SCHEDULERS))
