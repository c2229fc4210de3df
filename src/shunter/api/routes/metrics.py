"""Handlers and routes of metrics: what nodes and tasks used over a window of time, and what Prometheus scrapes. Part of
the table in `api.routes.table`."""

from __future__ import annotations

from shunter.api.http import parameters as p
from shunter.api.http.exchange import Exchange
from shunter.api.http.routing import BASE, AnsweredBy, ResponseSpec, Route
from shunter.api.routes.jobs import GROUP, any_task_of, job_of
from shunter.api.routes.objects import IN_NAMESPACE, api_version_of, object_name_of
from shunter.model.metrics.exposition import CONTENT_TYPE
from shunter.model.objects.objects import BATCH_JOB
from shunter.model.rest.metric_views import MetricsView
from shunter.ports.gateway import CallerGateway
from shunter.ports.metrics import Window

STEP_MAX_S = 999 * 3600
NUMBER_MAX = 2**31


async def get_batch_job_metrics(gateway: CallerGateway, exchange: Exchange) -> MetricsView:
    api_version_of(exchange, BATCH_JOB)
    params, name = exchange.query, object_name_of(exchange)
    return await gateway.metrics.batch_job_metrics(name, params["run"], params["step"])


async def get_node_metrics(gateway: CallerGateway, exchange: Exchange) -> MetricsView:
    return await gateway.metrics.node_metrics(exchange.path_params["name"], _window(exchange))


async def get_task_metrics(gateway: CallerGateway, exchange: Exchange) -> MetricsView:
    job, task = job_of(exchange), any_task_of(exchange)
    return await gateway.metrics.task_metrics(job, task, _window(exchange))


async def scrape_metrics(gateway: CallerGateway, exchange: Exchange) -> None:
    await exchange.respond(200, gateway.telemetry.metrics(), CONTENT_TYPE.encode())


def _window(exchange: Exchange) -> Window:
    return Window(exchange.query["start"], exchange.query["stop"], exchange.query["step"])


STEP = p.step_parameter("step", "length of one step; default: about 120 values", STEP_MAX_S)
RUN = p.int_parameter("run", "run number, from 1; default: the last", 1, NUMBER_MAX)
START = p.time_parameter("start", "start of the window")
STOP = p.time_parameter("stop", "end of the window; default: now, or the end of the task")
METRICS_RESPONSES = (ResponseSpec(200, MetricsView),)

METRIC_ROUTES = (
    Route(
        "GET", "/metrics", "scrapeMetrics", "Get the metrics of this manager, for Prometheus", scrape_metrics,
        answered_by=AnsweredBy.RECEIVER, responses=(ResponseSpec(200, None, CONTENT_TYPE),),
    ),
    Route(
        "GET", f"{IN_NAMESPACE}/batchjobs/{{object}}/metrics", "getBatchJobMetrics",
        "Get the metrics of a BatchJob run, by node and by slot", get_batch_job_metrics,
        answered_by=AnsweredBy.LEADER, responses=METRICS_RESPONSES,
        query=p.Query((RUN, STEP)), errors=(400, 404),
    ),
    Route(
        "GET", f"{BASE}/nodes/{{name}}/metrics", "getNodeMetrics", "Get the metrics of a node", get_node_metrics,
        answered_by=AnsweredBy.LEADER,
        responses=METRICS_RESPONSES, query=p.Query((START, STOP, STEP)), errors=(400, 404),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}/tasks/{{index}}/metrics", "getTaskMetrics",
        "Get the metrics of a task and its node", get_task_metrics,
        answered_by=AnsweredBy.LEADER, responses=METRICS_RESPONSES, errors=(400, 404),
        query=p.Query((
            p.NAMESPACE,
            GROUP,
            p.int_parameter("piece", "for a replaced task: the number after its ~", 0, NUMBER_MAX),
            START,
            STOP,
            STEP,
        )),
    ),
)  # fmt: skip
