"""The W3C trace context, as text: `00-TRACE-SPAN-FLAGS`. It comes from clients, is stored with a job, and is given to
its tasks as TRACEPARENT. See https://www.w3.org/TR/trace-context/."""

from __future__ import annotations

import re

TRACEPARENT_VARIABLE = "TRACEPARENT"
TRACEPARENT_SIZE = 55
SAMPLED = 1
_PATTERN = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_LATER_PATTERN = re.compile(r"(?!00|ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_ZERO_TRACE, _ZERO_SPAN = "0" * 32, "0" * 16


def parse_traceparent(text: str) -> str:
    """The context in the form of version 00; empty if the text is none. As the standard asks, a later version is read
    as far as we know it, and a wrong one is ignored."""
    if len(text) < TRACEPARENT_SIZE or len(text) > 4 * TRACEPARENT_SIZE:
        return ""
    found = _PATTERN.fullmatch(text) or _LATER_PATTERN.fullmatch(text)
    if found is None or found[1] == _ZERO_TRACE or found[2] == _ZERO_SPAN:
        return ""
    return format_traceparent(found[1], found[2], int(found[3], 16) & SAMPLED)


def format_traceparent(trace_id: str, span_id: str, flags: int = SAMPLED) -> str:
    return f"00-{trace_id}-{span_id}-{flags:02x}"


def trace_id_of(context: str) -> str:
    """The trace that a parsed context names; empty if there is none."""
    return context[3:35]


def span_id_of(context: str) -> str:
    return context[36:52]


def is_sampled(context: str) -> bool:
    """Whether its spans are recorded: whoever began the trace decides."""
    return bool(context) and bool(int(context[53:55], 16) & SAMPLED)


def with_span(context: str, span_id: str) -> str:
    """The same trace, as a child of another span."""
    return f"{context[:36]}{span_id}{context[52:]}"
