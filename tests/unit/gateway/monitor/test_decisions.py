"""Recorded decisions: pages of them, a time line, what a policy saw, and what another one decides."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shunter.gateway.explain.plan import run_inline
from shunter.gateway.monitor.decision_details import DecisionDetails
from shunter.gateway.monitor.decisions import Decisions
from shunter.gateway.monitor.flight_overview import flight_timeline
from shunter.gateway.monitor.recording import Recording
from shunter.model.errors import Invalid, NotFound
from shunter.model.protocol.flight_records import Began, FlightSegment, Shadowed, Step, encode_record
from shunter.model.protocol.scheduler_messages import DecisionRow, PlacementRow, Preemption, Situation, ViewDelta
from shunter.planning.policies import Catalogue
from tests.unit.gateway.harness import GatewayHarness, run_scenario


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
        decisions = Decisions(harness.engine, Recording(Archive(), run_inline))
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
        assert (await Decisions(harness.engine, Recording(None, run_inline)).page(10, None, False)).items == []

    run_scenario(scenario)


class Segments:
    """Segments in memory: a log and an archive at once."""

    def __init__(self) -> None:
        self.records: list[list[bytes]] = []
        self.segment_bytes = 0
        self.reads = 0

    def begin_segment(self) -> None:
        self.records.append([])

    def append(self, record: bytes) -> None:
        self.records[-1].append(record)

    def list_segments(self) -> list[FlightSegment]:
        return []

    def export(self) -> Iterator[bytes]:
        yield b""

    def segment_names(self) -> list[str]:
        return [f"{number:08}" for number in range(1, len(self.records) + 1)]

    def read_segment(self, name: str) -> Iterator[bytes]:
        self.reads += 1
        yield from self.records[int(name) - 1] if int(name) <= len(self.records) else ()


def recorded(harness: GatewayHarness) -> Segments:
    segments = Segments()
    harness.engine.schedulers.record_to(segments, is_running=True)
    return segments


def test_a_decision_shows_what_the_policy_saw_decided_and_left_and_why() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        segments = recorded(harness)
        await harness.join(cpu=4, name="n1")
        await harness.run("render", count=6)
        timeline = await flight_timeline(Recording(segments, run_inline), 100, has_all=False)
        assert (timeline.placed, timeline.left) == ([4], [2])
        found = await DecisionDetails(segments, Catalogue(), run_inline).find(timeline.ids[0])
        assert (found.nodes, found.eligible, found.queued_tasks, found.queued_classes) == (1, 1, 6, 1)
        assert ("cpu", "4", "0") in [(one.name, one.capacity, one.reserved) for one in found.resources]
        [seen] = found.classes
        assert (seen.queued, seen.placed, seen.needs) == (6, 4, {"cpu": "1"})
        assert seen.reason is not None and "cpu" in seen.reason
        assert [(item.node, item.count) for item in found.decision.items] == [("n1", 4)]

    run_scenario(scenario)


def test_another_policy_decides_on_the_same_input() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        segments = recorded(harness)
        for name in ("n1", "n2"):
            await harness.join(cpu=4, name=name)
        await harness.run("render", count=4)
        details = DecisionDetails(segments, Catalogue(), run_inline)
        [id] = (await flight_timeline(Recording(segments, run_inline), 100, has_all=False)).ids
        same = await details.replay(id, harness.engine.active_policy.name)
        assert (same.same, same.recorded, same.equal) == (True, same.replayed, same.compared)
        other = await details.replay(id, "spread")
        assert not other.same
        assert sorted((item.node, item.count) for item in other.replayed) == [("n1", 2), ("n2", 2)]
        assert other.different == [id]
        with pytest.raises(Invalid, match="another process"):
            await details.replay(id, "remote:mine")
        with pytest.raises(Invalid, match="nosuch"):
            await details.replay(id, "nosuch")
        for missing in ("00000001.9999", "00000009.1"):
            with pytest.raises(NotFound, match="is not recorded"):
                await details.find(missing)
            with pytest.raises(NotFound, match="is not recorded"):
                await details.replay(missing, "e-pvm")
        with pytest.raises(NotFound):
            await DecisionDetails(None, Catalogue(), run_inline).find(id)

    run_scenario(scenario)


def test_a_time_line_has_a_period_for_each_policy_and_the_agreement_of_shadows() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        segments = recorded(harness)
        await harness.join(cpu=8, name="n1")
        first = harness.engine.active_policy.name
        await harness.run("a", count=2)
        await harness.gateway.policies.use("spread")
        await harness.run("b", count=3)
        for is_same in (True, False, True):
            segments.append(encode_record(Shadowed("mine", 1, DecisionRow(0), is_same)))
        found = await flight_timeline(Recording(segments, run_inline), 100, has_all=False)
        assert [(each.policy, each.placed, each.nodes) for each in found.periods] == [(first, 2, 1), ("spread", 3, 1)]
        assert [found.policy_names[each] for each in found.policies] == [first, "spread"]
        [shadow] = found.shadows
        assert (shadow.name, shadow.compared, shadow.agreed, len(shadow.differed_ms)) == ("mine", 3, 2, 1)
        newest = await flight_timeline(Recording(segments, run_inline), 1, has_all=False)
        assert (newest.ids, newest.truncated) == (found.ids[-1:], True)

    run_scenario(scenario)


def test_a_closed_segment_is_read_once() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        segments = recorded(harness)
        await harness.join(cpu=8, name="n1")
        await harness.run("a")
        segments.begin_segment()
        recording = Recording(segments, run_inline)
        for _ in range(3):
            await flight_timeline(recording, 100, has_all=False)
        assert segments.reads == 1 + 3

    run_scenario(scenario)
