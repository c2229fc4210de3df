"""Decisions from outside of rounds: each item is validated against the current state, and a lease says who decides."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from shunter.engine.policy.policy_loop import run_policy_loop
from shunter.engine.policy.sessions import DECISIONS_BURST
from shunter.model.errors import Busy, Conflict, TooLarge
from shunter.model.job.spec import Affinity, JobOptions, Restart
from shunter.model.protocol.scheduler_messages import WANTS_DEFAULT, PlacementRow, PreemptionRow
from shunter.planning.planner import build_policy
from shunter.planning.view import ClusterView, Decision
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.engine.external_policies import RemotePolicy, decide, next_situation, open_leading_session, reasons
from tests.unit.engine.harness import Harness, run_scenario, spec


def test_a_decision_from_outside_is_carried_out() -> None:
    async def scenario(harness: Harness) -> None:
        session = await open_leading_session(harness)
        await harness.join("n1", cpu=2)
        await harness.join("n2", cpu=2)
        [job] = await harness.submit(spec("job", 3))
        assert harness.orders() == [], "nobody else places anything"
        situation = await next_situation(harness, session)
        [waiting] = situation.delta.queued
        assert (waiting.count, situation.delta.is_whole) == (3, True)
        answer = await decide(harness, session, PlacementRow(waiting.class_id, [2, 1], [2, 1]))
        assert (answer.placed, answer.refusals) == (3, [])
        assert sorted((node, order.last - order.first + 1) for node, order in harness.orders()) == [(1, 1), (2, 2)]
        assert harness.counts(job.job_id) == {"assigned": 3}
        assert answer.version == harness.engine.state.version
        after = await next_situation(harness, session)
        assert (after.delta.is_whole, after.delta.gone) == (False, [waiting.class_id])

    run_scenario(scenario)


def test_what_no_longer_holds_is_refused_with_its_reason_and_the_rest_applies() -> None:
    async def scenario(harness: Harness) -> None:
        session = await open_leading_session(harness)
        await harness.join("n1", cpu=2)
        await harness.join("n2", cpu=2)
        await harness.submit(spec("job", 9))
        [waiting] = (await next_situation(harness, session)).delta.queued
        await harness.engine.cordon_node("n2", "broken fan")
        answer = await decide(
            harness, session, PlacementRow(waiting.class_id, [1, 2], [3, 1]), PlacementRow(77, [1], [1]),
            PlacementRow(waiting.class_id, [5], [1]),
        )  # fmt: skip
        assert answer.placed == 2
        assert reasons(answer) == [
            ("placements[0]", "cpu: needs 1, at most 0 free", 1),
            ("placements[0]", "cordon: broken fan", 1),
            ("placements[1]", "class 77 has no pending tasks", 1),
            ("placements[2]", "must name each node row once (1 to 2), with at least one task", 1),
        ]
        assert [each.node for each in answer.refusals] == ["n1", "n2", "", ""]

    run_scenario(scenario)


def test_a_node_on_which_all_tasks_of_a_class_failed_is_refused_with_its_reason() -> None:
    async def scenario(harness: Harness) -> None:
        first = await harness.join("n1", cpu=2)
        await harness.submit(spec("job", restart=Restart("on-failure", max=2, delay_s=0.1, elsewhere=True)))
        [(_, order)] = harness.orders()
        session = await open_leading_session(harness)
        await harness.end(first, order, exit_code=1)
        second = await harness.join("n2", cpu=2)
        await harness.settle(1.0)
        situation = await next_situation(harness, session)
        while not situation.delta.queued:
            situation = await next_situation(harness, session)
        [waiting] = situation.delta.queued
        assert waiting.avoid == (first,)
        answer = await decide(harness, session, PlacementRow(waiting.class_id, [first], [1]))
        reason = "its tasks failed on this node before and must run on another one"
        assert (answer.placed, reasons(answer)) == (0, [("placements[0]", reason, 1)])
        answer = await decide(harness, session, PlacementRow(waiting.class_id, [second], [1]))
        assert (answer.placed, answer.refusals) == (1, [])

    run_scenario(scenario)


def test_an_atomic_decision_applies_whole_or_not_at_all() -> None:
    async def scenario(harness: Harness) -> None:
        session = await open_leading_session(harness)
        await harness.join("n1", cpu=2)
        [job] = await harness.submit(spec("job", 3))
        [waiting] = (await next_situation(harness, session)).delta.queued
        both = [PlacementRow(waiting.class_id, [1], [2]), PlacementRow(waiting.class_id, [1], [1])]
        answer = await decide(harness, session, *both, atomic=True)
        assert (answer.placed, [each.item for each in answer.refusals]) == (0, ["placements[1]"])
        assert harness.counts(job.job_id) == {"queued": 3}
        answer = await decide(harness, session, both[0], atomic=True)
        assert (answer.placed, answer.refusals) == (2, [])

    run_scenario(scenario)


def test_limits_that_are_no_matter_of_nodes_hold_for_everybody() -> None:
    async def scenario(harness: Harness) -> None:
        session = await open_leading_session(harness)
        await harness.join("n1", cpu=9)
        await harness.engine.set_settings({"licence/matlab": "3"})
        await harness.submit(
            spec("narrow", 4, parallel_max=2), spec("maths", 3, needs={"cpu": 500, "licence/matlab": 2})
        )
        narrow, maths = (await next_situation(harness, session)).delta.queued
        answer = await decide(
            harness, session, PlacementRow(narrow.class_id, [1], [4]), PlacementRow(maths.class_id, [1], [3])
        )
        assert answer.placed == 3
        assert reasons(answer) == [
            ("placements[0]", "parallel_max is 2", 2),
            ("placements[1]", "licence/matlab: needs 2, 3 of 3 are free", 2),
        ]

    run_scenario(scenario)


def test_rules_between_tasks_hold_for_everybody() -> None:
    async def scenario(harness: Harness) -> None:
        session = await open_leading_session(harness)
        for name in ("n1", "n2"):
            await harness.join(name, cpu=9)
        alone = Affinity("job", "job.name == 'loud'", require=True, anti=True)
        await harness.submit(spec("apart", 4, distinct="host"), spec("loud"), spec("quiet", affinity=(alone,)))
        apart, loud, quiet = (await next_situation(harness, session)).delta.queued
        answer = await decide(
            harness, session, PlacementRow(apart.class_id, [1, 2], [2, 1]), PlacementRow(loud.class_id, [1], [1]),
            PlacementRow(quiet.class_id, [1], [1]),
        )  # fmt: skip
        assert answer.placed == 3
        assert reasons(answer) == [
            ("placements[0]", "distinct host: the node already has a task of this group", 1),
            ("placements[2]", "anti-affinity: a job on the node matches job.name == 'loud'", 1),
        ]

    run_scenario(scenario)


def test_a_gang_from_outside_starts_whole_or_not_at_all() -> None:
    async def scenario(harness: Harness) -> None:
        session = await open_leading_session(harness)
        await harness.join("n1", cpu=3)
        [job] = await harness.submit(spec("gang", 3, options=JobOptions(gang=True)))
        [waiting] = (await next_situation(harness, session)).delta.queued
        answer = await decide(harness, session, PlacementRow(waiting.class_id, [1], [2]))
        assert reasons(answer) == [
            ("placements[0]", "a gang starts as a whole, but only 2 of its tasks can be placed", 2)
        ]
        assert harness.counts(job.job_id) == {"queued": 3}
        assert (await decide(harness, session, PlacementRow(waiting.class_id, [1], [3]))).placed == 3

    run_scenario(scenario)


def test_others_are_ended_only_for_somebody_who_waits_and_is_more_important() -> None:
    async def scenario(harness: Harness) -> None:
        session = await open_leading_session(harness)
        await harness.join("n1", cpu=1)
        [low] = await harness.submit(spec("low", priority=10))
        [first] = (await next_situation(harness, session)).delta.queued
        await decide(harness, session, PlacementRow(first.class_id, [1], [1]))
        await harness.submit(spec("high", priority=90), spec("same", priority=12))
        high, same = (await next_situation(harness, session)).delta.queued
        preemptions = [
            PreemptionRow(first.class_id, 1, 1, same.class_id),
            PreemptionRow(first.class_id, 1, 1, 99),
            PreemptionRow(99, 1, 1, high.class_id),
        ]
        answer = await decide(harness, session, preemptions=preemptions)
        assert [(each.item, each.node) for each in answer.refusals] == [
            ("preemptions[0]", "n1"), ("preemptions[1]", "n1"), ("preemptions[2]", "n1"),
        ]  # fmt: skip
        assert "priority 12 must not preempt 10: the gap must be at least 10" in answer.refusals[0].reason
        answer = await decide(harness, session, preemptions=[PreemptionRow(first.class_id, 1, 1, high.class_id)])
        assert answer.refusals == []
        assert harness.counts(low.job_id) == {"stopping": 1}

    run_scenario(scenario)


def test_a_scheduler_that_does_not_lead_places_nothing() -> None:
    async def scenario(harness: Harness) -> None:
        session = harness.engine.schedulers.open("other", WANTS_DEFAULT)
        await harness.submit(spec("job"))
        [waiting] = (await next_situation(harness, session)).delta.queued
        answer = await decide(harness, session, PlacementRow(waiting.class_id, [1], [1]))
        assert (
            "the active policy is bin-pack; change it with `shunter policies use remote:other`"
            in answer.refusals[0].reason
        )

    run_scenario(scenario)


def test_when_the_leader_is_silent_the_built_in_planner_goes_on_within_one_lease() -> None:
    """U-02: kill it in mid-run, and queued work goes on within one lease."""

    async def scenario(harness: Harness) -> None:
        session = await open_leading_session(harness)
        await harness.join("n1", cpu=4)
        await harness.submit(spec("one"))
        await harness.settle(4.0)
        harness.engine.schedulers.renew(session.token)
        await harness.settle(4.9)
        assert harness.orders() == [], "its lease was renewed"
        await harness.settle(0.2)
        assert len(harness.orders()) == 1, "the fall-back places what waits, though nothing happened"
        with pytest.raises(Conflict, match="the session of scheduler 'mine' has ended: its lease expired; watch again"):
            await decide(harness, session)
        again = harness.engine.schedulers.open("mine", WANTS_DEFAULT)
        await harness.submit(spec("two"))
        assert harness.orders() == [], "it is back, and leads again"
        [waiting] = (await next_situation(harness, again)).delta.queued
        assert (await decide(harness, again, PlacementRow(waiting.class_id, [1], [1]))).placed == 1

    run_scenario(scenario)


def test_an_older_session_of_the_same_name_is_fenced() -> None:
    async def scenario(harness: Harness) -> None:
        old = await open_leading_session(harness)
        new = await open_leading_session(harness)
        with pytest.raises(Conflict, match="this token is no longer valid"):
            await decide(harness, old)
        assert await harness.engine.schedulers.next(old) is None
        await decide(harness, new)
        await harness.restart_manager()
        with pytest.raises(Conflict, match="this token is no longer valid"):
            await decide(harness, new)

    run_scenario(scenario)


def test_decisions_have_a_budget() -> None:
    async def scenario(harness: Harness) -> None:
        session = await open_leading_session(harness)
        with pytest.raises(TooLarge, match="places 11 tasks, more than its budget of 10"):
            await decide(harness, session, PlacementRow(1, [1, 2], [5, 6]))
        for _ in range(int(DECISIONS_BURST) - 1):
            await decide(harness, session)
        with pytest.raises(Busy, match="sends more than 100 decisions per second"):
            await decide(harness, session)
        await harness.settle(0.05)
        await decide(harness, session)

    run_scenario(scenario, round_placements_max=10)


def test_after_a_failed_commit_everything_is_shown_anew() -> None:
    async def scenario(harness: Harness) -> None:
        session = await open_leading_session(harness)
        await harness.join("n1", cpu=1)
        assert (await next_situation(harness, session)).delta.is_whole
        await harness.engine._reload("the disk was full")
        assert (await next_situation(harness, session)).delta.is_whole

    run_scenario(scenario)


class SlowPolicy:
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
    async def scenario(harness: Harness) -> None:
        decide_calls = 0

        async def run_in_thread(decide_now: Any) -> Any:
            nonlocal decide_calls
            decide_calls += 1
            await asyncio.sleep(0.5)
            return decide_now()

        policy = harness.engine.policy = SlowPolicy()
        loop_task = asyncio.create_task(run_policy_loop(harness.engine, policy, VirtualClock(), run_in_thread))
        await harness.join("n1", cpu=2)
        [job] = await harness.submit(spec("job", 2))
        assert harness.counts(job.job_id) == {"queued": 2}, "rounds do not wait for it"
        await harness.settle(1.1)
        assert harness.counts(job.job_id) == {"assigned": 2}
        assert decide_calls < 5
        await harness.settle(60.0)
        policy.failure = RuntimeError("out of ideas")
        [late] = await harness.submit(spec("late", needs={"memory": 1}))
        await harness.settle(6.0)
        assert harness.counts(late.job_id) == {"assigned": 1}, "the fall-back goes on"
        assert harness.engine.active_policy.last_error == "RuntimeError: out of ideas"
        loop_task.cancel()

    run_scenario(scenario)


def test_a_slow_policy_that_never_answers_leads_no_longer_than_its_lease() -> None:
    async def scenario(harness: Harness) -> None:
        async def run_in_thread(_decide_now: Any) -> Any:
            await asyncio.Event().wait()

        policy = harness.engine.policy = SlowPolicy()
        loop_task = asyncio.create_task(run_policy_loop(harness.engine, policy, VirtualClock(), run_in_thread))
        await harness.join("n1", cpu=2)
        [job] = await harness.submit(spec("job", 2))
        await harness.settle(4.8)
        assert harness.counts(job.job_id) == {"queued": 2}
        await harness.settle(0.4)
        assert harness.counts(job.job_id) == {"assigned": 2}
        loop_task.cancel()

    run_scenario(scenario)


def test_one_that_does_not_look_at_tasks_leaves_them_to_the_fall_back() -> None:
    async def scenario(harness: Harness) -> None:
        harness.engine.policy = RemotePolicy("mine")
        session = harness.engine.schedulers.open("mine", ("objects",))
        await harness.join("n1", cpu=2)
        [job] = await harness.submit(spec("job", 2))
        assert harness.counts(job.job_id) == {"assigned": 2}
        assert not (await next_situation(harness, session)).delta.queued

    run_scenario(scenario)
