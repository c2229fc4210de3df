"""Names what a request changed, by the changes that it caused. Called by `engine.inbox` for each command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from shunter.engine import changes as c
from shunter.engine.state.state import State
from shunter.model.audit.records import NAME_SIZE_MAX, NAMES_MAX

CHANGES_READ_MAX = 2_000  # of one request, so that naming what a huge one changed does not slow its round


def changed_names(state: State, changes: Sequence[c.Change], first: int) -> list[str]:
    """The names in the changes from `first` on, each once."""
    names: dict[str, None] = {}
    for change in islice(changes, first, first + CHANGES_READ_MAX):
        describe = _NAMES.get(type(change))
        if describe is not None and (name := describe(state, change)):
            names[name[:NAME_SIZE_MAX]] = None
            if len(names) > NAMES_MAX:
                break
    found = list(names)
    return found if len(found) <= NAMES_MAX else [*found[: NAMES_MAX - 1], "and more"]


def _submitted(_: State, change: c.JobSubmitted) -> str:
    return f"job {change.namespace}/{change.name}@{change.run}"


def _job(state: State, change: Any) -> str:
    job = state.jobs.get(change.job)
    return "" if job is None else f"job {job.namespace}/{job.name}@{job.run}"


def _tasks(state: State, change: Any) -> str:
    """Tasks that a user stops, moves or restarts."""
    return f"tasks {change.ref}" if change.ref else _job(state, change)


def _node(state: State, change: Any) -> str:
    return f"node {state.nodes.view.names[change.node]}"


def _named(kind: str) -> Callable[[State, Any], str]:
    return lambda _, change: f"{kind} {change.name}"


def _in_namespace(kind: str) -> Callable[[State, Any], str]:
    return lambda _, change: f"{kind} {change.namespace}/{change.name}"


def _key(_: State, change: Any) -> str:
    return f"key {change.id}"


def _join_token(state: State, change: Any) -> str:
    token = state.join_tokens.tokens.get(change.id)
    return f"join token {change.id}" if token is None else f"join token {change.id} for node {token.node}"


def _user(_: State, change: Any) -> str:
    return f"user {change.tenant}/{change.name}" if change.tenant else f"user {change.name}"


def _object(_: State, change: c.ObjectSet) -> str:
    return f"{change.type} {change.meta.namespace}/{change.meta.name}"


def _object_ref(_: State, change: Any) -> str:
    return f"{change.type} {change.ref}"


def _dead_letters(_: State, change: c.DeadLettersDropped) -> str:
    return f"dead letters {', '.join(map(str, change.numbers[:10]))}{' ...' if len(change.numbers) > 10 else ''}"


_NAMES: dict[type, Callable[[State, Any], str]] = {
    c.JobSubmitted: _submitted,
    **dict.fromkeys((c.JobStopRequested, c.JobHeld, c.JobUpdated), _job),
    **dict.fromkeys((c.InstanceDownSet, c.InstanceRestartRequested, c.TasksTransitioned), _tasks),
    **dict.fromkeys((c.NodeTransitioned, c.NodeLabelled, c.NodeAttributed, c.NodeCordonSet, c.DrainSet), _node),
    **dict.fromkeys((c.TemplateSet, c.TemplatePaused, c.TemplateDropped, c.TemplateFired), _in_namespace("template")),
    **dict.fromkeys((c.QueueSet, c.QueueDropped), _named("queue")),
    c.ClusterSet: _named("setting"),
    c.DeadLettersDropped: _dead_letters,
    **dict.fromkeys((c.UserSet, c.UserDeleted), _user),
    **dict.fromkeys((c.KeySet, c.KeyRevoked), _key),
    **dict.fromkeys((c.JoinTokenSet, c.JoinTokenUsed, c.JoinTokenDropped), _join_token),
    **dict.fromkeys((c.TenantSet, c.TenantDeleted), _named("tenant")),
    **dict.fromkeys((c.SecretSet, c.SecretDeleted, c.SecretResealed), _in_namespace("secret")),
    c.ObjectSet: _object,
    c.ObjectDropped: _object_ref,
}
