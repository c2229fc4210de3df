"""The flight recorder: a replay with the same policy makes the same decisions."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from shunter.engine.policy import flight_recorder
from shunter.engine.policy.replay import Replay
from shunter.model.protocol.flight_records import ROUNDS, Began, Decided, FlightRecord, Replayed, SituationRecord, Step
from shunter.model.protocol.scheduler_messages import RULES, TASKS, WANTS_DEFAULT, PlacementRow
from shunter.model.protocol.worker_messages import Held, Inventory
from shunter.planning.planner import build_policy
from shunter.planning.view import ClusterView, Decision, Placement, Policy
from tests.unit.engine.external_policies import RemotePolicy, decide, next_situation
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.memory_flight_log import MemoryFlightLog
from tests.unit.engine.random_workload import RandomWorkload


def replayed(records: Iterable[FlightRecord], policy: str | None = None) -> list[Replayed]:
    return list(Replay(build_policy, policy).run(records))


def record(tape: MemoryFlightLog, policy: str = "e-pvm", seed: int = 1) -> None:
    async def scenario(harness: Harness) -> None:
        harness.engine.policy = build_policy(policy)
        harness.engine.schedulers.record_to(tape)
        await RandomWorkload(harness, seed).run(80)

    run_scenario(scenario)


@pytest.mark.parametrize("policy", ["e-pvm", "bin-pack", "spread", "round-robin", "greedy"])
@pytest.mark.parametrize("seed", range(2))
def test_the_same_policy_decides_again_what_it_decided(policy: str, seed: int) -> None:
    """U-05: a recorded day replays to the same decisions."""
    tape = MemoryFlightLog()
    record(tape, policy, seed)
    replays = replayed(tape.records())
    steps = [each for each in tape.records() if isinstance(each, Step)]
    assert len(replays) == len(steps) > 15
    assert sum(len(each.decision.placements) for each in steps) > 10
    assert [each.made for each in replays] == [each.recorded for each in replays]
    assert sum(each.missing for each in replays) == 0


def test_another_policy_shows_its_differences() -> None:
    """U-05: and with another policy shows the difference."""
    tape = MemoryFlightLog()
    record(tape, "spread")
    replays = replayed(tape.records(), "bin-pack")
    assert any(not each.is_same for each in replays)
    assert any(each.is_same for each in replays)


@pytest.mark.parametrize("policy", ["e-pvm", "round-robin"])
def test_every_segment_stands_by_itself(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flight_recorder, "SEGMENT_BYTES", 2_000)
    monkeypatch.setattr(flight_recorder, "SEGMENT_BYTES_MAX", 4_000)
    tape = MemoryFlightLog()
    record(tape, policy)
    assert len(tape.segments) > 3
    for first in range(len(tape.segments)):
        began, step, *_ = tape.records(first)
        assert isinstance(began, Began)
        assert began.is_fresh
        assert isinstance(step, Step)
        assert step.situation.delta.is_whole
        replays = replayed(tape.records(first))
        assert [each.made for each in replays] == [each.recorded for each in replays]


def test_equal_inputs_have_equal_hashes() -> None:
    one, same, other = MemoryFlightLog(), MemoryFlightLog(), MemoryFlightLog()
    for tape, seed in ((one, 1), (same, 1), (other, 2)):
        record(tape, seed=seed)
    hashes = [[each.inputs for each in tape.records() if isinstance(each, Step)] for tape in (one, same, other)]
    assert hashes[0] == hashes[1] != hashes[2]


class LastFirst:
    """A stranger's policy: the newest class first, on the last node with room."""

    name, fast, wants = "last-first", True, (TASKS, RULES)

    def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
        decision, free = Decision(view.version), view.nodes.capacity - view.nodes.reserved
        for queued in reversed(view.queued):
            need = queued.task_class.needs.get("cpu", 0)
            assert view.accepts is not None
            rows = np.flatnonzero(view.accepts(queued.task_class) & (free[: view.nodes.count, 0] >= need))
            if len(rows):
                free[rows[-1], 0] -= need
                decision.placements.append(Placement(queued.task_class.id, rows[-1:], np.array([1])))
        return decision


def _build(name: str) -> Policy:
    return LastFirst() if name == LastFirst.name else build_policy(name)


def test_a_policy_of_a_stranger_and_a_change_of_policy_are_recorded() -> None:
    async def scenario(harness: Harness) -> None:
        harness.engine.policy = LastFirst()
        harness.engine.schedulers.record_to(tape)
        await RandomWorkload(harness, 1).run(15)
        harness.engine.policy = build_policy("bin-pack")
        await RandomWorkload(harness, 2).run(15)

    tape = MemoryFlightLog()
    run_scenario(scenario)
    began = [each for each in tape.records() if isinstance(each, Began)]
    assert [(each.source, each.policy, each.is_fresh) for each in began] == [
        (ROUNDS, "last-first", True),
        (ROUNDS, "bin-pack", True),
    ]
    replays = list(Replay(_build).run(tape.records()))
    assert {each.policy for each in replays} == {"last-first", "bin-pack"}
    assert [each.made for each in replays] == [each.recorded for each in replays]


def test_what_was_not_committed_is_not_recorded() -> None:
    async def scenario(harness: Harness) -> None:
        harness.engine.schedulers.record_to(tape)
        node = await harness.join("n1", cpu=2)
        await harness.submit(spec("one"))
        commit = harness.store.commit

        async def fails(*_: object) -> None:
            harness.store.commit = commit  # type: ignore[method-assign]
            raise OSError("disk full")

        harness.store.commit = fails  # type: ignore[method-assign, assignment]
        with pytest.raises(Exception, match="disk full"):
            await harness.engine.submit([spec("two")], "tester")
        await harness.settle()
        [(_, order)] = harness.orders()
        held = Held(order.job, order.group, order.attempt, order.first, order.last, running=True)
        await harness.engine.inventory(node, Inventory(1, [held], []))
        await harness.submit(spec("three"))

    tape = MemoryFlightLog()
    run_scenario(scenario)
    assert len(tape.segments) == 2
    replays = replayed(tape.records())
    assert [each.made for each in replays] == [each.recorded for each in replays]
    assert sum(count for each in replays for row in each.recorded.placements for count in row.counts) == 2


def test_decisions_from_outside_are_recorded_with_what_they_were_made_on() -> None:
    async def scenario(harness: Harness) -> None:
        harness.engine.policy = RemotePolicy("mine")
        harness.engine.schedulers.record_to(tape)
        session = harness.engine.schedulers.open("mine", WANTS_DEFAULT)
        await harness.join("n1", cpu=2)
        await harness.submit(spec("one", 3))
        situation = await next_situation(harness, session)
        [waiting] = situation.delta.queued
        placement = PlacementRow(waiting.class_id, [1], [3])
        await decide(harness, session, placement, number=situation.delta.number)

    tape = MemoryFlightLog()
    run_scenario(scenario)
    began, seen, decided = tape.records()
    assert isinstance(began, Began)
    assert isinstance(seen, SituationRecord)
    assert isinstance(decided, Decided)
    assert (began.source, decided.number, decided.placed, decided.refused) == ("mine", 1, 2, 1)
    [replays] = replayed(tape.records(), "bin-pack")
    assert replays.made.placements == [PlacementRow(seen.situation.delta.queued[0].class_id, [1], [2])]
    assert not replays.is_same
