"""The gateway on the local engine, which every transport uses. Implements `ports.gateway`.

It holds what all requests share, and the sub-gateways of each caller, so that binding a request costs one lookup."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from shunter.engine.engine import Engine
from shunter.gateway.authentication import Authentication
from shunter.gateway.cluster import Cluster, ManagerInfo
from shunter.gateway.cluster_stop import ClusterStop, StopWorkers, no_workers
from shunter.gateway.explain.explain import Explain
from shunter.gateway.explain.plan import DryRuns, RunInThread, run_inline
from shunter.gateway.flight import Flight
from shunter.gateway.identity import Identity
from shunter.gateway.jobs.dead_letters import DeadLetters
from shunter.gateway.jobs.jobs import Jobs
from shunter.gateway.jobs.queues import Queues
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.services import Services
from shunter.gateway.jobs.task_reader import TaskReader
from shunter.gateway.jobs.tasks import Tasks
from shunter.gateway.jobs.templates import Templates
from shunter.gateway.managers import Managers, Members
from shunter.gateway.metrics import Metrics
from shunter.gateway.nodes import Nodes
from shunter.gateway.objects import Objects
from shunter.gateway.policies import Policies
from shunter.gateway.sessions import SchedulerSessions
from shunter.gateway.streams.events import Events
from shunter.gateway.streams.follow import Streams
from shunter.gateway.tokens import TokenFile, Tokens
from shunter.model.identity.roles import check_permission
from shunter.model.job.manifests import JobReader
from shunter.planning.filter.cel import parse_constraint, parse_job_match
from shunter.planning.policies import Catalogue
from shunter.planning.view import Policy
from shunter.ports.callers import Caller
from shunter.ports.clock import Clock
from shunter.ports.flight import FlightLog
from shunter.ports.gateway import CallerGateway
from shunter.ports.metrics import MetricProvider
from shunter.ports.schedulers import FlightArchive
from shunter.ports.store import Store
from shunter.ports.workers import Workers

CALLERS_MAX = 1_000  # whose sub-gateways are remembered


class LocalGateway:
    def __init__(
        self,
        *,
        engine: Engine,
        store: Store,
        workers: Workers,
        clock: Clock,
        tokens: Tokens | TokenFile,
        identity: Mapping[str, str],  # name and version of this cluster
        members: Members,
        is_simulated: bool,
        on_down: Callable[[bool], None],
        on_heartbeat: Callable[[float | None], None],
        run_in_thread: RunInThread = run_inline,
        catalogue: Catalogue | None = None,
        on_policy: Callable[[Policy], None] = lambda _: None,
        flight_log: FlightLog | None = None,
        archive: FlightArchive | None = None,
        metrics: MetricProvider | None = None,
        stop_workers: StopWorkers = no_workers,
    ) -> None:
        self._engine, self._store, self._workers, self._clock = engine, store, workers, clock
        self._authentication = Authentication(tokens, engine, clock)
        self._manifests = JobReader(parse_constraint, parse_job_match)
        self._runs, self._task_reader = Runs(engine, store), TaskReader(engine, store)
        self._dry_runs = DryRuns(engine, clock, run_in_thread)
        self._tasks = Tasks(engine, self._runs, self._task_reader)
        self._streams = Streams(engine, workers, self._runs, self._task_reader)
        self._events = Events(engine, store)
        self._metrics = Metrics(engine, self._runs, self._tasks, metrics, clock)
        self._schedulers = SchedulerSessions(engine)
        self._flight = Flight(engine, flight_log, archive, run_in_thread)
        self._policies = Policies(engine, catalogue or Catalogue(), on_policy)
        self._managers = Managers(engine, members)
        self.apply_settings()
        manager_info = ManagerInfo(identity["name"], identity["version"], clock.now(), is_simulated)
        self._cluster = Cluster(
            engine,
            workers,
            manager_info,
            self._policies,
            self._flight,
            on_heartbeat=on_heartbeat,
            on_stop=on_down,
            cluster_stop=ClusterStop(self._managers, members, stop_workers, on_down),
        )
        self._bound: Callable[[Caller], CallerGateway] = lru_cache(CALLERS_MAX)(self._bind)

    @property
    def replication(self) -> Managers:
        return self._managers

    def apply_settings(self) -> None:
        """Apply the stored settings for external schedulers. Called again when this manager takes the lead."""
        self._policies.apply_settings()

    def authenticate(self, token: str) -> Caller | None:
        return self._authentication.authenticate(token)

    def for_caller(self, caller: Caller, operation: str) -> CallerGateway:
        check_permission(caller.roles, operation)
        return self._bound(caller)

    def _bind(self, caller: Caller) -> CallerGateway:
        """Sub-gateways that act in the caller's name get the caller; the others are shared."""
        engine, store, runs, manifests = self._engine, self._store, self._runs, self._manifests
        objects = Objects(caller, engine, store)
        return CallerGateway(
            caller=caller,
            jobs=Jobs(caller, engine, store, runs, manifests, objects),
            services=Services(caller, engine, runs, manifests),
            tasks=self._tasks,
            streams=self._streams,
            explain=Explain(caller, engine, self._clock, runs, self._task_reader, manifests, self._dry_runs),
            templates=Templates(caller, engine, runs),
            queues=Queues(caller, engine),
            dead_letters=DeadLetters(caller, engine, store),
            nodes=Nodes(caller, engine, self._workers, self._clock),
            policies=self._policies,
            events=self._events,
            cluster=self._cluster,
            objects=objects,
            metrics=self._metrics,
            schedulers=self._schedulers,
            flight=self._flight,
            managers=self._managers,
            identity=Identity(caller, engine, self._clock),
        )
