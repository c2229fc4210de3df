"""The trace that this program works in, which the cluster continues: that of OpenTelemetry if the program uses it, else
that of the variable TRACEPARENT, which a task of Shunter has. Called for each request that changes something."""

from __future__ import annotations

import os
import sys

from shunter.model.tracing import TRACEPARENT_VARIABLE, format_traceparent, parse_traceparent


def current_trace() -> str:
    """A W3C context, or empty. OpenTelemetry is never imported here: who has a span has loaded it."""
    library = sys.modules.get("opentelemetry.trace")
    if library is not None:
        span = library.get_current_span().get_span_context()
        if span.is_valid:
            return format_traceparent(f"{span.trace_id:032x}", f"{span.span_id:016x}", int(span.trace_flags) & 1)
    return parse_traceparent(os.environ.get(TRACEPARENT_VARIABLE, ""))
