"""Names the options of a command in errors, where the cluster names fields of a manifest or of its REST interface.

Called by `cli.main` for every error that a command raises, so that no command translates its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shunter.cli.registry import ENTRIES, build
from shunter.model.errors import Invalid, Problem, ShunterError
from shunter.model.schema.problems import format_error

if TYPE_CHECKING:
    from typer._click import Command

# Field of the manifest that `run` sends: the options that set it. The error names the first one that was given.
RUN_FIELDS: dict[str, tuple[str, ...]] = {
    "metadata.name": ("--name",),
    "metadata.labels": ("--label",),
    "metadata.namespace": ("--namespace",),
    "spec.command": ("COMMAND",),
    "spec.args": ("COMMAND",),
    "spec.env": ("--env",),
    "spec.dir": ("--dir",),
    "spec.stdout": ("--stdout",),
    "spec.stderr": ("--stderr",),
    "spec.user": ("--user",),
    "spec.image": ("--image",),
    "spec.mounts": ("--mount",),
    "spec.ports": ("--port",),
    "spec.network": ("--network",),
    "spec.count": ("--count",),
    "spec.array": ("--array",),
    "spec.entries": ("--each-line",),
    "spec.parallel_max": ("--parallel-max",),
    "spec.failures_max": ("--failures-max",),
    "spec.gang": ("--gang",),
    "spec.resources.cpu": ("--cpu",),
    "spec.resources.memory": ("--memory",),
    "spec.resources.disk": ("--disk",),
    "spec.resources.gpu": ("--gpu", "--resource"),
    "spec.resources": ("--resource",),
    "spec.exclusive": ("--exclusive",),
    "spec.datacenters": ("--datacenter",),
    "spec.constraints": ("--constraint",),
    "spec.isolation": ("--isolation",),
    "spec.priority": ("--priority",),
    "spec.queue": ("--queue",),
    "spec.after": ("--after",),
    "spec.start_at": ("--start-at",),
    "spec.deadline": ("--deadline",),
    "spec.estimate": ("--estimate",),
    "spec.timeout.queue": ("--queue-timeout",),
    "spec.timeout.job": ("--job-timeout",),
    "spec.timeout": ("--timeout",),
    "spec.restart": ("--restart", "--retries"),
    "spec.retries": ("--retries",),
    "spec.hold": ("--hold",),
}
_PART = re.compile(r"(?:query|body|path)\.")  # of an HTTP request
_ITEM = re.compile(r"items\[(\d+)\]\.?")
_FIELD_NAME = re.compile(r"(?<![\w.`-])[a-z]+_[a-z_]+\b")


def describe_error(error: ShunterError, arguments: Sequence[str]) -> str:
    """The error of a command line, in words of the command line."""
    if error.detail != "; ".join(map(str, error.problems)):
        return format_error(error)  # a sentence of its own
    return format_error(Invalid([_translate(problem, arguments) for problem in error.problems]))


def command_name(arguments: Sequence[str]) -> str:
    """The command among the arguments; options of `shunter` itself may stand before it. Empty if there is none."""
    for word, before in zip(arguments, ("", *arguments), strict=False):
        if not word.startswith("-") and before != "--context":
            return word
    return ""


def find_command(arguments: Sequence[str]) -> Command | None:
    """The command that the arguments name; of a group, the command in it."""
    name = command_name(arguments)
    if name not in ENTRIES:
        return None
    command = build(ENTRIES[name])
    inner = getattr(command, "commands", {})
    return next((inner[word] for word in arguments if word in inner), command)


def _translate(problem: Problem, arguments: Sequence[str]) -> Problem:
    if command_name(arguments) == "run":
        field = _run_option(problem.field, arguments)
        names = {path.rpartition(".")[2]: options[0] for path, options in RUN_FIELDS.items() if "_" in path}
        return replace(
            problem,
            field=field,
            message=_replace_names(problem.message, names),
            fix=None if problem.fix is None else _replace_names(problem.fix, names),
        )
    field = _ITEM.sub(lambda found: f"document {int(found[1]) + 1}: ", problem.field).removesuffix(": ")
    return replace(problem, field=_command_option(field, arguments))


def _run_option(field: str, arguments: Sequence[str]) -> str:
    path = re.sub(r"\[\d+\]", "", field)
    if not path.startswith(("spec.", "metadata.")):
        path = f"spec.{path}"  # found before the manifest was sent
    parts = path.split(".")
    for size in range(len(parts), 0, -1):
        if options := RUN_FIELDS.get(".".join(parts[:size])):
            return next((option for option in options if _is_given(option, arguments)), options[0])
    return field


def _is_given(option: str, arguments: Sequence[str]) -> bool:
    return any(word == option or word.startswith(f"{option}=") for word in arguments)


def _command_option(field: str, arguments: Sequence[str]) -> str:
    """The option or argument of the command that has the name of this field. Manifest fields have dots, and stay."""
    name = _PART.sub("", field, count=1)
    command = find_command(arguments)
    if name == "file" and not any(_is_given(option, arguments) for option in ("--file", "-f")):
        return "FILE"
    parameters = [] if command is None else command.params
    for parameter in parameters:
        if f"--{name.replace('_', '-')}" in parameter.opts:
            return next(option for option in parameter.opts if option.startswith("--"))
    for parameter in parameters:
        if parameter.param_type_name == "argument" and parameter.metavar == name.upper():
            return str(parameter.metavar)
    return name


def _replace_names(text: str, names: dict[str, str]) -> str:
    return _FIELD_NAME.sub(lambda found: names.get(found[0], found[0]), text)
