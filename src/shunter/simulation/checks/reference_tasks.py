"""Applies committed changes of tasks to the reference model and rejects those that the rules forbid. Called by
`reference_model`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shunter.engine import changes as c
from shunter.model.job.spec import SERVICE, Restart
from shunter.model.lifecycles import TASK, NodeState, TaskEvent, TaskState
from shunter.simulation.checks import start_rules
from shunter.simulation.checks.reference_records import LIVE, ModelTask, Placed, healthy_indexes, is_healthy, require

if TYPE_CHECKING:
    from shunter.simulation.checks.reference_model import ReferenceModel


def placed(model: ReferenceModel, change: c.TasksPlaced) -> None:
    node, job = model.nodes[change.node], model.unfinished[change.job]
    group = job.groups[change.task_set]
    require(node.state is NodeState.READY, f"tasks were placed on node {node.name}, which is {node.state.wire_name}")
    require(not node.cordoned_by, f"tasks were placed on node {node.name}, which takes no work ({node.cordoned_by})")
    require(group.node in (0, change.node), f"tasks of job {job.id} for node {group.node} were placed on {node.name}")
    reason = start_rules.blocking_reason(model, job, group)
    require(not reason, f"tasks of job {job.id} were placed although {reason}")
    for index in range(change.first, change.last + 1):
        task = move(model, change.job, change.task_set, index, TaskEvent.PLACED)
        where = f"task {change.job}/{index}"
        require(change.attempt > task.attempt, f"{where}: attempt {change.attempt} after {task.attempt}")
        require(task.not_before_ms <= model.now_ms, f"{where} was placed during its back-off")
        # The tasks of a gang change places where they can, and stay together; one that somebody moved goes where it was
        # told to.
        is_free = job.options.gang or group.spec.gang or task.bound == change.node
        is_on_another_node = (
            is_free or task.avoided_node != change.node or not start_rules.has_another_node(model, group, change.node)
        )
        require(is_on_another_node, f"{where} was placed on {node.name} again, and asked for another node")
        require(task.bound in (0, change.node), f"{where} was placed on {node.name}, and was to go elsewhere")
        task.attempt, task.node, task.avoided_node, task.bound = change.attempt, change.node, 0, 0
    model.placed_in_round.append(
        Placed(change.job, change.task_set, change.first, change.last, change.attempt, change.node)
    )  # fmt: skip


def started(model: ReferenceModel, change: c.TaskStarted) -> None:
    task = move(model, change.job, change.task_set, change.index, TaskEvent.STARTED)
    task.started_ms = change.started_ms
    model.note_start(change.job)


def finished(model: ReferenceModel, change: c.TasksFinished) -> None:
    for index in range(change.first, change.last + 1):
        move(model, change.job, change.task_set, index, TaskEvent.FINISHED)
    model.note_start(change.job)


def ended(model: ReferenceModel, change: c.TaskEnded) -> None:
    event, where = TaskEvent(change.event), f"task {change.job}/{change.index}"
    restart = model.unfinished[change.job].groups[change.task_set].spec.restart
    known = model.unfinished[change.job].groups[change.task_set].tasks[change.index]
    node, action = known.node, _action(restart, change.exit_code)
    task = move(model, change.job, change.task_set, change.index, event)
    if event is TaskEvent.RETRIED:
        task.restarts += 1
        task.avoided_node = node if restart.elsewhere else 0
        is_allowed = action == "restart" or (action != "fail" and restart.policy != "never")
        require(is_allowed, f"{where} was restarted against its policy (exit code {change.exit_code})")
        is_within_limit = restart.max is None or task.restarts <= restart.max
        require(is_within_limit, f"{where}: restart {task.restarts} is too many")
    if event is TaskEvent.FINISHED:
        require(action == "succeed", f"{where} succeeded with exit code {change.exit_code}, and no rule says so")
    if change.started_ms:
        model.note_start(change.job)


def lost(model: ReferenceModel, change: c.TasksLost) -> None:
    for index in range(change.first, change.last + 1):
        task = model.unfinished[change.job].groups[change.task_set].tasks[index]
        model.lost_in_round.append((change.job, change.task_set, index, task.attempt, task.node))
        task.lost += 1
        if change.with_keeper:
            where = f"task {change.job}/{index}"
            require(change.not_before_ms > model.now_ms, f"{where} took its keeper down, and does not back off")
            task.lost_with_keeper += 1
            task.not_before_ms = change.not_before_ms
        move(model, change.job, change.task_set, index, TaskEvent.LOST)


def moved(model: ReferenceModel, change: c.TasksTransitioned) -> None:
    event = TaskEvent(change.event)
    ended = _healthy_indexes(model, change) if event is TaskEvent.CANCEL_ASKED else []
    for index in range(change.first, change.last + 1):
        move(model, change.job, change.task_set, index, event)
    if ended:
        job = model.unfinished[change.job]
        name = job.groups[change.task_set].spec.name
        left = healthy_indexes(job, name, model.now_ms)
        model.healthy_stopped_in_round += [(job.id, name, visible_index, left) for visible_index in ended]
    if event is TaskEvent.UNBLOCKED:
        job = model.unfinished[change.job]
        reason = start_rules.blocking_reason(model, job, job.groups[change.task_set], is_queueing=True)
        require(not reason, f"tasks of job {job.id} were queued although {reason}")


def _healthy_indexes(model: ReferenceModel, change: c.TasksTransitioned) -> list[int]:
    """The healthy tasks of a service."""
    job = model.unfinished[change.job]
    group, indexes = job.groups[change.task_set], range(change.first, change.last + 1)
    if job.type != SERVICE:
        return []
    return [group.visible_index_of(index) for index in indexes if is_healthy(group, group.tasks[index], model.now_ms)]


def health(model: ReferenceModel, change: c.TaskHealth) -> None:
    task = model.unfinished[change.job].groups[change.task_set].tasks[change.index]
    require(
        task.state is TaskState.RUNNING, f"task {change.job}/{change.index} is {task.state.wire_name} and has health"
    )
    task.healthy_since_ms = change.at_ms if change.is_healthy else 0


def bound(model: ReferenceModel, change: c.TaskPinned) -> None:
    model.unfinished[change.job].groups[change.task_set].tasks[change.index].bound = change.node


def move(model: ReferenceModel, job: int, group: int, index: int, event: TaskEvent) -> ModelTask:
    """Move by the table. A task that was to be queued again is, unless it succeeds or a user stops it."""
    where = f"task {job}/{index}"
    require(job in model.unfinished, f"{where}: {event.wire_name} after its job has ended")
    task = model.unfinished[job].groups[group].tasks[index]
    before = task.state
    require(TASK.allows(before, event), f"{where}: {event.wire_name} while {before.wire_name}")
    if event is TaskEvent.STOPPED:
        require(not task.will_requeue, f"{where} was preempted, and has not come back")
    if event is TaskEvent.REQUEUED:
        require(task.will_requeue, f"{where} was stopped, and came back")
    task.state = TASK.move(before, event)
    if task.state is TaskState.STOPPING:
        task.will_requeue = event is TaskEvent.PREEMPTED
    if task.state is TaskState.SUCCEEDED:
        task.successes += 1
        task.succeeded_attempt = task.attempt
        require(task.successes == 1, f"{where} succeeded {task.successes} times")
    if event in (TaskEvent.LOST, TaskEvent.REQUEUED):
        task.is_repeated = True
    if before in LIVE and task.state not in LIVE:
        task.node, task.will_requeue, task.started_ms, task.healthy_since_ms = 0, False, 0, 0
        model.ended += 1
    return task


def _action(restart: Restart, exit_code: int) -> str:
    return next((rule.action for rule in restart.on_exit if exit_code in rule.codes), "")


APPLIERS: dict[type, Callable[[Any, Any], None]] = {
    c.TasksPlaced: placed,
    c.TaskStarted: started,
    c.TasksFinished: finished,
    c.TaskEnded: ended,
    c.TasksLost: lost,
    c.TasksTransitioned: moved,
    c.TaskHealth: health,
    c.TaskPinned: bound,
}
