"""What a manager listens on for clients and external schedulers: HTTP, a second HTTP listener, gRPC. Started and
stopped by `app.manager`. (Workers connect to `app.worker_backends`.)"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from shunter.api.http.app import EXTERNAL_LISTENER, OPEN_EXTERNAL_LISTENER, ApiSettings, build_app
from shunter.api.http.connection_limits import ConnectionLimits
from shunter.api.http.request_limits import RequestLimiter
from shunter.api.http.server import HttpServer, serve
from shunter.app.listeners.addresses import checked_address, checked_external_address, secure_address
from shunter.app.options import UpOptions, format_address
from shunter.gateway.gateway import LocalGateway
from shunter.ports.managers import ManagerClient
from shunter.ports.schedulers import SchedulerService

if TYPE_CHECKING:
    from shunter.adapters.grpc.scheduler_server import SchedulerServer


class Listeners:
    """`find_scheduler_leader` says where external schedulers are served by gRPC: None for here, empty if nobody leads.
    Raises Invalid for addresses that are not allowed."""

    def __init__(self, options: UpOptions, find_scheduler_leader: Callable[[], str | None]) -> None:
        self._options, self._find_scheduler_leader = options, find_scheduler_leader
        self._address = checked_address(options)
        self._external_address = checked_external_address(options)
        grpc = options.external_grpc
        self._grpc_address = None if grpc is None else secure_address(grpc, "--external-grpc", options)
        self._server: HttpServer | None = None
        self._external: HttpServer | None = None
        self._schedulers: SchedulerServer | None = None
        self.schedulers_address = ""  # of the gRPC listener; empty if there is none

    async def start(
        self,
        gateway: LocalGateway,
        client: ManagerClient | None,
        limiter: RequestLimiter | None,
        *,
        serves_clients: bool,
    ) -> None:
        options = self._options
        api = ApiSettings(absent_is_304=options.external_absent_304, serves_clients=serves_clients)
        app = build_app(gateway, api, client=client, limiter=limiter)
        connections = ConnectionLimits()
        self._server = await serve(app, *self._address, connections)
        if self._external_address is not None:
            listener = OPEN_EXTERNAL_LISTENER if options.external_open else EXTERNAL_LISTENER
            external_app = build_app(gateway, api, listener, shared_with=app, client=client, limiter=limiter)
            self._external = await serve(external_app, *self._external_address, connections)
        await self._start_scheduler_server(gateway)

    async def stop(self) -> None:
        if self._schedulers is not None:
            await self._schedulers.stop()
        await asyncio.gather(*(server.stop() for server in (self._server, self._external) if server is not None))

    @property
    def address(self) -> str:
        """Of the API."""
        assert self._server is not None
        return _address(self._server)

    @property
    def external_url(self) -> str:
        """The URL of the listener for external schedulers; empty if there is none."""
        return "" if self._external is None else f"http://{_address(self._external)}"

    async def _start_scheduler_server(self, gateway: LocalGateway) -> None:
        """Start the gRPC server for schedulers on request: gRPC is not loaded otherwise."""
        if self._grpc_address is None:
            return
        from shunter.adapters.grpc.scheduler_server import SchedulerServer

        def service_for(token: str) -> SchedulerService | None:
            caller = gateway.authenticate(token)
            return None if caller is None else gateway.for_caller(caller, "connectScheduler").schedulers

        host, port = self._grpc_address
        self._schedulers = SchedulerServer(service_for, host, port, leader=self._find_scheduler_leader)
        self.schedulers_address = format_address(host, await self._schedulers.start())


def _address(server: HttpServer) -> str:
    return format_address(server.host, server.port)
