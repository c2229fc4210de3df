"""The routes for metrics: a part of the table in `api.routes.table`."""

from __future__ import annotations

from shunter.api.http import parameters as p
from shunter.api.http.routing import ResponseSpec, Route
from shunter.api.routes import metrics
from shunter.api.routes.object_table import IN_NAMESPACE
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.rest.metric_views import MetricsView
from shunter.model.schema.name_fields import NAME

STEP_MAX_S = 999 * 3600
NUMBER_MAX = 2**31

STEP = p.step_parameter("step", "how long one value stands for; else about 120 values", STEP_MAX_S)
RUN = p.int_parameter("run", "which run, counted from 1; else the last", 1, NUMBER_MAX)
START = p.time_parameter("start", "where the window begins")
STOP = p.time_parameter("stop", "where it ends; else now, or with the task")
METRICS_RESPONSES = (ResponseSpec(200, MetricsView),)

METRIC_ROUTES = (
    Route(
        "GET", f"{IN_NAMESPACE}/batchjobs/{{object}}/metrics", "getBatchJobMetrics",
        "What a run of a BatchJob used, by node and by slot", metrics.get_batch_job_metrics,
        responses=METRICS_RESPONSES,
        query=p.Query((RUN, STEP)), errors=(400, 404),
    ),
    Route(
        "GET", "/api/v1/nodes/{name}/metrics", "getNodeMetrics", "What a node used", metrics.get_node_metrics,
        responses=METRICS_RESPONSES, query=p.Query((START, STOP, STEP)), errors=(400, 404),
    ),
    Route(
        "GET", "/api/v1/jobs/{job}/tasks/{index}/metrics", "getTaskMetrics", "What a task used, and its node meanwhile",
        metrics.get_task_metrics, responses=METRICS_RESPONSES, errors=(400, 404),
        query=p.Query((
            p.namespace_parameter(NAMESPACE_DEFAULT, all_allowed=False),
            p.field_parameter("group", "the task's group, where the job has several", NAME),
            p.int_parameter("piece", "of a replaced task: the number behind its ~", 0, NUMBER_MAX),
            START,
            STOP,
            STEP,
        )),
    ),
)  # fmt: skip
