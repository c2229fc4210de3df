"""Validates combinations of manifest fields: what the job type allows, how groups fit together, and how the fields of
one group fit together. Called by `model.job.manifests` after each field was read on its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from shunter.model.errors import Rejected
from shunter.model.graph import find_cycle, format_cycle
from shunter.model.job.arrays import count_indexes
from shunter.model.job.groups import Group, count_tasks
from shunter.model.job.isolation import CONTAINER
from shunter.model.job.job_fields import FIELDS_BY_TYPE
from shunter.model.job.spec import BATCH, COUNT_MAX, LONG_RUNNING, PER_NODE, SERVICE, SERVICE_COUNT_MAX, SYSTEM
from shunter.model.job.task_fields import ARGUMENTS_SIZE_MAX, CONTAINER_FIELDS, is_reserved_variable
from shunter.model.job.timing_fields import TIMING_FIELDS, TimeOrDelay
from shunter.model.schema.problems import OMITTED, Problems, did_you_mean

STOP_AFTER_MIN_S = 10.0  # a shorter pause of a network or a manager must not stop tasks
HEALTH_KINDS = ("http", "tcp", "command", "plugin")

ExpressionCheck = Callable[[str], object]  # raises ValueError, or a rejection, that says what is wrong


@dataclass(frozen=True, slots=True)
class ExpressionChecks:
    """The parsers of expressions in manifests. None accepts any text."""

    node: ExpressionCheck | None = None
    job: ExpressionCheck | None = None


# ---- the job ----


def check_job(spec: dict[str, Any], groups: list[Group], path: str, problems: Problems) -> None:
    job_type = spec.get("type", BATCH)
    _check_type(job_type, spec, path, problems)
    for group in groups:
        if group.path != path:
            _check_type(job_type, group.own, group.path, problems)
    _check_long_running(job_type, spec, path, problems)
    if job_type == SERVICE:
        _check_service_size(groups, path, problems)
    if "groups" in spec:
        _check_names(groups, problems)
        _check_groups_combined(spec, groups, path, problems)
    if not TIMING_FIELDS.keys().isdisjoint(spec):
        _check_times(spec, path, problems)
        _check_parameters(spec.get("parameters"), f"{path}.parameters", problems)
        _check_template_stdin(spec, groups, problems)
        for number, name in _duplicates(edge["job"] for edge in spec.get("after", ())):
            problems.add(f"{path}.after[{number}]", "names the same job twice", value=name, fix="remove it")


def _check_type(job_type: str, given: Iterable[str], path: str, problems: Problems) -> None:
    for name in given:
        types = FIELDS_BY_TYPE.get(name)
        if types is not None and job_type not in types:
            fix = f"leave it out, or set type: {types[0]}"
            problems.add(
                f"{path}.{name}", f"is only allowed for jobs of type {' or '.join(types)}, not {job_type}", fix=fix
            )


def _check_long_running(job_type: str, spec: dict[str, Any], path: str, problems: Problems) -> None:
    if job_type in LONG_RUNNING and spec.get("timeout", {}).get("job"):
        fix = "leave it out"
        problems.add(
            f"{path}.timeout.job",
            f"is not allowed for jobs of type {job_type}, which run until they are stopped",
            fix=fix,
        )


def _check_service_size(groups: list[Group], path: str, problems: Problems) -> None:
    count = sum(count_tasks(group, SERVICE) for group in groups)
    if count > SERVICE_COUNT_MAX:
        field = groups[0].field_path("count") if len(groups) == 1 else f"{path}.groups"
        fix = "use fewer, or type: batch, which has no such limit"
        problems.add(field, f"a service has at most {SERVICE_COUNT_MAX:,} tasks", value=count, fix=fix)


def _check_names(groups: list[Group], problems: Problems) -> None:
    """Names of groups are unique, and edges between groups name existing groups and form no cycle."""
    names = [group.name for group in groups]
    for number, name in _duplicates(names):
        problems.add(
            f"{groups[number].path}.name", "is already the name of another group", value=name, fix="rename one of them"
        )
    edges: dict[str, list[str]] = {}
    for group in groups:
        dependencies = [edge["group"] for edge in group.values["after"]]
        for number, name in enumerate(dependencies):
            if name not in names:
                fix = did_you_mean(name, names) or f"name one of {', '.join(names[:5])}"
                problems.add(f"{group.path}.after[{number}].group", "is not a group of this job", value=name, fix=fix)
        for number, name in _duplicates(dependencies):
            problems.add(f"{group.path}.after[{number}]", "names the same group twice", value=name)
        edges.setdefault(group.name, []).extend(dependencies)
    if cycle := find_cycle(edges):
        path = next(group.path for group in groups if group.name == cycle[0])
        fix = "remove one of these edges"
        problems.add(f"{path}.after", f"groups depend on each other in a cycle: {format_cycle(cycle)}", fix=fix)


def _check_groups_combined(spec: dict[str, Any], groups: list[Group], path: str, problems: Problems) -> None:
    count = sum(count_tasks(group, spec.get("type", BATCH)) for group in groups)
    if count > COUNT_MAX:
        problems.add(f"{path}.groups", f"must have at most {COUNT_MAX:,} tasks in total", value=count)
    if spec.get("gang"):
        for group in groups:
            if "gang" in group.own and not group.values["gang"]:
                fix = "remove it, or set gang on single groups instead of on the job"
                problems.add(group.field_path("gang"), "must not be false if the whole job is a gang", fix=fix)
            if group.values["after"]:
                fix = "remove it, or set gang on single groups instead of on the job"
                problems.add(group.field_path("after"), "is not allowed if the whole job is a gang", fix=fix)


def _check_times(spec: dict[str, Any], path: str, problems: Problems) -> None:
    start: TimeOrDelay = spec.get("start_at", TimeOrDelay())
    deadline: TimeOrDelay = spec.get("deadline", TimeOrDelay())
    if (0 < deadline.at_ms <= start.at_ms) or (0 < deadline.in_s <= start.in_s):
        problems.add(f"{path}.deadline", "must be later than start_at")
    template = next((name for name in ("schedule", "parameters") if name in spec), None)
    if template is None:
        return
    if "schedule" in spec and "parameters" in spec:
        problems.add(f"{path}.parameters", "is not allowed together with schedule", fix="remove schedule")
    if "schedule" in spec and "start_at" in spec:
        problems.add(
            f"{path}.start_at",
            "is not allowed together with schedule",
            fix="remove it: the schedule sets the start times",
        )
    elif start.at_ms:
        problems.add(
            f"{path}.start_at",
            f"must be a duration if the job has {template}, because it has many runs",
            fix="write it like 1h",
        )
    if deadline.at_ms:
        problems.add(
            f"{path}.deadline",
            f"must be a duration if the job has {template}, because it has many runs",
            fix="write it like 1h",
        )


def _check_parameters(parameters: dict[str, Any] | None, path: str, problems: Problems) -> None:
    """Parameters become variables, so their names must differ by more than case and dashes."""
    if parameters is None:
        return
    names = [*parameters["required"], *parameters["optional"]]
    for number, _ in _duplicates(parameter_variable(name) for name in names):
        fix = "rename one: both would set the same environment variable"
        problems.add(path, "has the same parameter twice", value=names[number], fix=fix)


def _check_template_stdin(spec: dict[str, Any], groups: list[Group], problems: Problems) -> None:
    """A template cannot have stdin: that is data for one run."""
    template = next((name for name in ("schedule", "parameters") if name in spec), None)
    path = next((group.field_path("stdin") for group in groups if group.values["stdin"] is not None), None)
    if template is not None and path is not None:
        fix = "pass the data as the payload of a dispatch" if template == "parameters" else "read it from a file"
        problems.add(path, f"is not allowed together with {template}", fix=fix)


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


# ---- one group ----


class GroupCheck:
    """Checks one group. A problem in a field that several groups inherit from their job is reported once."""

    def __init__(self, group: Group, job_type: str, expression_checks: ExpressionChecks, problems: Problems) -> None:
        self._group, self._values, self._type = group, group.values, job_type
        self._expression_checks, self._problems = expression_checks, problems

    def run(self) -> None:
        """Run the checks of the fields that the manifest has."""
        self._check_command()
        specified = self._group.specified
        for names, check in _CHECKS:
            if not names.isdisjoint(specified):
                check(self)

    def _add_problem(self, path: str, message: str, *, value: object = OMITTED, fix: str | None = None) -> None:
        if not any((each.field, each.message) == (path, message) for each in self._problems.found):
            self._problems.add(path, message, value=value, fix=fix)

    def _check_command(self) -> None:
        command, env, field_path = self._values["command"], self._values["env"], self._group.field_path("command")
        if not command and self._values["image"] is None:
            self._add_problem(f"{self._group.path}.command", "is missing", fix="add command, or image")
        for name in env:
            if is_reserved_variable(name):
                self._add_problem(self._group.field_path("env", name), "is reserved for Shunter", fix="leave it out")
        words = (*command, *self._values["args"], *env, *env.values())
        if len("\0".join(words).encode()) > ARGUMENTS_SIZE_MAX:
            self._add_problem(field_path, f"must be at most {ARGUMENTS_SIZE_MAX:,} bytes, including args and env")

    def _check_disconnect(self) -> None:
        stop_after_s = self._values["disconnect"].get("stop_after", 0.0)
        if 0 < stop_after_s < STOP_AFTER_MIN_S:
            fix = f"use {STOP_AFTER_MIN_S:.0f}s or more, or leave it out"
            path = self._group.field_path("disconnect", "stop_after")
            self._add_problem(path, f"must be at least {STOP_AFTER_MIN_S:.0f} s", value=stop_after_s, fix=fix)

    def _check_container(self) -> None:
        image, runtime = self._values["image"], self._values["runtime"]
        if image is None and runtime == "docker":
            self._add_problem(f"{self._group.path}.image", "is missing", fix="add image, which runtime: docker needs")
        if image is not None and runtime == "process":
            fix = "leave one of them out"
            self._add_problem(self._group.field_path("runtime"), "must not be process if image is set", fix=fix)
        if image is None and runtime in (None, "process"):
            for name in CONTAINER_FIELDS:
                if name in self._group.specified:
                    fix = "put them into command" if name == "args" else "add image, or leave it out"
                    self._add_problem(self._group.field_path(name), "is only allowed for containers", fix=fix)
        targets = [mount["target"] for mount in self._values["mounts"]]
        for number, target in enumerate(targets):
            if target in targets[:number]:
                self._add_problem(
                    f"{self._group.field_path('mounts')}[{number}].target",
                    "is the target of another mount",
                    value=target,
                )

    def _check_stdin(self) -> None:
        if self._values["image"] is not None or self._values["runtime"] not in (None, "process"):
            fix = "leave it out, and mount a file with the data"
            self._add_problem(self._group.field_path("stdin"), "is only allowed for processes", fix=fix)

    def _check_isolation(self) -> None:
        isolation, image = self._values["isolation"], self._values["image"]
        path = self._group.field_path("isolation")
        if isolation == CONTAINER and image is None:
            self._add_problem(path, "needs a container", value=isolation, fix="add image, or require user or namespace")
        if isolation not in (None, CONTAINER) and image is not None:
            fix = "leave it out, or write isolation: container"
            self._add_problem(path, "must be container if image is set", value=isolation, fix=fix)

    def _check_ports(self) -> None:
        ports, path, network = self._values["ports"], self._group.field_path("ports"), self._values["network"]
        if ports and network == "none":
            self._add_problem(path, "is not allowed with network: none", fix="remove network: none")
        has_own_network = self._values["image"] is not None and network != "host"
        seen: dict[str, set[object]] = {"name": set(), "port": set(), "host_port": set()}
        for number, port in enumerate(ports):
            self._check_port_is_unique(port, seen, f"{path}[{number}]")
            self._check_container_port(port, has_own_network, f"{path}[{number}].port")
        if self._type == SYSTEM and any(port["host_port"] for port in ports):
            self._check_system_update()

    def _check_port_is_unique(self, port: dict[str, Any], seen: dict[str, set[object]], path: str) -> None:
        for key, known in seen.items():
            if port[key] and port[key] in known:
                self._add_problem(f"{path}.{key}", "is already used by another port", value=port[key], fix="change one")
            known.add(port[key])

    def _check_container_port(self, port: dict[str, Any], has_own_network: bool, path: str) -> None:
        if has_own_network and port["port"] is None:
            self._add_problem(path, "is missing", fix="add the port inside the container")
        elif not has_own_network and port["port"] is not None and port["port"] != port["host_port"]:
            name = port["name"].upper().replace("-", "_").replace(".", "_")
            fix = f"set host_port instead, or remove it and listen on $SHUNTER_PORT_{name}"
            self._add_problem(path, "is only allowed for containers with their own network", fix=fix)

    def _check_system_update(self) -> None:
        """A rollout replaces a system task with a host_port only after the old one has freed the port."""
        if self._values["update"].get("unavailable_max") == 0:
            path = self._group.field_path("update", "unavailable_max")
            fix = "set it to 1 or more: two versions cannot share the port on one node"
            self._add_problem(path, "must not be 0 if a port has a host_port", fix=fix)

    def _check_health(self) -> None:
        ports = [port["name"] for port in self._values["ports"]]
        for number, check in enumerate(self._values["health"]):
            path = f"{self._group.field_path('health')}[{number}]"
            kinds = [kind for kind in HEALTH_KINDS if check[kind]]
            if len(kinds) == 1:
                self._check_health_check(check, kinds[0], ports, path)
            else:
                fault = "must have exactly one of http, tcp, command and plugin"
                self._add_problem(path, fault, fix="write a check for each")

    def _check_secrets(self) -> None:
        """Each is a variable or a file, of a name that nothing else has."""
        path, used = self._group.field_path("secrets"), {"env": set(self._values["env"]), "file": set[str]()}
        for number, each in enumerate(self._values["secrets"]):
            if bool(each["env"]) == bool(each["file"]):
                self._add_problem(f"{path}[{number}]", "must have either env or file", fix="write one of them")
            for key, names in used.items():
                if (name := each[key]) and name in names:
                    self._add_problem(f"{path}[{number}].{key}", "is already taken", value=name, fix="rename it")
                names.add(name)
            if is_reserved_variable(each["env"]):
                self._add_problem(
                    f"{path}[{number}].env", "is a variable that Shunter sets", value=each["env"], fix="rename it"
                )

    def _check_health_check(self, check: dict[str, Any], kind: str, ports: list[str], path: str) -> None:
        if check["plugin"] in HEALTH_KINDS:
            self._add_problem(f"{path}.plugin", "must name a plugin", value=check["plugin"])
        if kind == "http" and not check["port"] and len(ports) != 1:
            fix = "name one of the ports" if ports else "add it, and define ports"
            self._add_problem(f"{path}.port", "is missing", fix=fix)
        field = "port" if check["port"] else "tcp"
        if (name := check[field]) and not name.isdigit() and name not in ports:
            fix = did_you_mean(name, ports) or f"add it to ports: [{{name: {name}}}]"
            self._add_problem(f"{path}.{field}", "is not a port of this task", value=name, fix=fix)

    def _check_count(self) -> None:
        values, specified, field_path = self._values, self._group.specified, self._group.field_path
        if "array" in specified and "entries" in specified:
            self._add_problem(field_path("entries"), "is not allowed together with array", fix="remove one of them")
        for name in ("array", "entries"):
            size = count_indexes(values["array"]) if name == "array" else len(values[name])
            if name in specified and values["count"] not in (None, size):
                fix = f"leave it out, or set it to {size:,}"
                self._add_problem(
                    field_path("count"), f"must equal the {size:,} items of {name}", value=values["count"], fix=fix
                )
        count = count_tasks(self._group, self._type)
        if values["gang"] and 0 < values["parallel_max"] < count:
            fault = f"must be at least {count:,}, the size of the gang"
            self._add_problem(field_path("parallel_max"), fault, value=values["parallel_max"])

    def _check_restart(self) -> None:
        restart = self._values["restart"]
        if "restart" in self._group.specified and "policy" not in restart and self._type not in LONG_RUNNING:
            self._add_problem(f"{self._group.field_path('restart')}.policy", "is missing", fix="add policy: on-failure")
        delay_max = restart.get("delay_max")
        if delay_max is not None and delay_max < restart.get("delay", 0.0):
            self._add_problem(self._group.field_path("restart", "delay_max"), "must be at least delay", value=delay_max)

    def _check_logs(self) -> None:
        for name in ("stdout", "stderr"):
            path = self._values[name]
            several = count_tasks(self._group, self._type) > 1
            if path and several and not path.startswith("/dev/") and "%i" not in path.replace("%%", ""):
                fix = f"write it like {path}.%i"
                self._add_problem(
                    self._group.field_path(name),
                    "must contain %i, because otherwise all tasks write to the same file",
                    value=path,
                    fix=fix,
                )

    def _check_affinity(self) -> None:
        if self._type not in PER_NODE:
            return
        for number, affinity in enumerate(self._values["affinity"]):
            if not affinity["require"]:
                fault = f"must have require: true in a job of type {self._type}, which runs on every matching node"
                fix = "add require: true, or remove it"
                self._add_problem(f"{self._group.field_path('affinity')}[{number}].require", fault, fix=fix)

    def _check_expressions(self) -> None:
        for number, text in enumerate(self._values["constraints"]):
            self._check_expression(
                self._expression_checks.node, text, f"{self._group.field_path('constraints')}[{number}]"
            )
        for number, affinity in enumerate(self._values["affinity"]):
            check = self._expression_checks.node if affinity["to"] == "node" else self._expression_checks.job
            self._check_expression(check, affinity["match"], f"{self._group.field_path('affinity')}[{number}].match")

    def _check_expression(self, check: ExpressionCheck | None, text: Any, path: str) -> None:
        if check is None:
            return
        try:
            check(text)
        except (ValueError, Rejected) as error:
            self._add_problem(path, str(error), value=text)


_CHECKS: tuple[tuple[frozenset[str], Callable[[GroupCheck], None]], ...] = (
    (frozenset({"image", "runtime", *CONTAINER_FIELDS}), GroupCheck._check_container),
    (frozenset({"stdin"}), GroupCheck._check_stdin),
    (frozenset({"isolation"}), GroupCheck._check_isolation),
    (frozenset({"ports"}), GroupCheck._check_ports),
    (frozenset({"health"}), GroupCheck._check_health),
    (frozenset({"secrets", "env"}), GroupCheck._check_secrets),
    (frozenset({"count", "array", "entries", "gang"}), GroupCheck._check_count),
    (frozenset({"restart"}), GroupCheck._check_restart),
    (frozenset({"disconnect"}), GroupCheck._check_disconnect),
    (frozenset({"stdout", "stderr"}), GroupCheck._check_logs),
    (frozenset({"affinity"}), GroupCheck._check_affinity),
    (frozenset({"constraints", "affinity"}), GroupCheck._check_expressions),
)
