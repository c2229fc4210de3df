"""All keepers of this worker: found, started, kept warm, retired, and cleaned up after. Used by `worker.worker`."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol

from shunter.log import Log
from shunter.ports.clock import Clock
from shunter.worker.logs import sweep_logs
from shunter.worker.process.cgroups import Groups, clear_lane, prepare_groups, remove_groups, stale_lanes
from shunter.worker.process.keeper_client import Keeper
from shunter.worker.process.launcher import KeeperHouse
from shunter.worker.process.protocol import KeeperReport, KeeperStarted
from shunter.worker.process.range_ledger import Span
from shunter.worker.settings import WorkerSettings

log = Log(__name__)

START_AGAIN_S = 1.0  # after a keeper could not be started
END_MAX_S = 10.0
TIDY_EVERY_S = 10.0


class FleetOwner(Protocol):
    def keeper_ready(self, keeper: Keeper) -> None: ...

    def keeper_reported(self, keeper: Keeper, report: KeeperReport) -> None: ...

    def keeper_gone(self, keeper: Keeper) -> None:
        """It takes nothing more. What it had is not lost yet: a task may outlive its keeper for a moment."""
        ...

    def keeper_buried(self, keeper: Keeper, reason: str) -> None:
        """Nothing of it runs any more: what it had is lost."""
        ...

    def dispatch_all(self) -> None: ...

    def idle_keepers(self) -> list[Keeper]: ...

    def retire(self, keeper: Keeper) -> None: ...

    def segments_in_use(self) -> set[int]:
        """Log segments that others than keepers write."""
        ...


class Fleet:
    def __init__(self, settings: WorkerSettings, clock: Clock, owner: FleetOwner) -> None:
        self._settings = settings
        self._clock = clock
        self._owner = owner
        self._groups: Groups = {}
        self._starting = 0
        self._wanted = 0
        self._ending = False
        self._is_pausing = False  # after a keeper could not be started
        self._background: set[asyncio.Task[None]] = set()
        self._cleaning: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self.keepers: list[Keeper] = []

    async def start(self) -> str:
        """Find, clean up, begin to warm up. Returns what limits tasks here: cgroup-v2, cgroup-v1 or rlimits."""
        limits = "rlimits"
        if self._settings.cgroups:
            limits, self._groups = prepare_groups(self._settings.home)
        self._house = KeeperHouse(self._settings, self._groups)
        await asyncio.gather(*(self._find(number) for number in self._house.prepare()))
        alive = {keeper.number for keeper in self.keepers}
        for number in stale_lanes(self._groups, alive):
            await clear_lane(self._groups, number)
        self.want(self._settings.warm_keepers - len(self.keepers))
        self._spawn(self._tidy())
        return limits

    def want(self, count: int) -> None:
        """So many keepers more would have work."""
        self._wanted = max(self._wanted, count)
        if self._ending or self._is_pausing:
            return
        room = self._settings.keepers_max - len(self.keepers)
        while self._starting < min(self._wanted, room, self._settings.keepers_starting_max):
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

    async def end(self) -> None:
        """End all keepers; nothing of them is left."""
        self._ending = True
        for keeper in self.keepers:
            keeper.end()
        try:
            async with asyncio.timeout(END_MAX_S):
                while self.keepers or self._starting:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            for keeper in self.keepers:
                keeper.kill()
        await asyncio.gather(*self._cleaning)
        remove_groups(self._groups)

    async def close(self) -> None:
        """Leave the keepers to themselves."""
        self._ending = True
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        for keeper in self.keepers:
            keeper.detach()
        self._house.close()

    # ---- worker.keepers.KeeperOwner ----

    def keeper_reported(self, keeper: Keeper, report: KeeperReport) -> None:
        self._owner.keeper_reported(keeper, report)
        self._changed.set()

    def keeper_gave_back(self) -> None:
        self._changed.set()

    def keeper_gone(self, keeper: Keeper) -> None:
        if keeper in self.keepers:
            self.keepers.remove(keeper)
        expected = self._ending or keeper.ending
        if not expected:
            words = self._house.last_words(keeper.number)
            log.warning("keeper.died", keeper=keeper.number, pid=keeper.pid, tasks=keeper.held, last_words=words)
        self._owner.keeper_gone(keeper)
        cleaning = self._spawn(self._clean_up(keeper))
        self._cleaning.add(cleaning)
        cleaning.add_done_callback(self._cleaned_up)
        self._changed.set()

    # ---- inside ----

    async def _find(self, number: int) -> None:
        keeper = await self._house.find(number, self)
        if keeper is None:
            log.info("keeper.absent", keeper=number)
            await self._house.bury(number)
            return
        state = keeper.ready.result()
        if state.running is not None:
            found = state.running
            order = found.order
            keeper.hold(Span(order, found.index, found.index, None))
            name = order.job, order.group, order.attempt, found.index
            place = found.started_ms, found.segment, found.record, found.pid
            keeper.running = KeeperStarted(*name, *place, found.ports)
        for order in state.queue:
            keeper.hold(Span(order, order.first, order.last, None))
        keeper.devices = state.devices
        log.info("keeper.found", keeper=number, pid=keeper.pid, tasks=keeper.held)
        self.keepers.append(keeper)
        self._owner.keeper_ready(keeper)

    async def _start_keeper(self) -> None:
        keeper = None
        try:
            keeper = await self._house.start(self)
            await keeper.ready
        except OSError as error:
            log.error("keeper.not_started", error=repr(error))
            self._note_start()
            await self._pause()
            return
        except asyncio.CancelledError:
            if keeper is not None:
                keeper.detach()
            raise
        self._note_start()
        self.keepers.append(keeper)
        if self._ending:
            keeper.end()
            return
        self._owner.keeper_ready(keeper)

    def _note_start(self) -> None:
        self._starting -= 1
        self._wanted = max(0, self._wanted - 1)
        self._changed.set()

    async def _pause(self) -> None:
        """What kept one keeper from starting will keep the next one too: wait a little."""
        if not self._is_pausing:
            self._is_pausing = True
            await self._clock.sleep(START_AGAIN_S)
            self._is_pausing = False
            self.want(self._settings.warm_keepers - len(self.keepers))
            self._owner.dispatch_all()

    async def _clean_up(self, keeper: Keeper) -> None:
        if not keeper.ending:
            keeper.kill()
        await keeper.dead()
        try:
            await self._house.bury(keeper.number)
        except OSError as error:
            log.warning("keeper.unburied", keeper=keeper.number, error=error)
        self._owner.keeper_buried(keeper, f"its keeper (process {keeper.pid}) died")
        if not self._ending:
            self.want(self._settings.warm_keepers - len(self.keepers))

    def _cleaned_up(self, cleaning: asyncio.Task[None]) -> None:
        self._cleaning.discard(cleaning)
        self._changed.set()

    async def _tidy(self) -> None:
        """Retire keepers that were idle for long; delete old logs."""
        swept_at = 0.0
        while True:
            now = self._clock.now()
            self._retire_idle(now)
            if now - swept_at >= self._settings.log_sweep_s:
                swept_at = now
                await self._sweep_logs(now)
            await self._clock.sleep(min(TIDY_EVERY_S, self._settings.keeper_idle_max_s))

    def _retire_idle(self, now: float) -> None:
        spare = len(self.keepers) - self._settings.warm_keepers
        for keeper in list(self._owner.idle_keepers()):
            if spare > 0 and now - keeper.idle_since > self._settings.keeper_idle_max_s:
                spare -= 1
                self._owner.retire(keeper)
                keeper.end()

    async def _sweep_logs(self, now: float) -> None:
        in_use = {keeper.segment for keeper in self.keepers} | self._owner.segments_in_use()
        settings = self._settings
        limits = settings.log_age_max_s, settings.log_total_max_bytes
        try:
            deleted = await asyncio.to_thread(sweep_logs, settings.home / "logs", in_use, now, *limits)
        except OSError as error:
            log.warning("logs.not_deleted", error=error)
            return
        if deleted:
            log.info("logs.deleted", segments=len(deleted))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task
