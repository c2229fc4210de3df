"""A whole simulated cluster: managers, workers, network and disk on one virtual clock, watched by checkers.

`simulate(seed)` runs one seed: first with users and faults, then without, until everything has ended."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from shunter.adapters.memory.store import MemoryStore
from shunter.engine.changes.formats import FORMATS
from shunter.model.errors import ShunterError
from shunter.model.protocol.scheduler_messages import TASKS
from shunter.model.protocol.worker_messages import Hello, ManagerMessage
from shunter.planning.remote.view_scope import wants_of
from shunter.ports.store import Commit, FinishedJob, Purged
from shunter.simulation.checks.checkers import Checkers, WaitTimes
from shunter.simulation.checks.final import check_end, is_quiescent
from shunter.simulation.checks.reference_records import require
from shunter.simulation.fleet.fleet import Fleet
from shunter.simulation.fleet.node import SimulatedNode
from shunter.simulation.runtime.coordination import LEASE_S, ElectionServers, SimulatedLease
from shunter.simulation.runtime.disk import Disk
from shunter.simulation.runtime.faults import Faults
from shunter.simulation.runtime.lies import Liar
from shunter.simulation.runtime.link_cuts import LinkCuts, with_disconnects
from shunter.simulation.runtime.loop import Livelock, Stalled, VirtualClock, run_virtual
from shunter.simulation.runtime.manager import SimulatedManager
from shunter.simulation.runtime.manager_faults import FORMAT_SETTLE_S, ManagerFaults, with_managers
from shunter.simulation.runtime.network import Network
from shunter.simulation.runtime.upgrades import NEWER, RollingUpgrade
from shunter.simulation.runtime.worker import SimulatedWorker
from shunter.simulation.runtime.wrong_dates import WrongDates
from shunter.simulation.scenario import Scenario, draw_scenario
from shunter.simulation.secret_keys import SimulatedKeys
from shunter.simulation.trace import Trace
from shunter.simulation.workload.policies import BackgroundPolicy, PolicyFactory
from shunter.simulation.workload.readers import Readers
from shunter.simulation.workload.secrets import with_secrets
from shunter.simulation.workload.status_followers import StatusFollowers
from shunter.simulation.workload.tenants import with_tenants
from shunter.simulation.workload.users import Users

FAULT_PERIOD_MAX_S = 600.0  # within which users are answered and faults are over
STUCK_AFTER_S = 90.0  # once faults have stopped, some task must end this often until all have
SEEDED = PolicyFactory()
LIES_EVERY = 7  # in one of this many worlds a worker lies
DATES_EVERY = 4  # in one of this many worlds machines have wrong dates
CUTS_EVERY = 5  # in one of this many worlds links are cut for long, and jobs say what happens then
STATUS_EVERY = 7  # in one of this many worlds with several managers, clients follow events
BACKGROUND_EVERY = 6  # in one of this many worlds the policy decides outside of rounds
SECRETS_EVERY = 12  # in one of this many worlds jobs have secrets, which users set, replace and delete
OBJECTS_FROM = 1_000_000  # seeds from here on have Testbeds, BatchJobs and Schedulings, too
LEADER_WITHIN_S = LEASE_S + 1.0 + 1.0  # after the faults: until a lease expires, until another one leads, and loading
MANAGERS_FROM = 2_000_000  # seeds from here on have one to five managers at once
TENANTS_FROM = 3_000_000  # in worlds from here on all jobs belong to a tenant, whose quotas change
NEIGHBOURS_FROM = 4_000_000  # from here on there is a second tenant, which must not be told of the first


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one seed. `digest` is a hash of everything that happened."""

    seed: int
    steps: int
    digest: str
    events: Counter[str]
    checked: Counter[str]
    changes: Counter[str]  # that were committed, by kind
    virtual_s: float
    wait_times: WaitTimes
    failures: Counter[str]  # of the policy, where the default decided in its place


class Failed(AssertionError):
    """A seed found something: what, when, and the last events before it."""

    def __init__(self, seed: int, step: int, cause: BaseException, events: list[str]) -> None:
        self.seed, self.step, self.cause = seed, step, cause
        lines = [f"seed {seed}, step {step}: {type(cause).__name__}: {cause}", "the last events:", *events]
        super().__init__("\n".join(lines))


def simulate(seed: int, echo: bool = False, policy_factory: PolicyFactory = SEEDED) -> Outcome:
    """Run one seed to its end. Raises Failed. `policy_factory` decide in place of the policy that the seed drew."""

    worlds: list[World] = []

    async def main(rng: random.Random) -> Outcome:
        is_background = seed % BACKGROUND_EVERY == BACKGROUND_EVERY - 1
        lies_seed = seed if seed % LIES_EVERY == LIES_EVERY - 1 else None
        scenario = replace(
            draw_scenario(rng), has_objects=seed >= OBJECTS_FROM, is_background=is_background, lies_seed=lies_seed
        )
        if seed % DATES_EVERY == DATES_EVERY - 1:
            scenario = replace(scenario, dates_seed=seed)
        if seed >= MANAGERS_FROM:
            scenario = with_managers(scenario, seed)
        if seed % CUTS_EVERY == CUTS_EVERY - 1:
            scenario = with_disconnects(scenario, seed)
        if seed % SECRETS_EVERY == 4:
            scenario = with_secrets(scenario, seed)
        if seed >= TENANTS_FROM:
            scenario = with_tenants(scenario, seed)
        if seed >= NEIGHBOURS_FROM:
            scenario = replace(scenario, has_neighbour=True)
        world = World(rng, scenario, echo, policy_factory)
        worlds.append(world)
        with world.capture_errors():
            failure = await world.run()
        if failure is not None:
            raise Failed(seed, *failure)
        trace, elapsed_s = world.trace, asyncio.get_running_loop().time()
        checkers = world.checkers
        failures: Counter[str] = Counter()
        for active_policy in (manager.engine.active_policy for manager in world.managers):
            failures[active_policy.last_error] += active_policy.failures
        return Outcome(
            seed, trace.steps, trace.digest, trace.counts, checkers.checked, checkers.changes, elapsed_s,
            checkers.wait_times, +failures,
        )  # fmt: skip

    try:
        return run_virtual(main, seed)
    except (Stalled, Livelock) as error:  # of the loop itself, so that no task sees it; perhaps after a failure
        world = worlds[0]
        failure = world.failure or (world.trace.steps, error, world.trace.last_events())
        raise Failed(seed, *failure) from error


class World:
    def __init__(
        self, rng: random.Random, scenario: Scenario, echo: bool = False, policy_factory: PolicyFactory = SEEDED
    ) -> None:
        self.rng = rng
        self._policy_factory = policy_factory
        self.scenario = scenario
        self.clock = VirtualClock()
        self.trace = Trace(self.clock.now, echo)
        self.upgrade = RollingUpgrade(self, scenario.managers_seed) if scenario.is_upgraded else None
        self.checkers = Checkers(NEWER) if self.upgrade else Checkers()
        self.store = MemoryStore()
        self.disk = Disk(rng, self.trace)
        self.secret_keys = None if scenario.secrets_seed is None else SimulatedKeys()
        self.network = Network(self.clock, rng, self.trace, self.spawn)
        self.fleet = Fleet(self.clock, rng, self._flush)
        self.workers: dict[str, SimulatedWorker] = {}
        self.managers: list[SimulatedManager] = []
        self.servers = ElectionServers(self.clock, rng, self.trace)
        self.makes_schedulings = False  # the policy looks at nothing but objects
        self._tasks: set[asyncio.Task[None]] = set()
        self.failure: tuple[int, BaseException, list[str]] | None = None
        self._has_failed = asyncio.Event()

    @property
    def leader(self) -> SimulatedManager | None:
        """The manager that leads. A replaced one may not know it yet, so the newest epoch counts."""
        if self.scenario.managers:
            return max((each for each in self.managers if each.is_leading), key=_epoch_of, default=None)
        newest = self.managers[-1] if self.managers else None
        return newest if newest is not None and newest.is_leading else None

    @property
    def live_managers(self) -> list[SimulatedManager]:
        return [manager for manager in self.managers if not manager.is_terminated]

    async def run(self) -> tuple[int, BaseException, list[str]] | None:
        """Returns the first thing that went wrong: step, error and last events."""
        main_task = asyncio.create_task(self._main())
        failed = asyncio.create_task(self._has_failed.wait())
        await asyncio.wait((main_task, failed), return_when=asyncio.FIRST_COMPLETED)
        if main_task.done() and main_task.exception() is not None:
            self.fail(main_task.exception())
        return self.failure

    def fail(self, error: BaseException | None) -> None:
        """Keep the first failure; what follows from it says little."""
        if self.failure is None and error is not None:
            self.failure = (self.trace.steps, error, self.trace.last_events())
            self._has_failed.set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run in the background; if it fails, so does the world."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            self.fail(task.exception())

    # ---- the story ----

    async def _main(self) -> None:
        self.spawn(self.fleet.run())
        self.spawn(self._ensure_members() if self.scenario.managers else self._ensure_manager())
        for hello in self.scenario.hellos:
            self.add_node(hello)
        users, faults = Users(self), Faults(self)
        running = [users.run()]
        if self.scenario.managers:
            manager_faults = ManagerFaults(self, self.scenario.managers_seed)
            running += [
                self._check_leader_returns(faults.run(), manager_faults.run()),
                Readers(self, users, self.scenario.managers_seed).run(),
            ]
            if self.scenario.managers_seed % STATUS_EVERY == STATUS_EVERY - 4:
                running.append(StatusFollowers(self, self.scenario.managers_seed).run())
            if self.upgrade is not None:
                running.append(self.upgrade.run())
        else:
            running.append(faults.run())
        if self.scenario.lies_seed is not None:
            running.append(Liar(self, self.scenario.lies_seed).run())
        if self.scenario.cuts_seed is not None:
            running.append(LinkCuts(self, self.scenario.cuts_seed).run())
        if self.scenario.dates_seed is not None:
            running.append(WrongDates(self, self.scenario.dates_seed).run())
        async with asyncio.timeout(FAULT_PERIOD_MAX_S):
            await asyncio.gather(*running)
        await self._quiesce(users)
        if self.upgrade is not None:
            await self.upgrade.wait_raised()
        await check_end(self, users)
        if self.scenario.managers:
            self.checkers.leadership.check_epochs(self.servers.terms)

    async def _check_leader_returns(self, *faults: Coroutine[Any, Any, None]) -> None:
        await asyncio.gather(*faults)
        over_s = self.clock.now()
        while not any(manager.is_leading and manager.has_lease for manager in self.managers):
            waited_s = self.clock.now() - over_s
            require(waited_s < LEADER_WITHIN_S, f"nobody leads {waited_s:.1f} s after the last fault")
            await self.clock.sleep(0.05)
        self.trace.record("leader.returned", f"{self.clock.now() - over_s:.2f} s after the last fault")
        self.checkers.checked["leader_returned"] += 1

    async def _quiesce(self, users: Users) -> None:
        """No more faults: stop what cannot end by itself; the rest must end, one task after another."""
        self.trace.record("quiet")
        settling = asyncio.create_task(users.settle())
        ended, progress_s = -1, self.clock.now()
        while not (settling.done() and is_quiescent(self)) and self.clock.now() < progress_s + STUCK_AFTER_S:
            if self.checkers.model.ended != ended:
                ended, progress_s = self.checkers.model.ended, self.clock.now()
            await self.clock.sleep(1.0)
        settling.result()

    async def _ensure_manager(self) -> None:
        """Restart a manager that is gone."""
        while True:
            if not self.managers or self.managers[-1].is_terminated:
                self.start_manager()
            await self.clock.sleep(self.rng.uniform(0.1, 2.0))

    async def _ensure_members(self) -> None:
        """Restart managers that are gone, one at a time."""
        while True:
            if len(self.live_managers) < self.scenario.managers:
                self.start_manager()
            await self.clock.sleep(self.rng.uniform(0.05, 1.0))

    def start_manager(self) -> None:
        number = len(self.managers) + 1
        taken = {each.place for each in self.live_managers}
        place = next(each for each in range(len(taken) + 1) if each not in taken)
        formats = self.upgrade.installed[place] if self.upgrade else FORMATS
        manager = SimulatedManager(number, self.clock, self.trace, self.rng, self._on_manager_end, place, formats)
        self.managers.append(manager)
        policy = self._policy_factory.make(self.scenario.policy)
        self.makes_schedulings = TASKS not in wants_of(policy)
        if self.scenario.is_background and policy.fast:
            policy = BackgroundPolicy(policy)
        if self.scenario.managers:
            manager.campaign(self.servers, self._on_lease_held, self._find_live)
        manager.start(policy, self.scenario.settings, self.store, self.disk, self, self.secret_keys)
        manager.engine.schedulers.record_to(self._policy_factory.record(number))
        if self.scenario.managers:
            return
        for older in self.managers[:-1]:
            if not older.is_terminated:
                self.spawn(self._retire(older))

    def _find_live(self, name: str) -> SimulatedManager | None:
        return next((manager for manager in self.live_managers if manager.name == name), None)

    async def _retire(self, manager: SimulatedManager) -> None:
        """A replaced manager learns of it some time after it wakes, unless a refused commit tells it first."""
        await self.clock.sleep(self.rng.uniform(3.0, 15.0))
        await manager.gate.wait_open()
        if not manager.is_terminated:
            self.trace.record("manager.retires", manager.name)
            manager.kill()

    def add_node(self, hello: Hello) -> SimulatedWorker:
        node = self.fleet.add(hello)
        self.checkers.watch(node)
        worker = SimulatedWorker(node, self.network, self._manager_for_worker)
        self.workers[hello.name] = worker
        return worker

    def _on_lease_held(self, _lease: SimulatedLease) -> None:
        holders = [manager.name for manager in self.live_managers if manager.has_lease]
        self.check(self.checkers.leadership.on_lease_held, holders)

    def _manager_for_worker(self, name: str) -> SimulatedManager | None:
        """A worker knows the addresses of all managers and tries one after the other, or one that it was told of; a
        follower refuses it."""
        if not self.scenario.managers:
            return self.leader
        named = [manager for manager in self.live_managers if manager.name == name]
        candidates = named or self.live_managers
        return self.rng.choice(candidates) if candidates else None

    def _on_manager_end(self, manager: SimulatedManager) -> None:
        for connection in self.network.connections_of(manager):
            connection.reset("manager gone")

    # ---- what the checkers are told ----

    def durable(self, manager: SimulatedManager, commit: Commit, is_late: bool) -> None:
        """The writer of a late commit has dropped its state, so only the commit itself is checked."""
        self.trace.record("committed", f"{manager.name} version {commit.version} ({len(commit.body)} bytes)")
        self.check(self.checkers.leadership.on_durable, manager.name, commit.epoch)
        self.checkers.formats.on_registered(self.servers.managers(for_s=LEASE_S + FORMAT_SETTLE_S))
        self.check(self.checkers.on_durable, None if is_late else manager.engine, commit, manager.formats)
        if self.scenario.managers:
            self.checkers.histories.on_durable()
            self.checkers.status.on_durable(commit)

    def purged(self, purged: Purged, left: list[FinishedJob]) -> None:
        self.trace.record("purged", f"{len(purged.names)} names, {purged.rounds} rounds")
        history: dict[tuple[str, str], int] = {}
        for job in left:
            history[job.namespace, job.name] = max(job.run, history.get((job.namespace, job.name), 0))
        self.checkers.model.history = history

    def begun(self, manager: SimulatedManager, term: int, epoch: int) -> None:
        self.check(self.checkers.leadership.on_begun, manager.name, term, epoch)

    def reloads(self, manager: SimulatedManager) -> None:
        self.trace.record("manager.reloads", manager.name)
        self.checkers.leadership.reloads += 1

    def sent(self, manager: SimulatedManager, node: int, message: ManagerMessage) -> None:
        self.check(self.checkers.on_sent, manager.engine, node, message)

    def recovered(self, manager: SimulatedManager) -> None:
        self.check(self.checkers.on_recovered, manager.engine)

    def check(self, checker: Callable[..., None], *arguments: Any) -> None:
        """Run a checker where its caller would swallow what it raises."""
        try:
            checker(*arguments)
        except Exception as error:
            self.fail(error)

    def _flush(self, nodes: list[SimulatedNode]) -> None:
        for node in nodes:
            self.workers[node.hello.name].flush()

    @contextmanager
    def capture_errors(self) -> Iterator[None]:
        """An error that the code under test logs and survives is a failure all the same, unless we injected it."""
        handler = _ErrorHandler(self)
        logger = logging.getLogger("shunter")
        logger.addHandler(handler)
        propagate, logger.propagate = logger.propagate, False
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.propagate = propagate


def _epoch_of(manager: SimulatedManager) -> int:
    return manager.engine.epoch


class _ErrorHandler(logging.Handler):
    def __init__(self, world: World) -> None:
        super().__init__(logging.ERROR)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not isinstance(error, ShunterError):
            self._world.fail(error)
