"""What the fields of one group say together: containers and their ports, health checks, counts, restarts.
Called by `model.job.manifests` for each group, after its fields were read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shunter.model.errors import Rejected
from shunter.model.job.arrays import count_indexes
from shunter.model.job.groups import Group, count_tasks
from shunter.model.job.spec import LONG_RUNNING, PER_NODE, SYSTEM
from shunter.model.job.task_fields import ARGUMENTS_SIZE_MAX, CONTAINER_FIELDS, is_reserved_variable
from shunter.model.schema.problems import OMITTED, Problems, did_you_mean

HEALTH_KINDS = ("http", "tcp", "command", "plugin")

ExpressionCheck = Callable[[str], object]  # raises ValueError, or a rejection, that says what is wrong


@dataclass(frozen=True, slots=True)
class ExpressionChecks:
    """Who can read the expressions of manifests. None means: they are taken as they are."""

    node: ExpressionCheck | None = None
    job: ExpressionCheck | None = None


class GroupCheck:
    """Checks one group. What several groups take from their job is complained about once."""

    def __init__(self, group: Group, job_type: str, expression_checks: ExpressionChecks, problems: Problems) -> None:
        self._group, self._values, self._type = group, group.values, job_type
        self._expression_checks, self._problems = expression_checks, problems

    def run(self) -> None:
        """Most jobs say little: what is not given needs no check."""
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
        if command and not command[0]:
            self._add_problem(f"{field_path}[0]", "must name a program", value="")
        for name in env:
            if is_reserved_variable(name):
                self._add_problem(self._group.field_path("env", name), "is set by Shunter itself", fix="leave it out")
        words = (*command, *self._values["args"], *env, *env.values())
        if len("\0".join(words).encode()) > ARGUMENTS_SIZE_MAX:
            self._add_problem(field_path, f"must be, together with args and env, at most {ARGUMENTS_SIZE_MAX:,} bytes")

    def _check_container(self) -> None:
        image, runtime = self._values["image"], self._values["runtime"]
        if image is None and runtime == "docker":
            self._add_problem(f"{self._group.path}.image", "is missing", fix="add image, which runtime: docker needs")
        if image is not None and runtime == "process":
            fix = "leave one of them out"
            self._add_problem(self._group.field_path("runtime"), "must not be process where there is an image", fix=fix)
        if image is None and runtime in (None, "process"):
            for name in CONTAINER_FIELDS:
                if name in self._group.specified:
                    fix = "put them into command" if name == "args" else "add image, or leave it out"
                    self._add_problem(self._group.field_path(name), "is for containers", fix=fix)
        targets = [mount["target"] for mount in self._values["mounts"]]
        for number, target in enumerate(targets):
            if target in targets[:number]:
                self._add_problem(
                    f"{self._group.field_path('mounts')}[{number}].target", "is mounted on before", value=target
                )

    def _check_ports(self) -> None:
        ports, field_path, network = self._values["ports"], self._group.field_path("ports"), self._values["network"]
        if ports and network == "none":
            self._add_problem(field_path, "cannot be reached without a network", fix="remove network: none")
        has_own_network = self._values["image"] is not None and network != "host"
        seen: dict[str, set[object]] = {"name": set(), "port": set(), "host_port": set()}
        for number, port in enumerate(ports):
            for key, known in seen.items():
                if port[key] and port[key] in known:
                    self._add_problem(
                        f"{field_path}[{number}].{key}", "is that of another port", value=port[key], fix="change one"
                    )
                known.add(port[key])
            if has_own_network and port["port"] is None:
                self._add_problem(f"{field_path}[{number}].port", "is missing", fix="add the port inside the container")
            elif not has_own_network and port["port"] is not None and port["port"] != port["host_port"]:
                name = port["name"].upper().replace("-", "_").replace(".", "_")
                fix = f"write host_port for that very port, or leave it out and serve $SHUNTER_PORT_{name}"
                self._add_problem(
                    f"{field_path}[{number}].port", "is for containers with a network of their own", fix=fix
                )
        fixed = any(port["host_port"] for port in ports)
        update = self._values["update"]
        if self._type == SYSTEM and fixed and update.get("unavailable_max") == 0:
            fix = "set it to 1 or more: two versions cannot share the port on one node"
            self._add_problem(
                self._group.field_path("update", "unavailable_max"), "must not be 0 with a host_port", fix=fix
            )

    def _check_health(self) -> None:
        ports = [port["name"] for port in self._values["ports"]]
        for number, check in enumerate(self._values["health"]):
            field_path = f"{self._group.field_path('health')}[{number}]"
            kinds = [kind for kind in HEALTH_KINDS if check[kind]]
            if len(kinds) != 1:
                self._add_problem(
                    field_path, "must have exactly one of http, tcp, command and plugin", fix="write a check for each"
                )
                continue
            if check["plugin"] in HEALTH_KINDS:
                self._add_problem(f"{field_path}.plugin", "must name a plugin", value=check["plugin"])
            if kinds == ["http"] and not check["port"] and len(ports) != 1:
                self._add_problem(
                    f"{field_path}.port", "is missing", fix="say which of the ports" if ports else "add it, and ports"
                )
            named = "port" if check["port"] else "tcp"
            if (name := check[named]) and not name.isdigit() and name not in ports:
                fix = did_you_mean(name, ports) or f"add it to ports: [{{name: {name}}}]"
                self._add_problem(f"{field_path}.{named}", "is not one of the ports", value=name, fix=fix)

    def _check_count(self) -> None:
        values, specified, field_path = self._values, self._group.specified, self._group.field_path
        if "array" in specified and "entries" in specified:
            self._add_problem(field_path("entries"), "cannot be given beside array", fix="remove one of them")
        for name in ("array", "entries"):
            size = count_indexes(values["array"]) if name == "array" else len(values[name])
            if name in specified and values["count"] not in (None, size):
                fix = f"leave it out, or set it to {size:,}"
                self._add_problem(
                    field_path("count"), f"differs from the {size:,} of {name}", value=values["count"], fix=fix
                )
        count = count_tasks(self._group, self._type)
        if values["gang"] and 0 < values["parallel_max"] < count:
            fault = f"must not be less than the {count:,} of a gang"
            self._add_problem(field_path("parallel_max"), fault, value=values["parallel_max"])

    def _check_restart(self) -> None:
        restart = self._values["restart"]
        if "restart" in self._group.specified and "policy" not in restart and self._type not in LONG_RUNNING:
            self._add_problem(f"{self._group.field_path('restart')}.policy", "is missing", fix="add policy: on-failure")
        delay_max = restart.get("delay_max")
        if delay_max is not None and delay_max < restart.get("delay", 0.0):
            self._add_problem(
                self._group.field_path("restart", "delay_max"), "must not be less than delay", value=delay_max
            )

    def _check_logs(self) -> None:
        for name in ("stdout", "stderr"):
            path = self._values[name]
            several = count_tasks(self._group, self._type) > 1
            if path and several and not path.startswith("/dev/") and "%i" not in path.replace("%%", ""):
                fix = f"write it like {path}.%i"
                self._add_problem(
                    self._group.field_path(name), "must contain %i, or all tasks write to one file", value=path, fix=fix
                )

    def _check_affinity(self) -> None:
        if self._type not in PER_NODE:
            return
        for number, affinity in enumerate(self._values["affinity"]):
            if not affinity["require"]:
                fault = f"must be required in a job of type {self._type}, which runs on every node that matches"
                fix = "add require: true, or leave it out"
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
    (frozenset({"ports"}), GroupCheck._check_ports),
    (frozenset({"health"}), GroupCheck._check_health),
    (frozenset({"count", "array", "entries", "gang"}), GroupCheck._check_count),
    (frozenset({"restart"}), GroupCheck._check_restart),
    (frozenset({"stdout", "stderr"}), GroupCheck._check_logs),
    (frozenset({"affinity"}), GroupCheck._check_affinity),
    (frozenset({"constraints", "affinity"}), GroupCheck._check_expressions),
)
