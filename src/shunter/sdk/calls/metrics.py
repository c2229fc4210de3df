"""What a client can be asked about metrics, as conversations. Both clients take their meaning from here, as from
`sdk.calls.jobs`."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import quote

from shunter.model.objects.objects import API_VERSIONS
from shunter.model.rest.metric_views import MetricsView
from shunter.sdk.calls.requests import Query, TaskKey, job_path, path_with, task_part
from shunter.sdk.core import Core
from shunter.sdk.transport.steps import Conversation, Request

Time = datetime | str  # a string is ISO-8601 with its zone, as answers have it
TimeWindow = tuple[Time | None, Time | None, str | None]  # start, stop, and how long one value stands for: "10s"


def batch_job_metrics(
    core: Core, name: str, run: int | None, step: str | None, namespace: str | None
) -> Conversation[MetricsView]:
    effective_namespace = quote(namespace or core.namespace, safe="")
    path = f"/apis/{API_VERSIONS[0]}/namespaces/{effective_namespace}/batchjobs/{quote(name, safe='')}/metrics"
    return core.fetch(Request("GET", path_with(path, [("run", run), ("step", step)])), MetricsView)


def node_metrics(core: Core, name: str, window: TimeWindow) -> Conversation[MetricsView]:
    return core.fetch(Request("GET", path_with(f"/nodes/{quote(name, safe='')}/metrics", _query(window))), MetricsView)


def task_metrics(
    core: Core, reference: str, namespace: str | None, task: TaskKey, window: TimeWindow
) -> Conversation[MetricsView]:
    subpath, query = task_part(task)
    path = job_path(reference, f"{subpath}/metrics", namespace or core.namespace, [*query, *_query(window)])
    return core.fetch(Request("GET", path), MetricsView)


def _query(window: TimeWindow) -> Query:
    start, stop, step = window
    return [("start", _format_time(start)), ("stop", _format_time(stop)), ("step", step)]


def _format_time(time: Time | None) -> str | None:
    """A datetime without a zone is local time, as Python has it."""
    return time.astimezone(UTC).isoformat() if isinstance(time, datetime) else time
