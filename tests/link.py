"""A TCP link between a client and a server that a test can cut without either end noticing."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class Link:
    """Listens on a free port of loopback and forwards to `target` (host:port)."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = host, int(port)
        self._is_cut = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.address = ""

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        self._server.close()
        await self._drop_connections()

    def cut(self) -> None:
        """From now on no byte passes; connections stay open, and new ones are accepted."""
        self._is_cut.set()

    async def heal(self) -> None:
        """Old connections have lost bytes, so they break; new ones work."""
        await self._drop_connections()
        self._is_cut = asyncio.Event()

    async def _drop_connections(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if self._is_cut.is_set():
                await asyncio.get_running_loop().create_future()
            far_reader, far_writer = await asyncio.open_connection(*self._target)
            try:
                await asyncio.gather(self._pump(reader, far_writer), self._pump(far_reader, writer))
            finally:
                far_writer.transport.abort()
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_cut = self._is_cut
        while data := await reader.read(65536):
            if is_cut.is_set():
                await asyncio.get_running_loop().create_future()
            writer.write(data)
            await writer.drain()
        with suppress(OSError):
            writer.write_eof()
