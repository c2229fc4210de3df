"""Validates cron expressions and time zones, and computes when they fire next. Used for manifests and by the engine.

The caller passes in the clock. The libraries are loaded only when a schedule is used."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from functools import lru_cache

CRON_SIZE_MAX = 256
FIELD_COUNTS = (5, 6)  # six begin with seconds
CRON_ALIASES = {
    "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}  # fmt: skip

_REFERENCE_TIME = datetime(2024, 1, 1)


@lru_cache(maxsize=256)
def check_cron(line: str) -> str:
    """What is wrong with a cron expression; empty if nothing is."""
    from cronsim import CronSim, CronSimError

    expanded = _expand_alias(line)
    if expanded.startswith("@"):
        return f"must be five fields, or one of {', '.join(CRON_ALIASES)}"
    if len(expanded.split()) not in FIELD_COUNTS:
        return f"must have five fields, found {len(expanded.split())}"
    try:
        next(CronSim(expanded, _REFERENCE_TIME))
    except CronSimError as error:
        return f"has a {str(error).lower()}"
    except StopIteration:
        return "never fires"
    except (AssertionError, TypeError, ValueError, OverflowError):  # its parser trips over some oddities
        return "is not a valid cron expression"
    return ""


def next_firing_ms(line: str, timezone: str, after_ms: int) -> int | None:
    """When a checked line fires next after a time; None if it does not within fifty years."""
    return next(firings_ms(line, timezone, after_ms, None), None)


def firings_ms(line: str, timezone: str, after_ms: int, until_ms: int | None) -> Iterator[int]:
    """When a checked line fires after a time, and up to another. When clocks are set back, an hour occurs twice, and a
    firing of the first occurrence is found again in the second: it is in the past and is skipped."""
    from zoneinfo import ZoneInfo

    from cronsim import CronSim

    zone = UTC if timezone == "UTC" else ZoneInfo(timezone)
    start = datetime.fromtimestamp(after_ms // 1000, zone)
    for firing in CronSim(_expand_alias(line), start):
        at_ms = round(firing.timestamp() * 1000)
        if until_ms is not None and at_ms > until_ms:
            return
        if at_ms > after_ms:
            yield at_ms


@lru_cache(maxsize=256)
def is_known_timezone(name: str) -> bool:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def timezones() -> Collection[str]:
    from zoneinfo import available_timezones

    return sorted(available_timezones())


def _expand_alias(line: str) -> str:
    return CRON_ALIASES.get(line.strip().lower(), line.strip())
