"""What a dispatch makes of a template: the spec of one run, with its parameters and payload. Pure; called by
`engine.jobs.templates`."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from shunter.model.errors import Invalid, Problem
from shunter.model.job.job_checks import variable_of
from shunter.model.job.spec import JobSpec, Parameters
from shunter.model.schema.problems import nearest

PAYLOAD_BYTES_MAX = 2**20
VALUE_BYTES_MAX = 32 * 2**10  # of one parameter

Payload = bytes | None
_NONE = Parameters(payload="forbidden")


def run_spec(template: JobSpec, given: Mapping[str, str], payload: Payload) -> JobSpec:
    """Raises Invalid with all that is wrong with the parameters and the payload."""
    wanted = template.options.parameters or _NONE
    problems = [*_check_parameters(wanted, given), *_check_payload(wanted, payload)]
    if problems:
        raise Invalid(problems)
    env = {variable_of(name): value for name, value in {**wanted.optional, **given}.items()}
    groups = tuple(
        replace(group, task=replace(group.task, env={**group.task.env, **env}, payload=payload))
        for group in template.groups
    )
    options = replace(template.options, schedule=None, parameters=None)
    return replace(template, groups=groups, options=options)


def _check_parameters(wanted: Parameters, given: Mapping[str, str]) -> list[Problem]:
    known = [*wanted.required, *wanted.optional]
    problems = [
        Problem(f"parameters.{name}", "is required", fix=f"add --param {name}=VALUE")
        for name in wanted.required
        if name not in given
    ]
    for name, value in given.items():
        if name not in known:
            fix = nearest(name, known) or (f"it takes {', '.join(known)}" if known else "it takes none")
            problems.append(Problem(f"parameters.{name}", "is not a parameter of this job", value, fix))
        elif len(value.encode()) > VALUE_BYTES_MAX or "\0" in value:
            message = f"must be at most {VALUE_BYTES_MAX:,} bytes, without NUL characters"
            problems.append(Problem(f"parameters.{name}", message, value, "pass it as the payload"))
    return problems


def _check_payload(wanted: Parameters, payload: Payload) -> list[Problem]:
    if payload is None:
        is_missing = wanted.payload == "required"
        return [Problem("payload", "is required", fix="add --payload FILE")] if is_missing else []
    if wanted.payload == "forbidden":
        return [Problem("payload", "is not taken by this job", fix="leave it out")]
    if len(payload) > PAYLOAD_BYTES_MAX:
        fix = "put it where the task can read it, and pass the place as a parameter"
        return [Problem("payload", f"must be at most {PAYLOAD_BYTES_MAX:,} bytes", len(payload), fix)]
    return []
