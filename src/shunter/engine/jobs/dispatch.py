"""Builds the spec of one run from a template, with the parameters and payload of a dispatch. Pure; called by
`engine.jobs.templates`."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from shunter.model.errors import Invalid, Problem
from shunter.model.job.checks import parameter_variable
from shunter.model.job.spec import JobSpec, Parameters
from shunter.model.schema.problems import did_you_mean

PAYLOAD_BYTES_MAX = 2**20
PARAMETER_BYTES_MAX = 32 * 2**10  # of one parameter

Payload = bytes | None
_NO_PARAMETERS = Parameters(payload="forbidden")


def build_run_spec(template: JobSpec, supplied: Mapping[str, str], payload: Payload) -> JobSpec:
    """Raises Invalid with all problems of the parameters and the payload."""
    declared = template.options.parameters or _NO_PARAMETERS
    problems = [*_check_parameters(declared, supplied), *_check_payload(declared, payload)]
    if problems:
        raise Invalid(problems)
    env = {parameter_variable(name): value for name, value in {**declared.optional, **supplied}.items()}
    groups = tuple(
        replace(group, task=replace(group.task, env={**group.task.env, **env}, payload=payload))
        for group in template.groups
    )
    options = replace(template.options, schedule=None, parameters=None)
    return replace(template, groups=groups, options=options)


def _check_parameters(declared: Parameters, supplied: Mapping[str, str]) -> list[Problem]:
    known = [*declared.required, *declared.optional]
    problems = [
        Problem(f"parameters.{name}", "is required", fix=f"add --param {name}=VALUE")
        for name in declared.required
        if name not in supplied
    ]
    for name, value in supplied.items():
        if name not in known:
            fix = did_you_mean(name, known) or (
                f"known parameters: {', '.join(known)}" if known else "the job has no parameters"
            )
            problems.append(Problem(f"parameters.{name}", "is not a parameter of this job", value, fix))
        elif len(value.encode()) > PARAMETER_BYTES_MAX or "\0" in value:
            message = f"must be at most {PARAMETER_BYTES_MAX:,} bytes, without NUL characters"
            problems.append(Problem(f"parameters.{name}", message, value, "pass the value as the payload"))
    return problems


def _check_payload(declared: Parameters, payload: Payload) -> list[Problem]:
    if payload is None:
        is_missing = declared.payload == "required"
        return [Problem("payload", "is required", fix="add --payload FILE")] if is_missing else []
    if declared.payload == "forbidden":
        return [Problem("payload", "is not allowed: this job takes no payload", fix="leave it out")]
    if len(payload) > PAYLOAD_BYTES_MAX:
        fix = "store it where the task can read it, and pass its location as a parameter"
        return [Problem("payload", f"must be at most {PAYLOAD_BYTES_MAX:,} bytes", len(payload), fix)]
    return []
