"""Handlers for metrics: what nodes and tasks used over a window of time."""

from __future__ import annotations

from shunter.api.http.exchange import Exchange
from shunter.api.http.routing import Context
from shunter.api.routes.jobs import any_task_of, job_of
from shunter.api.routes.objects import api_version_of, object_name_of
from shunter.model.objects.objects import BATCH_JOB
from shunter.model.rest.metric_views import MetricsView
from shunter.ports.metrics import Window


async def get_batch_job_metrics(context: Context, exchange: Exchange) -> MetricsView:
    api_version_of(exchange, BATCH_JOB)
    params, name = exchange.query, object_name_of(exchange)
    return await context.gateway.metrics.batch_job_metrics(exchange.caller, name, params["run"], params["step"])


async def get_node_metrics(context: Context, exchange: Exchange) -> MetricsView:
    return await context.gateway.metrics.node_metrics(exchange.caller, exchange.path_params["name"], _window(exchange))


async def get_task_metrics(context: Context, exchange: Exchange) -> MetricsView:
    job, task = job_of(exchange), any_task_of(exchange)
    return await context.gateway.metrics.task_metrics(exchange.caller, job, task, _window(exchange))


def _window(exchange: Exchange) -> Window:
    return Window(exchange.query["start"], exchange.query["stop"], exchange.query["step"])
