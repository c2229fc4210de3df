"""The gateway on the local engine, which every transport uses. Implements `ports.gateway`.

It holds what all requests share, and the sub-gateways of each caller, so that binding a request costs one lookup."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial

from shunter.engine.engine import Engine
from shunter.gateway.audit.audit_log import AuditLog
from shunter.gateway.authentication import Authentication
from shunter.gateway.browser_sessions import SignIn
from shunter.gateway.cluster import Cluster, ManagerInfo
from shunter.gateway.cluster_stop import ClusterStop, StopWorkers, no_workers
from shunter.gateway.explain.explain import Explain
from shunter.gateway.explain.plan import DryRuns, RunInThread, run_inline
from shunter.gateway.flight import Flight
from shunter.gateway.identity import Identity, JoinTokens
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
from shunter.gateway.monitor.analytics import AnalyticsReader
from shunter.gateway.monitor.decision_details import DecisionDetails
from shunter.gateway.monitor.decisions import Decisions
from shunter.gateway.monitor.monitor import Monitor, Records
from shunter.gateway.monitor.recording import Recording
from shunter.gateway.nodes import Nodes
from shunter.gateway.objects.objects import Objects
from shunter.gateway.objects.remote_objects import RemoteObjects
from shunter.gateway.policies import Policies
from shunter.gateway.scope import Scope
from shunter.gateway.secrets import Secrets
from shunter.gateway.sessions import SchedulerSessions, owner_of
from shunter.gateway.sign_in.external_users import ExternalUsers
from shunter.gateway.sign_in.oidc_sign_in import OidcSignIn
from shunter.gateway.streams.events import Events, build_hub
from shunter.gateway.streams.follow import Streams
from shunter.gateway.telemetry import Telemetry
from shunter.gateway.tenants import Tenants
from shunter.gateway.tokens import TokenFile, Tokens
from shunter.model.identity.quotas import REQUESTS
from shunter.model.identity.roles import check_permission
from shunter.model.identity.scopes import check_scope
from shunter.model.job.manifests import JobReader
from shunter.planning.filter.cel import parse_constraint, parse_job_match
from shunter.planning.policies import Catalogue
from shunter.planning.view import Policy
from shunter.ports.clock import Clock
from shunter.ports.flight import FlightLog
from shunter.ports.gateway import CallerGateway
from shunter.ports.metrics import MetricProvider
from shunter.ports.objects import BindObjects
from shunter.ports.principals import Principal
from shunter.ports.schedulers import FlightArchive
from shunter.ports.security.certificate_authority import CertificateAuthority, NoCertificateAuthority
from shunter.ports.store import Store
from shunter.ports.telemetry import Inspector, Probe
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
        probes: Iterable[Probe] = (),
        inspector: Inspector | None = None,
        external_users: ExternalUsers | None = None,
        authority: CertificateAuthority | None = None,
        bind_objects: BindObjects | None = None,  # where objects are not in the state; None: they are
    ) -> None:
        self._engine, self._store, self._workers, self._clock = engine, store, workers, clock
        self._bind_objects = bind_objects
        external_users = external_users or ExternalUsers()
        self._authentication = Authentication(tokens, engine, clock, external_users)
        self._oidc = OidcSignIn(external_users.issuer, clock, self._authentication.sessions.derive)
        self._manifests = JobReader(parse_constraint, parse_job_match)
        self._task_reader = TaskReader(engine, store)
        self._dry_runs = DryRuns(engine, clock, run_in_thread)
        self._event_hub, self._metric_provider = build_hub(engine), metrics
        self._flight = Flight(engine, flight_log, archive, run_in_thread)
        catalogue = catalogue or Catalogue()
        recording = Recording(archive, run_in_thread)
        self._records = Records(
            recording,
            Decisions(engine, recording),
            DecisionDetails(archive, catalogue, run_in_thread),
            AnalyticsReader(engine, store, self._task_reader, run_in_thread),
        )
        self._policies = Policies(engine, catalogue, on_policy)
        self._managers = Managers(engine, members)
        self._bind_telemetry = partial(
            Telemetry, engine=engine, members=members, version=identity["version"], probes=probes, inspector=inspector
        )
        self._bind_join_tokens = partial(
            JoinTokens, engine=engine, clock=clock, members=members, authority=authority or NoCertificateAuthority()
        )
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
        self._bound: Callable[[Principal], CallerGateway] = lru_cache(CALLERS_MAX)(self._bind)

    @property
    def replication(self) -> Managers:
        return self._managers

    def apply_settings(self) -> None:
        """Apply the stored settings for external schedulers. Called again when this manager takes the lead."""
        self._policies.apply_settings()

    def authenticate(self, token: str) -> Principal | None:
        return self._authentication.authenticate(token)

    def sign_source(self, address: str) -> str:
        return self._authentication.sign_source(address)

    async def prepare(self, token: str) -> None:
        await self._authentication.prepare(token)

    def explain_refusal(self, token: str) -> str:
        return self._authentication.explain_refusal(token)

    def request_quota(self, caller: Principal) -> int | None:
        tenant = self._engine.state.tenants.tenants.get(caller.tenant) if caller.tenant else None
        return None if tenant is None else tenant.quotas.get(REQUESTS)

    def renew_session(self, text: str) -> str | None:
        return self._authentication.sessions.renew(text)

    def for_caller(self, caller: Principal, operation: str) -> CallerGateway:
        check_permission(caller.roles, operation)
        check_scope(caller.is_cluster_wide, operation)
        return self._bound(caller)

    def _objects_for(self, caller: Principal, scope: Scope) -> Objects | RemoteObjects:
        if self._bind_objects is None:
            return Objects(caller, self._engine, self._store, scope)
        return RemoteObjects(self._bind_objects(caller.user), scope)

    def _bind(self, caller: Principal) -> CallerGateway:
        """Sub-gateways that act in the caller's name get the caller, those that answer by what it sees get its scope;
        the others are shared, and need a cluster-wide caller."""
        engine, store, manifests, scope = self._engine, self._store, self._manifests, Scope(caller, self._engine)
        runs, objects = Runs(engine, store, scope), self._objects_for(caller, scope)
        tasks, events = Tasks(engine, runs, self._task_reader), Events(engine, store, scope, self._event_hub)
        return CallerGateway(
            caller=caller,
            jobs=Jobs(caller, engine, store, runs, manifests, objects, scope),
            services=Services(caller, engine, runs, manifests, scope),
            tasks=tasks,
            streams=Streams(engine, self._workers, runs, self._task_reader, events),
            explain=Explain(caller, engine, self._clock, runs, self._task_reader, manifests, self._dry_runs, scope),
            templates=Templates(caller, engine, runs, scope),
            queues=Queues(caller, engine, scope),
            dead_letters=DeadLetters(caller, engine, store, scope),
            nodes=Nodes(caller, engine, self._workers, self._clock, scope),
            policies=self._policies,
            events=events,
            cluster=self._cluster,
            objects=objects,
            metrics=Metrics(engine, runs, tasks, self._metric_provider, self._clock, scope),
            schedulers=SchedulerSessions(engine, owner_of(caller)),
            flight=self._flight,
            managers=self._managers,
            monitor=Monitor(caller, engine, store, runs, self._task_reader, manifests, self._records, scope),
            sign_in=SignIn(caller, self._authentication.sessions, self._oidc, self._authentication.admit),
            telemetry=self._bind_telemetry(caller),
            secrets=Secrets(caller, engine, scope),
            identity=Identity(caller, engine, self._clock, scope, self._cluster.reached),
            tenants=Tenants(caller, engine, store),
            audit=AuditLog(caller, engine, store),
            join_tokens=self._bind_join_tokens(caller),
        )
