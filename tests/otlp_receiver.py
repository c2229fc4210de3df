"""An OTLP receiver over HTTP on loopback: collects the spans that a cluster sends. For tests of tracing."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

BODY_MAX_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Received:
    """A span as it came over the wire. Ids are hexadecimal; the parent of a root is empty."""

    service: str
    name: str
    trace: str
    id: str
    parent: str
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    is_error: bool


class OtlpReceiver:
    def __init__(self) -> None:
        self.url = ""
        self._spans: list[Received] = []
        self._lock = threading.Lock()

    def spans(self, trace: str = "") -> list[Received]:
        with self._lock:
            return [span for span in self._spans if not trace or span.trace == trace]

    def take(self, body: bytes) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            service = {each.key: each.value.string_value for each in resource.resource.attributes}["service.name"]
            found = [_received(service, span) for scope in resource.scope_spans for span in scope.spans]
            with self._lock:
                self._spans += found


def _received(service: str, span: Any) -> Received:
    attributes = {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}
    ids = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
    times = span.start_time_unix_nano, span.end_time_unix_nano
    return Received(service, span.name, *ids, *times, attributes, span.status.code == 2)


@contextmanager
def running_receiver() -> Iterator[OtlpReceiver]:
    receiver = OtlpReceiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(min(int(self.headers["content-length"]), BODY_MAX_BYTES))
            if self.headers.get("content-encoding") in ("gzip", "deflate"):
                body = zlib.decompress(body, 47)
            is_known = self.path == "/v1/traces"
            if is_known:
                receiver.take(body)
            self.send_response(200 if is_known else 404)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
