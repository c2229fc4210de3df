"""The commands metrics batchjob, metrics task, metrics node and metrics list."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from shunter.cli.connection import open_client
from shunter.cli.options import Format, JobOrTask, Namespace, NodeName, Output, duration_s, first_task, job_and_task
from shunter.cli.output_mode import mode
from shunter.cli.registry import plain_typer
from shunter.cli.render.measured import format_value
from shunter.cli.render.tables import GAP, LAST_WIDTH_MIN, Column, print_document, print_table
from shunter.cli.text import on_terminal, print_text
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.metrics.catalogue import METRICS
from shunter.model.metrics.metric import Metric
from shunter.model.rest.metric_views import MeasuredView, MetricsView, MetricView

BARS = "▁▂▃▄▅▆▇█"
SPARK_WIDTH = 40
COLUMNS = (
    Column("NAME"),
    Column("NODE", drop=1),
    Column("METRIC"),
    Column("MEAN", right=True),
    Column("MAX", right=True),
    Column("OVER TIME"),
)

LIST_COLUMNS = (
    Column("NAME"),
    Column("TYPE", drop=2),
    Column("LABELS", drop=1),
    Column("FROM", drop=3),
    Column("MEANING"),
)

metrics = plain_typer(no_args_is_help=True)

Step = Annotated[str | None, typer.Option(metavar="TIME", help="Time between two values: 1s, 10s, 1m.")]


@metrics.callback()
def _metrics() -> None:
    """Show the resource usage of a run, task or node over time: CPU, memory, disk and network.

    The manager keeps samples of the last day in memory. They are lost when it restarts.

    \b
    shunter metrics batchjob spark-crawler
    shunter metrics node worker-3 --last 10m
    shunter metrics list              what Prometheus can scrape
    """


@metrics.command("list")
def list_metrics(output: Output = Format.TABLE) -> None:
    """List the metrics that managers and workers expose at /metrics, for Prometheus. Needs no cluster."""
    documents = [describe(each) for each in METRICS]
    if output is Format.TABLE:
        print_table(LIST_COLUMNS, (tuple(map(str, (*each.values(),))) for each in map(_texts, documents)))
    else:
        print_document(documents, output)


def describe(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.sample_name,
        "type": str(metric.kind),
        "labels": list(metric.labels),
        "from": str(metric.exposed_by),
        "meaning": metric.about,
    }


def _texts(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "labels": ",".join(document["labels"]) or "-"}


@metrics.command("batchjob")
def batchjob(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the BatchJob.")],
    run: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Number of the run, from 1. Default: the last run.")
    ] = None,
    step: Step = None,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Show the resource usage of one run of a BatchJob: its slots, its driver and its nodes.

    \b
    shunter metrics batchjob spark-crawler
    shunter metrics batchjob spark-crawler --run 2 --output json
    """
    with open_client(namespace) as client:
        _show(client.batch_job_metrics(name, run, step=step), output)


@metrics.command("task")
def task(
    reference: JobOrTask,
    step: Step = None,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Show the resource usage of a task, and of its node during that time.

    \b
    shunter metrics task render/17
    shunter metrics task pipeline/driver/0
    """
    job, index = job_and_task(reference)
    with open_client(namespace) as client:
        found = client.job(job)
        _show(found.metrics(index or first_task(found), step=step), output)


@metrics.command("node")
def node(
    name: NodeName,
    last: Annotated[str, typer.Option(metavar="TIME", help="Time span until now: 90s, 10m, 2h.")] = "10m",
    step: Step = None,
    output: Output = Format.TABLE,
) -> None:
    """Show the resource usage of a node: CPU, memory, disks and network.

    \b
    shunter metrics node worker-3
    shunter metrics node worker-3 --last 2h
    """
    back_s = duration_s(last, "--last")
    start = None if back_s is None else datetime.now(UTC) - timedelta(seconds=back_s)
    with open_client() as client:
        _show(client.node_metrics(name, start, step=step), output)


def _show(found: MetricsView, output: Format) -> None:
    if output is not Format.TABLE:
        print_document(found, output)
        return
    run = "" if found.run is None else f", run {found.run}"
    print_text(f"{found.name}{run}: {found.start} to {found.stop}, one value per {found.step_s:g} s")
    measured = [*found.tasks, *found.nodes]
    print_table(COLUMNS, _rows(measured, _spark_width(_rows(measured, 0))))


def _spark_width(rows: Iterable[tuple[str, ...]]) -> int:
    """What the other columns leave of the terminal, because a sparkline that is cut hides the newest values."""
    if not on_terminal(sys.stdout) or mode.is_wide:
        return SPARK_WIDTH
    others = [row[:-1] for row in rows]
    used = sum(max(map(len, (column.title, *cells))) for column, *cells in zip(COLUMNS, *others, strict=False))
    left = shutil.get_terminal_size().columns - used - len(GAP) * (len(COLUMNS) - 1)
    return min(SPARK_WIDTH, max(LAST_WIDTH_MIN, left))


def _rows(measured: Iterable[MeasuredView], spark_width: int) -> Iterator[tuple[str, ...]]:
    for each in measured:
        name = each.name if each.slot is None else f"slot {each.slot}"
        if not each.metrics:
            yield name, each.node or "-", "-", "-", "-", "no samples"
        for metric, view in each.metrics.items():
            yield (
                name,
                each.node or "-",
                metric,
                format_value(metric, view.mean),
                format_value(metric, view.max),
                sparkline(view, spark_width),
            )


def sparkline(view: MetricView, width: int) -> str:
    """The values as bars from 0 to the maximum; a gap where there is no sample."""
    values = downsample(view.values, width) if width else []
    top = max((value for value in values if value is not None), default=0.0)
    return "".join(
        " " if value is None else BARS[round(value / top * (len(BARS) - 1)) if top else 0] for value in values
    )


def downsample(values: Sequence[float | None], width: int) -> list[float | None]:
    """At most `width` values, each the maximum of its bucket, so that peaks stay visible."""
    if len(values) <= width:
        return list(values)
    parts = [values[bucket * len(values) // width : (bucket + 1) * len(values) // width] for bucket in range(width)]
    return [max((value for value in part if value is not None), default=None) for part in parts]
