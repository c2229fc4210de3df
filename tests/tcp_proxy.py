"""A TCP proxy for tests: it forwards, holds back or cuts what passes through it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

CHUNK_BYTES = 64 * 1024


class TcpProxy:
    """`rewrite_answer` sees each chunk that the server sends, before the client does."""

    def __init__(self, port: int, rewrite_answer: Callable[[bytes], bytes] = lambda data: data) -> None:
        self._target_port = port
        self._rewrite_answer = rewrite_answer
        self._clients: list[asyncio.StreamWriter] = []
        self._servers: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._released = asyncio.Event()
        self._released.set()
        self.held = asyncio.Event()  # set when something from a client is held back
        self.port = 0

    def hold_requests(self) -> None:
        """From now on, what clients send is on its way and does not arrive."""
        self.held.clear()
        self._released.clear()

    def release_requests(self) -> None:
        """Deliver what was held back, even if its client is gone."""
        self._released.set()

    def cut_clients(self) -> None:
        """Clients lose their connections; the server does not notice."""
        for client in self._clients:
            client.transport.abort()
        self._clients.clear()

    async def _serve(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        server_reader, server = await asyncio.open_connection("127.0.0.1", self._target_port)
        self._clients.append(client)
        self._servers.append(server)
        for work in (self._forward_requests(reader, server), self._forward_answers(server_reader, client)):
            task = asyncio.create_task(work)
            self._tasks.add(task)

    async def _forward_requests(self, reader: asyncio.StreamReader, server: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK_BYTES):
                if not self._released.is_set():
                    self.held.set()
                    await self._released.wait()
                server.write(data)
                await server.drain()

    async def _forward_answers(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK_BYTES):
                client.write(self._rewrite_answer(data))
                await client.drain()
        client.close()

    async def _close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in (*self._clients, *self._servers):
            writer.transport.abort()


@asynccontextmanager
async def tcp_proxy(port: int, rewrite_answer: Callable[[bytes], bytes] = lambda data: data) -> AsyncIterator[TcpProxy]:
    proxy = TcpProxy(port, rewrite_answer)
    server = await asyncio.start_server(proxy._serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy._close()
