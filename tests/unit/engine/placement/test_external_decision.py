"""Decisions from outside of rounds: each item is checked against the present state, and a lease says who decides."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from shunter.engine.policy.policy_loop import drive
from shunter.engine.policy.sessions import DECISIONS_BURST
from shunter.model.errors import Busy, Conflict, TooLarge
from shunter.model.job.spec import Affinity, JobOptions
from shunter.model.protocol.scheduler_messages import WANTS_DEFAULT, PlacementRow, PreemptionRow
from shunter.planning.planner import build_policy
from shunter.planning.view import ClusterView, Decision
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.engine.external_policies import Remote, decide, lead, reasons, shown
from tests.unit.engine.harness import Stage, play, spec


def test_a_decision_from_outside_is_carried_out() -> None:
    async def scene(stage: Stage) -> None:
        session = await lead(stage)
        await stage.join("n1", cpu=2)
        await stage.join("n2", cpu=2)
        [job] = await stage.submit(spec("job", 3))
        assert stage.orders() == [], "nobody else places anything"
        situation = await shown(stage, session)
        [waiting] = situation.delta.queued
        assert (waiting.count, situation.delta.is_whole) == (3, True)
        answer = await decide(stage, session, PlacementRow(waiting.class_id, [2, 1], [2, 1]))
        assert (answer.placed, answer.refusals) == (3, [])
        assert sorted((node, order.last - order.first + 1) for node, order in stage.orders()) == [(1, 1), (2, 2)]
        assert stage.counts(job.job_id) == {"assigned": 3}
        assert answer.version == stage.engine.state.version
        after = await shown(stage, session)
        assert (after.delta.is_whole, after.delta.gone) == (False, [waiting.class_id])

    play(scene)


def test_what_no_longer_holds_is_refused_with_its_reason_and_the_rest_applies() -> None:
    async def scene(stage: Stage) -> None:
        session = await lead(stage)
        await stage.join("n1", cpu=2)
        await stage.join("n2", cpu=2)
        await stage.submit(spec("job", 9))
        [waiting] = (await shown(stage, session)).delta.queued
        await stage.engine.cordon_node("n2", "broken fan")
        answer = await decide(
            stage, session, PlacementRow(waiting.class_id, [1, 2], [3, 1]), PlacementRow(77, [1], [1]),
            PlacementRow(waiting.class_id, [5], [1]),
        )  # fmt: skip
        assert answer.placed == 2
        assert reasons(answer) == [
            ("placements[0]", "cpu: needs 1, 0 free at most", 1),
            ("placements[0]", "cordon: broken fan", 1),
            ("placements[1]", "no tasks of class 77 wait for a policy any more", 1),
            ("placements[2]", "names a row that is no node (rows are 1 to 2), one twice, or no tasks", 1),
        ]
        assert [each.node for each in answer.refusals] == ["n1", "n2", "", ""]

    play(scene)


def test_an_atomic_decision_applies_whole_or_not_at_all() -> None:
    async def scene(stage: Stage) -> None:
        session = await lead(stage)
        await stage.join("n1", cpu=2)
        [job] = await stage.submit(spec("job", 3))
        [waiting] = (await shown(stage, session)).delta.queued
        both = [PlacementRow(waiting.class_id, [1], [2]), PlacementRow(waiting.class_id, [1], [1])]
        answer = await decide(stage, session, *both, atomic=True)
        assert (answer.placed, [each.item for each in answer.refusals]) == (0, ["placements[1]"])
        assert stage.counts(job.job_id) == {"queued": 3}
        answer = await decide(stage, session, both[0], atomic=True)
        assert (answer.placed, answer.refusals) == (2, [])

    play(scene)


def test_limits_that_are_no_matter_of_nodes_hold_for_everybody() -> None:
    async def scene(stage: Stage) -> None:
        session = await lead(stage)
        await stage.join("n1", cpu=9)
        await stage.engine.set_settings({"licence/matlab": "3"})
        await stage.submit(spec("narrow", 4, parallel_max=2), spec("maths", 3, needs={"cpu": 500, "licence/matlab": 2}))
        narrow, maths = (await shown(stage, session)).delta.queued
        answer = await decide(
            stage, session, PlacementRow(narrow.class_id, [1], [4]), PlacementRow(maths.class_id, [1], [3])
        )
        assert answer.placed == 3
        assert reasons(answer) == [
            ("placements[0]", "parallel_max is 2", 2),
            ("placements[1]", "licence/matlab: needs 2, 3 of 3 are free", 2),
        ]

    play(scene)


def test_rules_between_tasks_hold_for_everybody() -> None:
    async def scene(stage: Stage) -> None:
        session = await lead(stage)
        for name in ("n1", "n2"):
            await stage.join(name, cpu=9)
        alone = Affinity("job", "job.name == 'loud'", require=True, anti=True)
        await stage.submit(spec("apart", 4, distinct="host"), spec("loud"), spec("quiet", affinity=(alone,)))
        apart, loud, quiet = (await shown(stage, session)).delta.queued
        answer = await decide(
            stage, session, PlacementRow(apart.class_id, [1, 2], [2, 1]), PlacementRow(loud.class_id, [1], [1]),
            PlacementRow(quiet.class_id, [1], [1]),
        )  # fmt: skip
        assert answer.placed == 3
        assert reasons(answer) == [
            ("placements[0]", "distinct host: the node has a task of this group", 1),
            ("placements[2]", "anti-affinity: a job runs there for which job.name == 'loud'", 1),
        ]

    play(scene)


def test_a_gang_from_outside_starts_whole_or_not_at_all() -> None:
    async def scene(stage: Stage) -> None:
        session = await lead(stage)
        await stage.join("n1", cpu=3)
        [job] = await stage.submit(spec("gang", 3, options=JobOptions(gang=True)))
        [waiting] = (await shown(stage, session)).delta.queued
        answer = await decide(stage, session, PlacementRow(waiting.class_id, [1], [2]))
        assert reasons(answer) == [
            ("placements[0]", "a gang starts whole, and only 2 of its tasks can be placed so", 2)
        ]
        assert stage.counts(job.job_id) == {"queued": 3}
        assert (await decide(stage, session, PlacementRow(waiting.class_id, [1], [3]))).placed == 3

    play(scene)


def test_others_are_ended_only_for_somebody_who_waits_and_is_more_important() -> None:
    async def scene(stage: Stage) -> None:
        session = await lead(stage)
        await stage.join("n1", cpu=1)
        [low] = await stage.submit(spec("low", priority=10))
        [first] = (await shown(stage, session)).delta.queued
        await decide(stage, session, PlacementRow(first.class_id, [1], [1]))
        await stage.submit(spec("high", priority=90), spec("same", priority=12))
        high, same = (await shown(stage, session)).delta.queued
        preemptions = [
            PreemptionRow(first.class_id, 1, 1, same.class_id),
            PreemptionRow(first.class_id, 1, 1, 99),
            PreemptionRow(99, 1, 1, high.class_id),
        ]
        answer = await decide(stage, session, preemptions=preemptions)
        assert [(each.item, each.node) for each in answer.refusals] == [
            ("preemptions[0]", "n1"), ("preemptions[1]", "n1"), ("preemptions[2]", "n1"),
        ]  # fmt: skip
        assert "priority 12 may not end 10: 10 more are needed" in answer.refusals[0].reason
        answer = await decide(stage, session, preemptions=[PreemptionRow(first.class_id, 1, 1, high.class_id)])
        assert answer.refusals == []
        assert stage.counts(low.job_id) == {"stopping": 1}

    play(scene)


def test_a_scheduler_that_does_not_lead_places_nothing() -> None:
    async def scene(stage: Stage) -> None:
        session = stage.engine.schedulers.open("other", WANTS_DEFAULT)
        await stage.submit(spec("job"))
        [waiting] = (await shown(stage, session)).delta.queued
        answer = await decide(stage, session, PlacementRow(waiting.class_id, [1], [1]))
        assert "bin-pack decides; change that by `shunter policies use remote:other`" in answer.refusals[0].reason

    play(scene)


def test_when_the_leader_is_silent_the_built_in_planner_goes_on_within_one_lease() -> None:
    """U-02: kill it in mid-run, and queued work goes on within one lease."""

    async def scene(stage: Stage) -> None:
        session = await lead(stage)
        await stage.join("n1", cpu=4)
        await stage.submit(spec("one"))
        await stage.settle(4.0)
        stage.engine.schedulers.renew(session.token)
        await stage.settle(4.9)
        assert stage.orders() == [], "its lease was renewed"
        await stage.settle(0.2)
        assert len(stage.orders()) == 1, "the fall-back places what waits, though nothing happened"
        with pytest.raises(Conflict, match="the session of mine is over: its lease ended; watch again"):
            await decide(stage, session)
        again = stage.engine.schedulers.open("mine", WANTS_DEFAULT)
        await stage.submit(spec("two"))
        assert stage.orders() == [], "it is back, and leads again"
        [waiting] = (await shown(stage, again)).delta.queued
        assert (await decide(stage, again, PlacementRow(waiting.class_id, [1], [1]))).placed == 1

    play(scene)


def test_an_older_session_of_the_same_name_is_fenced() -> None:
    async def scene(stage: Stage) -> None:
        old = await lead(stage)
        new = await lead(stage)
        with pytest.raises(Conflict, match="this token is void"):
            await decide(stage, old)
        assert await stage.engine.schedulers.next(old) is None
        await decide(stage, new)
        await stage.revive()
        with pytest.raises(Conflict, match="this token is void"):
            await decide(stage, new)

    play(scene)


def test_decisions_have_a_budget() -> None:
    async def scene(stage: Stage) -> None:
        session = await lead(stage)
        with pytest.raises(TooLarge, match="places 11 tasks; a decision places 10 at most"):
            await decide(stage, session, PlacementRow(1, [1, 2], [5, 6]))
        for _ in range(int(DECISIONS_BURST) - 1):
            await decide(stage, session)
        with pytest.raises(Busy, match="decides more than 100 times a second"):
            await decide(stage, session)
        await stage.settle(0.05)
        await decide(stage, session)

    play(scene, round_placements_max=10)


def test_after_a_failed_commit_everything_is_shown_anew() -> None:
    async def scene(stage: Stage) -> None:
        session = await lead(stage)
        await stage.join("n1", cpu=1)
        assert (await shown(stage, session)).delta.is_whole
        await stage.engine._reload("the disk was full")
        assert (await shown(stage, session)).delta.is_whole

    play(scene)


class Slow:
    """The built-in planner, but outside of rounds."""

    name, fast = "slow", False

    def __init__(self) -> None:
        self._planner = build_policy("bin-pack")
        self.failure: Exception | None = None

    def decide(self, view: ClusterView, now: float, budget: int) -> Decision:
        if self.failure is not None:
            raise self.failure
        return self._planner.decide(view, now, budget)


def test_a_slow_policy_decides_beside_the_rounds() -> None:
    async def scene(stage: Stage) -> None:
        thoughts = 0

        async def aside(think: Any) -> Any:
            nonlocal thoughts
            thoughts += 1
            await asyncio.sleep(0.5)
            return think()

        policy = stage.engine.policy = Slow()
        driver = asyncio.create_task(drive(stage.engine, policy, VirtualClock(), aside))
        await stage.join("n1", cpu=2)
        [job] = await stage.submit(spec("job", 2))
        assert stage.counts(job.job_id) == {"queued": 2}, "rounds do not wait for it"
        await stage.settle(1.1)
        assert stage.counts(job.job_id) == {"assigned": 2}
        assert thoughts < 5
        await stage.settle(60.0)
        policy.failure = RuntimeError("out of ideas")
        [late] = await stage.submit(spec("late", needs={"memory": 1}))
        await stage.settle(6.0)
        assert stage.counts(late.job_id) == {"assigned": 1}, "the fall-back goes on"
        assert stage.engine.brain.trouble == "RuntimeError: out of ideas"
        driver.cancel()

    play(scene)


def test_a_slow_policy_that_never_answers_leads_no_longer_than_its_lease() -> None:
    async def scene(stage: Stage) -> None:
        async def aside(_think: Any) -> Any:
            await asyncio.Event().wait()

        policy = stage.engine.policy = Slow()
        driver = asyncio.create_task(drive(stage.engine, policy, VirtualClock(), aside))
        await stage.join("n1", cpu=2)
        [job] = await stage.submit(spec("job", 2))
        await stage.settle(4.8)
        assert stage.counts(job.job_id) == {"queued": 2}
        await stage.settle(0.4)
        assert stage.counts(job.job_id) == {"assigned": 2}
        driver.cancel()

    play(scene)


def test_one_that_does_not_look_at_tasks_leaves_them_to_the_fall_back() -> None:
    async def scene(stage: Stage) -> None:
        stage.engine.policy = Remote("mine")
        session = stage.engine.schedulers.open("mine", ("objects",))
        await stage.join("n1", cpu=2)
        [job] = await stage.submit(spec("job", 2))
        assert stage.counts(job.job_id) == {"assigned": 2}
        assert not (await shown(stage, session)).delta.queued

    play(scene)
