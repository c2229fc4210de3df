"""An HTTP client that calls the application in process, message by message, so that a test sees every chunk."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from shunter.api.http.app import App
from tests.unit.api.fake_gateway import TOKEN

AUTHORIZED = {"authorization": f"Bearer {TOKEN}"}


@dataclass
class Response:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    cookies: list[str] = field(default_factory=list)
    body: bytes = b""
    is_complete: bool = False

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def fields(self) -> list[str]:
        """The field paths of a refusal."""
        return [problem["field"] for problem in self.json["problems"]]


class Call:
    """One request under way: what was sent so far can be looked at, and the client can hang up."""

    def __init__(self, app: App, scope: dict[str, Any], chunks: list[bytes], *, is_whole: bool) -> None:
        self.response = Response()
        self.chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self.received = 0  # messages that the application took
        self._incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        for number, chunk in enumerate(chunks):
            more = number < len(chunks) - 1 or not is_whole
            self._incoming.put_nowait({"type": "http.request", "body": chunk, "more_body": more})
        self.task = asyncio.create_task(app(scope, self._receive, self._send))

    async def chunk(self) -> bytes:
        async with asyncio.timeout(60):
            return await self.chunks.get()

    def hang_up(self) -> None:
        self._incoming.put_nowait({"type": "http.disconnect"})

    async def finished(self) -> Response:
        async with asyncio.timeout(60):
            await self.task
        return self.response

    async def _receive(self) -> dict[str, Any]:
        self.received += 1
        return await self._incoming.get()

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.response.status = message["status"]
            self.response.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            self.response.cookies = [value.decode() for name, value in message["headers"] if name == b"set-cookie"]
            return
        self.response.body += message["body"]
        self.response.is_complete = not message.get("more_body", False)
        if message["body"]:
            self.chunks.put_nowait(message["body"])


class Client:
    def __init__(self, app: App) -> None:
        self._app = app

    def start(
        self,
        method: str,
        path: str,
        *,
        body: bytes | list[bytes] = b"",
        headers: dict[str, str] | None = None,
        is_whole: bool = True,
        peer: str = "",
    ) -> Call:
        """`is_whole` False leaves the body open: more of it never comes. `peer` is the address of the client."""
        path, _, query = path.partition("?")
        given = AUTHORIZED if headers is None else headers
        scope = {
            "type": "http",
            "method": method,
            "path": unquote(path),
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in given.items()],
            "client": (peer, 40_000),
        }
        return Call(self._app, scope, body if isinstance(body, list) else [body], is_whole=is_whole)

    async def call(self, method: str, path: str, **options: Any) -> Response:
        return await self.start(method, path, **options).finished()

    async def get(self, path: str, **options: Any) -> Response:
        return await self.call("GET", path, **options)

    async def post(self, path: str, document: object, **options: Any) -> Response:
        return await self.call("POST", path, body=json.dumps(document).encode(), **options)


def manifest(name: str | None = "render", **spec: object) -> dict[str, object]:
    metadata = {} if name is None else {"name": name}
    return {
        "apiVersion": "shunter.dev/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"command": ["/bin/true"], **spec},
    }
