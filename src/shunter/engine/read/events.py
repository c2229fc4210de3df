"""Renders committed changes as events for people: one per range and transition, never one per task. Pure.

`CATALOGUE` lists every type; docs/reference/events.md is generated from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shunter.engine import changes as c
from shunter.engine.read import object_events
from shunter.engine.state.registries.cluster import TOKEN_RESET_SETTING
from shunter.engine.state.registries.flags import DEADLINE
from shunter.model.lifecycles import JobEvent, NodeEvent, TaskEvent
from shunter.model.resources import format_amount
from shunter.model.rest.cluster_views import EventView
from shunter.model.timestamps import iso

CATALOGUE: dict[str, tuple[str, str]] = {
    "job.submitted": ("api", "the cluster accepted a job; it is never lost from here on"),
    "job.stopping": ("api", "a user or a limit asked for the job to stop"),
    "job.succeeded": ("engine", "all tasks succeeded"),
    "job.failed": ("engine", "all tasks ended, and at least one failed"),
    "job.cancelled": ("engine", "the job was stopped before all of its tasks had ended"),
    "job.held": ("api", "the job is held: no more of its tasks start until it is released"),
    "job.released": ("api", "a held job was released"),
    "job.unblocked": (
        "engine",
        "a job that this one depends on has ended, and no longer blocks it",
    ),
    "job.late": ("engine", "the job missed its deadline; it keeps running"),
    "job.overrun": (
        "engine",
        "the job exceeded timeout.job or failures_max, or a BatchJob's run lost a node; it is stopped and fails",
    ),
    "template.set": ("api", "a template (a job with a schedule or parameters) was created or replaced"),
    "template.paused": ("api", "the schedule of the template is paused"),
    "template.resumed": ("api", "the schedule of the template was resumed"),
    "template.deleted": ("api", "the template was deleted; its runs continue"),
    "template.fired": ("engine", "a template started a run, by schedule or dispatch"),
    "template.skipped": ("engine", "a scheduled run was skipped, for the reason given"),
    "queue.set": ("api", "the rules of a queue changed, or it was paused or resumed"),
    "queue.deleted": ("api", "the rules of a queue were deleted"),
    "user.set": ("api", "a user was created or disabled, or its roles changed"),
    "key.set": ("api", "an API key was created or rotated"),
    "key.revoked": ("api", "an API key was revoked"),
    "join_token.created": ("api", "a join token was created, for one worker to enrol with"),
    "join_token.used": ("worker", "a worker enrolled with a join token"),
    "join_token.revoked": ("api", "a join token was revoked, or it expired a week ago"),
    "tenant.set": ("api", "a tenant was created, or what it owns or its quotas changed"),
    "tenant.deleted": ("api", "a tenant was deleted, and its users with it"),
    "dead.dropped": ("api", "dead letters were replayed or purged"),
    "job.updated": ("api", "a service or system job has a new spec; its instances are replaced step by step"),
    "job.scaled": ("api", "a service was scaled"),
    "job.restarted": ("api", "all instances of a service or system job are restarted"),
    "job.rolled_back": ("engine", "a job is rolled back to an earlier version, after a failed update or by request"),
    "job.settled": ("engine", "the current version is stable: all instances have it and are healthy"),
    "job.stalled": ("engine", "an update failed and stalled"),
    "tasks.added": (
        "engine",
        "a service or system job got tasks: it was scaled, updated, moved or drained, or a node joined",
    ),
    "tasks.healthy": ("worker", "the health checks of a task pass"),
    "tasks.unhealthy": ("worker", "a health check of a task failed too often"),
    "tasks.down": ("api", "one instance of a service was stopped; it stays down until it is restarted"),
    "tasks.restarting": ("api", "one instance of a service is restarted"),
    "tasks.moving": ("api", "a user moved a task to a node; without a node, the task may run anywhere again"),
    "tasks.placed": ("planner", "queued tasks were assigned to a node"),
    "tasks.started": ("worker", "a task started; tasks shorter than a few milliseconds skip this event"),
    "tasks.succeeded": ("worker", "tasks exited with 0"),
    "tasks.failed": ("worker", "a task failed and has no attempts left"),
    "tasks.retried": ("engine", "a task failed and is queued again after its back-off"),
    "tasks.lost": ("watcher", "attempts were lost, without an exit code; the tasks are queued again"),
    "tasks.returned": ("worker", "a node returned tasks that had not started; they are queued again"),
    "tasks.stopping": ("api", "running tasks were told to stop"),
    "tasks.preempted": ("planner", "running tasks were preempted to make room; they are queued again"),
    "tasks.requeued": ("worker", "tasks that were preempted, drained or moved have stopped, and are queued again"),
    "tasks.unblocked": ("engine", "the dependencies of these tasks are met; they are queued"),
    "tasks.cancelled": ("engine", "tasks were cancelled, before or after they started"),
    "node.joined": ("watcher", "a worker registered, for the first time or with changed properties"),
    "node.ready": ("watcher", "a node sends heartbeats again and is schedulable"),
    "node.suspect": ("watcher", "a node missed heartbeats"),
    "node.down": ("watcher", "a node is down: it sent no heartbeat for too long, or left; its tasks are queued again"),
    "cluster.changed": ("api", "a cluster setting changed"),
    "cluster.token_reset": ("api", "the admin token was replaced with `shunter token reset`"),
    "cluster.format_raised": ("engine", "all managers are upgraded: the store has a newer format from now on"),
    "node.draining": ("api", "a node is draining: no tasks start on it, and its tasks move away"),
    "node.drained": ("engine", "a drain is complete: no tasks run on the node"),
    "node.cordoned": ("api", "a user cordoned a node; its running tasks continue"),
    "node.quarantined": ("engine", "a node was quarantined because tasks of several jobs failed on it"),
    "node.released": ("api", "a cordoned or quarantined node is schedulable again"),
    "node.attributed": ("api", "attributes of a node were set or removed"),
    "node.labelled": ("api", "labels of a node were set or removed"),
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
    return {**fields, "namespace": change.namespace, "job": change.name, "run": change.run}


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
    if change.name == TOKEN_RESET_SETTING:
        return {"type": "cluster.token_reset", "name": "token", "reason": "the admin token was replaced"}
    return {"type": "cluster.changed", "name": change.name, "reason": f"{change.name}={change.value or 'default'}"}


def _format_raised(change: c.FormatRaised, _: Callable[[int], str]) -> dict[str, Any]:
    reason = f"the store has format {change.format}, which needs Shunter {change.by} or newer"
    return {"type": "cluster.format_raised", "name": str(change.format), "reason": reason}


def _held(change: c.JobHeld, _: Callable[[int], str]) -> dict[str, Any]:
    return _job("job.held" if change.is_held else "job.released", change.ref, None)


def _edge_settled(change: c.EdgeSettled, _: Callable[[int], str]) -> dict[str, Any]:
    if change.stops:
        return {}  # that it is stopped, and why, is an event of its own
    reason = None if change.is_met else "its dependency was not met, but it runs anyway (otherwise: run)"
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


def _user_set(change: c.UserSet, _: Callable[[int], str]) -> dict[str, Any]:
    state = "; disabled" if change.is_disabled else ""
    return {"type": "user.set", "name": change.name, "reason": f"{', '.join(change.roles)}{state}; by {change.by}"}


def _key_set(change: c.KeySet, _: Callable[[int], str]) -> dict[str, Any]:
    action = "rotated" if change.old_until_ms else "created"
    return {"type": "key.set", "name": change.id, "reason": f"{action} for {change.user}; by {change.by}"}


def _key_revoked(change: c.KeyRevoked, _: Callable[[int], str]) -> dict[str, Any]:
    return {"type": "key.revoked", "name": change.id, "reason": f"by {change.by}"}


def _join_token_set(change: c.JoinTokenSet, _: Callable[[int], str]) -> dict[str, Any]:
    return {"type": "join_token.created", "name": change.id, "reason": f"for the node {change.node}; by {change.by}"}


def _join_token_used(change: c.JoinTokenUsed, _: Callable[[int], str]) -> dict[str, Any]:
    return {"type": "join_token.used", "name": change.id, "reason": "a worker enrolled with it"}


def _join_token_dropped(change: c.JoinTokenDropped, _: Callable[[int], str]) -> dict[str, Any]:
    return {"type": "join_token.revoked", "name": change.id, "reason": f"by {change.by}"}


def _tenant_set(change: c.TenantSet, _: Callable[[int], str]) -> dict[str, Any]:
    quotas = ", ".join(f"{name} {format_amount(name, value)}" for name, value in change.quotas.items())
    reason = f"namespaces {', '.join(change.namespaces)}; quotas {quotas or 'none'}; by {change.by}"
    return {"type": "tenant.set", "name": change.name, "reason": reason}


def _tenant_deleted(change: c.TenantDeleted, _: Callable[[int], str]) -> dict[str, Any]:
    return {"type": "tenant.deleted", "name": change.name, "reason": f"by {change.by}"}


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
    ref, _, tasks = ref.partition("=")
    if not tasks:
        offset = int(ref.rpartition("+")[2]) if "+" in ref else 0
        first, last = first + offset, last + offset
        tasks = str(first) if first == last else f"{first}-{last}"
    group_prefix = f"{fields['group']}/" if "group" in fields else ""
    return {**fields, "name": f"{fields['name']}/{group_prefix}{tasks}", "tasks": tasks}


def _job(type_: str, ref: str, state: str | None) -> dict[str, Any]:
    """A ref is NAMESPACE/NAME@RUN; for tasks, #GROUP, +FIRST and =INDEXES are added if needed: see
    `records.TaskSet.ref_of`."""
    namespace, _, named_run = ref.partition("/")
    name, _, run = named_run.rpartition("@")
    number, _, group = run.partition("+")[0].partition("#")
    fields: dict[str, Any] = {"type": type_, "name": name, "namespace": namespace, "job": name, "state": state or None}
    fields["run"] = int(number) if number.isdigit() else None
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
    c.UserSet: _user_set,
    c.KeySet: _key_set,
    c.KeyRevoked: _key_revoked,
    c.JoinTokenSet: _join_token_set,
    c.JoinTokenUsed: _join_token_used,
    c.JoinTokenDropped: _join_token_dropped,
    c.TenantSet: _tenant_set,
    c.TenantDeleted: _tenant_deleted,
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
    c.FormatRaised: _format_raised,
    **object_events.RENDERERS,
}
