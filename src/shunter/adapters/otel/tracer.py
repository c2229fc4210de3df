"""Sends spans to an OTLP receiver over HTTP, in batches, from a thread of its own. Implements
`ports.tracing.tracer.Tracer`.

OpenTelemetry makes ids when a span begins. Ours exist before: they travel with orders. So `_Ids` hands it ours."""

from __future__ import annotations

import os

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import NonRecordingSpan, SpanContext, Status, StatusCode, TraceFlags, set_span_in_context
from opentelemetry.trace import SpanKind as OtelKind

from shunter.model.tracing import format_traceparent, span_id_of, trace_id_of, with_span
from shunter.ports.tracing.tracer import Span, SpanKind

TRACES_PATH = "/v1/traces"
QUEUE_MAX = 8_192  # spans that wait to be sent; each takes about a kilobyte
BATCH_MAX = 512
SEND_EVERY_S = 1.0
SEND_MAX_S = 5.0
_KINDS = {
    SpanKind.INTERNAL: OtelKind.INTERNAL,
    SpanKind.SERVER: OtelKind.SERVER,
    SpanKind.PRODUCER: OtelKind.PRODUCER,
    SpanKind.CONSUMER: OtelKind.CONSUMER,
}


class OtelTracer:
    """`endpoint` is the base URL of the receiver, such as http://127.0.0.1:4318."""

    def __init__(self, endpoint: str, service: str, instance: str, version: str) -> None:
        exporter = OTLPSpanExporter(endpoint.rstrip("/") + TRACES_PATH, timeout=SEND_MAX_S)
        self._start(exporter, service, instance, version)

    def _start(self, exporter: SpanExporter, service: str, instance: str, version: str) -> None:
        resource = Resource.create(
            {"service.name": service, "service.instance.id": instance, "service.version": version}
        )
        self._ids = _Ids()
        self._provider = TracerProvider(
            sampler=ALWAYS_ON, resource=resource, id_generator=self._ids, shutdown_on_exit=False
        )
        self._provider.add_span_processor(
            BatchSpanProcessor(
                exporter,
                max_queue_size=QUEUE_MAX,
                max_export_batch_size=BATCH_MAX,
                schedule_delay_millis=SEND_EVERY_S * 1000,
            )
        )
        self._tracer = self._provider.get_tracer("shunter", version)

    def begin_trace(self) -> str:
        return format_traceparent(_random_id(16), _random_id(8))

    def child_of(self, context: str) -> str:
        return with_span(context, _random_id(8))

    def record(self, span: Span) -> None:
        self._ids.trace_id, self._ids.span_id = int(trace_id_of(span.context), 16), int(span_id_of(span.context), 16)
        parent = None
        if span.parent:
            ids = int(trace_id_of(span.parent), 16), int(span_id_of(span.parent), 16)
            parent = SpanContext(*ids, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
        own = self._tracer.start_span(
            span.name,
            set_span_in_context(NonRecordingSpan(parent)) if parent is not None else None,
            _KINDS[span.kind],
            span.attributes,
            start_time=int(span.start_s * 1e9),
        )
        if span.error:
            own.set_status(Status(StatusCode.ERROR, span.error))
        own.end(int(span.end_s * 1e9))

    def close(self) -> None:
        """Send what waits; a receiver that does not answer holds nobody up for long."""
        self._provider.shutdown()


class _Ids(IdGenerator):
    def __init__(self) -> None:
        self.trace_id = self.span_id = 0

    def generate_span_id(self) -> int:
        return self.span_id

    def generate_trace_id(self) -> int:
        return self.trace_id


def _random_id(size_bytes: int) -> str:
    while True:
        text = os.urandom(size_bytes).hex()
        if text.strip("0"):  # all zeros is none
            return text
