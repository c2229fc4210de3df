"""The engine: the only code that changes cluster state, in rounds, by one writer.

    every round:  commands and timers -> services -> finished jobs -> objects -> placement -> commit
                  -> answer callers, send orders, publish

It awaits only ports, so the simulator runs this very code. Callers get their answers only after the commit. Of several
managers one leads: the others follow its rounds and answer reads. `engine.membership` lets an engine follow or lead.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, TypeVar

from shunter.engine.changes import encode_round
from shunter.engine.commands import EngineCommands
from shunter.engine.due_timers import fire_due_timers
from shunter.engine.feed import Feed, PublishedRound
from shunter.engine.inbox import Command, HandlerFailed, apply_commands
from shunter.engine.jobs.dependencies import EndedRuns, unresolved_runs
from shunter.engine.jobs.finish import drop_purged_names, finish_jobs
from shunter.engine.jobs.submit import expire_idempotency_keys
from shunter.engine.objects.controller import reconcile_objects, reconcile_placed_objects
from shunter.engine.placement.gang_restart import restart_broken_gangs
from shunter.engine.placement.place import place, recall_stuck_tasks, release_idle_lanes
from shunter.engine.policy.active_policy import ActivePolicy
from shunter.engine.policy.scheduler_service import SchedulerService
from shunter.engine.recovery import create_timers
from shunter.engine.replica import Replica
from shunter.engine.round import Round
from shunter.engine.services.reconcile import reconcile_services
from shunter.engine.settings import EngineSettings
from shunter.engine.state.snapshots import make_snapshot
from shunter.engine.state.state import State
from shunter.engine.timers import Timers
from shunter.log import Log
from shunter.model.errors import Busy, Failed, Fenced, NotLeader, Rejected, ShunterError, Unavailable
from shunter.model.job.spec import JobSpec
from shunter.model.lifecycles import JobState
from shunter.model.protocol.worker_messages import MachineStats
from shunter.planning.view import Policy
from shunter.ports.clock import Clock
from shunter.ports.coordination import AlwaysHeld, Lease
from shunter.ports.store import Commit, Store
from shunter.ports.workers import Workers

log = Log(__name__)
T = TypeVar("T")
RELOAD_DELAY_MAX_S = 5.0
READ_WAIT_MAX_S = 2.0  # for the committed state, after a failed commit
FOLLOW_INTERVAL_S = 0.05  # between two looks at the store, without a hint that something was committed
FOLLOW_RETRY_S = 0.5  # after a failed look
FOLLOWER_WAIT_MAX_S = 1.0  # for a version that the caller has seen elsewhere
UNPRODUCTIVE_ROUNDS_MAX = 200  # the planner processes a large cluster in about twenty slices
UNPRODUCTIVE_PAUSE_MS = 100
NOT_LEADING = "this manager does not lead"
UNPRODUCTIVE_NOTE = "it repeatedly asks to decide again without placing anything; the engine calls it less often"


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
    ) -> None:
        self.settings = settings or EngineSettings()
        self.active_policy = policy if isinstance(policy, ActivePolicy) else ActivePolicy(policy)
        self.epoch = 0
        self.replica = Replica(store)
        self._lease: Lease = AlwaysHeld()
        self._is_following = False
        self._is_stepping_down = False
        self._store, self._workers, self._clock, self._random = store, workers, clock, random
        self.schedulers = SchedulerService(self, clock, random)
        self._timers = Timers()
        self._inbox: deque[Command] = deque()
        self._wake = asyncio.Event()
        self._in_flight: asyncio.Future[None] | None = None
        self._is_stopping = False
        self._is_paused = False
        # why nothing can be committed, from a failed commit until this manager leads again
        self._state_lost_reason = ""
        # set while `state` is a committed one: it may be read even if nothing can be committed
        self._readable = asyncio.Event()
        self._has_backlog = True
        self._recall_at_ms = 0
        self._next_placement_ms: int | None = None
        # consecutive rounds in which the policy had more to decide but changed nothing
        self._unproductive_rounds = 0
        self._housekeeping_at_ms = 0
        self._logged_bytes = 0
        self._logged_rounds = 0
        self._snapshot_task: asyncio.Task[None] | None = None

    @property
    def state(self) -> State:
        return self.replica.state

    @property
    def feed(self) -> Feed:
        return self.replica.feed

    # ---- lifecycle ----

    async def start(self, lease: Lease | None = None) -> None:
        """Take the lead: a new epoch, and the last committed state. Raises Fenced if a newer term leads."""
        self._lease = lease or self._lease
        self.epoch = await self._store.begin_epoch(self._lease.term)
        await self.replica.catch_up()
        self._timers = create_timers(self.state)
        self._is_following = self._is_stepping_down = False
        self._state_lost_reason = ""
        self._readable.set()
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
                self._check_lead()
                await self._run_round()
            except Fenced:
                self._lose_lead()
                raise
            except ShunterError as error:
                log.error("round.failed", epoch=self.epoch, error=error)
                await self._reload(error.detail)
            except HandlerFailed as error:
                await self._reload(str(error), is_retrying=True)
            except Exception as error:
                log.exception("round.failed", epoch=self.epoch, error=error)
                await self._reload(repr(error))

    async def follow(self) -> None:
        """Apply the rounds that the leader commits, until cancelled or `stop`. Reads are answered from them."""
        self._lose_lead()
        while not self._is_stopping:
            delay_s = FOLLOW_INTERVAL_S
            try:
                await self.replica.catch_up()
                self._readable.set()
            except ShunterError as error:
                log.warning("replica.failed", error=error, retry_s=FOLLOW_RETRY_S)
                delay_s = FOLLOW_RETRY_S
            await self._clock.sleep(delay_s)

    def step_down(self) -> None:
        """Give up the lead after the current round, so that another manager can take it."""
        self._is_stepping_down = True
        self._wake.set()

    def _check_lead(self) -> None:
        if self._is_stepping_down:
            raise Fenced("this manager was asked to step down")
        if not self._lease.is_held():
            raise Fenced("the lease of this manager is lost")

    def _lose_lead(self) -> None:
        """A leader's state has things that only a leader knows, so a follower loads its own."""
        if self._is_following:
            return
        self._is_following = True
        self._state_lost_reason = NOT_LEADING
        self._readable.clear()
        self.replica.discard()
        self._refuse_all(NotLeader(f"{NOT_LEADING}; try again"))

    async def stop(self) -> None:
        """Stop after the current round, with a snapshot, so that the next start is quick."""
        self._is_stopping = True
        self._wake.set()
        await self._wait_for_commit()
        self._refuse_all(Unavailable("the manager is stopping; try again"))
        self.feed.end()
        self.schedulers.end("the manager is stopping")
        if self._snapshot_task:
            await self._snapshot_task
        if not self._is_following:
            await self._save_snapshot(self.epoch)

    def wake(self) -> None:
        """Start a round, at least to check the clock."""
        self._wake.set()

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
        give_up_s = self._clock.now() + FOLLOWER_WAIT_MAX_S
        # Whatever is waited for, another commit may begin meanwhile, or this manager may begin or cease to lead.
        while True:
            await self._wait_for_commit()
            if not self._readable.is_set():
                await self._wait_readable()
            elif self._is_following and self.state.version < min_version:
                await self._wait_for_version(min_version, give_up_s)
            elif self._is_following or self._lease.is_held():
                return
            else:
                raise NotLeader(f"{NOT_LEADING}; try again")

    async def _wait_readable(self) -> None:
        if not await self._clock.wait(self._readable, READ_WAIT_MAX_S):
            raise Unavailable(f"{self._state_lost_reason or 'the manager is starting'}; try again")

    async def _wait_for_version(self, version: int, give_up_s: float) -> None:
        """Wait a moment for a follower to get there."""
        if self._clock.now() >= give_up_s:
            raise NotLeader(f"this manager follows at version {self.state.version}, not yet {version}; try again")
        await self._clock.sleep(FOLLOW_INTERVAL_S / 5)

    @property
    def committed_version(self) -> int:
        """The version up to which everything is committed."""
        return self.state.version - (self._in_flight is not None)

    @property
    def is_following(self) -> bool:
        return self._is_following

    @property
    def commit_problem(self) -> str:
        """Why this manager cannot commit at present; empty if it can."""
        return self._state_lost_reason

    async def _wait_for_commit(self) -> None:
        """Wait until no commit is in flight, whether it succeeded or not."""
        while self._in_flight is not None:
            await asyncio.shield(self._in_flight)

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
        try:
            is_ours = not self._state_lost_reason and self._lease.is_held()
            return is_ours and await self._store.leading_epoch() == self.epoch
        except ShunterError:
            return False

    async def leading_term(self) -> int:
        """The newest term of the election that the store knows."""
        return await self._store.leading_term()

    # ---- rounds ----

    async def load_ended_runs(self, specs: list[JobSpec]) -> EndedRuns:
        """Load the ended runs that edges name by number; only history has them."""
        past = {}
        for namespace, name, run in unresolved_runs(self.state, specs):
            finished = await self._store.finished_run(namespace, name, run)
            if finished is not None:
                past[namespace, name, run] = (finished.id, int(JobState[finished.state.upper()]))
        return past

    async def ask(self, handler: Callable[[Round], T]) -> T:
        """Put a command into the bounded inbox. Returns after the commit of the round that decides it."""
        if self._is_following:
            raise NotLeader(f"{NOT_LEADING}; nothing was accepted, try again")
        if self._is_stopping or self._state_lost_reason:
            raise Unavailable(
                f"{self._state_lost_reason or 'the manager is stopping'}; nothing was accepted, try again"
            )
        if len(self._inbox) >= self.settings.inbox_max:
            raise Busy(
                f"the inbox is full: {len(self._inbox)} requests are waiting (inbox_max {self.settings.inbox_max})"
            )
        reply: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._inbox.append(Command(handler, reply))
        self._wake.set()
        return await reply

    def tell(self, handler: Callable[[Round], None], node: int = 0) -> None:
        """Put a report into the inbox, which has no limit for reports: workers keep them until they are acknowledged,
        and that bounds them. While the state is loaded again, reports are dropped, because they are not about the new
        state."""
        if self._state_lost_reason:
            raise Unavailable(f"{self._state_lost_reason}; nothing was accepted, try again")
        self._inbox.append(Command(handler, None, node))
        self._wake.set()

    async def _run_round(self) -> None:
        """Run one round: decide everything that came in since the last one, commit once, then publish it. The order of
        the steps is the architecture: each step sees the changes of the steps before it."""
        round, commands = self._begin_round()
        try:
            # 1. Requests and reports, in the order in which they arrived: they are what everything below follows from.
            answers = apply_commands(round, commands)
            # 2. After the commands, because a report may have made a timer pointless; and before step 3, because
            #    timers mark services dirty.
            fire_due_timers(round)
            self._run_periodic_work(round)
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
            # 9. One commit for all of it. If it fails, nothing has become visible.
            await self._commit(round)
        except HandlerFailed as error:
            self.schedulers.observers.on_abort()
            self._answer(error.command, error.failure)
            self._inbox.extendleft(reversed([command for command in commands if command is not error.command]))
            raise
        except Exception as error:
            self._abort(commands, error)
            raise
        # 10. Only now callers are answered, orders sent and changes published.
        self._announce(round, answers)
        self._plan_next_round(round)

    def _begin_round(self) -> tuple[Round, list[Command]]:
        """Create a round and take its commands from the inbox."""
        round = Round(self.state, self.epoch, self.now_ms(), self.settings, self._random, self._timers)
        observers = self.schedulers.observers
        round.observer = observers if observers.is_enabled else None
        count = min(len(self._inbox), self.settings.round_commands_max)
        return round, [self._inbox.popleft() for _ in range(count)]

    def _run_periodic_work(self, round: Round) -> None:
        if self._has_backlog and round.now_ms >= self._recall_at_ms:
            self._has_backlog = False
            recall_stuck_tasks(round)
            self._recall_at_ms = round.now_ms + self.settings.recall_after_ms
        if round.now_ms >= self._housekeeping_at_ms:
            self._housekeeping_at_ms = round.now_ms + int(self.settings.housekeeping_s * 1000)
            expire_idempotency_keys(round)

    def _place(self, round: Round) -> None:
        has_leader = self.schedulers.has_leader(round.now_ms)
        if self._is_paused:
            restart_broken_gangs(round)
            release_idle_lanes(round)  # lanes that are not released now would stay reserved after the restart
        else:
            place(round, self.active_policy, has_leader)
        self._has_backlog |= round.has_backlog

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
        if round.observer is not None:
            self.schedulers.observers.on_commit()
        if round.changes:
            published = PublishedRound(self.state.version, round.now_ms / 1000, round.changes, round.size_bytes)
            self.feed.publish(published, round.summaries)
        self.schedulers.notify()

    def _plan_next_round(self, round: Round) -> None:
        self._next_placement_ms = round.next_placement_ms
        if (
            self._inbox
            or self._has_more_to_decide(round)
            or self.active_policy.wants_objects(self.state.objects.revision)
        ):
            self._wake.set()

    def _has_more_to_decide(self, round: Round) -> bool:
        """Whether the policy should decide again at once. A policy that repeatedly says so without changing anything
        has to pause."""
        self._unproductive_rounds = self._unproductive_rounds + 1 if round.is_unproductive else 0
        if self._unproductive_rounds > UNPRODUCTIVE_ROUNDS_MAX:
            self.active_policy.report_problem(UNPRODUCTIVE_NOTE)
            self._next_placement_ms = round.now_ms + UNPRODUCTIVE_PAUSE_MS
            return False
        return round.is_partial

    async def _commit(self, round: Round) -> None:
        """The store refuses the commit of a leader that was replaced. Answers that change nothing are not committed, so
        the lease must vouch for them."""
        if not round.changes:
            self._check_lead()
            return
        self.state.version += 1
        body = encode_round(round.changes)
        commit = Commit(
            self.epoch, self.state.version, round.now_ms / 1000, body, round.finished, round.archived_objects
        )
        self._in_flight = asyncio.get_running_loop().create_future()
        try:
            await self._store.commit(commit)
        finally:
            self._in_flight.set_result(None)
            self._in_flight = None
        round.size_bytes = len(body)
        self._logged_bytes += len(body)
        self._logged_rounds += 1
        if self._logged_bytes >= self.settings.snapshot_bytes or self._logged_rounds >= self.settings.snapshot_rounds:
            self._begin_snapshot()

    def _begin_snapshot(self) -> None:
        if self._snapshot_task is not None and not self._snapshot_task.done():
            return
        self._logged_bytes = self._logged_rounds = 0
        self._snapshot_task = asyncio.get_running_loop().create_task(self._save_snapshot(self.epoch))

    async def _save_snapshot(self, epoch: int) -> None:
        try:
            await self.wait_committed()
            await self._store.save_snapshot(epoch, make_snapshot(self.state))
        except ShunterError as error:
            log.warning("snapshot.failed", error=error)  # all rounds are in the store: recovery only takes longer

    async def purge(self) -> None:
        """Purge expired history. The manager calls this from time to time."""
        await self.wait_committed()
        purged = await self._store.purge(self.epoch, self.settings.retention, self._clock.now())
        names = [(name.namespace, name.name) for name in purged.finished]
        if names:
            self.tell(partial(drop_purged_names, names=names, ids={name.id for name in purged.finished}))

    async def _reload(self, reason: str, *, is_retrying: bool = False) -> None:
        """Drop memory, which may be ahead of the store, and load the committed state under a new epoch. With
        `is_retrying` the requests in the inbox stay. Reports are dropped, because workers send them again."""
        self._state_lost_reason = reason
        self._readable.clear()
        self.replica.discard()
        self._workers.suspend(reason)
        waiting = [command for command in self._inbox if command.reply is not None] if is_retrying else []
        if is_retrying:
            self._inbox.clear()
        self._refuse_all(Unavailable(f"{reason}; try again"))
        delay_s = 0.05
        while not self._is_stopping:
            try:
                self._check_lead()
                await self.start()
                self._inbox.extend(waiting)
                break
            except Fenced:
                self._inbox.extend(waiting)
                self._lose_lead()
                raise
            except Exception as error:
                log.error("engine.reload_failed", error=error, retry_s=delay_s)
                if self._lease.term:  # others may reach the store, so one of them should lead
                    self.step_down()
                    continue
                await self._load_readable_state()
                await self._clock.sleep(delay_s)
                delay_s = min(delay_s * 2, RELOAD_DELAY_MAX_S)
        self._workers.reset("the manager reloaded its state")

    async def _load_readable_state(self) -> None:
        """Nothing can be committed, but the committed state can still be read."""
        if not self._readable.is_set():
            try:
                await self.replica.catch_up()
                self._readable.set()
            except Exception as error:
                log.error("engine.state_unreadable", error=error)

    def _refuse_all(self, error: Unavailable) -> None:
        while self._inbox:
            self._inbox.popleft().answer(error)

    def _idle_s(self) -> float | None:
        """How long the engine may sleep unless a command comes in."""
        next_ms = self._housekeeping_at_ms
        if self._timers.next_ms is not None:
            next_ms = min(next_ms, self._timers.next_ms)
        if self._has_backlog:
            next_ms = min(next_ms, self._recall_at_ms)
        if self._next_placement_ms is not None:
            next_ms = min(next_ms, self._next_placement_ms)
        if (lease_end_ms := self.schedulers.lease_end_ms()) is not None:
            next_ms = min(next_ms, lease_end_ms)
        return max(next_ms - self.now_ms(), 0) / 1000

    def now_ms(self) -> int:
        return int(self._clock.now() * 1000)
