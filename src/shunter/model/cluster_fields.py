"""What can be changed about a running cluster, as a table: `PATCH /cluster` reads by it, config.toml has its fields."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shunter.model.fields import Field, Section, duration
from shunter.model.problems import Problems

AUTO = "auto"
HAND_SET_MIN_S = 0.05
HAND_SET_MAX_S = 3600.0


def _heartbeat() -> Field:
    """Seconds, or None for `auto`: the interval follows the number of nodes."""
    interval = duration(HAND_SET_MAX_S)

    def read(value: Any, path: str, problems: Problems) -> float | None:
        return None if value == AUTO else interval.read(value, path, problems)

    about = "how often nodes send heartbeats; auto follows the number of nodes"
    return Field(read, {"description": about, "anyOf": [interval.schema, {"const": AUTO}]})


HEARTBEAT = _heartbeat()
PATCH = Section("settings to change from now on", {"heartbeat": replace(HEARTBEAT, required=True)})
