"""Schedulings as decisions: policies create and withdraw them, in or outside of rounds."""

from __future__ import annotations

import pytest

from shunter.model.errors import Conflict
from shunter.model.objects import testbeds as tb
from shunter.model.objects.batch_jobs import BatchJobSpec
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import BATCH_JOB, SCHEDULING, TESTBED, Draft
from shunter.model.objects.schedulings import Scheduling, SchedulingSpec, SchedulingState, SlotJob
from shunter.model.protocol.scheduler_messages import OBJECTS, DecisionRow, SchedulingRow
from shunter.planning.view import ClusterView, Decision, SchedulingDraft
from tests.unit.engine.external_policies import next_situation, reasons
from tests.unit.engine.harness import Harness, run_scenario

TESTBED_NAME, SORT = ObjectName("default", "bed"), ObjectName("default", "sort")
MINE, OTHER = ObjectName("default", "mine"), ObjectName("default", "other")
QUEUE = SchedulingSpec(TESTBED_NAME, queue=(SORT,))


async def set_up(harness: Harness) -> None:
    await harness.join("n1", cpu=4)
    await harness.engine.label_node("n1", {"slots": "0"})
    testbed = tb.TestbedSpec(2, "slots", {"cpu": 1000})
    command = BatchJobSpec(command={"command": ["sort"]})
    await harness.engine.apply_objects(
        [Draft(TESTBED, TESTBED_NAME, testbed), Draft(BATCH_JOB, SORT, command)], "tester"
    )
    await harness.settle()


def schedulings(harness: Harness) -> dict[ObjectName, Scheduling]:
    return harness.engine.state.objects.schedulings


def test_a_scheduler_makes_and_withdraws_schedulings_though_another_policy_places_tasks() -> None:
    async def scenario(harness: Harness) -> None:
        await set_up(harness)
        session = harness.engine.schedulers.open("mine", (OBJECTS,))
        situation = await next_situation(harness, session)
        assert [each.meta.object_name for each in situation.delta.testbeds] == [TESTBED_NAME]
        assert [each.meta.object_name for each in situation.delta.batch_jobs] == [SORT]
        row = DecisionRow(1, schedulings=[SchedulingRow(MINE, QUEUE)], withdrawals=[OTHER])
        answer = await harness.engine.schedulers.decide(session.token, row)
        assert reasons(answer) == [("withdrawals[0]", "Scheduling 'default/other' does not exist", 0)]
        made = schedulings(harness)[MINE]
        assert (made.spec, made.meta.user) == (QUEUE, "mine")
        assert made.status.state is not SchedulingState.FAILED
        after = await next_situation(harness, session)
        assert [each.meta.object_name for each in after.delta.schedulings] == [MINE]
        await harness.engine.schedulers.decide(session.token, DecisionRow(2, withdrawals=[MINE]))
        assert MINE not in schedulings(harness) or schedulings(harness)[MINE].meta.is_deleting

    run_scenario(scenario)


def test_an_atomic_decision_with_an_impossible_scheduling_makes_none() -> None:
    async def scenario(harness: Harness) -> None:
        await set_up(harness)
        session = harness.engine.schedulers.open("mine", (OBJECTS,))
        impossible = SchedulingRow(OTHER, SchedulingSpec(TESTBED_NAME, queue=(SORT,) * 9))
        row = DecisionRow(1, schedulings=[SchedulingRow(MINE, QUEUE), impossible], atomic=True)
        answer = await harness.engine.schedulers.decide(session.token, row)
        assert [each.item for each in answer.refusals] == ["schedulings[1]"]
        assert "9" in answer.refusals[0].reason
        assert schedulings(harness) == {}

    run_scenario(scenario)


def test_an_executor_is_not_moved_out_of_its_slot_nor_restarted() -> None:
    async def scenario(harness: Harness) -> None:
        await set_up(harness)
        await harness.join("n2", cpu=4)
        await harness.engine.apply_objects([Draft(SCHEDULING, MINE, QUEUE)], "tester")
        await harness.settle()
        [(application, _)] = harness.engine.state.objects.applications.items()
        with pytest.raises(Conflict, match="belongs to a BatchJob"):
            await harness.engine.move(application, ("executor", 0), "n2", "tester")
        with pytest.raises(Conflict, match="its Scheduling runs it"):
            await harness.engine.restart(application, None, "tester")

    run_scenario(scenario)


class ScheduleAllPolicy:
    """Schedules every BatchJob that nobody has scheduled yet."""

    name, fast, wants = "whenever", True, (OBJECTS,)

    def __init__(self) -> None:
        self.decide_calls = 0

    def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
        self.decide_calls += 1
        assert (view.nodes.count, len(view.queued)) == (1, 0), "it asked for objects only"
        decision = Decision(view.version)
        if not view.schedulings and view.testbeds:
            decision.schedulings = [
                SchedulingDraft(ObjectName("default", f"for-{name.name}"), SchedulingSpec(TESTBED_NAME, queue=(name,)))
                for name in view.batch_jobs
            ]
        return decision


def test_a_policy_in_rounds_is_asked_when_objects_change_though_no_task_waits() -> None:
    async def scenario(harness: Harness) -> None:
        policy = harness.engine.policy = ScheduleAllPolicy()
        await set_up(harness)
        assert list(schedulings(harness)) == [ObjectName("default", "for-sort")]
        await harness.settle(30.0)
        decide_calls = policy.decide_calls
        await harness.settle(30.0)
        assert policy.decide_calls <= decide_calls + 2, "not every round, for nothing"

    run_scenario(scenario)


@pytest.mark.parametrize(
    ("name", "spec", "reason"),
    [
        (
            "mine",
            SchedulingSpec(TESTBED_NAME, slots=(SlotJob(SORT, (0,)),), mode="loose"),
            "spec.slotBased.mode: must be strict",
        ),
        ("mine", SchedulingSpec(TESTBED_NAME, slots=(SlotJob(SORT, (0,)),)), "spec.slotBased.mode: must be strict"),
        (
            "mine",
            SchedulingSpec(TESTBED_NAME, (SORT,), (SlotJob(SORT, (0,)),), "strict"),
            "spec: must have exactly one of",
        ),
        ("mine", SchedulingSpec(TESTBED_NAME), "spec: must have exactly one of"),
        (
            "mine",
            SchedulingSpec(TESTBED_NAME, (SORT,), confirmation_timeout_s=0),
            "spec.confirmationTimeout: must be more",
        ),
        ("mine", SchedulingSpec(ObjectName("default", ""), (SORT,)), "spec.testbed.name: must be"),
        ("My Own", QUEUE, "metadata.name: must be lower-case letters"),
    ],
)
@pytest.mark.parametrize("atomic", [True, False])
def test_what_a_manifest_may_not_say_a_decision_may_not_say(
    name: str, spec: SchedulingSpec, reason: str, atomic: bool
) -> None:
    """S0-02: else there would be objects that no manifest can say, and that clients cannot read."""

    async def scenario(harness: Harness) -> None:
        await set_up(harness)
        session = harness.engine.schedulers.open("mine", (OBJECTS,))
        row = DecisionRow(1, schedulings=[SchedulingRow(ObjectName("default", name), spec)], atomic=atomic)
        answer = await harness.engine.schedulers.decide(session.token, row)
        [(item, told, _)] = reasons(answer)
        assert item == "schedulings[0]" and reason in told
        assert not schedulings(harness)

    run_scenario(scenario)
