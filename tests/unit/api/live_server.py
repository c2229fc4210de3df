"""The real application on a real socket, in its own thread, for clients that block."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvloop

from shunter.api.http.app import ApiSettings, build_app
from shunter.api.http.server import HttpServer, serve

from .fake_gateway import FakeGateway


@contextmanager
def live_server() -> Iterator[tuple[int, FakeGateway]]:
    """The port, and the gateway behind it."""
    loop = uvloop.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def start() -> tuple[FakeGateway, HttpServer]:
        gateway = FakeGateway()
        return gateway, await serve(build_app(gateway, ApiSettings(heartbeat_s=0.05)))

    gateway, server = asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    try:
        yield server.port, gateway
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(grace_s=0.1), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
