"""Renders times as ISO-8601. Used by views, documents and messages."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache


def iso(seconds: float | None) -> str | None:
    """Seconds since 1970 as ISO-8601 UTC with milliseconds; None and 0 are None."""
    if not seconds:
        return None
    whole_s, milli = divmod(round(seconds * 1e6) // 1000, 1000)
    return f"{_iso_s(whole_s)}.{milli:03d}Z"


@lru_cache(maxsize=1_024)
def _iso_s(seconds: int) -> str:
    """Cached on its own, because the events of a busy cluster fall into the same few seconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
