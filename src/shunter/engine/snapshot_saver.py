"""Saves snapshots of the committed state, in slices between rounds. Used by `engine.engine`.

A snapshot is due when as much was logged since the last one as recovery should have to replay: a fixed amount, or half
of the last snapshot if that is more, so that the cost of snapshots stays in proportion to what is committed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from shunter.engine.replica import Replica
from shunter.engine.settings import EngineSettings
from shunter.engine.state.snapshot_writer import SnapshotWriter
from shunter.log import Log
from shunter.model.errors import ShunterError
from shunter.model.metrics.metric import LabelledCounter
from shunter.ports.clock import Clock
from shunter.ports.store import Snapshot, Store

log = Log(__name__)
SUCCEEDED, FAILED = "succeeded", "failed"
PAUSE_S = 0.002  # between two slices: about as long as a slice takes


class SnapshotSaver:
    """`wait_committed` returns when no commit is in flight, or raises Unavailable."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        replica: Replica,
        settings: EngineSettings,
        wait_committed: Callable[[], Awaitable[None]],
    ) -> None:
        self._store, self._clock, self._replica, self._settings = store, clock, replica, settings
        self._wait_committed = wait_committed
        self._logged_bytes = self._logged_rounds = 0
        self._last_bytes = 0  # the size of the last snapshot that this process saved
        self.saved_at = 0.0  # when the last snapshot was saved, in seconds since 1970; 0: not yet
        self.results = LabelledCounter((SUCCEEDED, FAILED))
        self._task: asyncio.Task[None] | None = None
        self._one_at_a_time = asyncio.Lock()  # the last round may begin one while the engine saves its last

    def on_commit(self, epoch: int, size_bytes: int) -> None:
        """A round was logged: begin a snapshot if one is due."""
        self._logged_bytes += size_bytes
        self._logged_rounds += 1
        due_bytes = max(self._settings.snapshot_bytes, self._last_bytes // 2)
        if self._logged_bytes >= due_bytes or self._logged_rounds >= self._settings.snapshot_rounds:
            self.begin(epoch)

    def begin(self, epoch: int) -> None:
        """Begin a snapshot, unless one is being written."""
        if self._task is None or self._task.done():
            self._logged_bytes = self._logged_rounds = 0
            self._task = asyncio.get_running_loop().create_task(self.save(epoch))

    async def wait(self) -> None:
        """Wait for the snapshot that is being written."""
        if self._task is not None:
            await self._task

    async def save(self, epoch: int) -> None:
        async with self._one_at_a_time:
            try:
                await self._wait_committed()
                snapshot = await self._write()
                if snapshot is not None:
                    await self._store.save_snapshot(epoch, snapshot)
                    self._last_bytes = len(snapshot.body)
                    self.saved_at = self._clock.now()
                    self.results.add(SUCCEEDED)
            except ShunterError as error:
                self.results.add(FAILED)
                log.warning("snapshot.failed", error=error)  # all rounds are in the store: recovery only takes longer
            except Exception:
                self.results.add(FAILED)
                log.exception("snapshot.failed")  # a mistake of ours, which must not keep the manager from stopping

    async def _write(self) -> Snapshot | None:
        """None if the state was loaded again meanwhile."""
        state = self._replica.state
        writer = SnapshotWriter(state, self._settings.snapshot_slice_jobs)
        writer.attach()
        try:
            for _ in writer.slices():
                await self._clock.sleep(PAUSE_S)
                if self._replica.state is not state:
                    return None
        finally:
            writer.close()
        return writer.snapshot
