"""Shadows of a policy that decides outside of rounds: they are shown what it was shown, and compared with what it
decided."""

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
from tests.unit.engine.external_policies import Remote, lead, shown
from tests.unit.engine.harness import Stage, play, spec
from tests.unit.engine.objects.test_external_schedulings import MINE, QUEUE, set_up


def shadow(stage: Stage, name: str = "twin", wants: tuple[str, ...] = WANTS_DEFAULT) -> Session:
    return stage.engine.schedulers.open(name, wants, SHADOW)


async def decide(stage: Stage, session: Session, situation: Situation, node: int = 0) -> bool | None:
    """All that waits goes to the node; says whether that agrees with the active policy."""
    rows = [PlacementRow(each.class_id, [node], [each.count]) for each in situation.delta.queued if node]
    row = DecisionRow(situation.delta.version, number=situation.delta.number, placements=rows)
    return (await stage.engine.schedulers.decide(session.token, row)).agrees


def test_a_shadow_is_compared_with_the_scheduler_that_leads_from_outside() -> None:
    async def scene(stage: Stage) -> None:
        leader, twin, other = await lead(stage), shadow(stage), shadow(stage, "other")
        await stage.join("n1", cpu=2)
        await stage.join("n2", cpu=2)
        await stage.submit(spec("job", 2))
        await decide(stage, leader, await shown(stage, leader), node=2)
        for session, node, agrees in ((twin, 2, True), (other, 1, False)):
            situation = await shown(stage, session)
            assert situation.active is not None
            assert [each.nodes for each in situation.active.placements] == [[2]]
            assert await decide(stage, session, situation, node) is agrees
        assert [(each.decisions, each.refused) for each in (twin, other)] == [(1, 0), (1, 1)]

    play(scene)


def test_what_the_leader_was_shown_and_passed_over_is_only_looked_at() -> None:
    async def scene(stage: Stage) -> None:
        leader, twin = await lead(stage), shadow(stage)
        await stage.join("n1", cpu=2)
        await stage.submit(spec("one"))
        await shown(stage, leader)
        await stage.submit(spec("two"))
        await decide(stage, leader, await shown(stage, leader), node=1)
        passed, decided = await shown(stage, twin), await shown(stage, twin)
        assert passed.active is None and passed.delta.is_whole
        assert decided.active is not None and not decided.delta.is_whole

    play(scene)


def test_when_the_leader_is_gone_its_shadow_is_compared_with_the_fall_back() -> None:
    async def scene(stage: Stage) -> None:
        leader, twin = await lead(stage), shadow(stage)
        await stage.join("n1", cpu=2)
        await stage.submit(spec("job"))
        await shown(stage, leader)
        stage.engine.schedulers.close(leader, "it went")
        await stage.settle()
        passed, decided = await shown(stage, twin), await shown(stage, twin)
        assert passed.active is None
        assert decided.active is not None and len(decided.active.placements) == 1

    play(scene)


def test_a_shadow_that_looks_at_objects_only_is_compared_with_nothing_else() -> None:
    async def scene(stage: Stage) -> None:
        stage.engine.policy = Remote("mine")
        leader = stage.engine.schedulers.open("mine", (OBJECTS,))
        twin = shadow(stage, wants=(OBJECTS,))
        await set_up(stage)
        await stage.submit(spec("job"))
        assert len(stage.orders()) == 1, "the fall-back places tasks"
        situation = await shown(stage, leader)
        row = DecisionRow(1, number=situation.delta.number, schedulings=[SchedulingRow(MINE, QUEUE)])
        await stage.engine.schedulers.decide(leader.token, row)
        seen = await shown(stage, twin)
        while seen.active is None:
            seen = await shown(stage, twin)
        assert [each.name for each in seen.active.schedulings] == [MINE]
        answer = await stage.engine.schedulers.decide(
            twin.token, DecisionRow(1, number=seen.delta.number, schedulings=[SchedulingRow(MINE, QUEUE)])
        )
        assert answer.agrees and (twin.decisions, twin.refused) == (1, 0)

    play(scene)
