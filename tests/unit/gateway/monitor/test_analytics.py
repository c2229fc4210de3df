"""What happened over time: ended jobs in steps, and recorded decisions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shunter.gateway.explain.plan import run_inline
from shunter.gateway.monitor import analytics
from shunter.gateway.monitor.decisions import Decisions
from shunter.gateway.tokens import ADMIN
from shunter.model.errors import Forbidden, Invalid
from shunter.model.protocol.flight_records import Began, FlightSegment, Step, encode_record
from shunter.model.protocol.scheduler_messages import DecisionRow, PlacementRow, Preemption, Situation, ViewDelta
from shunter.ports.principals import Principal
from tests.unit.gateway.harness import GatewayHarness, run_scenario


def test_ended_jobs_are_counted_in_their_steps() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=1)
        start_s = harness.engine.now_ms() / 1000
        await harness.run_to_end(node, "a", count=3)
        await harness.settle(100.0)
        await harness.run_to_end(node, "b", exit_code=3)
        await harness.settle(100.0)
        find = harness.gateway.monitor.analytics
        found = await find(None, start_s - 1, harness.engine.now_ms() / 1000, 2)
        assert (found.jobs, found.succeeded, found.failed, found.tasks) == (2, [1, 0], [0, 1], [3, 1])
        assert [(share.key, share.jobs, share.failed) for share in found.users] == [("anna", 2, 1)]
        assert [share.jobs for share in found.failures] == [1]
        assert sum(found.run.buckets) == 2
        assert not found.partial
        assert (await find("nowhere", None, None, 5)).jobs == 0
        with pytest.raises(Invalid, match="before stop"):
            await find(None, start_s, start_s, 2)
        bound = harness.local_gateway.for_caller(Principal("eve", ADMIN, namespace="film"), "getAnalytics").monitor
        assert (await bound.analytics(None, None, None, 5)).jobs == 0
        with pytest.raises(Forbidden, match="cluster-wide"):
            harness.local_gateway.for_caller(Principal("eve", ADMIN, namespace="film"), "listDecisions")

    run_scenario(scenario)


def test_a_long_history_is_looked_at_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analytics, "JOBS_MAX", 2)
    monkeypatch.setattr(analytics, "PAGE", 1)

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=1)
        for name in ("a", "b", "c"):
            await harness.run_to_end(node, name)
        found = await harness.gateway.monitor.analytics(None, None, None, 1)
        assert (found.jobs, found.partial) == (2, True)

    run_scenario(scenario)


class Archive:
    """Two segments of three decisions each: the second one changed nothing."""

    def list_segments(self) -> list[FlightSegment]:
        return []

    def export(self) -> Iterator[bytes]:
        yield b""

    def segment_names(self) -> list[str]:
        return ["00000001", "00000002"]

    def read_segment(self, name: str) -> Iterator[bytes]:
        yield encode_record(Began("rounds", "e-pvm", 1.0, ()))
        for number in range(3):
            placements = [] if number == 1 else [PlacementRow(7, [1], [5])]
            row = DecisionRow(3, number, placements, [Preemption(8, 1, 2, 7)] if number == 2 else [], left=4)
            situation = Situation(1_700_000_000.0 + number, 10, ViewDelta(number, version=number))
            yield encode_record(Step(situation, row, name))


def test_recorded_decisions_come_newest_first_over_all_pages() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join(cpu=1, name="n1")
        decisions = Decisions(harness.engine, Archive(), run_inline)
        found, after = [], None
        while True:
            page = await decisions.page(3, after, has_all=False)
            found += page.items
            after = page.next
            if after is None:
                break
        assert [each.id for each in found] == ["00000002.3", "00000002.1", "00000001.3", "00000001.1"]
        newest = found[0]
        assert (newest.policy, newest.placed, newest.preempted, newest.left) == ("e-pvm", 5, 2, 4)
        assert [(item.node, item.count, item.preempted) for item in newest.items] == [("n1", 5, False), ("n1", 2, True)]
        assert len((await decisions.page(10, None, has_all=True)).items) == 6
        assert (await Decisions(harness.engine, None, run_inline).page(10, None, False)).items == []

    run_scenario(scenario)
