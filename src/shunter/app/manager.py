"""Assembles a manager: store, engine, watcher, gateway, API, and for `shunter up` a worker in the same process."""

from __future__ import annotations

import asyncio
import os
import platform
import random
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from shunter import __version__
from shunter.adapters.files.flight_files import FlightFiles
from shunter.adapters.files.rollup_files import RollupFiles
from shunter.adapters.memory.samples import SampleStore
from shunter.adapters.system.disk_probe import DiskProbe
from shunter.adapters.system.garbage import COLLECT_EVERY_S, collect_if_quick
from shunter.adapters.system.loop_probe import LoopProbe
from shunter.adapters.system.process_inspector import ProcessInspector
from shunter.adapters.system.process_probe import ProcessProbe
from shunter.app.background_policies import BackgroundPolicies
from shunter.app.config import Config
from shunter.app.coordination import build_coordination
from shunter.app.diagnosis.tracing import build_tracer
from shunter.app.home import Home
from shunter.app.leader_duties import LeaderDuties
from shunter.app.limits import build_limiter, build_limits
from shunter.app.listeners.addresses import Advertised
from shunter.app.listeners.listeners import Listeners
from shunter.app.listeners.refusal_reports import RefusalReports
from shunter.app.options import UpOptions
from shunter.app.policies import find_policies
from shunter.app.roles import check_combination, parse_roles
from shunter.app.sign_in.external_users import build_external_users, read_oidc_settings
from shunter.app.storage.scheduled_backups import ScheduledBackups
from shunter.app.storage.secret_keys import build_secret_keys
from shunter.app.storage.stores import MEMORY, SQLITE, build_store, choose_store, public_store_name
from shunter.app.tls.certificate_probe import CertificateProbe
from shunter.app.tls.setup import prepare_tls, worker_authority
from shunter.app.tls.tls_files import TlsFiles
from shunter.app.worker_backends import LocalBackend, SimulatedBackend, WorkerBackend
from shunter.app.worker_routes import WorkerRoutes
from shunter.engine.changes.formats import FORMAT
from shunter.engine.cluster_settings import on_set
from shunter.engine.engine import Engine
from shunter.engine.leader_elector import Deputies, LeaderElector
from shunter.engine.policy.active_policy import ActivePolicy
from shunter.engine.state.registries.cluster import TOKEN_RESET_SETTING
from shunter.gateway.gateway import LocalGateway
from shunter.gateway.known_leader import KnownLeader
from shunter.gateway.managers import Members
from shunter.gateway.monitor.rollup_recorder import RollupRecorder
from shunter.gateway.tokens import TokenFile, ensure_token
from shunter.log import Log
from shunter.model.errors import StoreUnreachable, Unavailable
from shunter.model.metrics.response_counter import ResponseCounter
from shunter.model.rest.manager_views import API, SCHEDULER, WATCHER
from shunter.model.timestamps import iso
from shunter.planning.planner import POLICY_DEFAULT
from shunter.planning.policies import Catalogue
from shunter.ports.clock import Clock
from shunter.ports.coordination import ManagerRecord
from shunter.ports.managers import ManagerClient

if TYPE_CHECKING:
    from shunter.app.kubernetes.objects import KubeObjects

START_MAX_S = 60.0  # of a manager that is alone
STORE_RETRY_S = 1.0

log = Log(__name__)


class Manager:
    """`start`, then `wait` until someone asks it to stop, then `stop`."""

    def __init__(self, home: Home, options: UpOptions, config: Config) -> None:
        self._home, self._config = home, config
        self._options = config.fill_options(options)
        self._roles = parse_roles(self._options.roles)
        check_combination(
            self._roles, is_alone=not self._is_member, listens_for_workers=bool(self._options.workers_listen)
        )
        read_oidc_settings(self._options)  # before anything is started
        self._tls = prepare_tls(home, self._options, self.name)
        self._tracer = build_tracer(self._options.otlp_endpoint, "shunter-manager", self.name)
        self._listeners = Listeners(self._options, self._find_scheduler_leader, self._tls, self._tracer)
        self._stop_request: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._background_tasks: list[asyncio.Task[None]] = []
        self._given_store = options.store
        self._chosen_store = choose_store(options.store, self._options.store)
        self._flight = FlightFiles(home.flight) if self._chosen_store != MEMORY else None

    async def start(self) -> None:
        """Returns when the API answers and the first node is ready; of several managers, when this one can be read."""
        options, home = self._options, self._home
        ensure_token(home.token)
        self._token = TokenFile(home.token, "admin", self._note_token_reset)
        self._token.refresh()
        self._store = build_store(self._chosen_store, home, accepts_loss=options.accept_loss)
        await self._open_store()
        self._coordination = build_coordination(options.coordination, self.name)
        await self._coordination.open()
        self._known_leader = KnownLeader(self._coordination)
        self._samples = SampleStore()
        self._loop_probe, self._responses = LoopProbe(), ResponseCounter()
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
            stopwatch=time.perf_counter,
            secret_keys=build_secret_keys(home, options.secrets_key_file, is_alone=not self._is_member),
            tracer=self._tracer,
        )
        if not self._is_member:
            await self._engine.start()
        self._background_policies = BackgroundPolicies(self._engine, self._clock)
        self._client = _build_client(self._token.refresh, self._tls) if self._is_member else None
        self._members = Members(
            self._coordination,
            self._known_leader,
            self._client,
            ManagerRecord(self.name, roles=self._roles),
            lambda: self._backend.connected,
        )
        self._external_users, self._external_work = build_external_users(options, self._clock)
        self._objects = _open_objects(options) if options.objects else None
        gateway = self._create_gateway(catalogue)
        self._refusals = RefusalReports(self._engine, gateway.replication, self._client)
        self._duties = LeaderDuties(
            self._engine,
            self._backend,
            catalogue,
            self._background_policies,
            self._flight,
            options.policy,
            self._config.watcher.heartbeat_s,
            gateway.apply_settings,
            RollupRecorder(self._engine, self._store, asyncio.to_thread, RollupFiles(home.rollups)),
            is_simulated=bool(options.simulate_nodes),
        )
        if self._is_member:
            await self._start_as_member(gateway)
        else:
            await self._start_alone(gateway)
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
                "ca": None if self._tls is None else str(self._tls.authorities.absolute()),
            }
        )
        log.info("manager.ready", url=self.url, version=__version__)

    async def _open_store(self) -> None:
        """One of several managers waits for the server of its store, which may start later or be replaced just now."""
        while True:
            try:
                return await self._store.open()
            except StoreUnreachable as error:
                if not self._is_member:
                    raise
                log.warning("manager.waiting", reason=error)
            await asyncio.wait((self._stop_request,), timeout=STORE_RETRY_S)
            if self._stop_request.done():
                raise Unavailable("the manager was stopped while it waited for its store")

    async def _start_alone(self, gateway: LocalGateway) -> None:
        self._duties.apply_stored_settings()
        self._run_in_background(self._engine.run, self._back_up_periodically)
        await self._listen(gateway)
        await self._coordination.register(self._members.own)
        await self._duties.watch()
        await self._backend.open()
        self._members.own = self._describe_self()
        if self._options.has_worker or self._options.simulate_nodes:
            await self._wait_for_first_node()

    async def _start_as_member(self, gateway: LocalGateway) -> None:
        """Follow first, also if nobody leads yet: the state is loaded while this manager waits to be elected."""
        elector = LeaderElector(
            self._engine,
            self._coordination,
            self._clock,
            random.SystemRandom(),
            self._duties.begin,
            self._duties.end,
            deputies=Deputies(self.name, self._coordination, self._clock, self._ask_lag),
            is_candidate=SCHEDULER in self._roles,
        )
        self._run_in_background(elector.run, self._back_up_periodically, self._known_leader.run)
        await self._listen(gateway)
        await self._backend.open()
        self._members.own = self._describe_self()
        await self._coordination.register(self._members.own)
        await self._wait_until_readable()

    async def _wait_until_readable(self) -> None:
        while not self._stop_request.done():
            try:
                await self._engine.wait_committed()
                return
            except Unavailable as error:
                log.warning("manager.waiting", reason=error)

    async def _ask_lag(self, other: ManagerRecord) -> float | None:
        assert self._client is not None
        return (await self._client.describe(other.url)).lag_s

    def _describe_self(self) -> ManagerRecord:
        """How other managers and workers reach this one."""
        listen = self._listeners.address
        advertised = Advertised(listen, self._options.advertise)
        return ManagerRecord(
            self.name,
            url=f"{self._listeners.scheme}://{advertised.address_of(listen)}",
            workers=advertised.address_of(self.workers_address),
            schedulers=advertised.address_of(self.schedulers_address),
            version=__version__,
            format=FORMAT,
            roles=self._roles,
        )

    def _note_token_reset(self) -> None:
        """An event, of several managers by the one that leads. It must not fail the request that found the token."""
        if not self._engine.is_following and not self._engine.commit_problem:
            settings = {TOKEN_RESET_SETTING: iso(self._clock.now()) or ""}
            self._engine.tell(partial(on_set, settings=settings))

    def _create_gateway(self, catalogue: Catalogue) -> LocalGateway:
        return LocalGateway(
            engine=self._engine,
            store=self._store,
            workers=self._backend.workers,
            clock=self._clock,
            tokens=self._token,
            identity={"name": self.name, "version": __version__},
            members=self._members,
            is_simulated=bool(self._options.simulate_nodes),
            on_down=self.request_stop,
            stop_workers=self._stop_workers,
            on_heartbeat=self._backend.set_heartbeat,
            run_in_thread=asyncio.to_thread,
            catalogue=catalogue,
            on_policy=self._background_policies.switch_to,
            flight_log=self._flight,
            archive=self._flight,
            metrics=self._samples,
            inspector=ProcessInspector(self._loop_probe),
            external_users=self._external_users,
            authority=None if self._tls is None else worker_authority(self._home, self._tls),
            bind_objects=None if self._objects is None else self._objects.bind,
            probes=(
                self._responses,
                ProcessProbe(),
                self._loop_probe,
                DiskProbe(self._home.folder, self._store_file),
                CertificateProbe(self._tls),
            ),
        )

    async def _listen(self, gateway: LocalGateway) -> None:
        self._limits = build_limits(self._options, self._count_apis)
        limiter = build_limiter(self._options, self._limits, gateway.request_quota)
        await self._listeners.start(gateway, self._client, limiter, self._responses, serves_clients=API in self._roles)
        self._refusals.counter = self._listeners.refusals
        self._members.own = self._describe_self()

    def _count_apis(self) -> int:
        """How many managers count requests of clients."""
        return sum(API in record.roles for record in self._coordination.managers())

    def _run_in_background(self, *work: Callable[[], Awaitable[None]]) -> None:
        """The engine's work comes first: it ends by itself."""
        self._background_tasks = [
            _start_background_task(each, self._on_task_failure)
            for each in (
                *work,
                self._collect_garbage,
                self._loop_probe.run,
                self._refusals.run,
                *self._external_work,
                *(() if self._tls is None else (self._tls.run,)),
                *(() if self._objects is None else (self._objects.run,)),
                *self._backend.background,
            )
        ]

    def _find_scheduler_leader(self) -> str | None:
        """Where external schedulers are served: None for here, empty if nobody leads."""
        if not self._engine.is_following:
            return None
        leader = self._known_leader.leader()
        return "" if leader is None else leader.schedulers

    @property
    def start_max_s(self) -> float | None:
        """None if it may wait for other servers and managers for as long as it takes."""
        return None if self._is_member else START_MAX_S

    @property
    def policy(self) -> str:
        return self._engine.policy.name

    @property
    def _is_member(self) -> bool:
        """Whether it is one of several managers."""
        return self._options.coordination is not None

    @property
    def name(self) -> str:
        return self._options.name or platform.node() or "shunter"

    @property
    def url(self) -> str:
        return f"{self._listeners.scheme}://{self._listeners.address}"

    @property
    def external_url(self) -> str:
        """The URL of the listener for external schedulers; empty if there is none."""
        return self._listeners.external_url

    @property
    def schedulers_address(self) -> str:
        """The address of the gRPC listener for external schedulers; empty if there is none."""
        return self._listeners.schedulers_address

    @property
    def workers_address(self) -> str:
        return self._backend.address or ""

    @property
    def _store_file(self) -> Path | None:
        return self._home.store if self._chosen_store == SQLITE else None

    def request_stop(self, leave_running: bool) -> None:
        if not self._stop_request.done():
            self._stop_request.set_result(leave_running)

    async def wait(self) -> bool:
        """Wait until asked to stop; returns whether to leave tasks running. Raises the engine's error, if any."""
        return await self._stop_request

    async def _stop_workers(self) -> list[str]:
        """The whole cluster is about to stop."""
        self._engine.pause_placement()
        return await self._backend.stop_others(self._engine)

    async def stop(self, leave_running: bool) -> None:
        """Tasks first (they are queued again, not failed), then the listeners, then the store. Workers on other
        machines keep their tasks and wait for the next manager."""
        self._engine.pause_placement()
        await self._backend.stop(self._engine, leave_running)
        self._home.remove_description()
        for task in self._background_tasks[1:]:
            task.cancel()
        self._duties.stop()
        await self._refusals.flush()
        await self._engine.stop()
        await self._listeners.stop()
        await asyncio.gather(*self._background_tasks, return_exceptions=True)
        await self._coordination.close()
        for opened in (self._client, self._limits):
            if opened is not None:
                await opened.close()
        await self._store.close()
        if self._flight is not None:
            self._flight.close()
        if self._tracer is not None:
            await asyncio.to_thread(self._tracer.close)
        log.info("manager.stopped", left_running=leave_running)

    def _create_backend(self) -> WorkerBackend:
        if self._options.simulate_nodes:
            return SimulatedBackend(self._options)
        backend = _kube_backend() if self._options.kubernetes else LocalBackend
        return backend(
            self._options,
            self._home,
            self._config,
            self._samples,
            WorkerRoutes(self.name, self._roles, self._coordination, self._known_leader),
            takes_workers=SCHEDULER in self._roles or WATCHER in self._roles,
            tls=self._tls,
            tracer=self._tracer,
        )

    async def _wait_for_first_node(self) -> None:
        """Wait until one has joined. It need not accept work: it may be cordoned or draining."""
        while not any(node.is_synced for node in self._engine.state.nodes.records.values()):
            await asyncio.sleep(0.002)

    async def _collect_garbage(self) -> None:
        while True:
            await asyncio.sleep(COLLECT_EVERY_S)
            collect_if_quick(len(self._engine.state.jobs))

    async def _back_up_periodically(self) -> None:
        if self._chosen_store != MEMORY:
            backups = ScheduledBackups(self._config.backup, self._home, self._given_store)
            await backups.run(self._engine.is_leading)

    def _on_task_failure(self, error: BaseException) -> None:
        if not self._stop_request.done():
            self._stop_request.set_exception(error)


def _open_objects(options: UpOptions) -> KubeObjects:
    """aiohttp is loaded only where objects are on Kubernetes."""
    from shunter.app.kubernetes.objects import KubeObjects

    return KubeObjects(options)


def _kube_backend() -> type[LocalBackend]:
    """aiohttp is loaded only where jobs are on Kubernetes."""
    from shunter.app.kubernetes.jobs import KubeBackend

    return KubeBackend


def _build_client(token: Callable[[], str], tls: TlsFiles | None) -> ManagerClient:
    """aiohttp is loaded only where there are several managers."""
    from shunter.adapters.http.manager_client import HttpManagerClient

    return HttpManagerClient(token, None if tls is None else tls.client_context)


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
