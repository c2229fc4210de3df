"""What a client can be asked, call by call, as conversations: both clients take their meaning from here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from shunter.model.lifecycles import JOB
from shunter.model.protocol.flight_records import FlightPage, FlightSegment
from shunter.model.rest.views import (
    AttemptPage,
    AttemptView,
    ClusterInfo,
    EventPage,
    JobPage,
    JobView,
    NodePage,
    NodeStatsView,
    NodeView,
    PlanView,
    PolicyPage,
    PolicyView,
    SubmittedJob,
    TaskPage,
    TaskView,
    WhyView,
)
from shunter.sdk.calls import requests
from shunter.sdk.calls.follow import Ended, event_namespace, follow_submit
from shunter.sdk.calls.requests import TaskKey
from shunter.sdk.core import Core
from shunter.sdk.manifests import Manifest, Source, job_manifest, read_manifest, read_manifests
from shunter.sdk.transport.steps import Conversation, Emit, Read, Request

JOB_ENDS = frozenset(state.wire_name for state in JOB.terminal_states)


def run(core: Core, command: Sequence[str], options: Mapping[str, Any]) -> Conversation[tuple[JobView, bool]]:
    return core.submit(job_manifest(command, options))


def run_to_end(core: Core, command: Sequence[str], options: Mapping[str, Any]) -> Conversation[Ended]:
    return follow_submit(core, job_manifest(command, options), "end")


def submit(core: Core, source: Source) -> Conversation[tuple[JobView, bool]]:
    return core.submit(read_manifest(source))


def submit_many(core: Core, sources: Source | Iterable[Manifest]) -> Conversation[list[SubmittedJob]]:
    if isinstance(sources, Mapping | str | Path):
        return core.submit_many(read_manifests(sources))
    return core.submit_many(sources)


def jobs(
    core: Core, namespace: str | None, states: Iterable[str], labels: Mapping[str, str] | None, limit: int | None
) -> Conversation[int]:
    """Emits JobViews, newest first."""
    page = partial(requests.jobs, namespace or core.namespace, tuple(states), labels or {})
    return core.pages(page, JobPage, requests.JOB_PAGE_MAX, limit)


def job(core: Core, reference: str, namespace: str | None = None) -> Conversation[JobView]:
    return core.fetch(requests.job(reference, namespace or core.namespace), JobView)


def runs(core: Core, reference: str, limit: int | None) -> Conversation[int]:
    """Emits JobViews of one name, newest first."""
    return core.pages(partial(requests.runs, reference, core.namespace), JobPage, requests.JOB_PAGE_MAX, limit)


def stop(
    core: Core, reference: str, namespace: str | None, task: TaskKey | None, now: bool, signal: str | None = None
) -> Conversation[None]:
    return core.send(requests.stop(reference, namespace or core.namespace, task, now, signal))


def update(
    core: Core, reference: str, namespace: str | None, source: Source, node: str | None
) -> Conversation[JobView]:
    request = requests.update(reference, namespace or core.namespace, read_manifest(source), node)
    return core.fetch(request, JobView)


def scale(core: Core, reference: str, namespace: str | None, counts: int | Mapping[str, int]) -> Conversation[JobView]:
    by_group = {"": counts} if isinstance(counts, int) else counts
    return core.fetch(requests.scale(reference, namespace or core.namespace, by_group), JobView)


def roll_back(core: Core, reference: str, namespace: str | None) -> Conversation[JobView]:
    return core.fetch(requests.roll_back(reference, namespace or core.namespace), JobView)


def restart(core: Core, reference: str, namespace: str | None, task: TaskKey | None) -> Conversation[JobView]:
    return core.fetch(requests.restart(reference, namespace or core.namespace, task), JobView)


def move(core: Core, reference: str, namespace: str | None, task: TaskKey, node: str) -> Conversation[JobView]:
    return core.fetch(requests.move(reference, namespace or core.namespace, task, node), JobView)


def tasks(
    core: Core, reference: str, namespace: str | None, states: Iterable[str], all: bool, limit: int | None
) -> Conversation[int]:
    """Emits TaskViews by index."""
    page = partial(requests.tasks, reference, namespace or core.namespace, tuple(states), all)
    return core.pages(page, TaskPage, requests.TASK_PAGE_MAX, limit)


def task(core: Core, reference: str, namespace: str | None, task: TaskKey) -> Conversation[TaskView]:
    return core.fetch(requests.task(reference, namespace or core.namespace, task), TaskView)


def attempts(core: Core, reference: str, namespace: str | None, task: TaskKey) -> Conversation[list[AttemptView]]:
    page = yield from core.fetch(requests.attempts(reference, namespace or core.namespace, task), AttemptPage)
    return page.items


def why(core: Core, reference: str, namespace: str | None = None, task: TaskKey | None = None) -> Conversation[WhyView]:
    return core.fetch(requests.why(reference, namespace or core.namespace, task), WhyView)


def plan(core: Core, sources: Source | Iterable[Manifest]) -> Conversation[PlanView]:
    manifests = read_manifests(sources) if isinstance(sources, Mapping | str | Path) else list(sources)
    return core.fetch(requests.plan(list(manifests), core.namespace), PlanView)


def policies(core: Core) -> Conversation[list[PolicyView]]:
    page = yield from core.fetch(requests.policies(), PolicyPage)
    return page.items


def flight(core: Core) -> Conversation[list[FlightSegment]]:
    page = yield from core.fetch(Request("GET", "/flight"), FlightPage)
    return page.items


def flight_records(core: Core) -> Conversation[None]:
    """Emits pieces of a file."""
    yield from core.exchange(Request("GET", "/flight/records"), stream=True)
    while data := (yield Read()):
        yield Emit(data)


def use_policy(core: Core, name: str) -> Conversation[list[PolicyView]]:
    page = yield from core.fetch(requests.use_policy(name), PolicyPage)
    return page.items


def nodes(core: Core) -> Conversation[int]:
    """Emits NodeViews by name."""
    return core.pages(requests.nodes, NodePage, requests.NODE_PAGE_MAX, None)


def node(core: Core, name: str) -> Conversation[NodeView]:
    return core.fetch(requests.node(name), NodeView)


def node_stats(core: Core, name: str) -> Conversation[NodeStatsView]:
    return core.fetch(requests.node_stats(name), NodeStatsView)


def drain_node(core: Core, name: str, deadline: str | None) -> Conversation[NodeView]:
    return core.fetch(requests.drain_node(name, deadline), NodeView)


def undrain_node(core: Core, name: str) -> Conversation[NodeView]:
    return core.fetch(requests.undrain_node(name), NodeView)


def cordon_node(core: Core, name: str, reason: str) -> Conversation[NodeView]:
    return core.fetch(requests.cordon_node(name, reason), NodeView)


def uncordon_node(core: Core, name: str) -> Conversation[NodeView]:
    return core.fetch(requests.uncordon_node(name), NodeView)


def release_node(core: Core, name: str) -> Conversation[NodeView]:
    return core.fetch(requests.release_node(name), NodeView)


def attribute_node(core: Core, name: str, attributes: Mapping[str, str | None]) -> Conversation[NodeView]:
    return core.fetch(requests.attribute_node(name, attributes), NodeView)


def label_node(core: Core, name: str, labels: Mapping[str, str | None]) -> Conversation[NodeView]:
    return core.fetch(requests.label_node(name, labels), NodeView)


def events(
    core: Core, namespace: str | None, job_name: str | None, after: str | None, limit: int | None
) -> Conversation[int]:
    """Emits the EventViews that are there."""

    def page(size: int, cursor: str | None) -> Request:
        return requests.events(event_namespace(core, namespace, job_name), job_name, size, cursor or after)

    return core.pages(page, EventPage, requests.EVENT_PAGE_MAX, limit)


def cluster(core: Core) -> Conversation[ClusterInfo]:
    return core.fetch(requests.cluster(), ClusterInfo)


def update_cluster(core: Core, settings: Mapping[str, Any]) -> Conversation[ClusterInfo]:
    return core.fetch(requests.update_cluster(settings), ClusterInfo)


def down(core: Core, leave_running: bool) -> Conversation[None]:
    return core.send(requests.down(leave_running))
