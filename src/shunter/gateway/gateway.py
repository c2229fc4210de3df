"""The gateway on the local engine: every transport goes through it. Implements `ports.gateway`.

`LocalGateway` has what all requests share; `CallerGateway` binds it to the caller of one request. A sub-gateway that
needs the caller is created when a request uses it, which costs one small object. The others are shared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from shunter.engine.engine import Engine
from shunter.engine.jobs.apply_file import MixedFile
from shunter.gateway.cluster import Cluster, ManagerInfo
from shunter.gateway.explain.explain import Explain
from shunter.gateway.explain.plan import DryRuns, RunInThread, run_inline
from shunter.gateway.flight import Flight
from shunter.gateway.jobs.dead_letters import DeadLetters
from shunter.gateway.jobs.jobs import Jobs
from shunter.gateway.jobs.queues import Queues
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.services import Services
from shunter.gateway.jobs.task_reader import TaskReader
from shunter.gateway.jobs.tasks import Tasks
from shunter.gateway.jobs.templates import Templates
from shunter.gateway.metrics import Metrics
from shunter.gateway.nodes import Nodes
from shunter.gateway.objects import Objects
from shunter.gateway.policies import Policies
from shunter.gateway.sessions import SchedulerSessions
from shunter.gateway.streams.events import Events
from shunter.gateway.streams.follow import Streams
from shunter.gateway.tokens import Tokens
from shunter.model.files.mixed_files import join, read_parts, split
from shunter.model.job.manifests import JobReader
from shunter.model.objects.object_manifests import read_objects
from shunter.model.rest.views import SubmittedJob
from shunter.planning.filter.cel import parse_constraint, parse_job_match
from shunter.planning.policies import Catalogue
from shunter.planning.view import Policy
from shunter.ports.callers import Caller
from shunter.ports.clock import Clock
from shunter.ports.flight import FlightLog
from shunter.ports.metrics import MetricProvider
from shunter.ports.objects import Applied
from shunter.ports.schedulers import FlightArchive
from shunter.ports.store import Store
from shunter.ports.workers import Workers


class LocalGateway:
    def __init__(
        self,
        *,
        engine: Engine,
        store: Store,
        workers: Workers,
        clock: Clock,
        tokens: Tokens,
        identity: Mapping[str, str],  # name and version of this cluster
        is_simulated: bool,
        on_down: Callable[[bool], None],
        on_heartbeat: Callable[[float | None], None],
        run_in_thread: RunInThread = run_inline,
        catalogue: Catalogue | None = None,
        on_policy: Callable[[Policy], None] = lambda _: None,
        flight_log: FlightLog | None = None,
        archive: FlightArchive | None = None,
        metrics: MetricProvider | None = None,
    ) -> None:
        self.engine, self.store, self.workers, self.clock, self._tokens = engine, store, workers, clock, tokens
        self.manifests = JobReader(parse_constraint, parse_job_match)
        self.runs, self.task_reader = Runs(engine, store), TaskReader(engine, store)
        self.dry_runs = DryRuns(engine, clock, run_in_thread)
        self.tasks = Tasks(engine, self.runs, self.task_reader)
        self.streams = Streams(engine, workers, self.runs, self.task_reader)
        self.events = Events(engine, store)
        self.metrics = Metrics(engine, self.runs, self.tasks, metrics, clock)
        self.schedulers = SchedulerSessions(engine)
        self.flight = Flight(engine, flight_log, archive, run_in_thread)
        self.policies = Policies(engine, catalogue or Catalogue(), on_policy)
        self.policies.apply_settings()
        manager_info = ManagerInfo(identity["name"], identity["version"], clock.now(), is_simulated)
        self.cluster = Cluster(
            engine, workers, manager_info, self.policies, self.flight, on_heartbeat=on_heartbeat, on_stop=on_down
        )

    def authenticate(self, token: str) -> Caller | None:
        return self._tokens.authenticate(token)

    def for_caller(self, caller: Caller) -> CallerGateway:
        return CallerGateway(self, caller)


class CallerGateway:
    __slots__ = ("_caller", "_shared")

    def __init__(self, shared: LocalGateway, caller: Caller) -> None:
        self._shared, self._caller = shared, caller

    # ---- on behalf of the caller ----

    @property
    def jobs(self) -> Jobs:
        shared = self._shared
        return Jobs(self._caller, shared.engine, shared.store, shared.runs, shared.manifests)

    @property
    def services(self) -> Services:
        return Services(self._caller, self._shared.engine, self._shared.runs, self._shared.manifests)

    @property
    def templates(self) -> Templates:
        return Templates(self._caller, self._shared.engine, self._shared.runs)

    @property
    def queues(self) -> Queues:
        return Queues(self._caller, self._shared.engine)

    @property
    def dead_letters(self) -> DeadLetters:
        return DeadLetters(self._caller, self._shared.engine, self._shared.store)

    @property
    def nodes(self) -> Nodes:
        return Nodes(self._caller, self._shared.engine, self._shared.workers, self._shared.clock)

    @property
    def objects(self) -> Objects:
        return Objects(self._caller, self._shared.engine, self._shared.store)

    @property
    def explain(self) -> Explain:
        shared = self._shared
        return Explain(
            self._caller,
            shared.engine,
            shared.clock,
            shared.runs,
            shared.task_reader,
            shared.manifests,
            shared.dry_runs,
        )

    async def apply(
        self, documents: Sequence[object], *, namespace: str, key: str | None
    ) -> list[SubmittedJob | Applied]:
        jobs, objects = split(documents)
        if not jobs.documents:
            return [*await self.objects.apply(documents, namespace=namespace)]
        if not objects.documents:
            return [*await self.jobs.submit(documents, namespace=namespace, key=key)]
        read_jobs = partial(self._shared.manifests.read_all, default_namespace=namespace, make_name=str)
        read = read_parts(jobs, read_jobs, objects, partial(read_objects, default_namespace=namespace))
        file = MixedFile(*read, jobs, objects)
        submitted, taken = await self._shared.engine.apply_file(file, self._caller.user, key)
        applied = [await self.objects.applied(each) for each in taken]
        return join(jobs, await self.jobs.submitted(submitted), objects, applied)

    # ---- the same for every caller ----

    @property
    def tasks(self) -> Tasks:
        return self._shared.tasks

    @property
    def streams(self) -> Streams:
        return self._shared.streams

    @property
    def events(self) -> Events:
        return self._shared.events

    @property
    def metrics(self) -> Metrics:
        return self._shared.metrics

    @property
    def policies(self) -> Policies:
        return self._shared.policies

    @property
    def cluster(self) -> Cluster:
        return self._shared.cluster

    @property
    def schedulers(self) -> SchedulerSessions:
        return self._shared.schedulers

    @property
    def flight(self) -> Flight:
        return self._shared.flight
