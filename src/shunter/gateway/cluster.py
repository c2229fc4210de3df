"""The cluster as a whole: what it is and has, and the settings that change while it runs. Made by the gateway."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shunter.engine.engine import Engine
from shunter.engine.read.views import counts_view
from shunter.engine.state.registries.cluster import (
    FALLBACK_SETTING,
    FLIGHT_SETTING,
    HEARTBEAT_SETTING,
    HOLD_SETTING,
    LEASE_SETTING,
    POLICY_SETTING,
    PREEMPTION_SETTING,
    RESERVE_SETTING,
)
from shunter.gateway.flight import Flight
from shunter.gateway.policies import Policies
from shunter.model.job.spec import LICENCE_PREFIX, PORT_PREFIX
from shunter.model.lifecycles import JobState
from shunter.model.resources import format_amount, format_duration
from shunter.model.rest.cluster_fields import AUTO, OFF, ON
from shunter.model.rest.views import ClusterInfo, LicenceView, iso
from shunter.planning.planner import POLICY_DEFAULT
from shunter.ports.workers import Workers

_AS_GIVEN = (PREEMPTION_SETTING, RESERVE_SETTING, HOLD_SETTING, FALLBACK_SETTING, LEASE_SETTING, FLIGHT_SETTING)


@dataclass(frozen=True, slots=True)
class Standing:
    """What does not change while this manager lives."""

    name: str
    version: str
    started_at: float
    is_simulated: bool


class Cluster:
    """`on_heartbeat` hears of another interval; it raises Invalid for one that cannot be, before anything is kept."""

    def __init__(
        self,
        engine: Engine,
        workers: Workers,
        standing: Standing,
        policies: Policies,
        flight: Flight,
        on_heartbeat: Callable[[float | None], None],
    ) -> None:
        self._engine, self._workers, self._standing = engine, workers, standing
        self._policies, self._flight, self._on_heartbeat = policies, flight, on_heartbeat

    async def info(self) -> ClusterInfo:
        await self._engine.wait_committed()
        engine, state, standing = self._engine, self._engine.state, self._standing
        columns, kept = state.nodes.view, state.cluster
        return ClusterInfo(
            name=standing.name,
            version=standing.version,
            state_version=state.version,
            epoch=engine.epoch,
            policy=engine.policy.name,
            heartbeat_s=self._workers.heartbeat_s,
            started_at=iso(standing.started_at) or "",
            simulated=standing.is_simulated,
            nodes=dict(Counter(node.state.word for node in state.nodes.records.values())),
            jobs={JobState(code).word: count for code, count in enumerate(state.job_counts) if count},
            tasks=counts_view(state.task_counts),
            capacity=_totals(columns.resources, columns.capacity.sum(axis=0).tolist()),
            reserved=_totals(columns.resources, columns.reserved.sum(axis=0).tolist()),
            preemption=kept.get(PREEMPTION_SETTING, AUTO),
            reserve_after=_wait_view(kept.get(RESERVE_SETTING)),
            hold_after=_wait_view(kept.get(HOLD_SETTING)),
            fallback=kept.get(FALLBACK_SETTING, POLICY_DEFAULT),
            lease=_wait_view(kept.get(LEASE_SETTING)),
            flight=ON if self._flight.is_on else OFF,
            licences={
                name.removeprefix(LICENCE_PREFIX): LicenceView(total=total, used=state.licences_used[name])
                for name, total in kept.licences().items()
            },
        )

    async def update(self, settings: Mapping[str, Any]) -> ClusterInfo:
        kept: dict[str, str] = {}
        for name in (POLICY_SETTING, FALLBACK_SETTING):
            if name in settings:
                self._policies.check(settings[name])  # refused before anything is kept
        if "heartbeat" in settings:
            seconds: float | None = settings["heartbeat"]
            self._on_heartbeat(seconds)
            kept[HEARTBEAT_SETTING] = "" if seconds is None else f"{seconds:g}"
        kept |= {name: settings[name] for name in _AS_GIVEN if name in settings}
        for name, count in settings.get("licences", {}).items():
            kept[LICENCE_PREFIX + name] = "" if count is None else str(count)
        await self._engine.set_settings(kept)
        self._policies.settle()
        self._flight.switch(self._engine.state.cluster.get(FLIGHT_SETTING) != OFF)
        if POLICY_SETTING in settings:
            await self._policies.use(settings[POLICY_SETTING])
        return await self.info()


def _wait_view(value: str) -> str:
    """A setting that says how long somebody waits, as people write it."""
    return format_duration(float(value)) if value and value != OFF else value or AUTO


def _totals(resources: list[str], amounts: list[int]) -> dict[str, str]:
    """Ports aside, of which every node has its own."""
    return {
        resource: format_amount(resource, amount)
        for resource, amount in zip(resources, amounts, strict=True)
        if not resource.startswith(PORT_PREFIX)
    }
