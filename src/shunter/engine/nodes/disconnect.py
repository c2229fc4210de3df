"""Decides when the tasks of a node that is down are replaced: at once, after `replace_after`, or with proof that the
old attempt has ended. Called when a node goes down, by its timer, and by `shunter node forget`.

While a task waits, it stays on its node in its state, with its reservation: if the node returns in time, the attempt
goes on. Times count from `NodeRecord.down_since_ms`, which is not committed: after a restart of the manager they count
anew, so neither a jump of the clock nor a manager that was away makes them shorter."""

from __future__ import annotations

from shunter.engine import changes as c
from shunter.engine.nodes.drain import find_node
from shunter.engine.nodes.inventory import live_ranges, mark_node_tasks_lost
from shunter.engine.nodes.reports import mark_lost
from shunter.engine.round import Round
from shunter.engine.state.records import NodeRecord, TaskSet
from shunter.engine.timers import TimerKind
from shunter.model.errors import Conflict, Problem
from shunter.model.job.spec import GroupSpec
from shunter.model.lifecycles import NodeState, TaskState

STOP_MARGIN_S = 10.0  # for a worker to notice that `stop_after` is over and to end processes that resist
_WITH_KEEPER = frozenset(("process", "spark", "flink"))  # the runtimes whose tasks a keeper stops if its worker cannot
_STOPPING = int(TaskState.STOPPING)


def on_node_down(round: Round, record: NodeRecord) -> None:
    record.is_synced = False
    record.down_since_ms = round.now_ms
    round.state.nodes.refresh_eligible(record)
    replace_due_tasks(round, record.id)


def replace_due_tasks(round: Round, node: int) -> None:
    """Mark the tasks of a down node as lost whose time has come, and arm a timer for the next ones."""
    record = round.state.nodes.records.get(node)
    if record is None or record.state is not NodeState.DOWN:
        return
    record.down_since_ms = record.down_since_ms or round.now_ms
    next_ms = 0
    for task_set, first, last in live_ranges(round, node):
        due_ms = replacement_due_ms(task_set.spec, record.down_since_ms)
        if due_ms is not None and due_ms <= round.now_ms:
            mark_lost(round, task_set, first, last, f"node {record.name} is down: {record.reason}")
            continue
        if not task_set.spec.at_most_once:
            _end_stopping(round, task_set, first, last, record)
        if due_ms is not None:
            next_ms = min(next_ms or due_ms, due_ms)
    _release_empty_lanes(round, record)
    if next_ms and round.state.nodes.tasks[node]:
        round.timers.add_for(next_ms, TimerKind.DISCONNECT, node)


def on_forget(round: Round, name: str, user: str) -> None:
    """An operator says that nothing runs on a down node any more. If it comes back, its old attempts are stopped."""
    record = find_node(round, name)
    if record.state is not NodeState.DOWN:
        fault = f"is {record.state.wire_name}, and only a node that is down can be forgotten"
        raise Conflict(f"node '{name}' {fault}", (Problem("node", fault, name, "end its worker first, or drain it"),))
    mark_node_tasks_lost(round, record.id, f"node {name} is down, and {user} declared that nothing runs there any more")
    _release_empty_lanes(round, record)


def replacement_due_ms(spec: GroupSpec, down_since_ms: int) -> int | None:
    """When a task of a down node runs elsewhere; None: only with proof that the old attempt has ended."""
    wait_s = spec.replace_after_s
    if spec.at_most_once:
        if not spec.task.stop_after_s or spec.task.runtime not in _WITH_KEEPER:
            return None
        wait_s = max(wait_s, spec.task.stop_after_s + spec.task.stop_grace_s + STOP_MARGIN_S)
    return down_since_ms + int(wait_s * 1000)


def _end_stopping(round: Round, task_set: TaskSet, first: int, last: int, record: NodeRecord) -> None:
    """Nobody waits for a task that was to end anyway."""
    states = round.state.table.state[task_set.base + first : task_set.base + last + 1].tolist()
    for index, state in enumerate(states, first):
        if state == _STOPPING and index not in (task_set.requeue_when_stopped or ()):
            mark_lost(round, task_set, index, index, f"node {record.name} is down: {record.reason}")


def _release_empty_lanes(round: Round, record: NodeRecord) -> None:
    for class_id, lanes in list(record.lanes.items()):
        lanes.may_refill = False
        if not lanes.outstanding:
            round.record(c.LanesSet(class_id, record.id, 0))
