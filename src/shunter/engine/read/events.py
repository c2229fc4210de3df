"""Events: committed changes as people read them, one per range and move, never one per task. Pure.

`CATALOGUE` lists every type; docs/reference/events.md is made from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shunter.engine import changes as c
from shunter.engine.read import object_events
from shunter.engine.state.registries.flags import DEADLINE
from shunter.model.lifecycles import JobEvent, NodeEvent, TaskEvent
from shunter.model.rest.views import EventView
from shunter.model.timestamps import iso

CATALOGUE: dict[str, tuple[str, str]] = {
    "job.submitted": ("api", "a job was acknowledged; it is never lost from here on"),
    "job.stopping": ("api", "someone asked for the job to stop"),
    "job.succeeded": ("engine", "every task succeeded"),
    "job.failed": ("engine", "every task has ended, and at least one failed"),
    "job.cancelled": ("engine", "the job was stopped before all of its tasks had ended by themselves"),
    "job.held": ("api", "nothing more of the job starts until it is released"),
    "job.released": ("api", "a held job goes on"),
    "job.unblocked": (
        "engine",
        "one of the jobs that this one waits for has ended, and this one may go on for its part",
    ),
    "job.late": ("engine", "the job missed its deadline; it goes on"),
    "job.overrun": ("engine", "the job took too long, or too many of its tasks failed: it is stopped, and fails"),
    "template.set": ("api", "a job that a clock or dispatches run was kept, or replaced by another"),
    "template.paused": ("api", "the clock starts no runs of the template"),
    "template.resumed": ("api", "the clock starts runs of the template again"),
    "template.deleted": ("api", "the template is gone; its runs go on"),
    "template.fired": ("engine", "a run was made of a template: it was due, or asked for"),
    "template.skipped": ("engine", "a firing was due and made no run, for the reason given"),
    "queue.set": ("api", "a queue has other rules, or was paused or resumed"),
    "queue.deleted": ("api", "a queue has no rules any more"),
    "dead.dropped": ("api", "dead letters were replayed or purged"),
    "job.updated": ("api", "a service or system job has another spec; what runs is replaced step by step"),
    "job.scaled": ("api", "the counts of a service were changed"),
    "job.restarted": ("api", "all instances of a service or system job are replaced by fresh ones"),
    "job.rolled_back": ("engine", "an update went wrong, or someone asked: the job goes back to an earlier version"),
    "job.settled": ("engine", "all of a service or system job runs well by its present version"),
    "job.stalled": ("engine", "an update went wrong and was left where it is"),
    "tasks.added": ("engine", "a service or system job gets tasks: scaled, updated, moved, drained, or a node joined"),
    "tasks.healthy": ("worker", "the health checks of a task pass"),
    "tasks.unhealthy": ("worker", "a health check of a task has failed too often"),
    "tasks.down": ("api", "one instance of a service was stopped; it stays down until it is restarted"),
    "tasks.restarting": ("api", "one instance of a service is replaced by a fresh one"),
    "tasks.moving": ("api", "a task goes to a node of someone's choice next; without a node, where it fits"),
    "tasks.placed": ("planner", "queued tasks were assigned to a node"),
    "tasks.started": ("worker", "a task runs; tasks shorter than a few milliseconds skip this"),
    "tasks.succeeded": ("worker", "tasks exited with 0"),
    "tasks.failed": ("worker", "a task ended otherwise, and has no attempt left"),
    "tasks.retried": ("engine", "a task ended otherwise and is queued again, after its back-off"),
    "tasks.lost": ("watcher", "attempts ended without an exit code; the tasks are queued again"),
    "tasks.returned": ("worker", "tasks that had not started came back from a node; they are queued again"),
    "tasks.stopping": ("api", "running tasks were told to stop"),
    "tasks.preempted": ("planner", "running tasks were told to end, to make room; they are queued again"),
    "tasks.requeued": ("worker", "tasks that were preempted, drained or moved have stopped, and are queued again"),
    "tasks.unblocked": ("engine", "what these tasks waited for has come true; they are queued"),
    "tasks.cancelled": ("engine", "tasks were stopped, or never started"),
    "node.joined": ("watcher", "a worker registered, for the first time or with new facts"),
    "node.ready": ("watcher", "a node is heard again and takes work"),
    "node.suspect": ("watcher", "a node missed heartbeats"),
    "node.down": ("watcher", "a node was silent for too long, or left; its tasks run elsewhere"),
    "cluster.changed": ("api", "a setting of the whole cluster was changed while it runs"),
    "node.draining": ("api", "a node is being emptied, and takes no work"),
    "node.drained": ("engine", "a node that was drained is empty"),
    "node.cordoned": ("api", "a node was switched off by hand; what runs there goes on"),
    "node.quarantined": ("engine", "tasks of several jobs failed on a node at once; it takes no work"),
    "node.released": ("api", "a node that was switched off takes work again"),
    "node.attributed": ("api", "attributes of a node were set or taken away"),
    "node.labelled": ("api", "labels of a node were set or taken away"),
    **object_events.CATALOGUE,
}

_TASK_TYPES = {
    TaskEvent.FINISHED: "tasks.succeeded",
    TaskEvent.RETRIED: "tasks.retried",
    TaskEvent.GAVE_UP: "tasks.failed",
    TaskEvent.STOPPED: "tasks.cancelled",
    TaskEvent.CANCELLED: "tasks.cancelled",
    TaskEvent.RETURNED: "tasks.returned",
    TaskEvent.CANCEL_ASKED: "tasks.stopping",
    TaskEvent.PREEMPTED: "tasks.preempted",
    TaskEvent.REQUEUED: "tasks.requeued",
    TaskEvent.UNBLOCKED: "tasks.unblocked",
}
_STATES_AFTER = {
    "tasks.succeeded": "succeeded",
    "tasks.retried": "queued",
    "tasks.failed": "failed",
    "tasks.cancelled": "cancelled",
    "tasks.returned": "queued",
    "tasks.stopping": "stopping",
    "tasks.preempted": "stopping",
    "tasks.requeued": "queued",
    "tasks.unblocked": "queued",
}
_NODE_TYPES = {
    NodeEvent.HEARD: "node.ready",
    NodeEvent.SILENT: "node.suspect",
    NodeEvent.TIMED_OUT: "node.down",
    NodeEvent.LEFT: "node.down",
    NodeEvent.DRAIN_ASKED: "node.draining",
    NodeEvent.EMPTIED: "node.drained",
    NodeEvent.DRAIN_ENDED: "node.ready",
}
_UPDATE_TYPES = {
    "update": "job.updated",
    "scale": "job.scaled",
    "restart": "job.restarted",
    "rollback": "job.rolled_back",
}
_SWITCH_TYPES = {"": "node.released", "cordon": "node.cordoned", "quarantine": "node.quarantined"}


def render(version: int, at: float, changes: list[c.Change], node_name: Callable[[int], str]) -> list[EventView]:
    """The events of one round, numbered in order."""
    events: list[EventView] = []
    for change in changes:
        renderer = _RENDERERS.get(type(change))
        if renderer is not None and (fields := renderer(change, node_name)):
            events.append(EventView(id=f"{version}-{len(events)}", at=iso(at) or "", **fields))
    return events


def _submitted(change: c.JobSubmitted, _: Callable[[int], str]) -> dict[str, Any]:
    fields = {"type": "job.submitted", "name": change.name, "state": "pending"}
    return {**fields, "namespace": change.namespace, "job": change.name}


def _placed(change: c.TasksPlaced, node_name: Callable[[int], str]) -> dict[str, Any]:
    fields = _tasks("tasks.placed", change.ref, change.first, change.last, "assigned")
    return {**fields, "node": node_name(change.node), "attempt": change.attempt}


def _started(change: c.TaskStarted, _: Callable[[int], str]) -> dict[str, Any]:
    return _tasks("tasks.started", change.ref, change.index, change.index, "running")


def _finished(change: c.TasksFinished, _: Callable[[int], str]) -> dict[str, Any]:
    return {**_tasks("tasks.succeeded", change.ref, change.first, change.last, "succeeded"), "exit_code": 0}


def _ended(change: c.TaskEnded, _: Callable[[int], str]) -> dict[str, Any]:
    type_ = _TASK_TYPES[TaskEvent(change.event)]
    state = _STATES_AFTER[type_]
    fields = _tasks(type_, change.ref, change.index, change.index, state)
    return {**fields, "exit_code": change.exit_code if change.exit_code >= 0 else None, "reason": change.reason or None}


def _lost(change: c.TasksLost, _: Callable[[int], str]) -> dict[str, Any]:
    return {**_tasks("tasks.lost", change.ref, change.first, change.last, "queued"), "reason": change.reason}


def _moved(change: c.TasksTransitioned, _: Callable[[int], str]) -> dict[str, Any]:
    type_ = _TASK_TYPES[TaskEvent(change.event)]
    fields = _tasks(type_, change.ref, change.first, change.last, _STATES_AFTER[type_])
    return {**fields, "reason": change.reason or None}


def _stop_asked(change: c.JobStopRequested, _: Callable[[int], str]) -> dict[str, Any]:
    return {**_job("job.stopping", change.ref, "stopping"), "reason": change.reason or None}


def _job_ended(change: c.JobEnded, _: Callable[[int], str]) -> dict[str, Any]:
    word = JobEvent(change.event).wire_name
    return {**_job(f"job.{word}", change.ref, word), "reason": change.reason or None}


def _node_joined(change: c.NodeJoined, _: Callable[[int], str]) -> dict[str, Any]:
    return {"type": "node.joined", "name": change.name, "node": change.name}


def _node_moved(change: c.NodeTransitioned, _: Callable[[int], str]) -> dict[str, Any]:
    type_ = _NODE_TYPES[NodeEvent(change.event)]
    state = type_.removeprefix("node.")
    return {"type": type_, "name": change.ref, "node": change.ref, "state": state, "reason": change.reason or None}


def _node_labelled(change: c.NodeLabelled, _: Callable[[int], str]) -> dict[str, Any]:
    labels = " ".join(f"{key}={value}" if value else f"{key}-" for key, value in change.labels.items())
    return {"type": "node.labelled", "name": change.ref, "node": change.ref, "reason": labels}


def _cluster_set(change: c.ClusterSet, _: Callable[[int], str]) -> dict[str, Any]:
    return {"type": "cluster.changed", "name": change.name, "reason": f"{change.name}={change.value or 'default'}"}


def _held(change: c.JobHeld, _: Callable[[int], str]) -> dict[str, Any]:
    return _job("job.held" if change.is_held else "job.released", change.ref, None)


def _edge_settled(change: c.EdgeSettled, _: Callable[[int], str]) -> dict[str, Any]:
    if change.stops:
        return {}  # that it is stopped, and why, is an event of its own
    reason = None if change.is_met else "what it waited for ended otherwise, and it runs all the same"
    return {**_job("job.unblocked", change.ref, None), "reason": reason}


def _flagged(change: c.JobFlagged, _: Callable[[int], str]) -> dict[str, Any]:
    type_ = "job.late" if change.flag == DEADLINE else "job.overrun"
    return {**_job(type_, change.ref, None), "reason": change.reason}


def _template_set(change: c.TemplateSet, _: Callable[[int], str]) -> dict[str, Any]:
    return _template("template.set", change)


def _template_paused(change: c.TemplatePaused, _: Callable[[int], str]) -> dict[str, Any]:
    return _template("template.paused" if change.is_paused else "template.resumed", change)


def _template_dropped(change: c.TemplateDropped, _: Callable[[int], str]) -> dict[str, Any]:
    return _template("template.deleted", change)


def _template_fired(change: c.TemplateFired, _: Callable[[int], str]) -> dict[str, Any]:
    due = f"due at {iso(change.due_ms / 1000)}" if change.due_ms else ""
    reason = "; ".join(each for each in (due, change.reason) if each)
    return {**_template("template.fired" if change.job else "template.skipped", change), "reason": reason}


def _template(type_: str, change: Any) -> dict[str, Any]:
    return {"type": type_, "name": change.name, "namespace": change.namespace, "job": change.name}


def _queue_set(change: c.QueueSet, _: Callable[[int], str]) -> dict[str, Any]:
    limits = [("running_max", change.running_max), ("queued_max", change.queued_max)]
    rules = [word for word, holds in (("paused", change.is_paused), ("strict", change.is_strict)) if holds]
    rules += [f"{name} {limit}" for name, limit in limits if limit]
    return {"type": "queue.set", "name": change.name, "reason": ", ".join(rules) or "no rules"}


def _queue_dropped(change: c.QueueDropped, _: Callable[[int], str]) -> dict[str, Any]:
    return {"type": "queue.deleted", "name": change.name}


def _dead_dropped(change: c.DeadLettersDropped, _: Callable[[int], str]) -> dict[str, Any]:
    count = len(change.numbers)
    name = f"letter {change.numbers[0]}" if count == 1 else f"{count} letters"
    return {"type": "dead.dropped", "name": name, "reason": change.reason}


def _updated(change: c.JobUpdated, _: Callable[[int], str]) -> dict[str, Any]:
    return {**_job(_UPDATE_TYPES[change.cause], change.ref, "running"), "reason": change.reason}


def _settled(change: c.RolloutSettled, _: Callable[[int], str]) -> dict[str, Any]:
    type_ = "job.settled" if change.is_stable else "job.stalled"
    return {**_job(type_, change.ref, "running"), "reason": change.reason or f"version {change.version}"}


def _added(change: c.TaskSetAdded, node_name: Callable[[int], str]) -> dict[str, Any]:
    fields = _tasks("tasks.added", change.ref, change.visible_index[0], change.visible_index[-1], "waiting")
    return {**fields, "node": node_name(change.node) if change.node else None, "reason": change.reason or None}


def _health(change: c.TaskHealth, _: Callable[[int], str]) -> dict[str, Any]:
    type_ = "tasks.healthy" if change.is_healthy else "tasks.unhealthy"
    return {**_tasks(type_, change.ref, change.index, change.index, "running"), "reason": change.detail or None}


def _instance_down_set(change: c.InstanceDownSet, _: Callable[[int], str]) -> dict[str, Any]:
    return _tasks("tasks.down" if change.is_down else "tasks.restarting", change.ref, change.index, change.index, "")


def _instance_restart_requested(change: c.InstanceRestartRequested, _: Callable[[int], str]) -> dict[str, Any]:
    return _tasks("tasks.restarting", change.ref, change.index, change.index, "")


def _pinned(change: c.TaskPinned, node_name: Callable[[int], str]) -> dict[str, Any]:
    fields = _tasks("tasks.moving", change.ref, change.index, change.index, "queued")
    return {**fields, "node": node_name(change.node) if change.node else None, "reason": change.reason}


def _node_cordon_set(change: c.NodeCordonSet, _: Callable[[int], str]) -> dict[str, Any]:
    type_ = _SWITCH_TYPES[change.by]
    return {"type": type_, "name": change.ref, "node": change.ref, "reason": change.reason or None}


def _node_attributed(change: c.NodeAttributed, _: Callable[[int], str]) -> dict[str, Any]:
    changed = " ".join(f"{key}={value}" if value else f"{key}-" for key, value in change.attributes.items())
    return {"type": "node.attributed", "name": change.ref, "node": change.ref, "reason": changed}


def _tasks(type_: str, ref: str, first: int, last: int, state: str) -> dict[str, Any]:
    fields = _job(type_, ref, state)
    offset = int(ref.rpartition("+")[2]) if "+" in ref else 0
    first, last = first + offset, last + offset
    tasks = str(first) if first == last else f"{first}-{last}"
    group_prefix = f"{fields['group']}/" if "group" in fields else ""
    return {**fields, "name": f"{fields['name']}/{group_prefix}{tasks}", "tasks": tasks}


def _job(type_: str, ref: str, state: str | None) -> dict[str, Any]:
    """A ref is NAMESPACE/NAME@RUN, for tasks with #GROUP and +FIRST where they are needed: see
    `records.TaskSet.ref`."""
    namespace, _, named_run = ref.partition("/")
    name, _, run = named_run.rpartition("@")
    group = run.partition("+")[0].partition("#")[2]
    fields = {"type": type_, "name": name, "namespace": namespace, "job": name, "state": state or None}
    return {**fields, "group": group} if group else fields


_RENDERERS: dict[type, Callable[[Any, Callable[[int], str]], dict[str, Any]]] = {
    c.JobSubmitted: _submitted,
    c.TasksPlaced: _placed,
    c.TaskStarted: _started,
    c.TasksFinished: _finished,
    c.TaskEnded: _ended,
    c.TasksLost: _lost,
    c.TasksTransitioned: _moved,
    c.JobStopRequested: _stop_asked,
    c.JobEnded: _job_ended,
    c.JobHeld: _held,
    c.EdgeSettled: _edge_settled,
    c.JobFlagged: _flagged,
    c.TemplateSet: _template_set,
    c.TemplatePaused: _template_paused,
    c.TemplateDropped: _template_dropped,
    c.TemplateFired: _template_fired,
    c.QueueSet: _queue_set,
    c.QueueDropped: _queue_dropped,
    c.DeadLettersDropped: _dead_dropped,
    c.NodeJoined: _node_joined,
    c.NodeTransitioned: _node_moved,
    c.NodeLabelled: _node_labelled,
    c.NodeCordonSet: _node_cordon_set,
    c.NodeAttributed: _node_attributed,
    c.JobUpdated: _updated,
    c.RolloutSettled: _settled,
    c.TaskSetAdded: _added,
    c.TaskHealth: _health,
    c.InstanceDownSet: _instance_down_set,
    c.InstanceRestartRequested: _instance_restart_requested,
    c.TaskPinned: _pinned,
    c.ClusterSet: _cluster_set,
    **object_events.RENDERERS,
}
