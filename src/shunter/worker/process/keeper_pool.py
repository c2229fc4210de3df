"""All keepers of this worker: finds, starts, retires and cleans up keepers, and keeps some warm. Used by
`worker.worker`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Coroutine
from typing import Any, Protocol

from shunter.log import Log
from shunter.ports.clock import Clock
from shunter.worker.isolation import Isolation, detect_isolation
from shunter.worker.logs import sweep_logs
from shunter.worker.process import keeper_watch
from shunter.worker.process.cgroups import Groups, clear_lane, prepare_groups, remove_groups, stale_lanes
from shunter.worker.process.keeper_client import Keeper
from shunter.worker.process.keeper_watch import KeeperWatch
from shunter.worker.process.launcher import KeeperLauncher
from shunter.worker.process.orphans import Orphans
from shunter.worker.process.protocol import KeeperReport, KeeperStarted
from shunter.worker.process.range_ledger import TaskRange
from shunter.worker.settings import WorkerSettings
from shunter.worker.steady_time import by_clock_ms

log = Log(__name__)

START_MAX_S = 30.0  # for a new keeper to answer
START_AGAIN_S = 1.0  # after a keeper could not be started
CLEAN_UP_AGAIN_S = 1.0  # while some processes of a dead keeper resist
END_MAX_S = 10.0
HOUSEKEEPING_EVERY_S = 10.0


class KeeperPoolOwner(Protocol):
    def keeper_ready(self, keeper: Keeper) -> None: ...

    def keeper_reported(self, keeper: Keeper, report: KeeperReport) -> None: ...

    def keeper_disconnected(self, keeper: Keeper) -> None:
        """It accepts nothing more. Its tasks are not lost yet: a task may outlive its keeper for a moment."""
        ...

    def keeper_cleaned_up(self, keeper: Keeper, reason: str) -> None:
        """None of its processes runs any more: its tasks are lost."""
        ...

    def dispatch_all(self) -> None: ...

    def idle_keepers(self) -> list[Keeper]: ...

    def retire(self, keeper: Keeper) -> None: ...

    def segments_in_use(self) -> set[int]:
        """Log segments that others than keepers write."""
        ...


class KeeperPool:
    def __init__(self, settings: WorkerSettings, clock: Clock, owner: KeeperPoolOwner) -> None:
        self._settings = settings
        self._clock = clock
        self._owner = owner
        self._groups: Groups = {}
        self._starting = 0
        self._requested = 0
        self._ending = False
        self._is_backing_off = False  # after a keeper could not be started
        self._background: set[asyncio.Task[None]] = set()
        self._cleaning: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self.keepers: list[Keeper] = []
        self._watch = KeeperWatch(self.keepers)
        self._orphans = Orphans()
        self.isolation = Isolation()  # of the tasks of its keepers

    async def start(self) -> str:
        """Find keepers, clean up, and start warm ones. Returns how tasks are limited here: cgroup-v2, cgroup-v1 or
        rlimits."""
        limits = "rlimits"
        if self._settings.cgroups:
            limits, self._groups = prepare_groups(self._settings.home)
        self.isolation = await detect_isolation(self._settings)
        self._orphans.start()
        self._launcher = KeeperLauncher(self._settings, self._groups, self.isolation)
        await asyncio.gather(*(self._reattach(number) for number in self._launcher.prepare()))
        alive = {keeper.number for keeper in self.keepers}
        for number in stale_lanes(self._groups, alive):
            await clear_lane(self._groups, number)
        self.request_keepers(self._settings.warm_keepers - len(self.keepers))
        self._spawn(self._housekeep())
        self._spawn(self._look_after_keepers())
        return limits

    def request_keepers(self, count: int) -> None:
        """This many more keepers would have work."""
        self._requested = max(self._requested, count)
        if self._ending or self._is_backing_off:
            return
        headroom = self._settings.keepers_max - len(self.keepers)
        while self._starting < min(self._requested, headroom, self._settings.keepers_starting_max):
            self._starting += 1
            self._spawn(self._start_keeper())

    async def idle(self, timeout_s: float) -> None:
        """Until no keeper has anything to run and none is left to bury, or the time has passed."""
        try:
            async with asyncio.timeout(timeout_s):
                while self._cleaning or any(keeper.held for keeper in self.keepers):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            log.warning("keepers.busy", keepers=sum(keeper.held > 0 for keeper in self.keepers))

    async def end(self, kept: Collection[Keeper] = ()) -> None:
        """End all keepers, except those `kept`; nothing of them is left."""
        self._ending = True
        if kept:
            log.warning("keepers.kept", keepers=len(kept), reason="their results are not acknowledged")
        for keeper in self.keepers:
            if keeper not in kept:
                keeper.end()
        if not await self._all_gone(kept, END_MAX_S):
            for keeper in self.keepers:
                if keeper not in kept:
                    keeper.kill(f"did not end within {END_MAX_S:g} s, and was killed")
            if not await self._all_gone(kept, END_MAX_S):
                log.warning("keepers.not_ended", keepers=len(self.keepers), cleaning=len(self._cleaning))
        remove_groups(self._groups)

    async def close(self) -> None:
        """Leave the keepers to themselves."""
        self._ending = True
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        for keeper in self.keepers:
            keeper.detach()
        self._launcher.close()

    # ---- worker.keepers.KeeperOwner ----

    def keeper_reported(self, keeper: Keeper, report: KeeperReport) -> None:
        self._owner.keeper_reported(keeper, report)
        self._changed.set()

    def keeper_returned_tasks(self) -> None:
        self._changed.set()

    def keeper_disconnected(self, keeper: Keeper) -> None:
        if keeper in self.keepers:
            self.keepers.remove(keeper)
        expected = self._ending or keeper.is_ending
        if not expected:
            journal_line = self._launcher.last_journal_line(keeper.number)
            log.warning("keeper.died", keeper=keeper.number, pid=keeper.pid, tasks=keeper.held, last_line=journal_line)
        self._owner.keeper_disconnected(keeper)
        cleaning = self._spawn(self._clean_up(keeper))
        self._cleaning.add(cleaning)
        cleaning.add_done_callback(self._cleaned_up)
        self._changed.set()

    # ---- inside ----

    async def _all_gone(self, kept: Collection[Keeper], timeout_s: float) -> bool:
        """Whether all other keepers have ended, and nothing of them is left, before the time has passed."""
        try:
            async with asyncio.timeout(timeout_s):
                while self._starting or self._cleaning or any(keeper not in kept for keeper in self.keepers):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def _reattach(self, number: int) -> None:
        keeper = await self._launcher.reattach(number, self)
        if keeper is None:
            log.info("keeper.not_running", keeper=number)
            await self._launcher.clean_up_after(number)
            return
        state = keeper.ready.result()
        if state.running is not None:
            found = state.running
            order = found.order
            keeper.adopt_range(TaskRange(order, found.index, found.index, None))
            name = order.job, order.group, order.attempt, found.index
            place = by_clock_ms(self._clock, found.started_ms), found.segment, found.record, found.pid
            keeper.running = KeeperStarted(*name, *place, found.ports)
        for order in state.queue:
            keeper.adopt_range(TaskRange(order, order.first, order.last, None))
        keeper.devices = state.devices
        keeper.needs_contact = bool(state.contact_limits)
        log.info("keeper.found", keeper=number, pid=keeper.pid, tasks=keeper.held)
        self.keepers.append(keeper)
        self._owner.keeper_ready(keeper)

    async def _start_keeper(self) -> None:
        keeper = None
        try:
            keeper = await self._launcher.start(self)
            await asyncio.wait_for(asyncio.shield(keeper.ready), START_MAX_S)
        except OSError as error:
            log.error("keeper.not_started", error=repr(error))
            if keeper is not None:
                keeper.kill(f"did not start within {START_MAX_S:g} s, and was killed")
            self._start_finished()
            await self._back_off()
            return
        except asyncio.CancelledError:
            if keeper is not None:
                keeper.detach()
            raise
        self._start_finished()
        self.keepers.append(keeper)
        if self._ending:
            keeper.end()
            return
        self._owner.keeper_ready(keeper)

    def _start_finished(self) -> None:
        self._starting -= 1
        self._requested = max(0, self._requested - 1)
        self._changed.set()

    async def _back_off(self) -> None:
        """Wait a little: what prevented one keeper from starting will prevent the next one too."""
        if not self._is_backing_off:
            self._is_backing_off = True
            await self._clock.sleep(START_AGAIN_S)
            self._is_backing_off = False
            self.request_keepers(self._settings.warm_keepers - len(self.keepers))
            self._owner.dispatch_all()

    async def _clean_up(self, keeper: Keeper) -> None:
        if not keeper.is_ending:
            keeper.kill()
        await keeper.wait_dead()
        self._launcher.pids.discard(keeper.pid)
        in_order = keeper.is_ending and not keeper.kill_reason
        try:
            # First its groups: what forks there without end would be found again and again among the orphans.
            while not await self._launcher.clean_up_after(keeper.number, in_order) or not (
                in_order or await self._orphans.end_all(self._launcher.pids)
            ):
                await self._clock.sleep(CLEAN_UP_AGAIN_S)  # what still runs must not be taken for ended
        except OSError as error:
            log.warning("keeper.cleanup_failed", keeper=keeper.number, error=error)
        self._owner.keeper_cleaned_up(keeper, f"its keeper (process {keeper.pid}) {keeper.kill_reason or 'died'}")
        if not self._ending:
            self.request_keepers(self._settings.warm_keepers - len(self.keepers))

    async def _look_after_keepers(self) -> None:
        while True:
            await self._clock.sleep(keeper_watch.ROUND_S)
            self._watch.check()
            if not self._cleaning:
                self._orphans.look()

    def _cleaned_up(self, cleaning: asyncio.Task[None]) -> None:
        self._cleaning.discard(cleaning)
        self._changed.set()

    async def _housekeep(self) -> None:
        """Retire keepers that were idle for long; delete old logs."""
        swept_at = 0.0
        while True:
            now = self._clock.now()
            self._retire_idle(now)
            if now - swept_at >= self._settings.log_sweep_s:
                swept_at = now
                await self._sweep_logs(now)
            await self._clock.sleep(min(HOUSEKEEPING_EVERY_S, self._settings.keeper_idle_max_s))

    def _retire_idle(self, now: float) -> None:
        spare = len(self.keepers) - self._settings.warm_keepers
        for keeper in list(self._owner.idle_keepers()):
            if spare > 0 and now - keeper.idle_since > self._settings.keeper_idle_max_s:
                spare -= 1
                self._owner.retire(keeper)
                keeper.end()

    async def _sweep_logs(self, now: float) -> None:
        """Files have the date of their time. After a change of the date, what either clock finds too new stays."""
        in_use = {keeper.segment for keeper in self.keepers} | self._owner.segments_in_use()
        settings = self._settings
        limits = settings.log_age_max_s, settings.log_total_max_bytes
        now = min(now, time.time())
        try:
            deleted = await asyncio.to_thread(sweep_logs, settings.home / "logs", in_use, now, *limits)
        except OSError as error:
            log.warning("logs.not_deleted", error=error)
            return
        if deleted:
            log.info("logs.deleted", segments=len(deleted))

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task
