"""The watcher: the only part that talks to workers. Transports bring connections (`WorkerAcceptor`), the engine sends
(`Workers`).

It owns the connections, the heartbeat interval, the latest sample of each machine, and the verdict on which nodes are
silent, down or back. It stores nothing on disk: after a restart, workers reconnect and send their inventories.

The watcher of a manager that does not lead has no engine: it refuses workers and names the leader."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import msgspec

from shunter.log import Log
from shunter.model.errors import Rejected, ShunterError, Unavailable
from shunter.model.lifecycles import NodeEvent
from shunter.model.protocol.refusals import RefusalCode, refusal_for, refuse
from shunter.model.protocol.report_slices import SLICE_MAX, count_entries, slice_report, split_inventory
from shunter.model.protocol.worker_messages import (
    Ack,
    Goodbye,
    Heartbeat,
    Hello,
    Inventory,
    LogData,
    MachineStats,
    ManagerMessage,
    Ping,
    Pong,
    ReadLog,
    ReadStats,
    Refused,
    Report,
    SetHeartbeat,
    StatsData,
    Welcome,
)
from shunter.ports.clock import Clock
from shunter.ports.workers import STALE_HEARTBEATS, AttemptKey, WorkerLink
from shunter.watcher.admission import hello_problem
from shunter.watcher.engine_port import WatcherEngine
from shunter.watcher.events import NodeEventQueue
from shunter.watcher.handshakes import Handshakes
from shunter.watcher.heartbeat_timing import HeartbeatInterval
from shunter.watcher.liveness import INACTIVE, Liveness
from shunter.watcher.roster import Roster, WatchedNode
from shunter.watcher.sample_recorder import SampleRecorder
from shunter.watcher.session import WorkerSession
from shunter.watcher.settings import WatcherSettings
from shunter.watcher.ticker import Ticker
from shunter.watcher.worker_queries import WorkerQueries

log = Log(__name__)


@dataclass(frozen=True, slots=True)
class Sample:
    """The latest statistics of one machine. `heard_at` is the manager's clock; `stale` means that more should have
    come since."""

    stats: MachineStats
    heard_at: float
    stale: bool


class Watcher:
    """`leader` returns the address at which the manager that leads takes workers; empty if it is not known."""

    def __init__(
        self, clock: Clock, settings: WatcherSettings | None = None, leader: Callable[[], str] = lambda: ""
    ) -> None:
        self._clock = clock
        self._settings = settings or WatcherSettings()
        self._leader = leader
        self._engine: WatcherEngine | None = None
        self._recorder: SampleRecorder | None = None
        self._refusal_code, self._refusal_reason = RefusalCode.NOT_LEADER, "the engine is not ready yet"
        self._roster = Roster()
        self._handshakes = Handshakes(self._settings.handshake_timeout_s)
        self._queries = WorkerQueries(clock, self._settings.request_timeout_s, self._settings.requests_max)
        self._numbers = itertools.count(1)  # of inventories and reports, as the engine sees them
        self._background_tasks: list[asyncio.Task[None]] = []
        self._term = 0
        self._lead_changed = asyncio.Event()
        self._forget_nodes()

    def _forget_nodes(self) -> None:
        self._roster.forget_nodes()
        self._interval = HeartbeatInterval(self._settings)
        self._events = NodeEventQueue(self._clock)
        self._liveness = Liveness(self._clock, self._interval, self._events.publish, self._disconnect)

    # ---- its life ----

    async def start(
        self,
        engine: WatcherEngine,
        expected: Iterable[int] = (),
        recorder: SampleRecorder | None = None,
        term: int = 0,
    ) -> None:
        """Lead: accept workers. `expected` are the nodes that the engine considers alive; those that do not return
        become silent and then down, like any other. A recorder gets the samples of heartbeats. May be called again
        after `step_down`. `term` is that of the election which the manager has won."""
        self._engine, self._recorder, self._term = engine, recorder, term
        known = list(expected)
        self._interval.adapt(len(known))
        for node in known:
            watched = WatchedNode(node, self._clock.now(), self._interval.heartbeat_s)
            self._roster.add_node(watched)
            self._liveness.expect(watched, self._settings.return_s)
        ticker = Ticker(self._clock, (self._liveness, self._handshakes))
        self._background_tasks = [asyncio.create_task(task) for task in (ticker.run(), self._events.run(engine))]
        self._announce_lead()

    def suspend(self, reason: str) -> None:
        """The engine cannot commit, and so accepts no worker: a node that cannot reconnect is not down for that.
        Workers that are connected stay so, and their logs can be read."""
        log.warning("watcher.suspended", reason=reason)
        self._liveness.is_suspended = True

    def reset(self, reason: str) -> None:
        """The engine dropped its memory and leads under a new epoch: every worker must bring its inventory again."""
        self._disconnect_all(RefusalCode.RESET, reason)
        self._liveness.is_suspended = False
        for watched in self._roster.nodes():
            self._events.withdraw(watched.node)
            self._liveness.expect(watched, self._settings.return_s)

    async def step_down(self, reason: str) -> None:
        """Do not lead any more: stop judging nodes, close every connection and forget every node. Workers are sent to
        the leader, if it is known."""
        await self._end_leading(RefusalCode.NOT_LEADER, reason)

    async def stop(self, reason: str) -> None:
        """Stop judging nodes and close every connection; workers continue to reconnect."""
        await self._end_leading(RefusalCode.SHUTTING_DOWN, reason)

    async def _end_leading(self, code: RefusalCode, reason: str) -> None:
        self._engine, self._recorder = None, None
        self._refusal_code, self._refusal_reason = code, reason
        tasks, self._background_tasks = self._background_tasks, []
        for task in tasks:
            task.cancel()
        self._announce_lead()
        self._disconnect_all(code, reason)
        await asyncio.gather(*tasks, return_exceptions=True)
        self._forget_nodes()  # last, because a verdict that the engine refused is queued again

    def _announce_lead(self) -> None:
        changed, self._lead_changed = self._lead_changed, asyncio.Event()
        changed.set()

    def _disconnect_all(self, code: RefusalCode, reason: str) -> None:
        for watched in self._roster.nodes():
            self._roster.detach_session(watched)  # so that the end of its connection is no verdict on the node
        leader = self._leader() if code is RefusalCode.NOT_LEADER else ""
        for session in self._roster.sessions():
            session.end(refuse(code, reason, leader))

    # ---- for transports ----

    def connect(self, link: WorkerLink) -> WorkerSession:
        session = WorkerSession(link, self, self._clock.now())
        self._roster.add(session)
        if self._engine is None:  # no ticker checks its deadline
            asyncio.get_running_loop().call_soon(self._refuse_if_following, session)
        else:
            self._handshakes.watch(session)
        return session

    def _refuse_if_following(self, session: WorkerSession) -> None:
        if self._engine is None:
            session.end(self._refusal())
        else:
            self._handshakes.watch(session)

    @property
    def leading_term(self) -> int | None:
        return None if self._engine is None else self._term

    async def wait_lead_changed(self) -> None:
        await self._lead_changed.wait()

    # ---- for the engine ----

    def send(self, node: int, message: ManagerMessage) -> None:
        session = self._session(node)
        if session is None:
            log.debug("message.dropped", node=node, kind=type(message).__name__)
        elif isinstance(message, Ack):
            seq = session.acknowledgements.worker_seq_of(message.seq)
            if seq is not None:
                session.link.send(Ack(seq))
        else:
            session.link.send(message)

    def reject(self, node: int, error: ShunterError) -> None:
        session = self._session(node)
        if session is not None:
            session.end(refusal_for(error))

    async def read_log(
        self,
        node: int,
        segment: int,
        record: int,
        stream: str,
        offset: int,
        size_max: int,
        unstarted_attempt: AttemptKey | None = None,
    ) -> LogData:
        def build_request(request: int) -> ReadLog:
            return ReadLog(request, segment, record, stream, offset, size_max, *(unstarted_attempt or ()))

        session = self._session_or_raise(node)
        answer = await self._queries.query(session, build_request, LogData)
        if len(answer.data) > size_max:
            session.end(
                refusal_for(Rejected(f"LogData.data: {len(answer.data):,} bytes, and {size_max:,} were asked for"))
            )
            raise Unavailable(f"node '{session.name}' answered with more than was asked for; try again")
        return answer

    async def read_stats(self, node: int) -> StatsData:
        return await self._queries.query(self._session_or_raise(node), ReadStats, StatsData)

    # ---- for the app and the API ----

    @property
    def heartbeat_s(self) -> float:
        return self._interval.heartbeat_s

    @property
    def connected(self) -> int:
        """How many nodes have a connection."""
        return self._roster.connected

    def is_connected(self, node: int) -> bool:
        """Whether messages to the node arrive."""
        return self._session(node) is not None

    def has_left(self, node: int) -> bool:
        """Whether its worker has said goodbye."""
        watched = self._roster.node(node)
        return watched is not None and watched.last_event is NodeEvent.LEFT

    def is_gone(self, node: int) -> bool:
        """Whether its worker has said goodbye, or was given up."""
        watched = self._roster.node(node)
        return watched is None or watched.last_event in INACTIVE

    def set_heartbeat(self, seconds: float | None) -> None:
        """By hand, from now on; None lets the interval follow the number of nodes again. Raises Invalid."""
        self._interval.set_manual(seconds)
        self._update_interval()

    def sample(self, node: int) -> Sample | None:
        watched = self._roster.node(node)
        if watched is None or watched.stats is None:
            return None
        age_s = self._clock.now() - watched.stats_at
        return Sample(watched.stats, watched.stats_at, stale=age_s > STALE_HEARTBEATS * watched.heartbeat_s)

    # ---- for sessions: what a worker says ----

    async def handle_hello(self, session: WorkerSession, hello: Hello) -> Welcome | Refused:
        if self._engine is None:
            return self._refusal()
        refused = hello_problem(hello) or self._claim_name(session, hello)
        if refused is not None:
            return refused
        answer = await self._engine.hello(hello)
        if isinstance(answer, Refused) or self._roster.session_named(hello.name) is not session:
            return answer
        self._attach_session(session, answer.node)
        return msgspec.structs.replace(answer, heartbeat_s=self._interval.heartbeat_s, term=self._term)

    async def handle_inventory(self, session: WorkerSession, inventory: Inventory) -> None:
        parts, inventory = split_inventory(inventory)
        for part in parts:
            part = msgspec.structs.replace(session.clock_skew.correct(part), seq=next(self._numbers))
            await self._require_engine().inventory_part(session.node, part)
            await asyncio.sleep(0)
            if session.is_ended:
                return
        number = next(self._numbers)
        session.acknowledgements.track(number, inventory.seq)
        inventory = session.clock_skew.correct(inventory)
        await self._require_engine().inventory(session.node, msgspec.structs.replace(inventory, seq=number))

    async def handle_report(self, session: WorkerSession, report: Report) -> None:
        if self._liveness.is_suspended:
            return  # the connection stays, for logs; `reset` ends it, and the worker sends the report again
        *slices, last = slice_report(report) if count_entries(report) > SLICE_MAX else (report,)
        for part in slices:
            await self._report_part(session, part, next(self._numbers))
            await asyncio.sleep(0)
            if session.is_ended:
                return  # the worker sends the report again
        number = next(self._numbers)
        session.acknowledgements.track(number, report.seq)  # the report is committed when its last part is
        await self._report_part(session, last, number)

    def handle_heartbeat(self, session: WorkerSession, heartbeat: Heartbeat) -> None:
        session.clock_skew.measure(heartbeat.stats.at_ms, int(self._clock.now() * 1000))
        watched = self._roster.node_of(session)
        if watched is not None:
            watched.stats, watched.stats_at = heartbeat.stats, self._clock.now()
            self._liveness.set_interval(watched, self._interval.heartbeat_s)
            self._require_engine().heartbeat(session.node, heartbeat.stats)
            if self._recorder is not None and heartbeat.samples:
                self._recorder.record_heartbeat(session.node, heartbeat, int(watched.stats_at * 1000))

    async def handle_ping(self, session: WorkerSession, ping: Ping) -> None:
        """Answer only as the leader: another one may have given the node up while this manager was paused."""
        if await self._require_engine().is_leading() and session.reachable:
            session.link.send(Pong(ping.number))

    def handle_answer(self, session: WorkerSession, answer: LogData | StatsData) -> None:
        self._queries.answer(session, answer)

    def handle_goodbye(self, session: WorkerSession, goodbye: Goodbye) -> None:
        watched = self._roster.node_of(session)
        if watched is not None:
            self._liveness.left(watched, goodbye.reason)

    # ---- for sessions: what became of them ----

    def message_received(self, session: WorkerSession) -> None:
        watched = self._roster.node_of(session)
        if watched is not None:
            self._liveness.message_received(watched)

    def live(self, session: WorkerSession) -> None:
        self._handshakes.cancel(session)
        watched = self._roster.node_of(session)
        if watched is not None:
            self._liveness.live(watched)
            self._update_interval()

    def ended(self, session: WorkerSession, reason: str) -> None:
        watched = self._roster.node_of(session)
        self._roster.remove(session)
        self._handshakes.cancel(session)
        self._queries.fail(session, reason)
        if watched is not None:
            self._roster.detach_session(watched)
            self._liveness.disconnected(watched, reason)
            self._update_interval()

    # ---- steps ----

    async def _report_part(self, session: WorkerSession, part: Report, number: int) -> None:
        part = session.clock_skew.correct(part)
        await self._require_engine().report(session.node, msgspec.structs.replace(part, seq=number))

    def _claim_name(self, session: WorkerSession, hello: Hello) -> Refused | None:
        """A name belongs to the connection that is alive. The same process may come again at any time."""
        holder = self._roster.session_named(hello.name)
        if holder is not None:
            watched = self._roster.node_of(holder)
            alive = watched is None or watched.last_event is NodeEvent.HEARD
            if alive and holder.boot != hello.boot:
                return refuse(
                    RefusalCode.NAME_TAKEN,
                    f"another worker is connected as '{hello.name}'; start one of them with another --name",
                )
            holder.refuse(RefusalCode.REPLACED, "a newer connection with this name took over")
        self._roster.assign_name(session, hello.name, hello.boot)
        return None

    def _attach_session(self, session: WorkerSession, node: int) -> None:
        watched = self._roster.node(node)
        if watched is None:
            watched = WatchedNode(node, self._clock.now(), self._interval.heartbeat_s)
            self._roster.add_node(watched)
        self._events.withdraw(node)
        self._roster.attach_session(watched, session)
        self._liveness.joining(watched, self._settings.handshake_timeout_s)
        watched.heartbeat_s = self._interval.heartbeat_s

    def _disconnect(self, watched: WatchedNode, reason: str) -> None:
        if watched.session is not None:
            watched.session.refuse(RefusalCode.SILENT, reason)
        self._update_interval()

    def _update_interval(self) -> None:
        """Tell all workers if the interval has changed. A shorter one applies to a node only from its next heartbeat
        on, because until then it uses the longer one."""
        if not self._interval.adapt(len(self._liveness)):
            return
        heartbeat_s = self._interval.heartbeat_s
        log.info("heartbeat.set", heartbeat_s=heartbeat_s, nodes=len(self._liveness))
        for watched in self._roster.nodes():
            if watched.session is not None and watched.session.reachable:
                watched.heartbeat_s = max(watched.heartbeat_s, heartbeat_s)
                watched.session.link.send(SetHeartbeat(heartbeat_s))

    def _require_engine(self) -> WatcherEngine:
        if self._engine is None:
            raise Unavailable(self._refusal_reason)
        return self._engine

    def _refusal(self) -> Refused:
        leader = self._leader() if self._refusal_code is RefusalCode.NOT_LEADER else ""
        reason = (
            f"this manager is not the leader; the leader takes workers at {leader}" if leader else self._refusal_reason
        )
        return refuse(self._refusal_code, reason, leader)

    def _session(self, node: int) -> WorkerSession | None:
        watched = self._roster.node(node)
        if watched is None or watched.session is None or not watched.session.reachable:
            return None
        return watched.session

    def _session_or_raise(self, node: int) -> WorkerSession:
        session = self._session(node)
        if session is None:
            raise Unavailable(f"node '{self._require_engine().node_name(node)}' is not connected")
        return session
