"""What requests about queues and dead letters may say, as tables: REST reads by them, and publishes their schemas."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shunter.model.field_lists import texts
from shunter.model.fields import Field, Section, flag, whole
from shunter.model.name_fields import NAME
from shunter.model.problems import Problems

LIMIT_MAX = 10_000_000
NUMBERS_MAX = 10_000
NUMBER_MAX = 2**53


def _count(minimum: int, maximum: int) -> Field:
    """A whole number, also spelt 5.0: to a JSON Schema that is one."""
    field = whole(minimum, maximum)

    def read(value: Any, path: str, problems: Problems) -> Any:
        return field.read(int(value) if type(value) is float and value.is_integer() else value, path, problems)

    return replace(field, read=read)


QUEUE_PATCH = Section(
    "rules of a queue to change; what is left out stays as it is",
    {
        "paused": flag().about("whether nothing of it starts"),
        "strict": flag().about("whether its jobs start in the order in which they came"),
        "running_max": _count(0, LIMIT_MAX).about("tasks on nodes at once; 0 means no limit"),
        "queued_max": _count(0, LIMIT_MAX).about("tasks that may be queued; 0 means no limit"),
    },
)
DEAD_CHOICE = Section(
    "dead letters: by number, or of a job; with neither, all",
    {"numbers": texts(_count(1, NUMBER_MAX), count_max=NUMBERS_MAX).about("their numbers"), "job": NAME},
)
