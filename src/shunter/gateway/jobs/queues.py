"""Named queues as people see them. Called by the gateway."""

from __future__ import annotations

from shunter.engine.jobs.queue_admin import queue_load, queue_names, queue_rules
from shunter.engine.state.state import State
from shunter.model.errors import NotFound
from shunter.model.rest.admin_views import QueuePage, QueueView


def queue_page(state: State) -> QueuePage:
    names = queue_names(state)
    return QueuePage([queue_view(state, name) for name in names], None, len(names))


def find_queue(state: State, name: str) -> QueueView:
    if name not in queue_names(state):
        raise NotFound(f"there is no queue {name}: it has no rules, and no job names it")
    return queue_view(state, name)


def queue_view(state: State, name: str) -> QueueView:
    rules, load = queue_rules(state, name), queue_load(state, name)
    return QueueView(
        name=name,
        queued=load.queued,
        running=load.running,
        paused=rules.is_paused,
        strict=rules.is_strict,
        running_max=rules.running_max or None,
        queued_max=rules.queued_max or None,
    )
