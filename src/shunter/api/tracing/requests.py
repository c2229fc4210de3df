"""The trace of a request: takes the caller's W3C context, and records a span for requests that start work. Used by
`api.http.app`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from shunter.log import trace_id
from shunter.model.tracing import is_sampled, parse_traceparent, trace_id_of
from shunter.ports.tracing.tracer import Span, SpanKind, Tracer, trace_of

TRACEPARENT_HEADER = b"traceparent"
# Requests that begin a trace if their client has not begun one.
STARTS_WORK = frozenset(("submitJob", "submitJobs", "applyDocuments", "runTemplate", "retryJob", "replayDead"))


@contextmanager
def traced_request(tracer: Tracer | None, header: str | None, operation: str) -> Iterator[None]:
    """Jobs that are submitted inside carry the context of this request."""
    parent = parse_traceparent(header) if header else ""
    own = _own_context(tracer, parent, operation)
    if not own:
        yield
        return
    began_s, error = time.time(), ""
    token = trace_id.set(trace_id_of(own))
    try:
        with trace_of(own):
            yield
    except Exception as raised:
        error = type(raised).__name__
        raise
    finally:
        trace_id.reset(token)
        if tracer is not None and own != parent:
            tracer.record(Span(operation, own, parent, began_s, time.time(), kind=SpanKind.SERVER, error=error))


def _own_context(tracer: Tracer | None, parent: str, operation: str) -> str:
    """That of the client is passed on as it is, where nobody records spans."""
    if tracer is None or (parent and not is_sampled(parent)):
        return parent
    if parent:
        return tracer.child_of(parent)
    return tracer.begin_trace() if operation in STARTS_WORK else ""
