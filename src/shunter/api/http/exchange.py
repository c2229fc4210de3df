"""One HTTP request and its response, directly on ASGI. Routes read the request and write the response.

It uses no web framework: a submit that follows a job to its end must cost little more than the commit."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from shunter.api.http.large_yaml import YAML_SIZE_MAX, YamlParser
from shunter.api.http.permission_watch import Permission
from shunter.api.limits.body_budget import BodyBudget
from shunter.model.errors import Invalid, Problem, TooLarge
from shunter.model.files.repeated_keys import find_repeated_key
from shunter.ports.managers import Replication
from shunter.ports.principals import Principal

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

JSON = b"application/json"
SESSION_HEADER = b"shunter-scheduler"  # the token of a scheduler's session
FORWARDED_HEADER = b"shunter-forwarded"  # by whom; a request is forwarded once at most
VERSION_HEADER = b"shunter-version"  # of the state that the answer shows at most
SAFE_HEADERS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
TAGGED_HEADERS = (SAFE_HEADERS[0], (b"cache-control", b"private, no-cache"))  # a browser asks each time
NO_CONTENT = (204, 304)

SMALL_SIZE_MAX = 64 * 2**10
VALUES_MAX = 1_000_000  # of a JSON body: each takes some hundred bytes in memory, whatever it takes in the body
SURROGATE_SEARCH_BYTES = 256 * 2**10
COUNTED_SLICE_BYTES = 2**20  # other requests run between two of them

Body = TypeVar("Body")
encode = msgspec.json.Encoder().encode
any_json: msgspec.json.Decoder[Any] = msgspec.json.Decoder()

_BYTE = re.compile(r" \(byte (\d+)\)$")
_ESCAPE = re.compile(rb"\\(?:u(?P<high>[dD][89abAB]..)(?P<low>\\u[dD][c-fC-F]..)?|u(?P<lone>[dD][c-fC-F]..)|.)")
_FIELD = re.compile(r"^(?P<message>.*) - at `(?P<at>.*)`$", re.DOTALL)


class RequestAborted(Exception):
    """The client closed the connection before its request was complete: no answer is possible."""


@dataclass(frozen=True, slots=True)
class Context:
    """What handlers need of the application."""

    heartbeat_s: float
    openapi: Callable[[], bytes]
    yaml: YamlParser
    bodies: BodyBudget
    body_size_max: int | None = None  # of any body, where the listener has a limit of its own
    has_ui: Callable[[], bool] = lambda: False  # whether the web UI was built
    absent_is_304: bool = False  # what DELETE /external/schedulings/NAME answers if there is none; else 404


class Exchange:
    __slots__ = (
        "_body_bytes",
        "_receive",
        "_send",
        "caller",
        "context",
        "credential",
        "extra_headers",
        "is_relayed",
        "operation",
        "path_params",
        "permission",
        "query",
        "replication",
        "scope",
        "secret_source",
        "session",
        "started",
        "status",
        "tag",
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send, context: Context, replication: Replication) -> None:
        self.scope = scope
        self.context = context
        self.replication = replication
        self.path_params: dict[str, str] = {}  # what the path names: {"job": "render@3"}
        self.query: dict[str, Any] = {}
        self.started = False
        self.status = 0  # of the answer, once it has begun
        self.extra_headers: Headers = ()  # headers of whatever is answered
        self.credential = ""  # what the caller presented: a token, a key or a session
        self.secret_source = ""  # who sent a body with a secret in it, if it has one
        self.session: tuple[str, str] | None = None  # name and text of the cookie that authenticated the request
        self.permission: Permission | None = None  # watched while a stream is open; None: for ever
        self.tag: bytes | None = None  # of an answer that shows committed state and nothing else
        self.caller: Principal | None = None  # once it is known
        self.operation = ""  # once the route is known
        self.is_relayed = False  # another manager answered it, and counts it
        self._body_bytes = 0  # taken from the budget of all bodies
        self._receive = receive
        self._send = send

    @property
    def is_head(self) -> bool:
        return bool(self.scope["method"] == "HEAD")

    @property
    def content_type(self) -> str:
        return (self.header(b"content-type") or "").partition(";")[0].strip().lower()

    @property
    def is_forwarded(self) -> bool:
        """Whether another manager sent it on. No web page can pretend so: browsers ask us first, and we decline."""
        return self.header(FORWARDED_HEADER) is not None

    def header(self, name: bytes) -> str | None:
        return find_header(self.scope, name)

    async def read_body(self, size_max: int, *, fix: str = "") -> bytes:
        """The whole body; never holds more than `size_max` bytes of it. `fix` says what to do with a larger one. Raises
        TooLarge, Busy, RequestAborted."""
        if self.context.body_size_max is not None and self.context.body_size_max < size_max:
            size_max, fix = self.context.body_size_max, "; send it to the API with a token"
        length = self.header(b"content-length")
        if length is not None and length.isdigit() and int(length) > size_max:
            raise _too_large(size_max, fix)
        parts: list[bytes] = []
        size, more = 0, True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise RequestAborted
            part: bytes = message.get("body", b"")
            parts.append(part)
            size += len(part)
            if size > size_max:
                raise _too_large(size_max, fix)
            self.context.bodies.take(len(part), size)
            self._body_bytes = size
            more = message.get("more_body", False)
        return b"".join(parts) if len(parts) > 1 else parts[0]

    async def body_chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes, for whoever passes it on. Raises RequestAborted."""
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise RequestAborted
            if part := message.get("body", b""):
                yield part
            more = message.get("more_body", False)

    async def read_yaml(self, size_max: int) -> list[object]:
        """All documents of a body of YAML."""
        limit = min(size_max, YAML_SIZE_MAX)
        fix = "; send JSON, or split it: YAML takes much more memory" if limit < size_max else ""
        return await self.context.yaml.parse(await self.read_body(limit, fix=fix))

    def release_body(self) -> None:
        """The request is answered: its body is not needed any more."""
        self.context.bodies.give_back(self._body_bytes)
        self._body_bytes = 0

    async def read_json(
        self, decoder: msgspec.json.Decoder[Body], size_max: int = SMALL_SIZE_MAX, default: Body | None = None
    ) -> Body:
        """`default` stands for an empty body; without one, an empty body is Invalid."""
        body = await self.read_body(size_max)
        if len(body) > VALUES_MAX:
            await _check_values(body)
        return default if default is not None and not body else decode_json(body, decoder)

    async def respond(self, status: int, body: bytes = b"", content_type: bytes = JSON, headers: Headers = ()) -> None:
        """The whole answer at once."""
        entity_headers = [(b"content-type", content_type)] if body or content_type != JSON else []
        if status not in NO_CONTENT:
            entity_headers.append((b"content-length", str(len(body)).encode()))
        if self.tag is not None and status in (200, 304):
            headers = [(b"etag", self.tag), *TAGGED_HEADERS, *headers]
        else:
            headers = [*SAFE_HEADERS, *headers]
        await self._start(status, [*entity_headers, *headers])
        await self._send({"type": "http.response.body", "body": body})

    async def begin(self, status: int, content_type: bytes, headers: Headers = ()) -> None:
        """The head of a streamed answer: `write` and `end` follow."""
        await self._start(status, [(b"content-type", content_type), *SAFE_HEADERS, *headers])

    async def write(self, chunk: bytes) -> None:
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b""})

    async def wait_for_disconnect(self) -> None:
        """Returns when the client has closed the connection. Only after the body was read, or where there is none."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        version = (VERSION_HEADER, str(self.replication.version).encode())
        await self.start_raw(status, [*headers, version, *self.extra_headers])

    async def start_raw(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        """The head of an answer exactly as given."""
        self.started, self.status = True, status
        self.release_body()
        await self._send({"type": "http.response.start", "status": status, "headers": headers})


def find_header(scope: Scope, name: bytes) -> str | None:
    for key, value in scope["headers"]:
        if key == name:
            return str(value, "latin-1")
    return None


async def _check_values(body: bytes) -> None:
    """A value follows a comma or an opening bracket, so there are no more values than these, strings included. Raises
    TooLarge."""
    values = 1
    for start in range(0, len(body), COUNTED_SLICE_BYTES):
        values += sum(body.count(each, start, start + COUNTED_SLICE_BYTES) for each in (b",", b"[", b"{"))
        if values > VALUES_MAX:
            raise TooLarge(f"the body has more than {VALUES_MAX:,} values; split it")
        await asyncio.sleep(0)


def decode_json(body: bytes, decoder: msgspec.json.Decoder[Body]) -> Body:
    """Raises Invalid that says where the body is malformed, or which field is wrong."""
    if not body.strip():
        raise Invalid([Problem("body", "is empty", None, "send a JSON document")])
    try:
        decoded = decoder.decode(body)
        repeated = find_repeated_key(body)
    except msgspec.ValidationError as error:
        found = _FIELD.match(str(error))
        field, message = (found["at"].removeprefix("$").lstrip("."), found["message"]) if found else ("", str(error))
        raise Invalid([Problem(f"body.{field}" if field else "body", message)]) from None
    except msgspec.DecodeError as error:
        raise Invalid([_malformed(body, str(error))]) from None
    except UnicodeDecodeError:
        raise Invalid([Problem("body", "is not UTF-8")]) from None
    except RecursionError:
        raise Invalid([Problem("body", "is nested too deeply")]) from None
    if repeated is not None:
        raise Invalid([Problem("body", f"has the key '{repeated}' twice in one object", None, "leave one of them out")])
    return decoded


def _malformed(body: bytes, message: str) -> Problem:
    """msgspec calls a text that ends after half of a surrogate pair truncated."""
    if "truncated" in message or "surrogate" in message:
        for escape in _ESCAPE.finditer(body, 0, SURROGATE_SEARCH_BYTES):
            if escape["lone"] or (escape["high"] and not escape["low"]):
                value = str(escape[0], "latin-1")
                fix = "write the character itself, or both escapes of its pair"
                return Problem(_position(body, escape.start()), "is an unpaired surrogate", value, fix)
    found = _BYTE.search(message)
    return Problem("body" if found is None else _position(body, int(found[1])), _BYTE.sub("", message))


def _position(body: bytes, byte: int) -> str:
    lines = body[:byte].split(b"\n")
    return f"body, line {len(lines)}, column {len(lines[-1]) + 1}"


def _too_large(size_max: int, fix: str = "") -> TooLarge:
    return TooLarge(f"the body is larger than {size_max:,} bytes{fix}")
