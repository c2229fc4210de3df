"""Where tasks run: on this machine's worker and on workers that join, or on simulated nodes. Used by `app.manager`."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from shunter.adapters.system.clock import SystemClock
from shunter.app.config import Config
from shunter.app.home import Home, sign_in_folders
from shunter.app.listeners.addresses import secure_address
from shunter.app.options import (
    LISTEN_DEFAULT,
    SIMULATED_NODES_MAX,
    UpOptions,
    format_address,
    is_loopback,
    parse_address,
)
from shunter.app.storage.secret_keys import secrets_key_file
from shunter.app.storage.stores import store_secrets
from shunter.app.tls.setup import worker_authority
from shunter.app.tls.tls_files import TlsFiles
from shunter.engine.engine import Engine
from shunter.gateway.tokens import ensure_token
from shunter.log import Log
from shunter.model.errors import Conflict, Invalid, Problem, Unavailable
from shunter.model.lifecycles import NodeEvent, NodeState
from shunter.model.protocol.worker_messages import SIMULATED_BOOT, Shutdown
from shunter.ports.clock import Clock
from shunter.ports.metrics import MetricSink
from shunter.ports.tracing.tracer import Tracer
from shunter.ports.workers import LeaderRoutes, Workers
from shunter.worker.settings import WorkerSettings

STOP_MAX_S = 30.0
ANY_HOST = ("0.0.0.0", "::")
log = Log(__name__)


class WorkerBackend(Protocol):
    clock: Clock
    workers: Workers
    address: str | None  # where remote workers join
    own_node: str | None  # the node of the worker in this process
    background: Sequence[Callable[[], Awaitable[None]]]  # work of its own, until it is cancelled

    @property
    def connected(self) -> int:
        """How many workers are connected to this process."""
        ...

    async def lead(self, engine: Engine) -> None:
        """This manager leads from now on: watch the nodes. Called again whenever it takes the lead."""
        ...

    async def step_down(self, reason: str) -> None: ...

    async def open(self) -> None:
        """Listen for workers, and start the worker of this process."""
        ...

    def set_heartbeat(self, seconds: float | None) -> None:
        """Set the heartbeat interval; None: adapt it to the number of nodes. Raises Rejected."""
        ...

    async def stop_others(self, engine: Engine) -> list[str]:
        """Stop all workers of other processes, with their tasks; returns those that could not be stopped."""
        ...

    async def stop(self, engine: Engine, leave_running: bool) -> None:
        """Stop the worker of this process, with its tasks unless they are left running."""
        ...


class LocalBackend:
    """The watcher, the worker of this process unless disabled, and a listener for remote workers if requested. Without
    `takes_workers` nobody can connect, not even another manager."""

    def __init__(
        self,
        options: UpOptions,
        home: Home,
        config: Config,
        metrics: MetricSink,
        routes: LeaderRoutes,
        *,
        takes_workers: bool = True,
        tls: TlsFiles | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        from shunter.watcher.watcher import Watcher

        self.clock: Clock = SystemClock()
        self._watcher = Watcher(self.clock, config.watcher, routes.address)
        self.workers: Workers = self._watcher
        self.address: str | None = None
        self.own_node: str | None = None
        self.background: Sequence[Callable[[], Awaitable[None]]] = ()
        self._options, self._metrics, self._routes = options, metrics, routes
        self._takes_workers, self._tls, self._home, self._tracer = takes_workers, tls, home, tracer
        settings = replace(config.worker_settings(home.worker, options.machine), task_user="")  # tasks are the caller's
        settings = replace(
            settings,
            cluster_homes=(home.folder,),
            secret_files=_secret_files(options),
            secret_folders=sign_in_folders(),
            task_umask=options.task_umask,
        )
        self._worker_settings = _with_address(settings, options)
        self._token = ensure_token(home.worker_token)
        self._removals: list[asyncio.Task[None]] = []

    @property
    def connected(self) -> int:
        in_process = 1 if self.own_node is not None else 0
        return in_process + (0 if self.address is None else self._server.connected)

    async def lead(self, engine: Engine) -> None:
        from shunter.watcher.sample_recorder import SampleRecorder

        known = engine.state.nodes.records
        stale_nodes = [node for node, record in known.items() if record.boot == SIMULATED_BOOT]
        for node in stale_nodes:
            self._removals.append(asyncio.create_task(_remove_simulated_node(engine, node)))
        expected = [node for node in known if node not in stale_nodes]
        await self._watcher.start(engine, expected, SampleRecorder(engine, self._metrics), engine.term)

    async def step_down(self, reason: str) -> None:
        await self._watcher.step_down(reason)

    async def open(self) -> None:
        listen = self._options.workers_listen or (None if self._options.has_worker else LISTEN_DEFAULT)
        if listen is not None and self._takes_workers:
            await self._start_worker_server(listen)
        if self._options.has_worker:
            await self._start_worker()

    def set_heartbeat(self, seconds: float | None) -> None:
        self._watcher.set_heartbeat(seconds)

    async def stop_others(self, engine: Engine) -> list[str]:
        """A worker that has stopped its tasks says goodbye."""
        others = [
            node
            for node, record in engine.state.nodes.records.items()
            if record.name != self.own_node and record.state is not NodeState.DOWN
        ]
        watcher = self._watcher
        connected = [node for node in others if watcher.is_connected(node)]
        for node in connected:
            watcher.send(node, Shutdown(stop_tasks=True))
        await _wait_until(engine, lambda: all(watcher.is_gone(node) for node in connected))
        problems = {node: "it is not connected" for node in others if node not in connected}
        problems |= {node: "it did not say that it has stopped" for node in connected if not watcher.has_left(node)}
        return [f"worker {engine.node_name(node)}: {problem}" for node, problem in problems.items()]

    async def stop(self, engine: Engine, leave_running: bool) -> None:
        own = engine.state.nodes.by_name.get(self.own_node or "")
        if not leave_running and own is not None:
            self._watcher.send(own.id, Shutdown(stop_tasks=True))
            await _wait_until(engine, lambda: not engine.state.nodes.tasks[own.id])
        if self._options.has_worker:
            await self._worker.stop(end_keepers=not leave_running)
            self._connection.close("the manager is stopping")
        if self.address is not None:
            await self._server.stop()
        await self._watcher.stop("the manager is stopping")

    async def _start_worker(self) -> None:
        from shunter.watcher.in_process import connect_in_process
        from shunter.worker.worker import Worker

        self._worker = Worker(self._worker_settings, self.clock, self._tracer)
        await self._worker.start()
        self.own_node = self._worker.name
        self._connection = connect_in_process(self._watcher, self._worker)

    async def _start_worker_server(self, listen: str) -> None:
        from shunter.adapters.grpc.worker_server import WorkerServer

        host, port = secure_address(listen, "--workers-listen", self._options)
        server_tls = client_tls = authority = None
        if self._tls is not None:
            authority = worker_authority(self._home, self._tls)
            server_tls = self._tls.for_clients if self._options.tls_worker_token else self._tls.for_workers
            client_tls = self._tls.as_manager
        self._server = WorkerServer(
            self._watcher, self._token, host, port, self._routes,
            tls=server_tls, relay_tls=client_tls, authority=authority,
        )  # fmt: skip
        bound = await self._server.start()
        self.address = format_address(host, bound)


def _secret_files(options: UpOptions) -> tuple[Path, ...]:
    """Files outside of SHUNTER_HOME that tasks must not read."""
    tls_key = None if options.tls_key is None else Path(options.tls_key).absolute()
    keys = (secrets_key_file(options.secrets_key_file), tls_key)
    return (*store_secrets(), *(file for file in keys if file is not None))


def _with_address(settings: WorkerSettings, options: UpOptions) -> WorkerSettings:
    """If workers of other machines may join, they reach this machine's tasks by the same address."""
    host = parse_address(options.workers_listen, "--workers-listen")[0] if options.workers_listen else ""
    is_own = bool(host) and not is_loopback(host) and host not in ANY_HOST
    return replace(settings, address=host) if is_own and not settings.address else settings


class SimulatedBackend:
    """Nodes that exist only in this process, in time that runs `speed` times as fast."""

    address: str | None = None
    own_node: str | None = None
    background: Sequence[Callable[[], Awaitable[None]]] = ()

    def __init__(self, options: UpOptions) -> None:
        from shunter.simulation.fleet.direct import SimulatedWorkers
        from shunter.simulation.runtime.clock import ScaledClock

        if not 1 <= options.simulate_nodes <= SIMULATED_NODES_MAX:
            fix = f"use a number from 1 to {SIMULATED_NODES_MAX}"
            raise Invalid([Problem("--simulate-nodes", "is out of range", options.simulate_nodes, fix)])
        self.clock: Clock = ScaledClock(options.speed)
        self._fleet = SimulatedWorkers(self.clock, random.Random(0))
        self.workers: Workers = self._fleet
        self._count = options.simulate_nodes

    @property
    def connected(self) -> int:
        return self._count

    async def lead(self, engine: Engine) -> None:
        from shunter.simulation.fleet.fleet import simulated_hellos

        await self._fleet.start(engine, simulated_hellos(self._count))

    async def step_down(self, reason: str) -> None:
        """A cluster of simulated nodes has one manager, which always leads."""

    async def open(self) -> None:
        """Nobody connects."""

    def set_heartbeat(self, seconds: float | None) -> None:
        raise Conflict("the nodes of this cluster are simulated; their heartbeat cannot be changed")

    async def stop_others(self, engine: Engine) -> list[str]:
        return []

    async def stop(self, engine: Engine, leave_running: bool) -> None:
        await self._fleet.stop()


async def _remove_simulated_node(engine: Engine, node: int) -> None:
    try:
        await engine.node_event(node, NodeEvent.LEFT, "an earlier start of the cluster simulated it")
    except Unavailable as error:
        log.warning("node.removal_failed", node=node, error=error)


async def _wait_until(engine: Engine, has_stopped: Callable[[], bool]) -> None:
    """Wait until workers have stopped; bounded, because a node may be gone."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + STOP_MAX_S
    while loop.time() < deadline:
        try:
            await engine.wait_committed()
            problem = engine.commit_problem
        except Unavailable as error:
            problem = error.detail
        if problem:  # nothing can be committed, so no end of a task will become known
            log.warning("stop.wait_aborted", error=problem)
            return
        if has_stopped():
            return
        await asyncio.sleep(0.02)
    log.warning("stop.incomplete", tasks=engine.state.task_counts)
