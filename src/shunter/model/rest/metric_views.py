"""Metrics as REST answers show them: what nodes and tasks used over a window of time."""

from __future__ import annotations

import msgspec


class MetricView(msgspec.Struct, kw_only=True):
    """`values` has a mean for each step from the window's start; null where there was no sample. `max` is that of
    single samples, or of what they were reduced to."""

    mean: float
    max: float
    values: list[float | None]


class MeasuredView(msgspec.Struct, kw_only=True):
    """A node, or a task and its slot. Without samples, `metrics` is empty."""

    name: str
    node: str | None = None
    slot: int | None = None
    metrics: dict[str, MetricView] = {}


class MetricsView(msgspec.Struct, kw_only=True):
    name: str
    start: str
    stop: str
    step_s: float
    namespace: str | None = None
    run: int | None = None  # of a BatchJob, counted from 1
    nodes: list[MeasuredView] = []
    tasks: list[MeasuredView] = []
