"""What committed changes of tasks mean in the second book, and which the rules do not allow. Called by `ledger`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shunter.engine import changes as c
from shunter.model.job.spec import SERVICE, Restart
from shunter.model.lifecycles import TASK, NodeState, TaskEvent, TaskState
from shunter.simulation.checks import start_rules
from shunter.simulation.checks.model_records import LIVE, LedgerTask, Placed, is_well, require, well_indexes

if TYPE_CHECKING:
    from shunter.simulation.checks.model import Ledger


def placed(ledger: Ledger, change: c.TasksPlaced) -> None:
    node, job = ledger.nodes[change.node], ledger.unfinished[change.job]
    group = job.groups[change.group]
    require(node.state is NodeState.READY, f"tasks were placed on node {node.name}, which is {node.state.word}")
    require(not node.cordoned_by, f"tasks were placed on node {node.name}, which takes no work ({node.cordoned_by})")
    require(group.node in (0, change.node), f"tasks of job {job.id} for node {group.node} were placed on {node.name}")
    reason = start_rules.why_not(ledger, job, group)
    require(not reason, f"tasks of job {job.id} were placed although {reason}")
    for index in range(change.first, change.last + 1):
        task = move(ledger, change.job, change.group, index, TaskEvent.PLACED)
        where = f"task {change.job}/{index}"
        require(change.attempt > task.attempt, f"{where}: attempt {change.attempt} after {task.attempt}")
        # The tasks of a gang change places where they can, and stay together; one that somebody moved goes where it was
        # told to.
        is_free = job.options.gang or group.spec.gang or task.bound == change.node
        is_elsewhere = (
            is_free or task.avoids != change.node or not start_rules.has_another_node(ledger, group, change.node)
        )
        require(is_elsewhere, f"{where} was placed on {node.name} again, and asked for another node")
        require(task.bound in (0, change.node), f"{where} was placed on {node.name}, and was to go elsewhere")
        task.attempt, task.node, task.avoids, task.bound = change.attempt, change.node, 0, 0
    ledger.placed_now.append(
        Placed(change.job, change.group, change.first, change.last, change.attempt, change.node)
    )  # fmt: skip


def started(ledger: Ledger, change: c.TaskStarted) -> None:
    task = move(ledger, change.job, change.group, change.index, TaskEvent.STARTED)
    task.started_ms = change.started_ms
    ledger.note_start(change.job)


def finished(ledger: Ledger, change: c.TasksFinished) -> None:
    for index in range(change.first, change.last + 1):
        move(ledger, change.job, change.group, index, TaskEvent.FINISHED)
    ledger.note_start(change.job)


def ended(ledger: Ledger, change: c.TaskEnded) -> None:
    event, where = TaskEvent(change.event), f"task {change.job}/{change.index}"
    restart = ledger.unfinished[change.job].groups[change.group].spec.restart
    known = ledger.unfinished[change.job].groups[change.group].tasks[change.index]
    node, action = known.node, _action(restart, change.exit_code)
    task = move(ledger, change.job, change.group, change.index, event)
    if event is TaskEvent.RETRIED:
        task.restarts += 1
        task.avoids = node if restart.elsewhere else 0
        is_allowed = action == "restart" or (action != "fail" and restart.policy != "never")
        require(is_allowed, f"{where} was restarted against its policy (exit code {change.exit_code})")
        is_few = restart.max is None or task.restarts <= restart.max
        require(is_few, f"{where}: restart {task.restarts} is too many")
    if event is TaskEvent.FINISHED:
        require(action == "succeed", f"{where} succeeded with exit code {change.exit_code}, and no rule says so")
    if change.started_ms:
        ledger.note_start(change.job)


def lost(ledger: Ledger, change: c.TasksLost) -> None:
    for index in range(change.first, change.last + 1):
        task = ledger.unfinished[change.job].groups[change.group].tasks[index]
        ledger.lost_now.append((change.job, change.group, index, task.attempt, task.node))
        task.lost += 1
        move(ledger, change.job, change.group, index, TaskEvent.LOST)


def moved(ledger: Ledger, change: c.TasksTransitioned) -> None:
    event = TaskEvent(change.event)
    ended = _well(ledger, change) if event is TaskEvent.CANCEL_ASKED else []
    for index in range(change.first, change.last + 1):
        move(ledger, change.job, change.group, index, event)
    if ended:
        job = ledger.unfinished[change.job]
        name = job.groups[change.group].spec.name
        left = well_indexes(job, name, ledger.now_ms)
        ledger.well_ended_now += [(job.id, name, visible_index, left) for visible_index in ended]
    if event is TaskEvent.UNBLOCKED:
        job = ledger.unfinished[change.job]
        reason = start_rules.why_not(ledger, job, job.groups[change.group], is_queueing=True)
        require(not reason, f"tasks of job {job.id} were queued although {reason}")


def _well(ledger: Ledger, change: c.TasksTransitioned) -> list[int]:
    """Those of a service that are well."""
    job = ledger.unfinished[change.job]
    group, indexes = job.groups[change.group], range(change.first, change.last + 1)
    if job.type != SERVICE:
        return []
    return [group.visible_index_of(index) for index in indexes if is_well(group, group.tasks[index], ledger.now_ms)]


def health(ledger: Ledger, change: c.TaskHealth) -> None:
    task = ledger.unfinished[change.job].groups[change.group].tasks[change.index]
    require(task.state is TaskState.RUNNING, f"task {change.job}/{change.index} is {task.state.word} and has health")
    task.well_ms = change.at_ms if change.is_healthy else 0


def bound(ledger: Ledger, change: c.TaskPinned) -> None:
    ledger.unfinished[change.job].groups[change.group].tasks[change.index].bound = change.node


def move(ledger: Ledger, job: int, group: int, index: int, event: TaskEvent) -> LedgerTask:
    """By the table. What was to come back comes back, unless it ends well or somebody wants it to end."""
    where = f"task {job}/{index}"
    require(job in ledger.unfinished, f"{where}: {event.word} after its job has ended")
    task = ledger.unfinished[job].groups[group].tasks[index]
    before = task.state
    require(TASK.allows(before, event), f"{where}: {event.word} while {before.word}")
    if event is TaskEvent.STOPPED:
        require(not task.is_coming_back, f"{where} was preempted, and has not come back")
    if event is TaskEvent.REQUEUED:
        require(task.is_coming_back, f"{where} was stopped, and came back")
    task.state = TASK.move(before, event)
    if task.state is TaskState.STOPPING:
        task.is_coming_back = event is TaskEvent.PREEMPTED
    if task.state is TaskState.SUCCEEDED:
        task.successes += 1
        task.succeeded_as = task.attempt
        require(task.successes == 1, f"{where} succeeded {task.successes} times")
    if before in LIVE and task.state not in LIVE:
        task.node, task.is_coming_back, task.started_ms, task.well_ms = 0, False, 0, 0
        ledger.ended += 1
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
