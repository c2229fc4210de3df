"""Assembles a manager: store, engine, watcher, gateway, API, and for `shunter up` a worker in the same process."""

from __future__ import annotations

import asyncio
import os
import platform
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from shunter import __version__
from shunter.adapters.files.flight_files import FlightFiles
from shunter.adapters.memory.samples import SampleStore
from shunter.api.http.app import EXTERNAL_LISTENER, OPEN_EXTERNAL_LISTENER, ApiSettings, build_app
from shunter.api.http.connection_limits import ConnectionLimits
from shunter.api.http.server import HttpServer, serve
from shunter.app.background_policies import BackgroundPolicies
from shunter.app.config import Config
from shunter.app.home import Home
from shunter.app.options import LISTEN_DEFAULT, UpOptions, is_loopback, parse_address
from shunter.app.policies import find_policies
from shunter.app.scheduled_backups import ScheduledBackups
from shunter.app.stores import MEMORY, build_store, choose_store, public_store_name
from shunter.app.worker_backends import LocalBackend, SimulatedBackend, WorkerBackend
from shunter.engine.engine import Engine
from shunter.engine.policy.active_policy import ActivePolicy
from shunter.engine.state.registries.cluster import FLIGHT_SETTING, HEARTBEAT_SETTING, POLICY_SETTING
from shunter.gateway.gateway import LocalGateway
from shunter.gateway.policies import choose_policy
from shunter.gateway.tokens import Tokens, ensure_token
from shunter.log import Log
from shunter.model.errors import Invalid, Problem, ShunterError
from shunter.model.rest.admin_fields import OFF
from shunter.planning.planner import POLICY_DEFAULT
from shunter.ports.clock import Clock
from shunter.ports.schedulers import SchedulerService

if TYPE_CHECKING:
    from shunter.adapters.grpc.scheduler_server import SchedulerServer

PURGE_EVERY_S = 60.0
log = Log(__name__)


class StopRequest(NamedTuple):
    """How to stop; the arguments of `Manager.stop`."""

    leave_running: bool  # tasks
    is_whole_cluster: bool  # all workers too


class Manager:
    """`start`, then `wait` until someone asks it to stop, then `stop`."""

    def __init__(self, home: Home, options: UpOptions, config: Config) -> None:
        self._home, self._config = home, config
        self._options = config.fill_options(options)
        self._address = _checked_address(self._options)
        self._external_address = _checked_external_address(self._options)
        self._stop_request: asyncio.Future[StopRequest] = asyncio.get_running_loop().create_future()
        self._background_tasks: list[asyncio.Task[None]] = []
        grpc = self._options.external_grpc
        self._grpc_address = _secure_address(grpc, "--external-grpc", self._options) if grpc is not None else None
        self._schedulers: SchedulerServer | None = None
        self.schedulers_address = ""  # of the gRPC listener; empty if there is none
        self.policy = ""  # the policy at the start
        self._server: HttpServer | None = None
        self._external: HttpServer | None = None
        self._given_store = options.store
        self._chosen_store = choose_store(options.store, self._options.store)
        self._flight = FlightFiles(home.flight) if self._chosen_store != MEMORY else None

    async def start(self) -> None:
        """Returns when the API answers and the first node is ready."""
        options, home = self._options, self._home
        tokens = Tokens({ensure_token(home.token): "admin"})
        self._store = build_store(self._chosen_store, home, accepts_loss=options.accept_loss)
        await self._store.open()
        self._samples = SampleStore()
        self._backend = self._create_backend()
        self._clock: Clock = self._backend.clock
        catalogue = find_policies(options.policy)
        self._engine = Engine(
            store=self._store,
            workers=self._backend.workers,
            policy=ActivePolicy(catalogue.build(options.policy or POLICY_DEFAULT), filters=catalogue.filters),
            clock=self._clock,
            random=random.SystemRandom(),  # secrets of applications are drawn from it
            settings=self._config.engine,
        )
        await self._engine.start()
        stored = self._engine.state.cluster
        self.policy = choose_policy(catalogue, stored.get(POLICY_SETTING), options.policy)
        self._engine.policy = catalogue.build(self.policy)
        if self._flight is not None and stored.get(FLIGHT_SETTING) != OFF:
            self._engine.schedulers.record_to(self._flight)
        self._background_policies = BackgroundPolicies(self._engine, self._clock)
        self._background_tasks = [
            _start_background_task(self._engine.run, self._on_task_failure),
            _start_background_task(self._purge_periodically, self._on_task_failure),
            _start_background_task(self._back_up_periodically, self._on_task_failure),
        ]
        gateway = LocalGateway(
            engine=self._engine,
            store=self._store,
            workers=self._backend.workers,
            clock=self._clock,
            tokens=tokens,
            identity={"name": self.name, "version": __version__},
            is_simulated=bool(options.simulate_nodes),
            on_down=self.request_stop,
            on_heartbeat=self._backend.set_heartbeat,
            run_in_thread=asyncio.to_thread,
            catalogue=catalogue,
            on_policy=self._background_policies.switch_to,
            flight_log=self._flight,
            archive=self._flight,
            metrics=self._samples,
        )
        self._background_policies.switch_to(self._engine.policy)
        api = ApiSettings(absent_is_304=options.external_absent_304)
        app = build_app(gateway, api)
        limits = ConnectionLimits()
        self._server = await serve(app, *self._address, limits)
        if self._external_address is not None:
            listener = OPEN_EXTERNAL_LISTENER if options.external_open else EXTERNAL_LISTENER
            external_app = build_app(gateway, api, listener, shared_with=app)
            self._external = await serve(external_app, *self._external_address, limits)
        await self._start_scheduler_server(gateway)
        await self._backend.start(self._engine)
        self._restore_heartbeat()
        if options.has_worker or options.simulate_nodes:
            await self._wait_for_first_node()
        home.write_description(
            {
                "url": self.url,
                "pid": os.getpid(),
                "name": self.name,
                "workers": self._backend.address,
                "external": self.external_url or None,
                "schedulers": self.schedulers_address or None,
                "node": self._backend.own_node,
                "store": public_store_name(self._chosen_store),
            }
        )
        log.info("manager.ready", url=self.url, version=__version__)

    async def _start_scheduler_server(self, gateway: LocalGateway) -> None:
        """Start the gRPC server for schedulers on request: gRPC is not loaded otherwise."""
        if self._grpc_address is None:
            return
        from shunter.adapters.grpc.scheduler_server import SchedulerServer

        def service_for(token: str) -> SchedulerService | None:
            caller = gateway.authenticate(token)
            return None if caller is None else gateway.for_caller(caller).schedulers

        host, port = self._grpc_address
        self._schedulers = SchedulerServer(service_for, host, port)
        port = await self._schedulers.start()
        self.schedulers_address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def _restore_heartbeat(self) -> None:
        """As it was set while the cluster ran the last time. Simulated nodes have their own."""
        stored = self._engine.state.cluster.get(HEARTBEAT_SETTING)
        if stored and not self._options.simulate_nodes:
            self._backend.set_heartbeat(float(stored))

    @property
    def name(self) -> str:
        return self._options.name or platform.node() or "shunter"

    @property
    def url(self) -> str:
        assert self._server is not None
        return _url(self._server)

    @property
    def external_url(self) -> str:
        """The URL of the listener for external schedulers; empty if there is none."""
        return "" if self._external is None else _url(self._external)

    @property
    def workers_address(self) -> str:
        return self._backend.address or ""

    def request_stop(self, leave_running: bool, is_whole_cluster: bool = False) -> None:
        if not self._stop_request.done():
            self._stop_request.set_result(StopRequest(leave_running, is_whole_cluster))

    async def wait(self) -> StopRequest:
        """Wait until asked to stop. Raises the engine's error, if any."""
        return await self._stop_request

    async def stop(self, leave_running: bool, is_whole_cluster: bool = False) -> None:
        """Tasks first (they are queued again, not failed), then the listeners, then the store. Workers on other
        machines keep their tasks and wait for the next manager, unless the whole cluster stops."""
        self._engine.pause_placement()
        await self._backend.stop(self._engine, leave_running, is_whole_cluster)
        self._home.remove_description()
        for task in self._background_tasks[1:]:
            task.cancel()
        self._background_policies.stop()
        await self._engine.stop()
        if self._schedulers is not None:
            await self._schedulers.stop()
        await asyncio.gather(*(server.stop() for server in (self._server, self._external) if server is not None))
        await asyncio.gather(*self._background_tasks, return_exceptions=True)
        await self._store.close()
        if self._flight is not None:
            self._flight.close()
        log.info("manager.stopped", left_running=leave_running)

    def _create_backend(self) -> WorkerBackend:
        if self._options.simulate_nodes:
            return SimulatedBackend(self._options)
        return LocalBackend(self._options, self._home, self._config, self._samples)

    async def _wait_for_first_node(self) -> None:
        """Wait until one has joined. It need not accept work: it may be cordoned or draining."""
        while not any(node.is_synced for node in self._engine.state.nodes.records.values()):
            await asyncio.sleep(0.002)

    async def _purge_periodically(self) -> None:
        while True:
            await asyncio.sleep(PURGE_EVERY_S)
            try:
                await self._engine.purge()
            except ShunterError as error:
                log.warning("purge.failed", error=error)

    async def _back_up_periodically(self) -> None:
        if self._chosen_store != MEMORY:
            backups = ScheduledBackups(self._config.backup, self._home, self._given_store)
            await backups.run(self._engine.is_leading)

    def _on_task_failure(self, error: BaseException) -> None:
        if not self._stop_request.done():
            self._stop_request.set_exception(error)


def _checked_address(options: UpOptions) -> tuple[str, int]:
    return _secure_address(options.listen or LISTEN_DEFAULT, "--listen", options)


def _checked_external_address(options: UpOptions) -> tuple[str, int] | None:
    listen = options.external_listen
    if listen is None:
        if options.external_open:
            fix = "set one: --external-listen 127.0.0.1:8082, or listen = ... in [external] of config.toml"
            raise Invalid([Problem("--external-open", "needs an address", None, fix)])
        return None
    host, _ = parse_address(listen, "--external-listen")
    if options.external_open and not is_loopback(host):
        fix = "listen on 127.0.0.1, or remove --external-open, so that clients must send the token"
        raise Invalid([Problem("--external-listen", "would give other machines access without a token", listen, fix)])
    return _secure_address(listen, "--external-listen", options)


def _secure_address(listen: str, option: str, options: UpOptions) -> tuple[str, int]:
    """Raises Invalid for an address that other machines can reach, unless that is allowed."""
    host, port = parse_address(listen, option)
    if not is_loopback(host) and not options.insecure:
        fix = "listen on 127.0.0.1 behind a TLS proxy, or allow it: --insecure, or insecure = true in config.toml"
        raise Invalid([Problem(option, "would give other machines access without TLS", listen, fix)])
    return host, port


def _url(server: HttpServer) -> str:
    host = f"[{server.host}]" if ":" in server.host else server.host
    return f"http://{host}:{server.port}"


def _start_background_task(
    work: Callable[[], Awaitable[None]], on_failure: Callable[[BaseException], None]
) -> asyncio.Task[None]:
    """Background work; if it ends with an error, the manager ends."""

    async def run() -> None:
        try:
            await work()
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            on_failure(error)

    return asyncio.get_running_loop().create_task(run())
