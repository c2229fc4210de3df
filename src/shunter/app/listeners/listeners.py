"""What a manager listens on for clients and external schedulers: HTTP, a second HTTP listener, gRPC. Started and
stopped by `app.manager`. (Workers connect to `app.worker_backends`.)"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import shunter
from shunter.api.audit.refusals import RefusalCounter
from shunter.api.browser.ui_files import UiFiles
from shunter.api.browser.ui_pages import UiPages
from shunter.api.http.app import EXTERNAL_LISTENER, OPEN_EXTERNAL_LISTENER, ApiSettings, App, build_app
from shunter.api.http.request_limits import RequestLimiter
from shunter.api.http.server import HttpServer, serve
from shunter.api.limits.connection_limits import ConnectionLimits
from shunter.app.listeners.addresses import checked_address, checked_external_address, secure_address
from shunter.app.options import UpOptions, format_address
from shunter.app.tls.tls_files import TlsFiles
from shunter.gateway.gateway import LocalGateway
from shunter.model.metrics.response_counter import ResponseCounter
from shunter.ports.managers import ManagerClient
from shunter.ports.tracing.tracer import Tracer

if TYPE_CHECKING:
    from shunter.adapters.grpc.scheduler_server import SchedulerServer

_PACKAGE = Path(shunter.__file__).parent
UI_FOLDERS = (_PACKAGE / "ui_dist", _PACKAGE.parents[1] / "web" / "dist")  # in a wheel, in a checkout


class Listeners:
    """`find_scheduler_leader` says where external schedulers are served by gRPC: None for here, empty if nobody leads.
    Raises Invalid for addresses that are not allowed."""

    def __init__(
        self,
        options: UpOptions,
        find_scheduler_leader: Callable[[], str | None],
        tls: TlsFiles | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self._tls, self._tracer = tls, tracer
        self._options, self._find_scheduler_leader = options, find_scheduler_leader
        self._address = checked_address(options)
        self._external_address = checked_external_address(options)
        grpc = options.external_grpc
        self._grpc_address = None if grpc is None else secure_address(grpc, "--external-grpc", options)
        self.refusals = RefusalCounter()
        self._server: HttpServer | None = None
        self._external: HttpServer | None = None
        self._schedulers: SchedulerServer | None = None
        self.schedulers_address = ""  # of the gRPC listener; empty if there is none

    async def start(
        self,
        gateway: LocalGateway,
        client: ManagerClient | None,
        limiter: RequestLimiter | None,
        responses: ResponseCounter,
        *,
        serves_clients: bool,
    ) -> None:
        options = self._options
        api = ApiSettings(absent_is_304=options.external_absent_304, serves_clients=serves_clients)
        ui = UiPages(UiFiles(UI_FOLDERS))
        app = build_app(gateway, api, client=client, limiter=limiter, ui=ui, responses=responses, tracer=self._tracer)
        connections = ConnectionLimits()
        context = None if self._tls is None else self._tls.server_context()
        self._server = await serve(app, *self._address, connections, context)
        if self._external_address is not None:
            listener = OPEN_EXTERNAL_LISTENER if options.external_open else EXTERNAL_LISTENER
            external_app = build_app(
                gateway,
                api,
                listener,
                shared_with=app,
                client=client,
                limiter=limiter,
                responses=responses,
                tracer=self._tracer,
            )
            self._external = await serve(external_app, *self._external_address, connections, context)
        self.refusals = app.shared.refusals
        await self._start_grpc_server(gateway, app, limiter)

    async def stop(self) -> None:
        if self._schedulers is not None:
            await self._schedulers.stop()
        await asyncio.gather(*(server.stop() for server in (self._server, self._external) if server is not None))

    @property
    def address(self) -> str:
        """The address of the API."""
        assert self._server is not None
        return _address(self._server)

    @property
    def scheme(self) -> str:
        return "http" if self._tls is None else "https"

    @property
    def external_url(self) -> str:
        """The URL of the listener for external schedulers; empty if there is none."""
        return "" if self._external is None else f"{self.scheme}://{_address(self._external)}"

    async def _start_grpc_server(self, gateway: LocalGateway, app: App, limiter: RequestLimiter | None) -> None:
        """Start the gRPC server for schedulers and clients on request: gRPC is not loaded otherwise."""
        if self._grpc_address is None:
            return
        from shunter.adapters.grpc.scheduler_server import SchedulerServer
        from shunter.api.grpc.services import ANSWERED_HERE, ClientServices

        host, port = self._grpc_address
        services = ClientServices(gateway, app.shared, limiter)
        self._schedulers = SchedulerServer(
            services.identify_scheduler,
            host,
            port,
            leader=self._find_scheduler_leader,
            tls=None if self._tls is None else self._tls.for_clients,
            leader_tls=None if self._tls is None else self._tls.as_manager,
            add_services=services.add_to,
            answered_here=ANSWERED_HERE,
            sign=gateway.sign_source,
        )
        self.schedulers_address = format_address(host, await self._schedulers.start())


def _address(server: HttpServer) -> str:
    return format_address(server.host, server.port)
