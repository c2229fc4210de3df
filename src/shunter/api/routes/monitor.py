"""Handlers and routes of what screens show at once: counts, search, maps of tasks and nodes, time lines. Part of the
table in `api.routes.table`."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from shunter.api.http import parameters as p
from shunter.api.http.exchange import Exchange
from shunter.api.http.routing import BASE, ResponseSpec, Route
from shunter.api.routes.jobs import GROUP, job_of
from shunter.model.job.arrays import INDEX_MAX
from shunter.model.rest.monitor.analytics_views import Analytics
from shunter.model.rest.monitor.usage_views import JobUsageView, UsageSums
from shunter.model.rest.monitor.views import (
    JobCounts,
    JobManifest,
    NodeMap,
    NodeTaskPage,
    SearchPage,
    TaskMap,
    Timeline,
)
from shunter.model.schema.fields import text
from shunter.model.schema.name_fields import LABEL_KEY_PATTERN
from shunter.ports.gateway import CallerGateway
from shunter.ports.monitor import TaskMapQuery

CELLS_MAX = 10_000
HITS_MAX = 100
STEPS_MAX = 2_000
VERSION_MAX = 2**31
ATTEMPTS_MAX = 20_000
USAGE_BY = ("user", "queue", "namespace", "tenant")
GROUP_BY = ("state", "queue", "user", "type", "namespace")


async def count_jobs(gateway: CallerGateway, exchange: Exchange) -> JobCounts:
    return await gateway.monitor.counts(exchange.query["namespace"], exchange.query["group_by"])


async def search(gateway: CallerGateway, exchange: Exchange) -> SearchPage:
    return await gateway.monitor.search(exchange.query["q"] or "", exchange.query["limit"])


async def get_task_map(gateway: CallerGateway, exchange: Exchange) -> TaskMap:
    params = exchange.query
    query = TaskMapQuery(params["group"], params["first"], params["last"], params["cells"])
    return await gateway.monitor.task_map(job_of(exchange), query)


async def get_timeline(gateway: CallerGateway, exchange: Exchange) -> Timeline:
    return await gateway.monitor.timeline(job_of(exchange), exchange.query["steps"], exchange.query["limit"])


async def get_node_map(gateway: CallerGateway, exchange: Exchange) -> NodeMap:
    return await gateway.monitor.node_map(exchange.query["group_by"] or "datacenter")


async def list_node_tasks(gateway: CallerGateway, exchange: Exchange) -> NodeTaskPage:
    params = exchange.query
    return await gateway.monitor.node_tasks(exchange.path_params["name"], params["limit"], params["after"])


async def get_manifest(gateway: CallerGateway, exchange: Exchange) -> JobManifest:
    return await gateway.monitor.manifest(job_of(exchange), exchange.query["version"])


async def get_analytics(gateway: CallerGateway, exchange: Exchange) -> Analytics | None:
    params = exchange.query
    start_s, stop_s = (None if params[name] is None else params[name] / 1000 for name in ("start", "stop"))
    found = await gateway.monitor.analytics(params["namespace"], start_s, stop_s, params["steps"])
    if params["format"] != "csv":
        return found
    await exchange.respond(200, "".join(f"{line}\n" for line in csv_lines(found)).encode(), b"text/csv")
    return None


async def get_job_usage(gateway: CallerGateway, exchange: Exchange) -> JobUsageView:
    return await gateway.monitor.job_usage(job_of(exchange))


async def get_usage(gateway: CallerGateway, exchange: Exchange) -> UsageSums:
    params = exchange.query
    since_s = None if params["since"] is None else params["since"] / 1000
    return await gateway.monitor.usage(params["by"], since_s, params["namespace"])


CSV_SERIES = (
    "succeeded", "failed", "cancelled", "tasks", "deadlines", "wait_p50_s", "wait_p95_s", "run_p50_s", "run_p95_s",
)  # fmt: skip


def csv_lines(found: Analytics) -> Iterator[str]:
    """A line for each step."""
    columns = {name: getattr(found, name) for name in CSV_SERIES}
    columns |= {} if found.cluster is None else msgspec.structs.asdict(found.cluster)
    yield ",".join(("seconds", *columns))
    for number in range(len(found.succeeded)):
        values = (column[number] for column in columns.values())
        texts = ("" if value is None else str(value) for value in values)
        yield ",".join((f"{number * found.step_s:g}", *texts))


# `job-counts` and `node-map` instead of `jobs/counts` and `nodes/map`: a job or a node may have such a name.
MONITOR_ROUTES = (
    Route(
        "GET", f"{BASE}/job-counts", "countJobs", "Count jobs by state, queue, user, type or namespace", count_jobs,
        is_tagged=True, responses=(ResponseSpec(200, JobCounts),), errors=(400,),
        query=p.Query((p.NAMESPACES, p.enum_parameter("group_by", "what to count by", GROUP_BY, "state"))),
    ),
    Route(
        "GET", f"{BASE}/search", "search", "Find jobs, nodes, templates, queues and objects by name", search,
        is_tagged=True, responses=(ResponseSpec(200, SearchPage),), errors=(400,),
        query=p.Query((
            p.field_parameter("q", "a part of the name; without it, everything matches", text(size_max=253)),
            p.int_parameter("limit", "maximum number of items", 1, HITS_MAX, 20),
        )),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}/task-map", "getTaskMap", "Get the states of very many tasks, in cells",
        get_task_map,
        is_tagged=True, responses=(ResponseSpec(200, TaskMap),), errors=(400, 404),
        query=p.Query((
            p.NAMESPACE,
            GROUP,
            p.int_parameter("first", "first task, as a position in its group", 0, INDEX_MAX, 0),
            p.int_parameter("last", "last task", 0, INDEX_MAX),
            p.int_parameter("cells", "maximum number of cells", 1, CELLS_MAX, 1024),
        )),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}/manifest", "getManifest", "Get the manifest of a job, or of an earlier version",
        get_manifest,
        responses=(ResponseSpec(200, JobManifest),), errors=(400, 404),
        query=p.Query((
            p.NAMESPACE,
            p.int_parameter("version", "a version that is still known; default: the current one", 1, VERSION_MAX),
        )),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}/timeline", "getTimeline", "Get the attempts of a job over time", get_timeline,
        responses=(ResponseSpec(200, Timeline),), errors=(400, 404),
        query=p.Query((
            p.NAMESPACE,
            p.int_parameter("steps", "maximum number of steps of `running`", 1, STEPS_MAX, 200),
            p.int_parameter("limit", "maximum number of single attempts", 0, ATTEMPTS_MAX, 2000),
        )),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}/usage", "getJobUsage", "Get what a job used, and what it requested",
        get_job_usage,
        responses=(ResponseSpec(200, JobUsageView),), errors=(400, 404), query=p.Query((p.NAMESPACE,)),
    ),
    Route(
        "GET", f"{BASE}/usage", "getUsage", "Get what finished jobs used, by user, queue, namespace or tenant",
        get_usage,
        responses=(ResponseSpec(200, UsageSums),), errors=(400,),
        query=p.Query((
            p.NAMESPACES,
            p.enum_parameter("by", "what to add up by", USAGE_BY, "user"),
            p.time_parameter("since", "jobs that ended at this time or later; default: 7 days ago"),
        )),
    ),
    Route(
        "GET", f"{BASE}/analytics", "getAnalytics", "Get throughput, waiting times and failures over time",
        get_analytics,
        responses=(ResponseSpec(200, Analytics), ResponseSpec(200, None, "text/csv")), errors=(400,),
        query=p.Query((
            p.NAMESPACES,
            p.time_parameter("start", "start of the window; default: 24 hours before its end"),
            p.time_parameter("stop", "end of the window; default: now"),
            p.int_parameter("steps", "number of steps", 1, STEPS_MAX, 96),
            p.enum_parameter("format", "of the answer; csv has a line for each step", ("json", "csv"), "json"),
        )),
    ),
    Route(
        "GET", f"{BASE}/node-map", "getNodeMap", "Get all nodes as columns", get_node_map,
        responses=(ResponseSpec(200, NodeMap),), errors=(400,),
        query=p.Query((
            p.field_parameter(
                "group_by", "`datacenter` (the default), or the key of a label", text(LABEL_KEY_PATTERN, size_max=317)
            ),
        )),
    ),
    Route(
        "GET", f"{BASE}/nodes/{{name}}/tasks", "listNodeTasks", "List the tasks on a node", list_node_tasks,
        is_tagged=True, responses=(ResponseSpec(200, NodeTaskPage),), errors=(400, 404),
        query=p.Query((p.LIMIT, p.AFTER_NUMBER)),
    ),
)  # fmt: skip
