"""Writes deploy/grafana/dashboards/: the Grafana dashboards, built with the Grafana Foundation SDK. Called by
`make docs`; a test compares, and another one asks a real Prometheus every query.

    python scripts/generate_dashboards.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, table, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import DataSourceRef, TooltipDisplayMode
from grafana_foundation_sdk.models.dashboard import DashboardLinkType
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

Builder = timeseries.Panel | stat.Panel | table.Panel

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "deploy" / "grafana" / "dashboards"
PROMETHEUS = DataSourceRef(type_val="prometheus", uid="shunter-prometheus")  # as provisioned in deploy/grafana
WINDOW = "$__rate_interval"  # Grafana fits it to the scrape interval
HALF, THIRD, QUARTER, WHOLE = 12, 8, 6, 24  # of the 24 columns
STAT_HEIGHT, GRAPH_HEIGHT = 4, 8


@dataclass(frozen=True, slots=True)
class Query:
    """A PromQL expression. `legend` names its series."""

    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """`unit` is one of Grafana's. A stat shows the newest value, a table the newest value of each series."""

    title: str
    about: str
    queries: tuple[Query, ...]
    unit: str = "short"
    kind: str = "graph"
    width: int = HALF


@dataclass(frozen=True, slots=True)
class Dashboard:
    uid: str
    title: str
    about: str
    panels: tuple[Panel, ...]


def number(title: str, about: str, expr: str, unit: str = "short") -> Panel:
    return Panel(title, about, (Query(expr),), unit, "stat", QUARTER)


def graph(title: str, about: str, *queries: tuple[str, str], unit: str = "short", width: int = HALF) -> Panel:
    return Panel(title, about, tuple(Query(*query) for query in queries), unit, "graph", width)


def listing(title: str, about: str, expr: str) -> Panel:
    return Panel(title, about, (Query(expr),), "short", "table", WHOLE)


def rate(metric: str, by: str = "") -> str:
    return f"sum{f' by ({by}) ' if by else ''}(rate({metric}[{WINDOW}]))"


def quantiles(metric: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (f"histogram_quantile({q}, sum by (le) (rate({metric}_bucket[{WINDOW}])))", label)
        for q, label in ((0.5, "median"), (0.95, "95 %"), (0.99, "99 %"))
    )


def share(part: str, whole: str) -> str:
    return f"sum({part}) / sum({whole})"


CLUSTER = Dashboard(
    "shunter-cluster", "Shunter / Cluster", "Is the cluster well, and how full is it?",
    (
        number("Leaders", "1 if a manager leads; else nothing is accepted.", "sum(shunter_manager_leading)"),
        number("Managers up", "Managers that Prometheus can scrape.", 'sum(up{job="shunter"})'),
        number("Nodes that accept tasks", "Ready and not cordoned.", "sum(shunter_nodes_eligible)"),
        number("Unfinished tasks", "In all states.", "sum(shunter_tasks)"),
        graph("CPU", "Cores that tasks have reserved, of all nodes.",
              ("sum(shunter_cpu_reserved_cores)", "reserved"), ("sum(shunter_cpu_capacity_cores)", "capacity")),
        graph("Memory", "What tasks have reserved, of all nodes.", ("sum(shunter_memory_reserved_bytes)", "reserved"),
              ("sum(shunter_memory_capacity_bytes)", "capacity"), unit="bytes"),
        graph("Requests", "Answers of all managers, by status code.",
              (rate("shunter_http_requests_total", "code"), "{{code}}"), unit="reqps"),
        graph("Commits", "How long the store takes to commit a round.",
              *quantiles("shunter_commit_duration_seconds"), unit="s"),
        graph("Resident memory", "Of each manager.", ("process_resident_memory_bytes", "{{instance}}"), unit="bytes"),
        graph("CPU of managers", "Cores that each manager uses.",
              (rate("process_cpu_seconds_total", "instance"), "{{instance}}")),
        graph("Disk of managers", "Free share of the disk of SHUNTER_HOME.",
              ("shunter_disk_free_bytes / shunter_disk_size_bytes", "{{instance}}"), unit="percentunit"),
        graph("Event loop", "How late timers run: a manager that does something long answers nobody meanwhile.",
              *quantiles("shunter_event_loop_lag_seconds"), unit="s"),
    ),
)  # fmt: skip

JOBS = Dashboard(
    "shunter-jobs", "Shunter / Jobs", "What runs, what fails, and how long does it take?",
    (
        number("Unfinished jobs", "In all states.", "sum(shunter_jobs)"),
        number("Running tasks", "Started and not ended.", 'sum(shunter_tasks{state="running"})'),
        number("Queued tasks", "Ready to be placed.", 'sum(shunter_tasks{state="queued"})'),
        number("Dead letters", "Tasks that failed after their last restart: `shunter dead`.",
               "sum(shunter_dead_letters)"),
        graph("Jobs by state", "Unfinished ones.", ("sum by (state) (shunter_jobs)", "{{state}}")),
        graph("Tasks by state", "Unfinished ones.", ("sum by (state) (shunter_tasks)", "{{state}}")),
        graph("Jobs per second", "Submitted, and ended by state.", (rate("shunter_jobs_submitted_total"), "submitted"),
              (rate("shunter_jobs_ended_total", "state"), "{{state}}"), unit="ops"),
        graph("Attempts per second", "Attempts of tasks that ended.",
              (rate("shunter_task_attempts_total", "result"), "{{result}}"), unit="ops"),
        graph("Wait in the queue", "From the submit to the first placement.",
              *quantiles("shunter_task_queue_wait_seconds"), unit="s"),
        graph("Start latency", "From the submit to the first start.", *quantiles("shunter_task_start_latency_seconds"),
              unit="s"),
        graph("Run time", "Of attempts.", *quantiles("shunter_task_run_time_seconds"), unit="s"),
        graph("Queued tasks by queue", "What waits where.",
              ('sum by (queue) (shunter_queue_tasks{state="queued"})', "{{queue}}")),
    ),
)  # fmt: skip

SCHEDULER = Dashboard(
    "shunter-scheduler", "Shunter / Scheduler", "Does the engine keep up, and which quotas bind?",
    (
        number("Waiting requests", "Requests and reports that wait for the next round.", "sum(shunter_inbox_requests)"),
        number("Rounds per second", "Of the leader.", rate("shunter_round_duration_seconds_count"), "ops"),
        number("Placed per second", "Tasks that were sent to a node.", rate("shunter_queue_tasks_placed_total"), "ops"),
        number("State version", "Each commit adds 1.", "max(shunter_state_version)"),
        graph("Rounds", "From the first command to the answers.", *quantiles("shunter_round_duration_seconds"),
              unit="s"),
        graph("Submits", "From the request to the answer.", *quantiles("shunter_submit_duration_seconds"), unit="s"),
        graph("Placed by queue", "Tasks per second that were sent to a node.",
              (rate("shunter_queue_tasks_placed_total", "queue"), "{{queue}}"), unit="ops"),
        graph("Preemptions", "Tasks per second that were stopped to make room, drained or moved.",
              (rate("shunter_tasks_preempted_total"), "preempted"), unit="ops"),
        graph("Failed commits and snapshots", "Per second; any failed commit is bad.",
              (rate("shunter_commit_failures_total"), "commits"),
              (rate('shunter_snapshots_total{result="failed"}'), "snapshots"), unit="ops"),
        graph("Size of the store", "Files of SQLite; 0 for other stores.", ("shunter_store_size_bytes", "{{instance}}"),
              unit="bytes"),
        graph("Used quotas", "What tenants use, as a share of their limits.",
              ("shunter_tenant_quota_used / (shunter_tenant_quota_limit > 0)", "{{tenant}} {{quota}}"),
              unit="percentunit", width=WHOLE),
    ),
)  # fmt: skip

NODES = Dashboard(
    "shunter-nodes", "Shunter / Nodes", "Which machines are there, and what do they do?",
    (
        number("Nodes", "In all states.", "sum(shunter_nodes)"),
        number("Nodes down", "They send no heartbeats.", "count(shunter_node_up) - sum(shunter_node_up)"),
        number("Reserved CPU", "Of all nodes.", share("shunter_cpu_reserved_cores", "shunter_cpu_capacity_cores"),
               "percentunit"),
        number("Reserved memory", "Of all nodes.",
               share("shunter_memory_reserved_bytes", "shunter_memory_capacity_bytes"), "percentunit"),
        graph("Nodes by state", "As the leader sees them.", ("sum by (state) (shunter_nodes)", "{{state}}")),
        graph("Tasks by node", "Tasks that were sent to the node.", ("sum by (node) (shunter_node_tasks)", "{{node}}")),
        graph("Busy CPU", "Share of the node's CPU, whoever uses it.",
              ("max by (node) (shunter_node_cpu_busy_ratio)", "{{node}}"), unit="percentunit"),
        graph("Available memory", "Share of the node's memory.",
              ("max by (node) (shunter_node_memory_available_bytes / shunter_node_memory_size_bytes)", "{{node}}"),
              unit="percentunit"),
        graph("Free disk", "Share of the disk of the worker's home.",
              ("max by (node) (shunter_node_disk_free_bytes / shunter_node_disk_size_bytes)", "{{node}}"),
              unit="percentunit"),
        graph("Changes of state", "A node that loses its manager again and again flaps.",
              ("sum by (node) (increase(shunter_node_state_changes_total[15m]))", "{{node}}")),
    ),
)  # fmt: skip

TESTBEDS = Dashboard(
    "shunter-testbeds", "Shunter / Testbeds", "Do testbeds have free slots, and do their BatchJobs go on?",
    (
        number("Testbeds", "In all states.", "sum(shunter_testbeds)"),
        number("Broken testbeds", "In the state ERROR: `shunter testbed NAME` says why.",
               'sum(shunter_testbeds{state="ERROR"})'),
        number("Running BatchJobs", "Their application runs.", 'sum(shunter_batch_jobs{state="RunningState"})'),
        number("Slots in use", "Share of all slots.", share('shunter_testbed_slots{state="OCCUPIED"}',
               "shunter_testbed_slots"), "percentunit"),
        graph("Testbeds by state", "As `shunter testbeds` lists them.",
              ("sum by (state) (shunter_testbeds)", "{{state}}")),
        graph("Slots by state", "Of all testbeds.", ("sum by (state) (shunter_testbed_slots)", "{{state}}")),
        graph("BatchJobs by state", "As `shunter batchjobs` lists them.",
              ("sum by (state) (shunter_batch_jobs)", "{{state}}")),
        graph("Schedulings by state", "As `shunter schedulings` lists them.",
              ("sum by (state) (shunter_schedulings)", "{{state}}")),
        graph("Free slots by testbed", "A testbed without free slots makes Schedulings wait.",
              ('sum by (testbed) (shunter_testbed_slots{state="FREE"})', "{{testbed}}"), width=WHOLE),
    ),
)  # fmt: skip

ALERTS = Dashboard(
    "shunter-alerts", "Shunter / Alerts", "What is wrong now? Every alert has a runbook.",
    (
        number("Alerts that fire", "Without the watchdog.",
               'sum(ALERTS{alertstate="firing", alertname=~"Shunter.*", alertname!="ShunterWatchdog"}) or vector(0)'),
        number("Watchdog", "1 while alerts work.", 'sum(ALERTS{alertstate="firing", alertname="ShunterWatchdog"})'),
        number("Managers down", "Prometheus cannot scrape them.", 'sum(1 - up{job="shunter"})'),
        number("Pending alerts", "Their cause has not lasted long enough to fire.",
               'sum(ALERTS{alertstate="pending", alertname=~"Shunter.*"}) or vector(0)'),
        listing("Active alerts", "Those that fire or are pending.", 'ALERTS{alertname=~"Shunter.*"}'),
        graph("Alerts over time", "Those that fired.",
              ('sum by (alertname) (ALERTS{alertstate="firing", alertname=~"Shunter.*"})', "{{alertname}}"),
              width=WHOLE),
    ),
)  # fmt: skip

DASHBOARDS = (CLUSTER, JOBS, SCHEDULER, NODES, TESTBEDS, ALERTS)


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in dashboard_files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


def dashboard_files() -> dict[str, str]:
    return {f"{each.uid}.json": _file(each) for each in DASHBOARDS}


def all_queries() -> Iterator[tuple[str, str, str]]:
    """Dashboard, panel and expression of every query."""
    for each in DASHBOARDS:
        for panel in each.panels:
            for query in panel.queries:
                yield each.title, panel.title, query.expr


def _file(about: Dashboard) -> str:
    builder = (
        dashboard.Dashboard(about.title)
        .uid(about.uid)
        .description(about.about)
        .tags(["shunter"])
        .refresh("30s")
        .time("now-1h", "now")
        .timezone("browser")
        .link(_other_dashboards())
    )
    for panel in _panels(about.panels):
        builder = builder.with_panel(panel)
    return json.dumps(builder.build(), cls=JSONEncoder, indent=2, sort_keys=True) + "\n"


def _other_dashboards() -> dashboard.DashboardLink:
    return (
        dashboard.DashboardLink("Shunter")
        .type(DashboardLinkType.DASHBOARDS)
        .tags(["shunter"])
        .as_dropdown(True)
        .keep_time(True)
    )


def _panels(panels: Sequence[Panel]) -> Iterator[Builder]:
    for each in panels:
        builder = _builder(each.kind)
        builder.title(each.title).description(each.about).datasource(PROMETHEUS).unit(each.unit)
        builder.span(each.width).height(STAT_HEIGHT if each.kind == "stat" else GRAPH_HEIGHT)
        for number, query in enumerate(each.queries):
            builder.with_target(_target(query, "ABCDEFGH"[number], each.kind))
        yield builder


def _builder(kind: str) -> Builder:
    if kind == "table":
        return table.Panel()
    return _stat() if kind == "stat" else _graph()


def _graph() -> timeseries.Panel:
    tooltip = common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI)
    return timeseries.Panel().fill_opacity(10).tooltip(tooltip).min(0)


def _stat() -> stat.Panel:
    return stat.Panel().reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))


def _target(query: Query, ref: str, kind: str) -> prometheus.Dataquery:
    target = prometheus.Dataquery().expr(query.expr).legend_format(query.legend).ref_id(ref).datasource(PROMETHEUS)
    if kind == "table":
        target.format(PromQueryFormat.TABLE)
    return target.range() if kind == "graph" else target.instant()


if __name__ == "__main__":
    main()
