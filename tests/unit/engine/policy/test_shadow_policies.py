"""Shadows of a policy that decides outside of rounds: they get the same situations, and their decisions are
compared."""

from __future__ import annotations

from shunter.engine.policy.sessions import SHADOW, Session
from shunter.model.protocol.scheduler_messages import (
    OBJECTS,
    WANTS_DEFAULT,
    DecisionRow,
    PlacementRow,
    SchedulingRow,
    Situation,
)
from tests.unit.engine.external_policies import RemotePolicy, next_situation, open_leading_session
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.objects.test_external_schedulings import MINE, QUEUE, set_up


def shadow(harness: Harness, name: str = "twin", wants: tuple[str, ...] = WANTS_DEFAULT) -> Session:
    return harness.engine.schedulers.open(name, wants, SHADOW)


async def decide(harness: Harness, session: Session, situation: Situation, node: int = 0) -> bool | None:
    """All that waits goes to the node; says whether that agrees with the active policy."""
    rows = [PlacementRow(each.class_id, [node], [each.count]) for each in situation.delta.queued if node]
    row = DecisionRow(situation.delta.version, number=situation.delta.number, placements=rows)
    return (await harness.engine.schedulers.decide(session.token, row)).agrees


def test_a_shadow_is_compared_with_the_scheduler_that_leads_from_outside() -> None:
    async def scenario(harness: Harness) -> None:
        leader, shadow_session, other = await open_leading_session(harness), shadow(harness), shadow(harness, "other")
        await harness.join("n1", cpu=2)
        await harness.join("n2", cpu=2)
        await harness.submit(spec("job", 2))
        await decide(harness, leader, await next_situation(harness, leader), node=2)
        for session, node, agrees in ((shadow_session, 2, True), (other, 1, False)):
            situation = await next_situation(harness, session)
            assert situation.active is not None
            assert [each.nodes for each in situation.active.placements] == [[2]]
            assert await decide(harness, session, situation, node) is agrees
        assert [(each.decisions, each.refused) for each in (shadow_session, other)] == [(1, 0), (1, 1)]

    run_scenario(scenario)


def test_what_the_leader_was_shown_and_passed_over_is_only_looked_at() -> None:
    async def scenario(harness: Harness) -> None:
        leader, shadow_session = await open_leading_session(harness), shadow(harness)
        await harness.join("n1", cpu=2)
        await harness.submit(spec("one"))
        await next_situation(harness, leader)
        await harness.submit(spec("two"))
        await decide(harness, leader, await next_situation(harness, leader), node=1)
        passed, decided = await next_situation(harness, shadow_session), await next_situation(harness, shadow_session)
        assert passed.active is None and passed.delta.is_whole
        assert decided.active is not None and not decided.delta.is_whole

    run_scenario(scenario)


def test_when_the_leader_is_gone_its_shadow_is_compared_with_the_fall_back() -> None:
    async def scenario(harness: Harness) -> None:
        leader, shadow_session = await open_leading_session(harness), shadow(harness)
        await harness.join("n1", cpu=2)
        await harness.submit(spec("job"))
        await next_situation(harness, leader)
        harness.engine.schedulers.close(leader, "it went")
        await harness.settle()
        passed, decided = await next_situation(harness, shadow_session), await next_situation(harness, shadow_session)
        assert passed.active is None
        assert decided.active is not None and len(decided.active.placements) == 1

    run_scenario(scenario)


def test_a_shadow_that_looks_at_objects_only_is_compared_with_nothing_else() -> None:
    async def scenario(harness: Harness) -> None:
        harness.engine.policy = RemotePolicy("mine")
        leader = harness.engine.schedulers.open("mine", (OBJECTS,))
        shadow_session = shadow(harness, wants=(OBJECTS,))
        await set_up(harness)
        await harness.submit(spec("job"))
        assert len(harness.orders()) == 1, "the fall-back places tasks"
        situation = await next_situation(harness, leader)
        row = DecisionRow(1, number=situation.delta.number, schedulings=[SchedulingRow(MINE, QUEUE)])
        await harness.engine.schedulers.decide(leader.token, row)
        seen = await next_situation(harness, shadow_session)
        while seen.active is None:
            seen = await next_situation(harness, shadow_session)
        assert [each.name for each in seen.active.schedulings] == [MINE]
        answer = await harness.engine.schedulers.decide(
            shadow_session.token, DecisionRow(1, number=seen.delta.number, schedulings=[SchedulingRow(MINE, QUEUE)])
        )
        assert answer.agrees and (shadow_session.decisions, shadow_session.refused) == (1, 0)

    run_scenario(scenario)
