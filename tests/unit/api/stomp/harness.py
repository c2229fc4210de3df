"""A STOMP client that shows every WebSocket message and frame, against the real server on a real socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from shunter.api.http.app import Listener, build_app
from shunter.api.http.server import HttpServer, serve
from shunter.api.stomp.frames import Decoder, Frame
from tests.unit.api.fake_gateway import TOKEN, FakeGateway

PATIENCE_S = 60.0
BEARER: dict[str, Any] = {"additional_headers": {"authorization": f"Bearer {TOKEN}"}}


class AnyReader:
    """Sees all namespaces."""

    default_namespace = "default"

    def sees(self, _namespace: str) -> bool:
        return True

    def is_permitted(self, _token: str) -> bool:
        return True


class Peer:
    """Frames out and in. What is a heart-beat is counted, not returned."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.beats = 0
        self._decoder = Decoder()

    async def send_frame(self, command: str, **headers: str) -> None:
        lines = [command, *(f"{name.replace('_', '-')}:{value}" for name, value in headers.items())]
        await self.socket.send("\n".join(lines) + "\n\n\0")

    async def receive_frame(self) -> Frame:
        async with asyncio.timeout(PATIENCE_S):
            while (frame := self._decoder.next()) is None:
                text = await self.socket.recv()
                self.beats += text == "\n"
                self._decoder.feed(text.encode() if isinstance(text, str) else text)
            return frame

    async def connected(self, **headers: str) -> Frame:
        await self.send_frame("CONNECT", **{"accept-version": "1.2", "host": "here", **headers})
        return await self.receive_frame()

    async def subscribe(self, destination: str, id: str = "0", **headers: str) -> None:
        """Returns when it is heard of."""
        await self.send_frame("SUBSCRIBE", id=id, destination=destination, receipt="subscribed", **headers)
        assert (await self.receive_frame()).headers == {"receipt-id": "subscribed"}

    async def next_change(self) -> tuple[str, Any]:
        """Action and resource of the next message."""
        frame = await self.receive_frame()
        assert (frame.command, frame.headers["content-type"]) == ("MESSAGE", "application/json"), frame
        said = json.loads(frame.body)
        assert list(said) == ["action", "resource"]
        return said["action"], said["resource"]


@asynccontextmanager
async def serving(gateway: FakeGateway, listener: Listener | None = None) -> AsyncIterator[HttpServer]:
    server = await serve(build_app(gateway, listener=listener))
    try:
        yield server
    finally:
        await server.stop(grace_s=0.1)


@asynccontextmanager
async def peer(server: HttpServer, path: str = "/scheduler", **options: Any) -> AsyncIterator[Peer]:
    async with connect(f"ws://127.0.0.1:{server.port}{path}", ping_interval=None, **options) as socket:
        yield Peer(socket)


async def until(condition: Any) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.005)


async def apply(gateway: FakeGateway, *documents: object, namespace: str = "default") -> None:
    await gateway.objects.apply(documents, namespace=namespace)
