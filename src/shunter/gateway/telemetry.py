"""The sub-gateway `telemetry`: the metrics of this manager. Implements `ports.telemetry.TelemetryService`."""

from __future__ import annotations

from collections.abc import Iterable

from shunter.engine.engine import Engine
from shunter.engine.metrics.gauges import put_cluster, put_counters, put_tenant
from shunter.engine.metrics.round_metrics import RoundRecord
from shunter.gateway.managers import Members
from shunter.model.errors import Forbidden, Unavailable
from shunter.model.metrics import catalogue as m
from shunter.model.metrics.debug_views import DebugView, RoundView, StallView
from shunter.model.metrics.exposition import Exposition
from shunter.model.timestamps import iso
from shunter.ports.principals import Principal
from shunter.ports.telemetry import Inspector, Probe


class Telemetry:
    def __init__(
        self,
        caller: Principal,
        engine: Engine,
        members: Members,
        version: str,
        probes: Iterable[Probe],
        inspector: Inspector | None,
    ) -> None:
        self._caller, self._engine, self._members = caller, engine, members
        self._version, self._probes = version, tuple(probes)
        self._inspector = inspector

    def metrics(self) -> bytes:
        exposition = Exposition()
        if not self._caller.is_cluster_wide:
            self._put_own(exposition)
            return exposition.render()
        self._put_manager(exposition)
        if self._is_leading:
            put_cluster(exposition, self._engine.state)
        put_counters(exposition, self._engine.metrics, self._engine.state)
        for probe in self._probes:
            probe.put(exposition)
        return exposition.render()

    def _put_own(self, exposition: Exposition) -> None:
        """A tenant sees its own part of what is true of the cluster. Raises Forbidden."""
        caller = self._caller
        if not caller.tenant or caller.namespace or caller.queue or caller.testbeds:
            raise Forbidden(
                "metrics show a whole tenant, or the whole cluster; use a key that is bound to no namespace, queue or"
                " testbed"
            )
        if self._is_leading:
            put_tenant(exposition, self._engine.state, caller.tenant)

    async def debug(self, profile_s: float) -> DebugView:
        inspector = self._inspector
        if inspector is None:
            raise Unavailable("this manager cannot be inspected")
        rounds = [_round_view(each) for each in self._engine.metrics.recent]
        stalls = [StallView(at=iso(each.at_s) or "", duration_s=each.duration_s) for each in inspector.stalls()]
        return DebugView(
            name=self._members.own.name,
            version=self._version,
            python=inspector.python,
            metrics=self.metrics().decode(),
            rounds=rounds,
            stalls=stalls,
            profile=await inspector.profile(profile_s) if profile_s else "",
        )

    @property
    def _is_leading(self) -> bool:
        return not self._engine.is_following and not self._engine.commit_problem

    def _put_manager(self, exposition: Exposition) -> None:
        engine = self._engine
        exposition.put(m.MANAGER, 1, self._members.own.name, self._version)
        exposition.put(m.LEADING, self._is_leading)
        exposition.put(m.CAN_COMMIT, not engine.health_problem)
        if engine.lag_s is not None:
            exposition.put(m.LAG, engine.lag_s)
        exposition.put(m.WORKERS, self._members.count_workers())
        exposition.put(m.INBOX, engine.inbox_length)
        exposition.put(m.LAST_SNAPSHOT, engine.snapshots.saved_at)
        exposition.put_each(m.SNAPSHOTS, engine.snapshots.results.values.items())


def _round_view(record: RoundRecord) -> RoundView:
    return RoundView(
        at=iso(record.at_ms / 1000) or "",
        version=record.version,
        commands=record.commands,
        changes=record.changes,
        size_bytes=record.size_bytes,
        duration_s=record.duration_s,
        commit_s=record.commit_s,
    )
