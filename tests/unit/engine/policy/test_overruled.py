"""A policy whose decisions are all refused is overruled: the fall-back policy places tasks, and everybody is told."""

from __future__ import annotations

import numpy as np
import pytest

from shunter.engine.policy.refusals import FRUITLESS_MAX, OVERRULED_MS, RENEWED_MS, RefusalRecord
from shunter.engine.policy.sessions import Session
from shunter.model.errors import TooLarge
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.schedulings import SchedulingSpec
from shunter.model.protocol.scheduler_messages import DecisionRow, PlacementRow
from shunter.planning.view import ClusterView, Decision, Placement, SchedulingDraft
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.engine.external_policies import RemotePolicy, next_situation, open_leading_session
from tests.unit.engine.harness import Harness, run_scenario, spec

NO_NODE = 99


class Answers:
    """What the manager answered to a scheduler whose placements name a node that is not there."""

    def __init__(self, harness: Harness, session: Session) -> None:
        self._harness, self._session = harness, session
        self.overruled: list[bool] = []

    async def decide(self, times: int) -> None:
        for _ in range(times):
            situation = await next_situation(self._harness, self._session)
            class_id = next(iter(self._harness.engine.state.classes))
            row = DecisionRow(1, situation.delta.number, placements=[PlacementRow(class_id, [NO_NODE], [1])])
            answer = await self._harness.engine.schedulers.decide(self._session.token, row)
            assert "must name each node row once" in answer.refusals[0].reason
            self.overruled.append(answer.is_overruled)


def test_the_fallback_places_tasks_after_so_many_fruitless_decisions_in_a_row() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join(cpu=4)
        session = await open_leading_session(harness)
        await harness.submit(spec("stuck"))
        answers = Answers(harness, session)
        await answers.decide(FRUITLESS_MAX - 1)
        assert harness.orders() == []
        await answers.decide(1)
        await harness.settle()
        assert answers.overruled == [False] * (FRUITLESS_MAX - 1) + [True]
        assert len(harness.orders()) == 1, "the fall-back policy has placed it"
        record = session.refusals
        assert (record.count, "placements[0]: must name each node" in record.last_reason) == (FRUITLESS_MAX, True)
        await harness.submit(spec("next"))
        assert len(harness.orders()) == 1, "at once"

    run_scenario(scenario)


def test_a_decision_that_applies_begins_the_count_anew() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join(cpu=4)
        session = await open_leading_session(harness)
        await harness.submit(spec("many", 9))
        answers = Answers(harness, session)
        await answers.decide(FRUITLESS_MAX - 1)
        [class_id] = harness.engine.state.classes
        row = DecisionRow(1, placements=[PlacementRow(class_id, [1], [1])])
        assert (await harness.engine.schedulers.decide(session.token, row)).placed == 1
        await answers.decide(FRUITLESS_MAX - 1)
        assert not any(answers.overruled) and len(harness.orders()) == 1

    run_scenario(scenario)


def test_a_scheduler_that_decides_to_wait_is_not_blamed_for_earlier_refusals() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join(cpu=4)
        session = await open_leading_session(harness)
        await harness.submit(spec("stuck"))
        answers = Answers(harness, session)
        await answers.decide(FRUITLESS_MAX - 1)
        assert "decisions of mine were refused" in session.refusals.describe("mine", 0)
        await harness.engine.schedulers.decide(session.token, DecisionRow(1, again_in_ms=1))
        assert session.refusals.describe("mine", 0) == ""
        await answers.decide(1)
        assert answers.overruled[-1], "to wait now and then does not save it"

    run_scenario(scenario)


def test_an_overruled_scheduler_leads_again_after_a_while() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join(cpu=4)
        session = await open_leading_session(harness)
        await harness.submit(spec("stuck"))
        await Answers(harness, session).decide(FRUITLESS_MAX)
        await harness.settle()
        harness.orders()
        for _ in range(OVERRULED_MS // 1000):
            await harness.settle(1)
            harness.engine.schedulers.renew(session.token)
        await harness.submit(spec("later"))
        assert harness.orders() == [], "it is the scheduler's"
        [class_id] = [each for each, record in harness.engine.state.classes.items() if record.queued]
        row = DecisionRow(1, placements=[PlacementRow(class_id, [1], [1])])
        assert (await harness.engine.schedulers.decide(session.token, row)).placed == 1

    run_scenario(scenario)


def test_a_session_that_starts_anew_is_soon_overruled_again() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join(cpu=4)
        session = await open_leading_session(harness)
        await harness.submit(spec("stuck", 100))
        await Answers(harness, session).decide(FRUITLESS_MAX)
        harness.engine.schedulers.close(session, "its stream ended")
        again = harness.engine.schedulers.open("mine", ("tasks",))
        assert again.state(int(VirtualClock().now() * 1000)) == "overruled"
        for _ in range(RENEWED_MS // 1000):
            await harness.settle(1)
            harness.engine.schedulers.renew(again.token)
        await harness.join("n2", cpu=4)
        answers = Answers(harness, again)
        await answers.decide(5)
        assert answers.overruled == [False] * 4 + [True] and again.refusals.count == FRUITLESS_MAX + 5

    run_scenario(scenario)


def test_a_scheduler_whose_policy_fails_or_exceeds_the_budget_is_overruled_too() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join(cpu=4)
        session = await open_leading_session(harness)
        await harness.submit(spec("stuck", 3))
        [class_id] = harness.engine.state.classes
        for _ in range(FRUITLESS_MAX // 2):
            await next_situation(harness, session)
            row = DecisionRow(1, error="ValueError: no idea")
            await harness.engine.schedulers.decide(session.token, row)
            await next_situation(harness, session)
            row = DecisionRow(1, placements=[PlacementRow(class_id, [1], [10**6])])
            with pytest.raises(TooLarge):
                await harness.engine.schedulers.decide(session.token, row)
        await harness.settle()
        assert len(harness.orders()) > 0
        assert "more than its budget" in session.refusals.last_reason

    run_scenario(scenario)


def test_a_scheduler_is_not_overruled_while_nothing_fits() -> None:
    async def scenario(harness: Harness) -> None:
        session = await open_leading_session(harness)
        await harness.submit(spec("large", needs={"cpu": 64_000}))
        await harness.join(cpu=4)
        answers = Answers(harness, session)
        await answers.decide(2 * FRUITLESS_MAX)
        assert not any(answers.overruled)

    run_scenario(scenario)


class Wrong:
    """A policy in the manager that ignores constraints, and makes Schedulings that cannot be."""

    name, fast, wants = "wrong", True, ("tasks", "objects")

    def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
        placements = [Placement(each.task_class.id, np.array([1]), np.array([1])) for each in view.queued]
        drafts = [SchedulingDraft(ObjectName("default", "odd"), SchedulingSpec(ObjectName("default", "bed")))]
        return Decision(view.version, placements=placements, schedulings=drafts)


def test_what_was_refused_of_a_policy_in_the_manager_is_counted() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=8)
        harness.engine.use_policy(Wrong())
        await harness.submit(spec("far", constraints=("node.datacenter == 'moon'",)))
        record = harness.engine.active_policy.refusals
        assert (harness.orders(), record.count) == ([], 2)
        assert record.last_reason.startswith("schedulings[0]: ")

    run_scenario(scenario)


def test_a_record_counts_what_was_refused_and_overrules_for_a_while() -> None:
    record = RefusalRecord()
    for number in range(FRUITLESS_MAX):
        assert not record.is_overruled(number)
        record.refuse("odd")
        record.record_decision(False, number, lambda: True)
    assert (record.count, record.last_reason) == (FRUITLESS_MAX, "odd")
    since_ms = FRUITLESS_MAX - 1
    assert record.is_overruled(since_ms) and record.is_overruled(since_ms + OVERRULED_MS - 1)
    assert not record.is_overruled(since_ms + OVERRULED_MS)
    record.record_decision(True, since_ms + 1, lambda: True)
    assert not record.is_overruled(since_ms + 2)


def test_a_remote_policy_that_was_replaced_takes_its_refusals_along() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join(cpu=4)
        session = await open_leading_session(harness)
        await harness.submit(spec("stuck"))
        await Answers(harness, session).decide(FRUITLESS_MAX)
        harness.engine.use_policy(RemotePolicy("other"))
        await harness.submit(spec("more"))
        assert harness.engine.schedulers.leader_refusals.count == 0

    run_scenario(scenario)
