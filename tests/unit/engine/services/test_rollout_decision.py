"""What a rollout does next, over every small group of instances, and what must hold of every plan. The invariants are
stated here in their own words: nothing of `engine.services.rollout` but its inputs and outputs is used."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations_with_replacement, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.engine.services.rollout import (
    NODE_DRAINED,
    REPLACES,
    STARTS_MAX,
    Command,
    FailureCause,
    InstanceView,
    RolloutFailure,
    RolloutPlan,
    RolloutView,
    StartInstances,
    StopTask,
    TaskView,
    UnpinTaskSet,
    decide_rollout,
)
from shunter.model.job.spec import Update
from shunter.model.lifecycles import RolloutStatus, TaskState
from tests.unit.engine.services.rollout_world import LETTERS, NOW_MS, RolloutWorld, is_settled

STARTING, UPDATING, STALLED = RolloutStatus.STARTING, RolloutStatus.UPDATING, RolloutStatus.STALLED
QUEUED, RUNNING = int(TaskState.QUEUED), int(TaskState.RUNNING)
PAIRS = ("oH", "oR", "oQ", "oL", "oF", "uR", "sQ", "sR", "dR", "DR", "xQ", "fR")
WORDS = ("", *LETTERS, *PAIRS)
IN_FLIGHT = {"R", "L", "Q", "S", "s", "oR", "oQ", "oL", "uR", "sQ", "sR", "dR", "DR", "xQ", "fR"}
FAILING = {"L", "oL", "F", "oF"}
UPDATES = [
    Update(parallel=parallel, unavailable_max=unavailable) for parallel, unavailable in product((1, 2), (0, 1, 2))
]
each_update = pytest.mark.parametrize("update", UPDATES, ids=lambda each: f"{each.parallel}-{each.unavailable_max}")


def groups(sizes: Iterable[int]) -> list[tuple[str, ...]]:
    return [words for size in sizes for words in combinations_with_replacement(WORDS, size)]


def starts(plan: RolloutPlan) -> list[StartInstances]:
    return [command for command in plan.commands if isinstance(command, StartInstances)]


def stopped(plan: RolloutPlan) -> set[tuple[int, int]]:
    return {(command.task_set, command.index) for command in plan.commands if isinstance(command, StopTask)}


# ---- every small group ----


@each_update
def test_every_plan_for_up_to_three_instances_holds_the_invariants(update: Update) -> None:
    for words in groups((1, 2, 3)):
        view = RolloutWorld(words, update).view(counts_settled=False)
        plan = decide_rollout(view)
        check_plan(view, plan)
        check_parallel(words, view, plan)
        assert (plan.failure is not None) == bool(set(words) & FAILING), words


@each_update
def test_a_settled_instance_may_as_well_be_counted(update: Update) -> None:
    for words in groups((1, 2)):
        world = RolloutWorld((*words, "H"), update)
        assert decide_rollout(world.view()) == decide_rollout(world.view(counts_settled=False)), words


@each_update
def test_a_rollout_converges_from_every_start_and_is_never_below_its_minimum(update: Update) -> None:
    for words in groups((1, 2)):
        if set(words) & FAILING:
            continue
        world = RolloutWorld(words, update)
        for _ in range(6 * len(words) + 6):
            settle(world)
            if world.is_converged:
                break
            world.advance()
        assert world.is_converged, words
        plan = decide_rollout(world.view())
        assert (plan.commands, plan.is_pending, plan.failure) == ([], False, None), words


def settle(world: RolloutWorld) -> None:
    """Look until nothing is left to do; as nothing happens in between, that is after a few looks."""
    for _ in range(4):
        view = world.view(counts_settled=False)
        plan = decide_rollout(view)
        check_plan(view, plan)
        assert plan.failure is None
        if not plan.commands:
            return
        before, ended = (
            world.available,
            sum(tasks[0].state is TaskState.SUCCEEDED for tasks in world.instances if tasks),
        )
        world.carry_out(plan)
        minimum = len(world.instances) - ended - world.update.unavailable_max
        assert world.available >= min(before, minimum), world.words
    raise AssertionError(f"{world.words}: every look finds more to do")


@each_update
def test_a_stalled_rollout_replaces_nothing_more(update: Update) -> None:
    for words in groups((1, 2)):
        view = RolloutWorld(words, update, STALLED).view(counts_settled=False)
        plan = decide_rollout(view)
        assert not [each for each in starts(plan) if each.reason == REPLACES], words
        for instance, word in zip(view.instances, words, strict=True):
            healthy = {(task.task_set, task.index) for task in instance.tasks if task.is_healthy}
            makes_room = word == "oQ" and update.unavailable_max  # for a successor that was asked for before it stalled
            assert not healthy or healthy - stopped(plan) or makes_room, words


# ---- any group ----


@st.composite
def tasks(draw: st.DrawFn, instance: int, task_set: int) -> TaskView:
    state = draw(st.sampled_from(TaskState))
    is_current = draw(st.booleans())
    is_healthy = state is TaskState.RUNNING and draw(st.booleans())
    is_pinned = draw(st.booleans())
    return TaskView(
        instance,
        task_set,
        0,
        int(state),
        is_current,
        is_healthy,
        healthy_at_ms=NOW_MS if is_healthy else draw(st.sampled_from((0, NOW_MS + 500))),
        due_ms=draw(st.sampled_from((0, NOW_MS, NOW_MS + 1_000))),
        workload=0 if is_current else draw(st.integers(0, 2)),
        is_of_rollout=is_current and draw(st.booleans()),
        retains_version=draw(st.booleans()),
        successor_node=draw(st.integers(0, 1)),
        is_on_draining_node=draw(st.booleans()),
        is_pinned=is_pinned,
        was_attempted=draw(st.booleans()),
        has_old_terms=state is TaskState.QUEUED and is_current and not is_pinned and draw(st.booleans()),
    )


@st.composite
def views(draw: st.DrawFn) -> RolloutView:
    instances = []
    for index in range(draw(st.integers(0, 5))):
        count = draw(st.integers(0, 3))
        members = tuple(draw(tasks(index, 10 * index + number)) for number in range(count))
        instances.append(InstanceView(index, members, draw(st.booleans())))
    settled = draw(st.integers(0, 3))
    return RolloutView(
        draw(st.sampled_from(RolloutStatus)),
        Update(parallel=draw(st.integers(1, 3)), unavailable_max=draw(st.integers(0, 3))),
        NOW_MS,
        len(instances) + settled,
        settled,
        tuple(instances),
        is_per_node=draw(st.booleans()),
        is_skipped=draw(st.booleans()),
    )


@given(views())
def test_the_plan_for_any_view_holds_the_invariants(view: RolloutView) -> None:
    plan = decide_rollout(view)
    assert decide_rollout(view) == plan
    check_plan(view, plan)
    if plan.wake_at_ms is not None:
        assert plan.wake_at_ms > view.now_ms


@given(views(), st.integers(0, 5))
def test_whether_settled_instances_are_listed_makes_no_difference(view: RolloutView, count: int) -> None:
    first = len(view.instances)
    listed = tuple(
        InstanceView(index, (TaskView(index, 1_000 + index, 0, RUNNING, True, True, NOW_MS),))
        for index in range(first, first + count)
    )
    assert all(map(is_settled, listed))
    parts = (view.status, view.update, view.now_ms, view.desired + count)
    options = {"is_per_node": view.is_per_node, "is_skipped": view.is_skipped}
    counted = RolloutView(*parts, view.settled + count, view.instances, **options)  # type: ignore[arg-type]
    shown = RolloutView(*parts, view.settled, (*view.instances, *listed), **options)  # type: ignore[arg-type]
    assert decide_rollout(counted) == decide_rollout(shown)


# ---- what must hold ----


def check_plan(view: RolloutView, plan: RolloutPlan) -> None:
    check_commands(view, plan.commands)
    check_availability(view, plan)
    started = {index for command in starts(plan) for index in command.instances}
    for instance in view.instances:
        remaining = [
            task for task in instance.tasks if task.is_active and (task.task_set, task.index) not in stopped(plan)
        ]
        has_ended = bool(instance.tasks) and instance.tasks[-1].state in (TaskState.SUCCEEDED, TaskState.FAILED)
        may_not_start = view.is_skipped or not instance.may_start
        assert remaining or instance.index in started or plan.is_pending or has_ended or may_not_start, (
            "nobody sees to it"
        )
        is_fine = any(task.is_current and task.is_healthy and not task.is_on_draining_node for task in remaining)
        assert not (is_fine and instance.index in started), "it needs no other task"


def check_commands(view: RolloutView, commands: list[Command]) -> None:
    """Each is about something that there is, and no two are about the same."""
    by_key = {(task.task_set, task.index): task for instance in view.instances for task in instance.tasks}
    seen: set[object] = set()
    for command in commands:
        if isinstance(command, StopTask):
            assert by_key[command.task_set, command.index].is_active
            names: list[object] = [(command.task_set, command.index)]
        elif isinstance(command, UnpinTaskSet):
            names = [f"unpin {command.task_set}"]
            assert any(task.task_set == command.task_set and task.is_pinned for task in by_key.values())
        else:
            names = list(command.instances)
            assert set(names) <= {instance.index for instance in view.instances}
        assert not seen & set(names)
        seen.update(names)


def check_availability(view: RolloutView, plan: RolloutPlan) -> None:
    """No stop of a plan leaves fewer instances available than the update allows; absent ones do not count."""
    before = after = absent = 0
    for instance in view.instances:
        healthy = {(task.task_set, task.index) for task in instance.tasks if task.is_healthy}
        before, after = before + bool(healthy), after + bool(healthy - stopped(plan))
        absent += not any(task.is_alive for task in instance.tasks)
    if after < before:
        assert view.update.unavailable_max
        assert view.settled + after >= view.desired - absent - view.update.unavailable_max


def check_parallel(words: tuple[str, ...], view: RolloutView, plan: RolloutPlan) -> None:
    """At most `parallel` instances are replaced at a time."""
    in_flight = sum(word in IN_FLIGHT for word in words)
    replaced = {index for command in starts(plan) if command.reason == REPLACES for index in command.instances}
    for instance, word in zip(view.instances, words, strict=True):
        active = {(task.task_set, task.index) for task in instance.tasks if task.is_active}
        if word not in IN_FLIGHT and active and active <= stopped(plan):
            replaced.add(instance.index)
    assert len(replaced) <= max(view.update.parallel - in_flight, 0), words


# ---- single cases ----


def plan_of(*instances: InstanceView, update: Update | None = None, status: RolloutStatus = UPDATING) -> RolloutPlan:
    return decide_rollout(RolloutView(status, update or Update(), NOW_MS, len(instances), 0, instances))


def task(instance: int, state: int = RUNNING, task_set: int = 7, **fields: object) -> TaskView:
    return TaskView(instance, task_set, 0, state, *(bool(fields.pop(name, 0)) for name in ("new", "healthy")), **fields)  # type: ignore[arg-type]


def test_missing_neighbours_share_a_task_set() -> None:
    plan = plan_of(*(InstanceView(index, ()) for index in (0, 1, 4, 6, 7)))
    assert [command.instances for command in starts(plan)] == [(0, 1), (4,), (6, 7)]
    assert plan.is_pending


def test_a_per_node_job_starts_each_instance_on_its_node_and_not_all_at_once() -> None:
    instances = tuple(InstanceView(index, ()) for index in range(STARTS_MAX + 1))
    plan = decide_rollout(RolloutView(UPDATING, Update(), NOW_MS, len(instances), 0, instances, is_per_node=True))
    assert [(each.instances, each.node) for each in starts(plan)] == [((i,), i + 1) for i in range(STARTS_MAX)]
    assert plan.wake_at_ms == NOW_MS


def test_what_is_not_healthy_anyway_is_replaced_first() -> None:
    old = InstanceView(0, (task(0, healthy=True),)), InstanceView(1, (task(1, task_set=8),))
    assert plan_of(*old).commands == [StartInstances((1,), 0, REPLACES)]
    assert plan_of(*old, update=Update(unavailable_max=1)).commands == [StopTask(8, 0, "replaced")]


def test_a_task_on_a_draining_node_gets_a_successor_of_its_own_version_if_the_rollout_leaves_it_alone() -> None:
    draining = {"healthy": True, "is_on_draining_node": True}
    for retains, copy_of in ((True, 7), (False, -1)):
        plan = plan_of(InstanceView(0, (task(0, retains_version=retains, **draining),)))
        assert plan.commands == [StartInstances((0,), 0, NODE_DRAINED, copy_of)]


def test_what_was_stopped_by_an_update_of_one_node_starts_there_again() -> None:
    ended = task(0, int(TaskState.CANCELLED), successor_node=3)
    assert plan_of(InstanceView(0, (ended,))).commands == [StartInstances((0,), 3, REPLACES)]


@pytest.mark.parametrize(
    ("fields", "unpins"), [({}, False), ({"was_attempted": True}, True), ({"due_ms": NOW_MS}, True)]
)
def test_a_move_holds_for_one_placement_and_not_past_the_deadline(fields: dict[str, object], unpins: bool) -> None:
    moved = task(0, QUEUED, 8, new=True, is_pinned=True, **fields)
    plan = plan_of(InstanceView(0, (task(0, new=True, healthy=True), moved)))
    assert (UnpinTaskSet(8) in plan.commands) is (unpins and "due_ms" not in fields)
    alone = plan_of(InstanceView(0, (moved,)))
    assert (UnpinTaskSet(8) in alone.commands) is unpins


def test_a_queued_task_with_old_terms_is_queued_again() -> None:
    plan = plan_of(InstanceView(0, (task(0, QUEUED, new=True, has_old_terms=True),)))
    assert (plan.commands, plan.is_pending) == ([StopTask(7, 0, "replaced")], True)


def test_a_rollout_is_stuck_where_what_is_left_to_replace_is_needed() -> None:
    given_up, old = task(0, int(TaskState.FAILED), new=True), task(1, healthy=True)
    update = Update(unavailable_max=1)
    plan = plan_of(InstanceView(0, (given_up,)), InstanceView(1, (old,)), update=update)
    assert (plan.failure, plan.commands) == (RolloutFailure(FailureCause.STUCK, given_up), [])
    awaited = InstanceView(2, (task(2, new=True, is_of_rollout=True),))
    for third in (awaited, InstanceView(2, ())):  # it may take the place of what is left
        assert plan_of(InstanceView(0, (given_up,)), InstanceView(1, (old,)), third, update=update).failure is None


def test_a_rollout_is_pending_until_the_last_older_task_has_stopped() -> None:
    stopping, new = task(0, int(TaskState.STOPPING), 3), task(0, new=True, healthy=True)
    plan = plan_of(InstanceView(0, (stopping, new)))
    assert (plan.commands, plan.is_pending) == ([], True)


def test_it_is_looked_at_again_when_a_task_becomes_healthy_or_is_overdue() -> None:
    for healthy_at_ms, wake_at_ms in ((NOW_MS + 500, NOW_MS + 500), (0, NOW_MS + 900)):
        new = task(0, new=True, is_of_rollout=True, healthy_at_ms=healthy_at_ms, due_ms=NOW_MS + 900)
        assert plan_of(InstanceView(0, (new,))).wake_at_ms == wake_at_ms


def test_a_service_that_starts_is_pending_until_all_of_it_is_healthy() -> None:
    starting = InstanceView(0, (task(0, new=True),))
    assert plan_of(starting, status=STARTING).is_pending
    assert not plan_of(InstanceView(0, (task(0, new=True, healthy=True),)), status=STARTING).is_pending
