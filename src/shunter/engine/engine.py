"""The engine: the only code that changes cluster state, in rounds, by one writer.

    every round:  commands and timers -> services -> finished jobs -> objects -> placement -> commit
                  -> answer callers, send orders, publish

It awaits only ports, so the simulator runs this very code. Callers get their answers only after the commit. Of several
managers one leads: the others follow its rounds and answer reads. `engine.leader_elector` decides which an engine does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, TypeVar

from shunter.engine.audit.retention import drop_expired_records
from shunter.engine.audit.seal import seal_acts
from shunter.engine.changes import encode_round
from shunter.engine.changes.formats import FORMATS, Formats
from shunter.engine.commands import EngineCommands
from shunter.engine.due_timers import fire_due_timers
from shunter.engine.feed import Feed, PublishedRound
from shunter.engine.identity.tenant_use import history_shares
from shunter.engine.inbox import Command, HandlerFailed, Inbox, NeededRuns, apply_commands
from shunter.engine.jobs.finish import finish_jobs
from shunter.engine.jobs.history_packer import HistoryPacker
from shunter.engine.jobs.measure import record_usage
from shunter.engine.jobs.run_keys import is_permanent
from shunter.engine.jobs.submit import with_names, with_other_names
from shunter.engine.leadership import NOT_LEADING, Leadership
from shunter.engine.metrics.round_metrics import RoundMetrics
from shunter.engine.nodes.reports import return_unsent
from shunter.engine.objects.controller import reconcile_objects, reconcile_placed_objects
from shunter.engine.placement.gang_restart import restart_broken_gangs
from shunter.engine.placement.place import place, release_idle_lanes
from shunter.engine.policy.active_policy import ActivePolicy
from shunter.engine.policy.scheduler_service import SchedulerService
from shunter.engine.recovery import create_timers
from shunter.engine.replica import Replica
from shunter.engine.round import Round
from shunter.engine.round_pacing import RoundPacing
from shunter.engine.run_lookup import RunLookup
from shunter.engine.secrets.secret_access import SecretAccess
from shunter.engine.services.reconcile import reconcile_services
from shunter.engine.settings import EngineSettings
from shunter.engine.snapshot_saver import SnapshotSaver
from shunter.engine.state.state import State
from shunter.engine.timers import Timers
from shunter.engine.tracing.round_tracer import RoundTracer
from shunter.engine.upgrade import raise_format
from shunter.log import Log
from shunter.model.errors import Busy, Failed, Fenced, NotLeader, Rejected, ShunterError, StoreFailed, Unavailable
from shunter.model.job.spec import JobSpec
from shunter.model.protocol.worker_messages import MachineStats
from shunter.planning.view import Policy
from shunter.ports.clock import Clock
from shunter.ports.coordination import Lease
from shunter.ports.security.audit import request_origin
from shunter.ports.security.secret_keys import SecretKeys
from shunter.ports.store import Commit, EndedRun, RunKey, Store
from shunter.ports.tracing.tracer import Tracer, request_trace
from shunter.ports.workers import Workers

log = Log(__name__)
T = TypeVar("T")
RELOAD_DELAY_MAX_S = 5.0
KEYS_LOOK_S = 1.0  # how often a leader that lacks a key looks for it
HISTORY_RETRY_S = 0.1  # after history could not be read


class Engine(EngineCommands):
    def __init__(
        self,
        *,
        store: Store,
        workers: Workers,
        policy: Policy,
        clock: Clock,
        random: Random,
        settings: EngineSettings | None = None,
        formats: Formats = FORMATS,
        stopwatch: Callable[[], float] | None = None,
        secret_keys: SecretKeys | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self.settings = settings or EngineSettings()
        self.metrics = RoundMetrics(stopwatch or clock.now)
        self.active_policy = policy if isinstance(policy, ActivePolicy) else ActivePolicy(policy)
        self.replica = Replica(store, formats)
        self._format_max = formats.newest  # that every manager knows
        self._leadership = Leadership(store, self.replica, clock)
        self._store, self._workers, self._clock, self._random = store, workers, clock, random
        self.schedulers = SchedulerService(self, clock, random)
        self._tracer = None if tracer is None else RoundTracer(tracer, clock.now, self.node_name)
        self.secrets = SecretAccess(secret_keys, lambda: self.state)
        self._timers = Timers()
        self._inbox = Inbox()
        self._wake = asyncio.Event()
        self._is_stopping = False
        self._is_paused = False
        self._pacing = RoundPacing(self.settings, self.active_policy)
        self._run_lookup = RunLookup(store, self._leadership)
        self._history = HistoryPacker(clock, self.wake)
        self._snapshots = SnapshotSaver(store, clock, self.replica, self.settings, self.wait_committed)

    @property
    def state(self) -> State:
        return self.replica.state

    @property
    def feed(self) -> Feed:
        return self.replica.feed

    @property
    def term(self) -> int:
        """The term of the election that this manager won last; 0 for the only manager."""
        return self._leadership.lease.term

    # ---- lifecycle ----

    async def start(self, lease: Lease | None = None) -> None:
        """Take the lead: a new epoch, and the last committed state. Raises Fenced if a newer term leads."""
        await self._leadership.take(lease)
        await self._run_lookup.learn_permanent(self.state)
        self._history.discard()
        self._timers = create_timers(self.state)
        self.schedulers.resend_all()
        self._wake.set()
        log.info("engine.started", epoch=self.epoch, version=self.state.version, jobs=len(self.state.jobs))

    async def run(self) -> None:
        """Run rounds until `stop`. A failed commit ends the epoch: the engine drops its memory and loads the state
        again. Raises Fenced when this manager may no longer lead."""
        while True:
            await self._clock.wait(self._wake, self._idle_s())
            self._wake.clear()
            if self._is_stopping:
                return
            try:
                self._leadership.check()
                await self._run_round()
            except Fenced:
                self._lose_lead()
                raise
            except ShunterError as error:
                log.error("round.failed", epoch=self.epoch, error=error)
                await self._reload(error.detail, error.reason if isinstance(error, StoreFailed) else "")
            except HandlerFailed as error:
                await self._reload(str(error), is_retrying=True)
            except Exception as error:
                log.exception("round.failed", epoch=self.epoch, error=error)
                await self._reload(repr(error), "an internal error; see the manager's log")

    async def follow(self) -> None:
        """Apply the rounds that the leader commits, until cancelled or `stop`. Reads are answered from them."""
        self._lose_lead()
        while not self._is_stopping:
            await self._leadership.follow_once()

    def step_down(self) -> None:
        """Give up the lead after the current round, so that another manager can take it."""
        self._leadership.is_stepping_down = True
        self._wake.set()

    def give_up_store(self) -> None:
        """It does not answer: step down at once, because another manager may reach it."""
        self._leadership.give_up_store()
        self._wake.set()

    def _lose_lead(self) -> None:
        if not self.is_following:
            self._leadership.lose()
            self._history.discard()
            self._inbox.refuse_all(NotLeader(f"{NOT_LEADING}; try again"))

    async def stop(self) -> None:
        """Stop after the current round, with a snapshot, so that the next start is quick."""
        self._is_stopping = True
        self._wake.set()
        self._history.discard()
        await self._leadership.wait_for_commit()
        self._inbox.refuse_all(Unavailable("the manager is stopping; try again"))
        self.feed.end()
        self.schedulers.end("the manager is stopping")
        await self._snapshots.wait()
        if not self.is_following:
            await self._snapshots.save(self.epoch)

    def wake(self) -> None:
        """Start a round, at least to check the clock."""
        self._wake.set()

    def allow_format(self, format: int) -> None:
        """Every manager knows this format of the store: raise it to this one. An engine that is alone needs no call."""
        if format != self._format_max:
            self._format_max = format
            self._wake.set()

    @property
    def is_new_store(self) -> bool:
        """Nothing was ever committed."""
        return not self.state.version

    def pause_placement(self) -> None:
        """Place no more tasks, because the cluster is about to stop. Queued tasks stay queued."""
        self._is_paused = True

    @property
    def policy(self) -> Policy:
        """The active policy. A new one takes effect in the next round."""
        return self.active_policy.policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        self.active_policy.use(policy)

    def use_policy(self, policy: Policy) -> None:
        """Use another policy and let it decide at once, because no other round may start for a long time."""
        self.active_policy.use(policy)
        self._wake.set()

    async def wait_committed(self, min_version: int = 0) -> None:
        """Wait until no commit is in flight, so that the next read sees only committed state. Raises Unavailable if
        there is none. After a failed commit the last committed state is loaded soon, even if the disk is full. A leader
        whose lease is lost answers nothing: another one may have committed since. Raises NotLeader also where a
        follower does not reach `min_version` soon."""
        await self._leadership.wait_committed(min_version)

    @property
    def epoch(self) -> int:
        """The one in which this manager leads, or led last."""
        return self._leadership.epoch

    @property
    def committed_version(self) -> int:
        """The version up to which everything is committed."""
        return self._leadership.committed_version

    @property
    def is_following(self) -> bool:
        return self._leadership.is_following

    @property
    def lag_s(self) -> float | None:
        """How old the state of this manager may be; 0 if it leads, None if a follower has not loaded it yet."""
        return self._leadership.lag_s

    @property
    def commit_problem(self) -> str:
        """Why this manager cannot commit at present; empty if it can."""
        return self._leadership.lost_reason

    @property
    def health_problem(self) -> str:
        """Why this manager cannot do its part: a leader commits and answers reads, a follower answers reads; empty if
        it can. For callers without a token: it does not say where the store is."""
        return self._leadership.health_problem

    @property
    def snapshots(self) -> SnapshotSaver:
        return self._snapshots

    @property
    def inbox_length(self) -> int:
        return len(self._inbox)

    def heartbeat(self, node: int, stats: MachineStats) -> None:
        """Store the latest sample. It is a hint, so it is not committed."""
        record = self.state.nodes.records.get(node)
        if record is not None:
            record.last_heartbeat_ms = self.now_ms()
            record.stats = stats
            self.state.nodes.update_load(record, stats.cpu_busy)

    def node_name(self, node: int) -> str:
        """The name of a node that is or was registered."""
        return self.state.nodes.view.names[node]

    async def is_leading(self) -> bool:
        """Whether no other manager has taken the lead by now."""
        return await self._leadership.is_leading()

    async def leading_term(self) -> int:
        """The newest term of the election that the store knows."""
        return await self._leadership.leading_term()

    # ---- rounds ----

    def with_names(self, specs: list[JobSpec]) -> tuple[list[JobSpec], frozenset[int]]:
        """The specs with names for those that have none, and the positions of these."""
        return with_names(specs, self._random)

    def with_other_names(self, specs: list[JobSpec], positions: Collection[int]) -> list[JobSpec]:
        """The specs with new names at these positions."""
        return with_other_names(specs, positions, self._random)

    async def ask(self, handler: Callable[[Round], T], runs: NeededRuns | None = None) -> T:
        """Put a command into the bounded inbox. Returns after the commit of the round that decides it. `runs` are the
        ended runs that the handler has to know."""
        if self.is_following:
            raise NotLeader(f"{NOT_LEADING}; nothing was accepted, try again")
        if self._is_stopping or self.commit_problem:
            raise Unavailable(f"{self.commit_problem or 'the manager is stopping'}; nothing was accepted, try again")
        if len(self._inbox) >= self.settings.inbox_max:
            raise Busy(
                f"the inbox is full: {len(self._inbox)} requests are waiting (inbox_max {self.settings.inbox_max})"
            )
        reply: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._inbox.put(Command(handler, reply, runs=runs, origin=request_origin.get(), trace=request_trace.get()))
        self._wake.set()
        return await reply

    def tell(
        self, handler: Callable[[Round], None], node: int = 0, runs: NeededRuns | None = None, entries: int = 1
    ) -> None:
        """Put a report into the inbox, which has no limit for reports: workers keep them until they are acknowledged,
        and that bounds them. While the state is loaded again, reports are dropped, because they are not about the new
        state. `runs` are the ended runs that the handler has to know, `entries` are those of the report: a round takes
        few reports with many."""
        if self.commit_problem:
            raise Unavailable(f"{self.commit_problem}; nothing was accepted, try again")
        self._inbox.put(Command(handler, None, node, runs, entries))
        self._wake.set()

    async def _run_round(self) -> None:
        """Run one round: decide everything that came in since the last one, commit once, then publish it. The order of
        the steps is the architecture: each step sees the changes of the steps before it."""
        # 0. Load what the decisions need of history. Everything after it, up to the commit, happens without a break.
        #    So the round takes only the commands that were there before.
        began_s = self.metrics.stopwatch()
        now_ms, settings = self.now_ms(), self.settings
        count = self._inbox.count_for_round(settings.round_commands_max, settings.round_entries_max)
        try:
            learnt = await self._run_lookup.learn_needed(self.state, self._inbox.first(count), self._timers, now_ms)
        except ShunterError as error:
            await self._postpone_round(error)
            return
        if self._is_stopping:
            return
        round, commands = self._begin_round(now_ms, count)
        try:
            # 1. Requests and reports, in the order in which they arrived: they are what everything below follows from.
            #    Before them the format, if it is raised: no round before this one has what came with it. A new store
            #    gets it with its first commands, because a cluster without work writes nothing.
            if commands or not self.is_new_store:
                raise_format(round, self._format_max)
            answers = apply_commands(round, commands)
            # 2. After the commands, because a report may have made a timer pointless; and before step 3, because
            #    timers mark services dirty.
            fire_due_timers(round)
            self._pacing.run_periodic_work(round)
            # 3. Before jobs finish: a service whose tasks have all ended is over, unless it gets new ones here.
            reconcile_services(round)
            # 4. Before placement: an ended job unblocks the jobs that wait for it, and these can be placed at once.
            finish_jobs(round)
            # 5. Again, because services and per-node jobs that step 4 has unblocked get their tasks here.
            reconcile_services(round)
            # 6. After step 4, because applications that ended free their slots; before placement, because slots are
            #    reserved before the planner fills the nodes, and started applications have tasks to place.
            reconcile_objects(round, is_placing_next=not self._is_paused)
            # 7. After everything that adds, ends or stops tasks, so that the policy sees it.
            self._place(round)
            # 8. Once more: executors that step 7 has placed advance their objects in the same commit.
            if not self._is_paused:
                reconcile_placed_objects(round)
            # 9. After everything that ends jobs: history has what those used.
            record_usage(round)
            # 10. One commit for all of it. If it fails, nothing has become visible.
            await self._commit(round)
        except HandlerFailed as error:
            self.schedulers.observers.on_abort()
            self._answer(error.command, error.failure)
            self._inbox.put_first(*(command for command in commands if command is not error.command))
            raise
        except Exception as error:
            self._abort(commands, error)
            raise
        # 11. Only now callers are answered, orders sent and changes published.
        self.state.ended_runs.forget(key for key in learnt if not is_permanent(self.state, key))
        self._announce(round, answers)
        self.metrics.on_round(round, began_s, len(commands))
        if self._tracer is not None:
            self._tracer.on_announced(round)
        self._history.begin(self.state, round.unpacked.values())
        has_rows_to_clear = self.state.table.clear_some()
        if self._pacing.on_committed(round, has_commands=bool(self._inbox)) or has_rows_to_clear:
            self._wake.set()

    async def look_up_runs(self, keys: Collection[RunKey]) -> dict[RunKey, EndedRun]:
        """The runs among these that history has."""
        return await self._run_lookup.look_up(keys)

    async def _postpone_round(self, error: ShunterError) -> None:
        """History cannot be read at present. The state is as good as before, so only requests that need it fail."""
        log.warning("history.unreadable", error=error, retry_s=HISTORY_RETRY_S)
        self._inbox.refuse_those_that_need_history(Unavailable(f"{error.detail}; nothing was accepted, try again"))
        await self._clock.sleep(HISTORY_RETRY_S)
        self._wake.set()

    def _begin_round(self, now_ms: int, count: int) -> tuple[Round, list[Command]]:
        """Create a round and take its commands from the inbox."""
        self.replica.begin_round()
        round = Round(self.state, self.epoch, now_ms, self.settings, self._random, self._timers)
        round.packed = self._history.packed
        round.dirty.maybe_finished.update(dict.fromkeys(round.packed))
        self.secrets.prepare(round)
        observers = self.schedulers.observers
        round.observer = observers if observers.is_enabled else None
        if self._tracer is not None:
            self._tracer.begin(round)
        return round, self._inbox.take(count)

    def _place(self, round: Round) -> None:
        began_s = self._clock.now()
        has_leader = self.schedulers.has_leader(round.now_ms)
        if self._is_paused:
            restart_broken_gangs(round)
            release_idle_lanes(round)  # lanes that are not released now would stay reserved after the restart
        else:
            place(round, self.active_policy, has_leader)
        self._pacing.on_placed(round)
        if self._tracer is not None:
            self._tracer.on_placed(began_s)

    def _abort(self, commands: list[Command], error: Exception) -> None:
        """Abort the round. No caller was answered and no order was sent, so callers may retry."""
        self.schedulers.observers.on_abort()
        failure = error if isinstance(error, Unavailable) else Unavailable(f"the round failed ({error}); try again")
        for command in commands:
            command.answer(failure)

    def _answer(self, command: Command, answer: Any) -> None:
        if command.node and isinstance(answer, Rejected | Failed):
            log.warning("worker.rejected", node=command.node, error=answer)
            self._workers.reject(command.node, answer)
        command.answer(answer)

    def _announce(self, round: Round, answers: list[tuple[Command, Any]]) -> None:
        for command, answer in answers:
            self._answer(command, answer)
        for node, message in round.outbox.messages():
            self._workers.send(node, message)
        if unsent := round.outbox.unsent:  # before any other command, which may be about these tasks
            self._inbox.put_first(Command(partial(return_unsent, orders=unsent)))
            self._wake.set()
        if round.observer is not None:
            self.schedulers.observers.on_commit()
        if round.changes:
            published = PublishedRound(self.state.version, round.now_ms / 1000, round.changes, round.size_bytes)
            self.feed.publish(published, round.summaries)
        self.schedulers.notify()

    async def _commit(self, round: Round) -> None:
        """The store refuses the commit of a leader that was replaced. Answers that change nothing are not committed, so
        the lease must vouch for them."""
        audit = seal_acts(round)
        if not round.changes:
            self.replica.end_round()
            self._leadership.check()
            return
        self.state.version += 1
        body = encode_round(round.changes)
        at = round.now_ms / 1000
        commit = Commit(self.epoch, self.state.version, at, body, round.finished, round.archived_objects, audit)
        began_s, committing_s = self.metrics.stopwatch(), self._clock.now()
        await self._leadership.commit(commit)
        self.replica.end_round()
        self.metrics.on_commit(began_s)
        if self._tracer is not None:
            self._tracer.on_committed(committing_s)
        round.size_bytes = len(body)
        self._snapshots.on_commit(self.epoch, len(body))

    async def purge(self) -> None:
        """Purge expired history. The manager calls this from time to time."""
        await self.wait_committed()
        retention = replace(self.settings.retention, shares=history_shares(self.state))
        purged = await self._store.purge(self.epoch, retention, self._clock.now())
        self._run_lookup.on_purged(purged.names)
        await drop_expired_records(self, self._store, self.settings.retention)

    async def _reload(self, reason: str, public_reason: str = "", *, is_retrying: bool = False) -> None:
        """Drop memory, which may be ahead of the store, and load the committed state under a new epoch. With
        `is_retrying` the requests stay in the inbox, where `stop` finds them. Reports are dropped, because workers send
        them again."""
        self.metrics.commit_failures += 1
        self._leadership.discard_state(reason, public_reason)
        self._workers.suspend(reason)
        if is_retrying:
            self._inbox.drop_reports()
        else:
            self._inbox.refuse_all(Unavailable(f"{reason}; try again"))
        delay_s = 0.05
        while not self._is_stopping:
            try:
                self._leadership.check()
                await self.start()
                break
            except Fenced:
                self._lose_lead()
                raise
            except Exception as error:
                log.error("engine.reload_failed", error=error, retry_s=delay_s)
                if self._leadership.lease.term:  # others may reach the store, so one of them should lead
                    self.step_down()
                    continue
                await self._leadership.load_readable_state()
                await self._clock.sleep(delay_s)
                delay_s = min(delay_s * 2, RELOAD_DELAY_MAX_S)
        self._workers.reset("the manager reloaded its state")

    def _idle_s(self) -> float | None:
        """How long the engine may sleep unless a command comes in."""
        next_ms = self._pacing.next_ms(self._timers, self.schedulers.lease_end_ms())
        idle_s = max(next_ms - self.now_ms(), 0) / 1000
        return min(idle_s, KEYS_LOOK_S) if self.secrets.lacks_keys else idle_s

    def now_ms(self) -> int:
        return int(self._clock.now() * 1000)
