"""What no field of a manifest can see alone: what the type allows, groups that wait for one another, times that
contradict. What one group's fields say together is in `model.job.group_checks`. Called by `model.job.manifests`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from shunter.model.graph import find_cycle, format_cycle
from shunter.model.job.groups import Group, count_tasks
from shunter.model.job.job_fields import FIELDS_BY_TYPE
from shunter.model.job.spec import BATCH, COUNT_MAX, LONG_RUNNING
from shunter.model.job.timing_fields import TIMING_FIELDS, TimeOrDelay
from shunter.model.schema.problems import Problems, did_you_mean


def check_job(spec: dict[str, Any], groups: list[Group], path: str, problems: Problems) -> None:
    job_type = spec.get("type", BATCH)
    _check_type(job_type, spec, path, problems)
    for group in groups:
        if group.path != path:
            _check_type(job_type, group.own, group.path, problems)
    _check_long_running(job_type, spec, path, problems)
    if "groups" in spec:
        _check_names(groups, problems)
        _check_groups_combined(spec, groups, path, problems)
    if not TIMING_FIELDS.keys().isdisjoint(spec):
        _check_times(spec, path, problems)
        _check_parameters(spec.get("parameters"), f"{path}.parameters", problems)
        for number, name in _duplicates(edge["job"] for edge in spec.get("after", ())):
            problems.add(f"{path}.after[{number}]", "names a job that is named before", value=name, fix="remove it")


def _check_type(job_type: str, given: Iterable[str], path: str, problems: Problems) -> None:
    for name in given:
        types = FIELDS_BY_TYPE.get(name)
        if types is not None and job_type not in types:
            fix = f"leave it out, or set type: {types[0]}"
            problems.add(f"{path}.{name}", f"is for jobs of type {' or '.join(types)}, not {job_type}", fix=fix)


def _check_long_running(job_type: str, spec: dict[str, Any], path: str, problems: Problems) -> None:
    if job_type in LONG_RUNNING and spec.get("timeout", {}).get("job"):
        fix = "leave it out"
        problems.add(f"{path}.timeout.job", f"is for jobs that end, not for type {job_type}", fix=fix)


def _check_names(groups: list[Group], problems: Problems) -> None:
    """Groups are told apart by name, wait for groups that are there, and not for one another in a circle."""
    names = [group.name for group in groups]
    for number, name in _duplicates(names):
        problems.add(f"{groups[number].path}.name", "is the name of another group", value=name, fix="change one")
    edges: dict[str, list[str]] = {}
    for group in groups:
        dependencies = [edge["group"] for edge in group.values["after"]]
        for number, name in enumerate(dependencies):
            if name not in names:
                fix = did_you_mean(name, names) or f"name one of {', '.join(names[:5])}"
                problems.add(f"{group.path}.after[{number}].group", "is not a group of this job", value=name, fix=fix)
        for number, name in _duplicates(dependencies):
            problems.add(f"{group.path}.after[{number}]", "names a group that is named before", value=name)
        edges.setdefault(group.name, []).extend(dependencies)
    if cycle := find_cycle(edges):
        path = next(group.path for group in groups if group.name == cycle[0])
        fix = "remove one of these edges"
        problems.add(f"{path}.after", f"groups wait for one another: {format_cycle(cycle)}", fix=fix)


def _check_groups_combined(spec: dict[str, Any], groups: list[Group], path: str, problems: Problems) -> None:
    count = sum(count_tasks(group, spec.get("type", BATCH)) for group in groups)
    if count > COUNT_MAX:
        problems.add(f"{path}.groups", f"must have at most {COUNT_MAX:,} tasks together", value=count)
    if spec.get("gang"):
        for group in groups:
            if "gang" in group.own and not group.values["gang"]:
                fix = "leave it out, or set gang for some groups rather than for the job"
                problems.add(group.field_path("gang"), "must not be false where the whole job is a gang", fix=fix)
            if group.values["after"]:
                fix = "leave it out, or set gang for some groups rather than for the job"
                problems.add(group.field_path("after"), "cannot be given where the whole job starts as a gang", fix=fix)


def _check_times(spec: dict[str, Any], path: str, problems: Problems) -> None:
    start: TimeOrDelay = spec.get("start_at", TimeOrDelay())
    deadline: TimeOrDelay = spec.get("deadline", TimeOrDelay())
    if (0 < deadline.at_ms <= start.at_ms) or (0 < deadline.in_s <= start.in_s):
        problems.add(f"{path}.deadline", "must be later than start_at")
    template = next((name for name in ("schedule", "parameters") if name in spec), None)
    if template is None:
        return
    if "schedule" in spec and "parameters" in spec:
        problems.add(f"{path}.parameters", "cannot be asked for where a clock starts the runs", fix="remove schedule")
    if "schedule" in spec and "start_at" in spec:
        problems.add(f"{path}.start_at", "cannot be given beside a schedule", fix="leave it out: the clock decides")
    elif start.at_ms:
        problems.add(f"{path}.start_at", f"must be a duration where {template} makes many runs", fix="write it like 1h")
    if deadline.at_ms:
        problems.add(f"{path}.deadline", f"must be a duration where {template} makes many runs", fix="write it like 1h")


def _check_parameters(parameters: dict[str, Any] | None, path: str, problems: Problems) -> None:
    """They become variables, so they differ by more than case and dashes."""
    if parameters is None:
        return
    names = [*parameters["required"], *parameters["optional"]]
    for number, _ in _duplicates(parameter_variable(name) for name in names):
        fix = "change one: they would be the same variable"
        problems.add(path, "must not have a parameter twice", value=names[number], fix=fix)


def parameter_variable(parameter: str) -> str:
    """The variable in which a task finds a parameter."""
    return f"SHUNTER_PARAM_{parameter.upper().replace('-', '_')}"


def _duplicates(names: Iterable[str]) -> list[tuple[int, str]]:
    seen: Counter[str] = Counter()
    duplicates = []
    for number, name in enumerate(names):
        seen[name] += 1
        if seen[name] > 1:
            duplicates.append((number, name))
    return duplicates
