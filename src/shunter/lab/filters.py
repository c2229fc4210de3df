"""Named filters: each drops or changes jobs of a trace, and tells how many. Called by `lab.experiment`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shunter.lab.nodes import NodeModel
from shunter.lab.trace import Trace
from shunter.model.errors import Invalid, Problem

DEFAULT_FILTERS = "run,estimate,size,cut"


@dataclass(frozen=True, slots=True)
class FilterCount:
    """How many jobs a filter dropped or changed, and how many were left."""

    name: str
    about: str
    dropped: int
    changed: int
    left: int


@dataclass(frozen=True, slots=True)
class NamedFilter:
    about: str
    apply: Callable[[Trace, NodeModel, int], Trace]  # the last one is the number after a colon


def _drop_without_run(trace: Trace, _: NodeModel, __: int) -> Trace:
    return trace.select(trace.run_s > 0)


def _drop_without_estimate(trace: Trace, _: NodeModel, __: int) -> Trace:
    """A trace that knows no estimates at all keeps its jobs."""
    return trace.select(trace.estimate_s > 0) if (trace.estimate_s > 0).any() else trace


def _drop_too_large(trace: Trace, nodes: NodeModel, _: int) -> Trace:
    return trace.select((trace.tasks > 0) & nodes.can_hold(trace))


def _cut_run(trace: Trace, _: NodeModel, __: int) -> Trace:
    is_over = (trace.estimate_s > 0) & (trace.run_s > trace.estimate_s)
    return replace(trace, run_s=np.where(is_over, trace.estimate_s, trace.run_s))


def _take_first(trace: Trace, _: NodeModel, count: int) -> Trace:
    return trace.select(np.arange(min(count, len(trace))))


FILTERS = {
    "run": NamedFilter("drop jobs whose run time is unknown or not above 0", _drop_without_run),
    "estimate": NamedFilter("drop jobs without an estimate, if other jobs have one", _drop_without_estimate),
    "size": NamedFilter("drop jobs that do not fit on the empty nodes", _drop_too_large),
    "cut": NamedFilter("end a job when its estimate is over", _cut_run),
    "first": NamedFilter("take only the first N jobs", _take_first),
}
_WITH_NUMBER = frozenset({"first"})


def apply_filters(trace: Trace, names: Sequence[str], nodes: NodeModel) -> tuple[Trace, list[FilterCount]]:
    """Apply the filters in this order. Raises Invalid if one is unknown, or nothing is left."""
    counts = []
    for name in names:
        named, number = _find(name)
        before, trace = trace, named.apply(trace, nodes, number)
        changed = int((before.run_s != trace.run_s).sum()) if len(before) == len(trace) else 0
        counts.append(FilterCount(name, named.about, len(before) - len(trace), changed, len(trace)))
    if not len(trace):
        raise Invalid([Problem("--filter", "the filters leave no jobs", ",".join(names))])
    return trace, counts


def _find(name: str) -> tuple[NamedFilter, int]:
    stem, _, number = name.partition(":")
    named = FILTERS.get(stem)
    if named is None or (stem in _WITH_NUMBER) != number.isdigit():
        known = ", ".join(f"{each}:N" if each in _WITH_NUMBER else each for each in FILTERS)
        raise Invalid([Problem("--filter", "unknown filter", name, f"known filters: {known}")])
    return named, int(number or 0)
