"""report.html: one file with inline SVG, without scripts and without network. Called by `app.lab`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from shunter.lab.compare import BLOCK_S, Difference, block_length_s
from shunter.lab.experiment import Experiment
from shunter.lab.metrics import Figures, measured_jobs
from shunter.lab.report import charts, svg
from shunter.model.resources import CPU

STYLE = """
:root{color-scheme:light;--ink:#1c2430;--soft:#5c6675;--line:#d9dee6}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);margin:2rem auto;max-width:74rem;padding:0 1.2rem}
h1{font-size:1.6rem;margin:0 0 .2rem}h2{font-size:1.15rem;margin:2.2rem 0 .6rem}p{margin:.3rem 0;max-width:60rem}
.soft,figcaption{color:var(--soft)}code{font-size:.85em;overflow-wrap:anywhere}
.wide{overflow-x:auto;margin-bottom:1rem}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .7rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th{font-weight:600;color:var(--soft)}th:first-child,td:first-child,td.n,th.n{text-align:left}
tr.first td{font-weight:600}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(26rem,1fr));gap:1rem 1.6rem}
figure{margin:0}figcaption{font-weight:600;color:var(--ink)}svg{width:100%;height:auto;display:block}
.g{stroke:#eceff3;fill:none}.a{stroke:#8a94a3;fill:none}.c{fill:none;stroke-width:1.6;stroke-linejoin:round}
.w{stroke:#b9c0ca;stroke-width:.5;fill:none}
text{font:11px system-ui,sans-serif;fill:#5c6675}.t{text-anchor:end;dominant-baseline:middle}.b,.l{text-anchor:middle}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;padding:0;margin:.4rem 0}
.legend li{display:flex;align-items:center;gap:.4rem}.k{width:28px;flex:none}
@media (max-width:40rem){.charts{grid-template-columns:1fr}}
"""


def report_html(experiment: Experiment, day: int | None = None) -> bytes:
    """`day`: the one that the Gantt charts show, counted from 0; None: the day with the most submissions."""
    names = list(experiment.results)
    day = charts.busiest_day(experiment) if day is None else day
    body = [
        *_head(experiment),
        "<h2>Leaderboard</h2>",
        _leaderboard(experiment),
        "<h2>Figures</h2>",
        _figures(experiment),
        "<h2>Distributions and load</h2>",
        svg.legend(names),
        '<div class="charts">',
        _figure("Wait: share of jobs that waited at most that long", charts.wait_chart(experiment)),
        _figure("Bounded slowdown: share of jobs with at most that value", charts.slowdown_chart(experiment)),
        _figure("Utilisation", charts.utilisation_chart(experiment)),
        _figure("Queue length", charts.queue_chart(experiment)),
        "</div>",
        f"<h2>Day {day} of the trace</h2>",
        f'<p class="soft">Thin lines are waits. At most {charts.GANTT_JOBS_MAX} jobs are drawn.</p>',
        '<div class="charts">',
        *(_figure(name, charts.gantt_chart(experiment, name, day)) for name in names),
        "</div>",
    ]
    title = f"Policy lab: {escape(experiment.trace.source)}"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{STYLE}</style></head>\n<body>\n{chr(10).join(body)}\n</body></html>\n"
    ).encode()


def _head(experiment: Experiment) -> Iterable[str]:
    trace, nodes, options = experiment.trace, experiment.nodes, experiment.options
    yield f"<h1>Policy lab: {escape(trace.source)}</h1>"
    yield (
        f"<p>{len(trace):,} of {experiment.jobs_read:,} jobs on {len(nodes.hellos):,} "
        f"{'node' if len(nodes.hellos) == 1 else 'nodes'} with {nodes.total(CPU) / 1000:,.0f} cpus "
        f"(<code>{escape(nodes.spec)}</code>); estimates: {escape(options.estimates)}; "
        f"{next(iter(experiment.figures.values())).jobs:,} jobs are measured.</p>"
    )
    yield f'<p class="soft">SHA-256 of the trace: <code>{trace.sha256}</code></p>'
    rows = [
        [
            f"<code>{escape(each.name)}</code>",
            escape(each.about),
            f"{each.dropped:,}",
            f"{each.changed:,}",
            f"{each.left:,}",
        ]
        for each in experiment.filters
    ]
    yield _table(["filter", "what it does", "dropped", "changed", "left"], rows, names=2)


def _leaderboard(experiment: Experiment) -> str:
    differences = {each.policy: each for each in experiment.differences}
    rows = []
    for place in experiment.leaderboard:
        each = differences.get(place.policy)
        text = "" if each is None else f"{_signed(each.mean)} {_interval(each)}"
        against = "" if each is None else escape(each.other) + (" (tie)" if each.is_tie else "")
        row = [str(place.rank), escape(place.policy), f"{place.slowdown_mean:,.2f}", text, against]
        if experiment.moved_slowdowns:
            moved_slowdowns = experiment.moved_slowdowns[place.policy]
            row.append(f"{min(moved_slowdowns):,.2f} to {max(moved_slowdowns):,.2f}")
        rows.append(row)
    block_s = block_length_s(experiment.trace.submit_s[measured_jobs(experiment.trace, experiment.window)])
    blocks = "weeks" if block_s == BLOCK_S else f"blocks of {charts.duration(block_s)}"
    note = (
        f'<p class="soft">By mean bounded slowdown. Intervals are 95 %, from a paired bootstrap over {blocks}. '
        "Policies of the same rank do not differ by more than chance from the first of that rank.</p>"
    )
    head = ["rank", "policy", "mean slowdown", "difference", "to"]
    if experiment.moved_slowdowns:
        head.append(f"with moved submissions (× {experiment.options.shakes})")
    return _table(head, rows, names=2) + note


def _interval(difference: Difference) -> str:
    if math.isinf(difference.low):
        return "(all jobs in one block: no interval)"
    return f"[{_signed(difference.low)}, {_signed(difference.high)}]"


def _signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:+,.2f}"


def _figures(experiment: Experiment) -> str:
    """Two tables: about jobs, and about the cluster."""
    of_jobs = ["policy", "wait mean", "median", "p95", "p99", "max", "slowdown mean", "median", "p95", "p99", "max"]
    of_cluster = [
        "policy",
        "utilisation",
        "makespan",
        "queue mean",
        "queue max",
        "fairness",
        "stranded",
        "GPU allocated",
    ]
    figures = experiment.figures.items()
    return _table(of_jobs, [_job_figures(name, each) for name, each in figures], names=1) + _table(
        of_cluster, [_cluster_figures(name, each) for name, each in figures], names=1
    )


def _job_figures(name: str, figures: Figures) -> list[str]:
    wait, slowdown = figures.wait_s, figures.slowdown
    waits = (wait.mean, wait.median, wait.p95, wait.p99, wait.max)
    slowdowns = (slowdown.mean, slowdown.median, slowdown.p95, slowdown.p99, slowdown.max)
    return [escape(name), *map(charts.duration, waits), *(f"{value:,.2f}" for value in slowdowns)]


def _cluster_figures(name: str, figures: Figures) -> list[str]:
    return [
        escape(name),
        f"{figures.utilisation:.1%}",
        f"{figures.makespan_s / charts.DAY_S:,.1f} d",
        f"{figures.queue_length_mean:,.1f}",
        f"{figures.queue_length_max:,}",
        f"{figures.fairness:.3f}",
        f"{figures.stranded:.1%}",
        "no GPUs" if figures.gpu_allocated is None else f"{figures.gpu_allocated:.1%}",
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], names: int) -> str:
    """The first `names` columns are text, the others numbers."""
    is_text = [' class="n"' if column < names else "" for column in range(len(head))]
    top = "".join(f"<th{kind}>{text}</th>" for kind, text in zip(is_text, head, strict=True))
    lines = (
        "<tr>" + "".join(f"<td{kind}>{text}</td>" for kind, text in zip(is_text, row, strict=True)) + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _figure(caption: str, drawing: str) -> str:
    return f"<figure><figcaption>{escape(caption)}</figcaption>{drawing}</figure>"
