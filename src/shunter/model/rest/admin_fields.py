"""The fields of requests that change cluster settings, queue rules and dead letters.

REST reads request bodies with these tables and publishes their schemas. `config.toml` shares the fields of settings."""

from __future__ import annotations

from typing import Any

from shunter.model.job.spec import LICENCE_PREFIX
from shunter.model.resources import AMOUNT_MAX
from shunter.model.schema.field_lists import mapping, value_list
from shunter.model.schema.fields import Field, Section, boolean, duration, integer, text
from shunter.model.schema.name_fields import NAME
from shunter.model.schema.problems import Problems

QUEUE_LIMIT_MAX = 10_000_000
DEAD_LETTER_NUMBERS_MAX = 10_000
DEAD_LETTER_NUMBER_MAX = 2**53

AUTO = "auto"
OFF = "off"
ON = "on"
POLICY_SIZE_MAX = 253
LEASE_MIN_S = 0.1
LEASE_MAX_S = 3600.0
HEARTBEAT_SETTING_MIN_S = 0.05
HEARTBEAT_SETTING_MAX_S = 3600.0
WAIT_MAX_S = 604_800.0  # the longest wait before a reservation
LICENCES_MAX = 256
LICENCE_SIZE_MAX = 63 - len(LICENCE_PREFIX)  # as a resource it has a name of at most 63


def _heartbeat() -> Field:
    """Seconds, or None for `auto`: the interval follows the number of nodes."""
    interval = duration(HEARTBEAT_SETTING_MAX_S)

    def read(value: Any, path: str, problems: Problems) -> float | None:
        return None if value == AUTO else interval.read(value, path, problems)

    about = "heartbeat interval of nodes; auto: from the number of nodes"
    return Field(read, {"description": about, "anyOf": [interval.schema, {"const": AUTO}]})


HEARTBEAT = _heartbeat()


def _licences() -> Field:
    """Name -> how many the cluster has; None removes a licence."""
    count = integer(0, AMOUNT_MAX)

    def read(value: Any, path: str, problems: Problems) -> int | None:
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # to JSON, 5.0 is a whole number
        return None if value is None else count.read(value, path, problems)

    name = text(r"^[a-z0-9]([a-z0-9._/-]*[a-z0-9])?$", size_max=LICENCE_SIZE_MAX, rule="a lower-case name like matlab")
    number = Field(read, {"anyOf": [count.schema, {"type": "null"}]})
    about = f"number of each licence in the cluster; tasks request them as resources: {LICENCE_PREFIX}<name>"
    return mapping(name, number, count_max=LICENCES_MAX).about(about)


def _preemption() -> Field:
    """How much higher a priority must be to preempt other tasks, as text; empty means the default."""
    gap = integer(1, 100)

    def read(value: Any, path: str, problems: Problems) -> str:
        if value in (AUTO, OFF):
            return "" if value == AUTO else OFF
        if (isinstance(value, str) and value.isdecimal()) or (isinstance(value, float) and value.is_integer()):
            value = int(value)  # from a command line, or as JSON may write it
        return str(gap.read(value, path, problems))

    about = "how much higher a priority must be to preempt tasks: 1 to 100; off: never; auto: the default"
    return Field(read, {"description": about, "anyOf": [gap.schema, {"enum": [AUTO, OFF]}]})


def _wait_duration(about: str) -> Field:
    """Seconds as text; `off` stays, and empty means the default."""
    wait = duration(WAIT_MAX_S)

    def read(value: Any, path: str, problems: Problems) -> str:
        if value in (AUTO, OFF):
            return "" if value == AUTO else OFF
        seconds: float = wait.read(value, path, problems)
        return f"{seconds:.10g}"

    return Field(read, {"description": about, "anyOf": [wait.schema, {"enum": [AUTO, OFF]}]})


def _lease() -> Field:
    """Seconds as text; empty means the default."""
    lease = duration(LEASE_MAX_S)

    def read(value: Any, path: str, problems: Problems) -> str:
        if value == AUTO:
            return ""
        seconds: float = lease.read(value, path, problems)
        if seconds < LEASE_MIN_S:
            problems.add(path, "is too short", value=value, fix=f"use at least {LEASE_MIN_S:g}s")
        return f"{seconds:.10g}"

    about = "how long an external scheduler may be silent before the fallback policy decides; auto: the default"
    return Field(read, {"description": about, "anyOf": [lease.schema, {"const": AUTO}]})


def _on_off(about: str) -> Field:
    """on or off, as text; empty means on, which is the default."""

    def read(value: Any, path: str, problems: Problems) -> str:
        if value in (ON, OFF) or isinstance(value, bool):
            return OFF if value in (OFF, False) else ""
        problems.add(path, "must be on or off", value=value)
        return ""

    return Field(read, {"description": about, "enum": [ON, OFF]})


SETTINGS: dict[str, Field] = {
    "heartbeat": HEARTBEAT,
    "preemption": _preemption(),
    "reserve_after": _wait_duration(
        "how long a single task waits before it gets a reservation (a gang gets one at once); off: never; auto: "
        "the default"
    ),
    "hold_after": _wait_duration(
        "how long a task waits before room is reserved for it without a known start time; off: never; auto: the default"
    ),
    "licences": _licences(),
    "policy": text(size_max=POLICY_SIZE_MAX).about("policy that places tasks: one of GET /policies"),
    "fallback": text(size_max=POLICY_SIZE_MAX).about("policy that places tasks while an external scheduler is silent"),
    "lease": _lease(),
    "flight": _on_off("whether the flight recorder records every decision and its input"),
}
CLUSTER_PATCH = Section("settings to change, at least one; they persist across restarts", SETTINGS)
CLUSTER_PATCH_SCHEMA = CLUSTER_PATCH.schema | {"minProperties": 1}

QUEUE_PATCH = Section(
    "queue rules to change; omitted rules stay as they are",
    {
        "paused": boolean().about("whether the queue is paused: none of its tasks start"),
        "strict": boolean().about("whether its jobs start in the order of submission"),
        "running_max": integer(0, QUEUE_LIMIT_MAX).about("maximum number of tasks on nodes; 0 means no limit"),
        "queued_max": integer(0, QUEUE_LIMIT_MAX).about("maximum number of queued tasks; 0 means no limit"),
    },
)
DEAD_LETTER_SELECTOR = Section(
    "dead letters to select: by number or by job; default: all",
    {
        "numbers": value_list(integer(1, DEAD_LETTER_NUMBER_MAX), count_max=DEAD_LETTER_NUMBERS_MAX).about(
            "numbers of the dead letters"
        ),
        "job": NAME,
    },
)


def read_cluster_patch(document: object) -> dict[str, Any]:
    """The settings that a request changes. Raises Invalid."""
    problems = Problems()
    patch = CLUSTER_PATCH.read_partial(document, "", problems)
    if not patch and not problems.found:
        problems.add(
            "document",
            "must change at least one setting",
            fix=f"set one or more of {', '.join(SETTINGS)}",
        )
    problems.raise_any()
    return patch
