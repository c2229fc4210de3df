"""One job in a few words: how it ended; of a service or system job, that its tasks crash, and why."""

from __future__ import annotations

from shunter.cli.render.tables import elapsed_s, format_counts
from shunter.model.resources import format_duration
from shunter.model.rest.job_views import JobView

LIVE = ("assigned", "running", "stopping")
WAITING = ("waiting", "queued")
TROUBLES = (
    "crashing",
    "degraded",
    "stalled",
)  # of `update.status`: tasks crash or gave up, or an update does not go on


def describe_end(view: JobView) -> str:
    """`render succeeded: 100 succeeded in 1.2s`, or `render failed: exit code 3`."""
    if view.state != "succeeded" and view.reason:
        return f"{view.name} {view.state}: {view.reason}"
    counts = f": {format_counts(view.counts)}" if view.count > 1 else ""
    took_s = elapsed_s(view.started_at, view.ended_at)
    return f"{view.name} {view.state}{counts}" + ("" if took_s is None else f" in {format_duration(took_s)}")


def visible_state(view: JobView) -> str:
    """The state of a job; of a running one whose tasks are in trouble, the trouble; `pending` if none of its tasks
    runs and some wait to start again."""
    update = view.update
    if view.state != "running":
        return view.state
    if update is None:
        return "pending" if waits_again(view) else view.state
    return update.status if is_in_trouble(view) else view.state


def waits_again(view: JobView) -> bool:
    """Whether a batch job has started, and now all of its unfinished tasks wait: for a back-off, a node or room."""
    is_started = view.update is None and view.state == "running"
    return is_started and not any(map(view.counts.get, LIVE)) and any(map(view.counts.get, WAITING))


def is_in_trouble(view: JobView) -> bool:
    return view.update is not None and not view.ended_at and view.update.status in TROUBLES


def describe_trouble(view: JobView) -> str:
    """`web is crashing: restart 3, last exit code 1`; empty if there is none."""
    if view.update is None or not is_in_trouble(view):
        return ""
    return f"{view.name} is {view.update.status}: {view.update.reason}"


def describe_health(view: JobView) -> str:
    """The state of a service or system job: its trouble, `web is up: 2/2 healthy`, or `web is updating`."""
    update = view.update
    if update is None:
        return f"{view.name} is {view.state}"
    if is_up(view):
        return f"{view.name} is up: {update.healthy}/{update.wanted} healthy"
    return describe_trouble(view) or f"{view.name} is {update.status}"


def is_up(view: JobView) -> bool:
    """Whether all instances of a service or system job are healthy, and of its current version."""
    update = view.update
    return update is not None and update.status == "steady" and update.healthy >= update.wanted


def describe_version(view: JobView) -> str:
    """`2: updating, 1 of 3 updated, 3 healthy (version 2 by ada)`; empty for batch jobs."""
    update = view.update
    if update is None:
        return ""
    if view.ended_at:
        return str(view.version)
    progress = f"{update.updated} of {update.wanted} updated, {update.healthy} healthy"
    reason = "" if is_in_trouble(view) or not update.reason else f" ({update.reason})"
    return f"{view.version}: {update.status}, {progress}{reason}"


def describe_leaving(view: JobView) -> str:
    """What the counts of a job leave out: `; 1 more is being replaced or removed`."""
    leaving = view.update.leaving if view.update is not None and not view.ended_at else 0
    return f"; {leaving:,} more {'is' if leaving == 1 else 'are'} being replaced or removed" if leaving else ""
