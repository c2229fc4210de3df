"""Tables of the manifest fields that define when a job starts: after other jobs, at a time, on a schedule, by a
dispatch. `model.job.job_fields` assembles them."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from shunter.model.job.placement_fields import TIMEOUT_MAX_S
from shunter.model.job.schedules import CRON_SIZE_MAX, check_cron, is_known_timezone, timezones
from shunter.model.job.spec import GroupAfter, Parameters, Schedule
from shunter.model.schema.field_lists import mapping, section_list, shorthand, value_list
from shunter.model.schema.fields import Field, Schema, Section, choice, duration, text
from shunter.model.schema.name_fields import NAME, RUN
from shunter.model.schema.problems import Problems, did_you_mean

AFTER_MAX = 1000
PARAMETERS_MAX = 64
PARAMETER_VALUE_SIZE_MAX = 32 * 2**10
TIMEZONE_SIZE_MAX = 64

TIMESTAMP_PATTERN = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:?[0-9]{2})$"
)
PARAMETER_PATTERN = r"^[A-Za-z][A-Za-z0-9_-]*$"
_TIMESTAMP = re.compile(TIMESTAMP_PATTERN)
_LOOKS_LIKE_A_DATE = re.compile(r"[0-9]{4}-")


class TimeOrDelay(NamedTuple):
    """A time of the clock, or a while after the submit; the other one is 0."""

    at_ms: int = 0
    in_s: float = 0.0


def _time_or_delay() -> Field:
    """`2030-01-31T08:00:00Z`, or a duration after the submit."""
    delay = duration(TIMEOUT_MAX_S, or_time=True)

    def read(value: Any, path: str, problems: Problems) -> TimeOrDelay:
        if type(value) is not str or not _LOOKS_LIKE_A_DATE.match(value):
            return TimeOrDelay(in_s=delay.read(value, path, problems))
        try:
            timestamp = datetime.fromisoformat(value.upper())
        except ValueError:
            problems.add(path, "must be a time or a duration", value=value, fix="write it like 2030-01-31T08:00:00Z")
            return TimeOrDelay()
        if not _TIMESTAMP.fullmatch(value):
            fix = "end it with Z, or with an offset like +02:00"
            problems.add(path, "must be a complete time with a time zone", value=value, fix=fix)
            return TimeOrDelay()
        at_ms = round(timestamp.timestamp() * 1000)
        if at_ms <= 0:
            problems.add(path, "must be later than 1970", value=value)
        return TimeOrDelay(at_ms=at_ms)

    timestamp_schema: Schema = {"type": "string", "format": "date-time", "pattern": TIMESTAMP_PATTERN}
    return Field(read, {"anyOf": [timestamp_schema, delay.schema]}, TimeOrDelay())


def _cron() -> Field:
    line = text(size_max=CRON_SIZE_MAX)

    def read(value: Any, path: str, problems: Problems) -> Any:
        found = len(problems.found)
        line.read(value, path, problems)
        if len(problems.found) == found and (fault := check_cron(value)):
            problems.add(path, fault, value=value, fix='write it like "*/10 * * * *" (minute hour day month weekday)')
        return value

    return Field(read, line.schema, required=True)


def _timezone() -> Field:
    line = text(r"^[A-Za-z0-9+_/-]+$", size_max=TIMEZONE_SIZE_MAX, rule="a time zone like Europe/Berlin")

    def read(value: Any, path: str, problems: Problems) -> Any:
        found = len(problems.found)
        line.read(value, path, problems)
        if len(problems.found) == found and not is_known_timezone(value):
            fix = did_you_mean(value, timezones()) or "write it like Europe/Berlin"
            problems.add(path, "is not a known time zone", value=value, fix=fix)
        return value

    return Field(read, line.schema, Schedule("").timezone)


_WHEN = choice("succeeded", "finished", "failed", default=GroupAfter("").when)
_OTHERWISE = choice("cancel", "run", default=GroupAfter("").otherwise).about(
    "what to do if `when` can no longer become true"
)
AFTER = Section(
    "a job that this one depends on", {"job": replace(RUN, required=True), "when": _WHEN, "otherwise": _OTHERWISE}
)
GROUP_AFTER = Section(
    "a group of the same job that this one depends on",
    {"group": replace(NAME, required=True), "when": _WHEN, "otherwise": _OTHERWISE},
)
GROUP_AFTER_FIELD = section_list(shorthand(GROUP_AFTER, "group"), count_max=AFTER_MAX).about(
    "groups of this job that must end first"
)

SCHEDULE = Section(
    "start runs on a cron schedule",
    {
        "cron": _cron().about("minute hour day month weekday; with six fields, seconds come first"),
        "timezone": _timezone(),
        "overlap": choice("skip", "queue", "replace", default=Schedule("").overlap).about(
            "what to do when a run is due and the last one has not ended"
        ),
        "catch_up": choice("none", "last", "all", default=Schedule("").catch_up).about(
            "which runs to make up for after the cluster was stopped"
        ),
    },
)

_PARAMETER = text(PARAMETER_PATTERN, size_max=63, rule="letters, digits, '_' and '-', a letter first")
PARAMETERS = Section(
    "make the job a template: each dispatch starts a run with these parameters as SHUNTER_PARAM_<NAME>",
    {
        "required": value_list(_PARAMETER, count_max=PARAMETERS_MAX, fix="put it in a list"),
        "optional": mapping(_PARAMETER, text(size_max=PARAMETER_VALUE_SIZE_MAX), count_max=PARAMETERS_MAX).about(
            "optional parameters with their defaults"
        ),
        "payload": choice("optional", "required", "forbidden", default=Parameters().payload).about(
            "whether a dispatch has a payload file; SHUNTER_PAYLOAD has its path"
        ),
    },
)

TIMING_FIELDS: dict[str, Field] = {
    "after": section_list(shorthand(AFTER, "job"), count_max=AFTER_MAX).about("jobs that must end first"),
    "start_at": _time_or_delay().about("earliest start: a time, or a duration after the submit"),
    "deadline": _time_or_delay().about("deadline: a time, or a duration after the submit"),
    "schedule": shorthand(SCHEDULE, "cron").about("start runs on a cron schedule"),
    "parameters": PARAMETERS.as_field(),
}
