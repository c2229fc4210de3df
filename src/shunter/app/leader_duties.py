"""What only the manager that leads does: decide by the chosen policy, record flights, watch nodes, purge history.
`app.manager` begins it, once for a manager that is alone, and whenever it is elected for one of several."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from shunter.adapters.files.flight_files import FlightFiles
from shunter.app.background_policies import BackgroundPolicies
from shunter.app.worker_backends import WorkerBackend
from shunter.engine.engine import Engine
from shunter.engine.state.registries.cluster import FLIGHT_SETTING, HEARTBEAT_SETTING, POLICY_SETTING
from shunter.gateway.monitor.rollup_recorder import RollupRecorder
from shunter.gateway.policies import choose_policy
from shunter.log import Log
from shunter.model.errors import ShunterError
from shunter.model.rest.admin_fields import OFF
from shunter.planning.policies import Catalogue

PURGE_EVERY_S = 60.0
ROLL_UP_EVERY_S = 5.0
log = Log(__name__)


class LeaderDuties:
    def __init__(
        self,
        engine: Engine,
        backend: WorkerBackend,
        catalogue: Catalogue,
        policies: BackgroundPolicies,
        flight: FlightFiles | None,
        configured_policy: str | None,
        configured_heartbeat_s: float | None,
        apply_settings: Callable[[], None],
        rollups: RollupRecorder,
        *,
        is_simulated: bool,
    ) -> None:
        self._engine, self._backend, self._catalogue, self._policies = engine, backend, catalogue, policies
        self._flight, self._configured_policy = flight, configured_policy
        self._configured_heartbeat_s = configured_heartbeat_s
        self._apply_settings, self._is_simulated = apply_settings, is_simulated
        self._rollups = rollups
        self._periodic: list[asyncio.Task[None]] = []

    def apply_stored_settings(self) -> None:
        """As they were when the cluster ran the last time, or under the leader before."""
        engine, stored = self._engine, self._engine.state.cluster
        engine.policy = self._catalogue.build(
            choose_policy(self._catalogue, stored.get(POLICY_SETTING), self._configured_policy)
        )
        self._apply_settings()
        is_recording = self._flight is not None and stored.get(FLIGHT_SETTING) != OFF
        engine.schedulers.record_to(self._flight if is_recording else None)
        self._policies.switch_to(engine.policy)

    async def begin(self) -> None:
        self.apply_stored_settings()
        await self.watch()

    async def watch(self) -> None:
        await self._backend.lead(self._engine)
        stored = self._engine.state.cluster.get(HEARTBEAT_SETTING)
        if not self._is_simulated:  # simulated nodes have their own
            self._backend.set_heartbeat(float(stored) if stored else self._configured_heartbeat_s)
        self._periodic = [
            asyncio.create_task(self._purge_periodically()),
            asyncio.create_task(self._roll_up_periodically()),
        ]

    def stop(self) -> None:
        """Leave the nodes alone: the manager stops."""
        self._policies.stop()
        for task in self._periodic:
            task.cancel()

    async def end(self) -> None:
        self.stop()
        await self._backend.step_down("this manager is no longer the leader")

    async def _purge_periodically(self) -> None:
        while True:
            await asyncio.sleep(PURGE_EVERY_S)
            try:
                await self._engine.purge()
            except ShunterError as error:
                log.warning("purge.failed", error=error)

    async def _roll_up_periodically(self) -> None:
        while True:
            try:
                await self._rollups.tick()
            except ShunterError as error:
                log.warning("rollups.failed", error=error)
            await asyncio.sleep(ROLL_UP_EVERY_S)
