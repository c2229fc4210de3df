"""What requests about queues and dead letters may say, as tables: REST reads by them, and publishes their schemas."""

from __future__ import annotations

from shunter.model.schema.field_lists import value_list
from shunter.model.schema.fields import Section, boolean, integer
from shunter.model.schema.name_fields import NAME

LIMIT_MAX = 10_000_000
NUMBERS_MAX = 10_000
NUMBER_MAX = 2**53


QUEUE_PATCH = Section(
    "rules of a queue to change; what is left out stays as it is",
    {
        "paused": boolean().about("whether nothing of it starts"),
        "strict": boolean().about("whether its jobs start in the order in which they came"),
        "running_max": integer(0, LIMIT_MAX).about("tasks on nodes at once; 0 means no limit"),
        "queued_max": integer(0, LIMIT_MAX).about("tasks that may be queued; 0 means no limit"),
    },
)
DEAD_LETTER_SELECTOR = Section(
    "dead letters: by number, or of a job; with neither, all",
    {"numbers": value_list(integer(1, NUMBER_MAX), count_max=NUMBERS_MAX).about("their numbers"), "job": NAME},
)
