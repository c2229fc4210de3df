"""The charts of a report: distributions of wait and slowdown, utilisation and queue length over time, and one day as a
Gantt chart. Called by `lab.report.page`. Curves are reduced to a point per pixel or so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from shunter.lab.experiment import Experiment
from shunter.lab.metrics import StepCurve, bounded_slowdowns, held_amount, measured_jobs, queue_length, waits
from shunter.lab.report import svg
from shunter.lab.report.svg import Axis
from shunter.lab.trace import FloatColumn, IntColumn
from shunter.model.resources import CPU

POINTS_MAX = 400  # of one distribution
PARTS = 120  # of the time, in charts over time
GANTT_JOBS_MAX = 400  # of one day and policy
GANTT_HEIGHT = 240
DAY_S = 86_400.0
WAIT_MARKS_S = (1.0, 10.0, 60.0, 600.0, 3600.0, 36_000.0, DAY_S, 10 * DAY_S, 100 * DAY_S)
GROUND_S = 1.0  # shorter waits are drawn as this long, because a logarithm has no zero


def wait_chart(experiment: Experiment) -> str:
    return _distribution(
        experiment,
        lambda name: waits(experiment.trace, experiment.results[name]),
        Axis(GROUND_S, 0.0, "wait", duration, is_log=True, marks=WAIT_MARKS_S),
    )


def slowdown_chart(experiment: Experiment) -> str:
    return _distribution(
        experiment,
        lambda name: bounded_slowdowns(experiment.trace, experiment.results[name]),
        Axis(1.0, 0.0, "bounded slowdown", _plain, is_log=True),
    )


def _distribution(experiment: Experiment, values_of: Callable[[str], FloatColumn], axis: Axis) -> str:
    """The share of jobs with at most that value. The axis ends at the largest one."""
    low = axis.low
    jobs = measured_jobs(experiment.trace, experiment.window)
    values = {name: np.sort(values_of(name)[jobs]) for name in experiment.results}
    high = max(max(float(column[-1]) for column in values.values()), low * 10)
    x, y = replace(axis, high=high), Axis(0.0, 1.0, "share of jobs", _percent)
    curves = []
    for style, column in enumerate(values.values()):
        ranks = np.unique(np.linspace(0, len(column) - 1, min(POINTS_MAX, len(column))).astype(np.int64))
        points = [
            (svg.x_of(x, max(float(column[rank]), low)), svg.y_of(y, (rank + 1) / len(column)))
            for rank in ranks.tolist()
        ]
        curves.append(
            svg.step_path([(svg.x_of(x, low), svg.y_of(y, 0.0)), *points, (svg.x_of(x, high), points[-1][1])], style)
        )
    return svg.chart(x, y, curves, f"distribution of {axis.label}")


def utilisation_chart(experiment: Experiment) -> str:
    cpus = experiment.nodes.total(CPU)
    curves = {
        name: held_amount(experiment.trace.cpu_milli, result) for name, result in experiment.results.items() if cpus
    }
    shares = {name: StepCurve(curve.times, curve.values / cpus) for name, curve in curves.items()}
    return _over_time(experiment, shares, 1.0, "cpus in use", _percent)


def queue_chart(experiment: Experiment) -> str:
    curves = {name: queue_length(experiment.trace, result) for name, result in experiment.results.items()}
    high = max((curve.max(experiment.window) for curve in curves.values()), default=0.0)
    return _over_time(experiment, curves, max(high, 1.0), "pending jobs", _plain)


def _over_time(experiment: Experiment, curves: dict[str, StepCurve], high: float, label: str, form: svg.Format) -> str:
    """The mean of each of many equal parts of the time."""
    window = experiment.window
    edges = np.linspace(window.begin_s, max(window.end_s, window.begin_s + 1.0), PARTS + 1)
    x, y = (
        Axis(edges[0] / DAY_S, edges[-1] / DAY_S, "days since the start of the trace", _plain),
        Axis(0.0, high, label, form),
    )
    drawn = []
    for style, curve in enumerate(curves.values()):
        means = _means_between(curve, edges)
        points = [
            (svg.x_of(x, at / DAY_S), svg.y_of(y, min(mean, high))) for at, mean in zip(edges, means, strict=False)
        ]
        drawn.append(svg.step_path([*points, (svg.x_of(x, edges[-1] / DAY_S), points[-1][1])], style))
    return svg.chart(x, y, drawn, f"{label} over time")


def _means_between(curve: StepCurve, edges: FloatColumn) -> FloatColumn:
    """The mean value of a step curve between each two edges."""
    lengths = np.diff(curve.times, append=max(float(curve.times[-1]), float(edges[-1])))
    areas = np.concatenate([[0.0], (curve.values * lengths).cumsum()])
    place = np.clip(np.searchsorted(curve.times, edges, side="right") - 1, 0, len(curve.times) - 1)
    inside = np.maximum(edges - curve.times[place], 0.0)
    area_until = areas[place] + curve.values[place] * inside
    means: FloatColumn = np.diff(area_until) / np.diff(edges)
    return means


def busiest_day(experiment: Experiment) -> int:
    """The day on which most jobs were submitted, counted from 0."""
    jobs = measured_jobs(experiment.trace, experiment.window)
    days = (experiment.trace.submit_s[jobs] // DAY_S).astype(np.int64)
    return int(np.bincount(days).argmax())


def gantt_chart(experiment: Experiment, policy: str, day: int) -> str:
    """Jobs that run on that day, one line each, by their start; the wait is drawn thin before it."""
    result, submit_s = experiment.results[policy], experiment.trace.submit_s
    begin_s, end_s = day * DAY_S, (day + 1) * DAY_S
    rows: IntColumn = np.flatnonzero((submit_s < end_s) & (result.end_s > begin_s))
    rows = rows[np.argsort(result.start_s[rows], kind="stable")][:GANTT_JOBS_MAX]
    x = Axis(0.0, 24.0, f"hour of day {day}", _plain)
    y = Axis(float(max(len(rows), 1)), 0.0, "jobs by start", lambda _: "")
    waiting, running = [], []
    thickness = max(1.2, (GANTT_HEIGHT - svg.TOP - svg.BOTTOM) / max(len(rows), 1) * 0.8)
    for line, row in enumerate(rows.tolist()):
        at = svg.number(svg.y_of(y, line + 0.5, GANTT_HEIGHT))
        edges = np.clip([submit_s[row], result.start_s[row], result.end_s[row]], begin_s, end_s)
        submitted, started, ended = (svg.number(svg.x_of(x, (edge - begin_s) / 3600)) for edge in edges.tolist())
        if started != submitted:
            waiting.append(f"M{submitted} {at}H{started}")
        if ended != started:
            running.append(f"M{started} {at}H{ended}")
    style = list(experiment.results).index(policy)
    content = [
        f'<path class="w" d="{"".join(waiting)}"/>',
        f'<path stroke="{svg.colour(style)}" stroke-width="{thickness:.1f}" d="{"".join(running)}"/>',
    ]
    return svg.chart(x, y, content, f"jobs of day {day} with {policy}", GANTT_HEIGHT)


def _plain(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:g}"


def _percent(value: float) -> str:
    return f"{value * 100:.0f} %"


def duration(value: float) -> str:
    for size, unit in ((DAY_S, "d"), (3600.0, "h"), (60.0, "min")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:g} s"
