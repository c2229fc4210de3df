"""HTTP/1.1 without I/O: encodes requests and decodes responses. Both transports use it.

It supports what a cluster's API sends: bodies by length, in chunks, or until the connection closes; no compression, no
pipelining. A general client would have several times its latency and take a tenth of a second to import."""

from __future__ import annotations

from collections.abc import Mapping

from shunter.sdk.endpoint import Endpoint
from shunter.sdk.errors import AnswerNotUnderstood, ConnectionLost
from shunter.sdk.trace_context import current_trace
from shunter.sdk.transport.steps import Request

HEALTH_PATH = "/healthz"
HEAD_MAX_BYTES = 64 * 2**10
CHUNK_LINE_MAX_BYTES = 1024
STREAM_ENDED_EARLY = "the cluster closed the connection before its answer was complete"


def encode_request(endpoint: Endpoint, request: Request, min_version: int = 0) -> bytes:
    """The bytes of a request, authorised by the endpoint's token if it has one."""
    lines = [
        f"{request.method} {endpoint.prefix}{request.base}{request.path} HTTP/1.1",
        f"Host: {_host(endpoint)}",
    ]
    if credential := endpoint.credential():
        lines.append(f"Authorization: Bearer {credential}")
    if request.method != "GET" and (trace := current_trace()):
        lines.append(f"traceparent: {trace}")
    lines += [f"{name}: {value}" for name, value in request.headers]
    if min_version:
        lines.append(f"Shunter-Min-Version: {min_version}")
    if request.body is not None:
        lines.append(f"Content-Length: {len(request.body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (request.body or b"")


def encode_probe(endpoint: Endpoint) -> bytes:
    """The bytes of a request that every manager that runs answers at once; it needs no token."""
    return f"GET {endpoint.prefix}{HEALTH_PATH} HTTP/1.1\r\nHost: {_host(endpoint)}\r\n\r\n".encode("latin-1")


def _host(endpoint: Endpoint) -> str:
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return f"{host}:{endpoint.port}"


class ResponseParser:
    """One answer as it comes in: `feed` it what the socket gave; `status` is None until the head is complete."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.complete = False
        self._buffer = bytearray()
        self._ready = bytearray()
        self._remaining: int | None = None  # of the body or of the present chunk; None: until the connection ends
        self._chunked = False
        self._trailer = False

    @property
    def reusable(self) -> bool:
        """Whether the connection may carry another request now."""
        return self.complete and not self._buffer and self.headers.get("connection", "").lower() != "close"

    def feed(self, data: bytes) -> None:
        """Take bytes in; b"" says that the other side closed the connection."""
        if not data:
            self._on_closed()
            return
        self._buffer += data
        if self.status is None:
            self._read_head()
        if self.status is not None:
            self._read_body()

    def take_body(self) -> bytes:
        """The part of the body that came in since the last call."""
        taken = bytes(self._ready)
        self._ready.clear()
        return taken

    def _on_closed(self) -> None:
        if self.status is None or self._chunked or self._remaining is not None:
            raise ConnectionLost(STREAM_ENDED_EARLY)
        self.complete = True
        self.headers = {**self.headers, "connection": "close"}

    def _read_head(self) -> None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > HEAD_MAX_BYTES:
                raise AnswerNotUnderstood(f"the headers of the answer exceed {HEAD_MAX_BYTES} bytes")
            return
        first, *lines = self._buffer[:end].decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        status = _status(first)
        if status < 200:  # 100 Continue and its like announce the real head
            self._read_head()
            return
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self._chunked = self.headers.get("transfer-encoding", "").lower() == "chunked"
        if self._chunked or status in (204, 304):
            self._remaining = 0
        elif (length := self.headers.get("content-length")) is not None:
            self._remaining = _whole_number(length, 10)
        self.status = status
        self.complete = not self._chunked and self._remaining == 0

    def _read_body(self) -> None:
        while self._buffer and not self.complete:
            if self._chunked and self._remaining == 0:
                if not self._read_chunk_line():
                    return
            else:
                self._read_data()

    def _read_data(self) -> None:
        size = len(self._buffer) if self._remaining is None else min(self._remaining, len(self._buffer))
        self._ready += self._buffer[:size]
        del self._buffer[:size]
        if self._remaining is not None:
            self._remaining -= size
            self.complete = self._remaining == 0 and not self._chunked

    def _read_chunk_line(self) -> bool:
        """One line of framing: a chunk's size, the empty line after its data, a trailer. False: it is not all here."""
        end = self._buffer.find(b"\r\n")
        if end < 0:
            if len(self._buffer) > CHUNK_LINE_MAX_BYTES:
                raise AnswerNotUnderstood("the answer is not valid HTTP")
            return False
        line = self._buffer[:end].decode("latin-1")
        del self._buffer[: end + 2]
        if self._trailer:
            self.complete = not line
        elif line:
            self._remaining = _whole_number(line.partition(";")[0].strip(), 16)
            self._trailer = self._remaining == 0
        return True


def _status(line: str) -> int:
    words = line.split(" ", 2)
    if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
        raise AnswerNotUnderstood(f"the server is not an HTTP server: it answered {line[:60]!r}")
    return int(words[1])


def _whole_number(text: str, base: int) -> int:
    try:
        number = int(text, base)
    except ValueError:
        number = -1
    if number < 0:
        raise AnswerNotUnderstood(f"the answer is not valid HTTP: length {text[:20]!r}")
    return number
