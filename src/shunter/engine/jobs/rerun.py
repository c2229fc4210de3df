"""Runs a finished job again: all of it, or some of its tasks with their old indexes and entries. Called by the gateway,
which reads the spec from history, and by the engine's rounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from shunter.engine.jobs.submit import SubmitResult, check_cluster_limits, record_key, results_by_key, start_run
from shunter.engine.round import Round
from shunter.model.errors import Conflict, Invalid, Problem
from shunter.model.job.arrays import RANGES_MAX, IndexRange, check_ranges
from shunter.model.job.spec import GroupSpec, JobSpec
from shunter.testbeds.applications import PREFIX

# By the name of the group: indexes of its tasks, in order. There may be millions, so nothing below looks at each.
Indexes = Sequence[int] | NDArray[np.integer]
TaskSelection = Mapping[str, Indexes]


def on_rerun(round: Round, spec: JobSpec, user: str, key: str | None) -> SubmitResult:
    """A new run of a finished job."""
    if (existing := results_by_key(round, key)) is not None:
        return existing[0]
    check_not_application(spec)
    check_no_unfinished_run(round, spec)
    check_cluster_limits(round, [spec])
    return record_key(round, key, [start_run(round, spec, user)])[0]


def check_not_application(spec: JobSpec) -> None:
    if spec.options.application:
        job = spec.name.removeprefix(PREFIX)
        raise Conflict(
            f"job '{spec.name}' belongs to BatchJob '{job}' and runs only in slots; name '{job}' in a Scheduling"
        )


def check_no_unfinished_run(round: Round, spec: JobSpec) -> None:
    """Allow one unfinished run per name, except for runs of a template."""
    job = round.state.find_job(spec.namespace, spec.name)
    if job is not None and round.state.templates.get(spec.namespace, spec.name) is None:
        raise Conflict(
            f"run {job.run} of job '{job.name}' has not ended (it is {job.state.wire_name}); wait for it, or stop it"
        )


def rerun_spec(spec: JobSpec, selection: TaskSelection | None = None) -> JobSpec:
    """The spec of a run that starts at once, because the dependencies of the first run are already met. Raises Invalid
    if the chosen tasks need too many ranges."""
    options = replace(spec.options, after=(), start_at_ms=0, start_in_s=0.0, deadline_ms=0, held=False)
    if selection is None:
        return replace(spec, options=options)
    names = {name for name, indexes in selection.items() if len(indexes)}
    groups = tuple(_select_tasks(group, selection[group.name], names) for group in spec.groups if group.name in names)
    return replace(spec, groups=groups, options=options)


def _select_tasks(group: GroupSpec, indexes: Indexes, names: set[str]) -> GroupSpec:
    after = tuple(edge for edge in group.after if edge.group in names)  # the others have ended
    if len(indexes) == group.count:
        return replace(group, after=after)
    positions = np.asarray(indexes)
    ranges = _ranges_of(_values_at(group.array, positions) if group.array else positions)
    try:
        check_ranges(ranges)
    except ValueError as error:
        fix = f"retry the whole job: selected tasks must form at most {RANGES_MAX} ranges"
        raise Invalid([Problem(f"group {group.name}", str(error), fix=fix)]) from None
    entries = tuple(group.entries[index] for index in indexes) if group.entries else ()
    total = group.total or group.count
    return replace(group, after=after, count=len(indexes), array=ranges, entries=entries, total=total)


def _values_at(array: Sequence[IndexRange], positions: NDArray[np.integer]) -> NDArray[np.integer]:
    """The numbers at these positions of an array of ranges (first, last, step)."""
    firsts, lasts, steps = np.array(array, np.int64).T
    ends = np.cumsum((lasts - firsts) // steps + 1)
    parts = np.searchsorted(ends, positions, side="right")
    starts = np.concatenate(([0], ends[:-1]))
    values: NDArray[np.integer] = firsts[parts] + (positions - starts[parts]) * steps[parts]
    return values


def _ranges_of(values: NDArray[np.integer]) -> tuple[IndexRange, ...]:
    """Numbers as few rising ranges, each as long as possible. Ends early with one range more than an array may have."""
    steps = np.diff(values)
    turns = np.flatnonzero(np.diff(steps)) + 1  # where the step differs from the one before
    ranges: list[IndexRange] = []
    start, last = 0, len(values) - 1
    while start <= last and len(ranges) <= RANGES_MAX:
        end, step = start, 1
        if start < last and steps[start] > 0:
            turn = int(np.searchsorted(turns, start, side="right"))
            end, step = int(turns[turn]) if turn < len(turns) else last, int(steps[start])
        ranges.append((int(values[start]), int(values[end]), step))
        start = end + 1
    return tuple(ranges)


def indexes_by_group(tasks: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """Convert (group, index) pairs for `rerun_spec`."""
    found: dict[str, list[int]] = {}
    for group, index in sorted(set(tasks)):
        found.setdefault(group, []).append(index)
    return found
