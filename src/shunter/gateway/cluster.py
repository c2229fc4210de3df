"""The sub-gateway `cluster`: the cluster at a glance, and its settings. Implements `ports.admin.ClusterService`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shunter.engine.engine import Engine
from shunter.engine.read.views import amounts_view, counts_view
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
from shunter.gateway.audit.acts import note_act
from shunter.gateway.cluster_stop import ClusterStop
from shunter.gateway.flight import Flight
from shunter.gateway.policies import Policies
from shunter.model.errors import Unavailable
from shunter.model.job.spec import LICENCE_PREFIX
from shunter.model.lifecycles import JobState, NodeState
from shunter.model.resources import format_duration
from shunter.model.rest.admin_fields import AUTO, OFF, ON
from shunter.model.rest.cluster_views import ClusterInfo, LicenceView
from shunter.model.rest.identity_views import ReachedCluster
from shunter.model.timestamps import iso
from shunter.planning.planner import POLICY_DEFAULT
from shunter.planning.view import Nodes
from shunter.ports.workers import Workers

_VERBATIM_SETTINGS = (
    PREEMPTION_SETTING,
    RESERVE_SETTING,
    HOLD_SETTING,
    FALLBACK_SETTING,
    LEASE_SETTING,
    FLIGHT_SETTING,
)


@dataclass(frozen=True, slots=True)
class ManagerInfo:
    """Facts that stay the same while this manager runs."""

    name: str
    version: str
    started_at: float
    is_simulated: bool


class Cluster:
    """Calls `on_heartbeat` with a new interval; it raises Invalid for an impossible one, before anything is stored."""

    def __init__(
        self,
        engine: Engine,
        workers: Workers,
        manager_info: ManagerInfo,
        policies: Policies,
        flight: Flight,
        *,
        on_heartbeat: Callable[[float | None], None],
        on_stop: Callable[[bool], None],
        cluster_stop: ClusterStop,
    ) -> None:
        self._engine, self._workers, self._manager_info = engine, workers, manager_info
        self._policies, self._flight, self._on_heartbeat = policies, flight, on_heartbeat
        self._on_stop, self._cluster_stop = on_stop, cluster_stop

    def check_health(self) -> None:
        """Needs no token. A leader is healthy if it can commit, a follower if it has a state to read."""
        if problem := self._engine.health_problem:
            raise Unavailable(problem)

    def reached(self) -> ReachedCluster:
        info = self._manager_info
        return ReachedCluster(name=info.name, policy=self._engine.policy.name, simulated=info.is_simulated)

    async def info(self) -> ClusterInfo:
        await self._engine.wait_committed()
        engine, state, manager_info = self._engine, self._engine.state, self._manager_info
        columns, stored = state.nodes.view, state.cluster
        nodes = state.nodes.records.values()
        capacity, reserved = _totals(columns, [node.id for node in nodes if node.state is not NodeState.DOWN])
        return ClusterInfo(
            name=manager_info.name,
            version=manager_info.version,
            state_version=state.version,
            epoch=engine.epoch,
            policy=engine.policy.name,
            heartbeat_s=self._workers.heartbeat_s,
            started_at=iso(manager_info.started_at) or "",
            simulated=manager_info.is_simulated,
            nodes=dict(Counter(node.state.wire_name for node in nodes)),
            jobs={JobState(code).wire_name: count for code, count in enumerate(state.job_counts) if count},
            tasks=counts_view(state.task_counts),
            capacity=capacity,
            reserved=reserved,
            preemption=stored.get(PREEMPTION_SETTING, AUTO),
            reserve_after=_duration_view(stored.get(RESERVE_SETTING)),
            hold_after=_duration_view(stored.get(HOLD_SETTING)),
            fallback=stored.get(FALLBACK_SETTING, POLICY_DEFAULT),
            lease=_duration_view(stored.get(LEASE_SETTING)),
            flight=ON if self._flight.is_enabled else OFF,
            licences={
                name.removeprefix(LICENCE_PREFIX): LicenceView(total=total, used=state.licences_used[name])
                for name, total in stored.licences().items()
            },
        )

    async def update(self, settings: Mapping[str, Any]) -> ClusterInfo:
        stored: dict[str, str] = {}
        for name in (POLICY_SETTING, FALLBACK_SETTING):
            if name in settings:
                self._policies.check(settings[name])  # raises before anything is stored
        if "heartbeat" in settings:
            seconds: float | None = settings["heartbeat"]
            self._on_heartbeat(seconds)
            stored[HEARTBEAT_SETTING] = "" if seconds is None else f"{seconds:g}"
        stored |= {name: settings[name] for name in _VERBATIM_SETTINGS if name in settings}
        for name, count in settings.get("licences", {}).items():
            stored[LICENCE_PREFIX + name] = "" if count is None else str(count)
        await self._engine.set_settings(stored)
        self._policies.apply_settings()
        self._flight.set_enabled(self._engine.state.cluster.get(FLIGHT_SETTING) != OFF)
        if POLICY_SETTING in settings:
            await self._policies.use(settings[POLICY_SETTING])
        return await self.info()

    async def stop(self, leave_running: bool, is_whole_cluster: bool = False) -> list[str]:
        await note_act(self._engine)
        if is_whole_cluster:
            return await self._cluster_stop.run(leave_running)
        self._on_stop(leave_running)
        return []


def _duration_view(value: str) -> str:
    """A setting with a duration, as users write it."""
    return format_duration(float(value)) if value and value != OFF else value or AUTO


def _totals(nodes: Nodes, rows: list[int]) -> tuple[dict[str, str], dict[str, str]]:
    """Capacity and reservations of some nodes. Without ports, because every node has its own."""
    capacity, reserved = amounts_view(
        nodes.resources, nodes.capacity[rows].sum(axis=0).tolist(), nodes.reserved[rows].sum(axis=0).tolist()
    )
    return capacity, {name: amount for name, amount in reserved.items() if name in capacity}
