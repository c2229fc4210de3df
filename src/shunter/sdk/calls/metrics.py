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
Span = tuple[Time | None, Time | None, str | None]  # start, stop, and how long one value stands for: "10s"


def of_batch_job(
    core: Core, name: str, run: int | None, step: str | None, namespace: str | None
) -> Conversation[MetricsView]:
    space = quote(namespace or core.namespace, safe="")
    path = f"/apis/{API_VERSIONS[0]}/namespaces/{space}/batchjobs/{quote(name, safe='')}/metrics"
    return core.ask(Request("GET", path_with(path, [("run", run), ("step", step)])), MetricsView)


def of_node(core: Core, name: str, span: Span) -> Conversation[MetricsView]:
    return core.ask(Request("GET", path_with(f"/nodes/{quote(name, safe='')}/metrics", _query(span))), MetricsView)


def of_task(core: Core, reference: str, namespace: str | None, task: TaskKey, span: Span) -> Conversation[MetricsView]:
    below, query = task_part(task)
    path = job_path(reference, f"{below}/metrics", namespace or core.namespace, [*query, *_query(span)])
    return core.ask(Request("GET", path), MetricsView)


def _query(span: Span) -> Query:
    start, stop, step = span
    return [("start", _word(start)), ("stop", _word(stop)), ("step", step)]


def _word(time: Time | None) -> str | None:
    """A datetime without a zone is local time, as Python has it."""
    return time.astimezone(UTC).isoformat() if isinstance(time, datetime) else time
