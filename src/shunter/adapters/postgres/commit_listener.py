"""Hears of commits by LISTEN, on a connection of its own. It is a hint: without the connection, those who wait go on
after their time-out, and it is opened again."""

from __future__ import annotations

import asyncio
from typing import Any

from shunter.adapters.postgres.connection import Connection
from shunter.adapters.postgres.errors import FAILURES
from shunter.adapters.postgres.rounds import read_last_version
from shunter.adapters.postgres.sessions import Connect, close_connection
from shunter.log import Log
from shunter.model.errors import StoreFailed
from shunter.ports.commit_signal import CommitSignal

RETRY_MIN_S = 0.1
RETRY_MAX_S = 5.0

log = Log(__name__)


class CommitListener:
    """Begins to listen with the first `wait`, because a manager that is alone never waits."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._signal = CommitSignal()
        self._listening: asyncio.Task[None] | None = None

    async def wait(self, after_version: int, timeout_s: float) -> None:
        if self._listening is None:
            self._listening = asyncio.get_running_loop().create_task(self._listen_until_closed())
        await self._signal.wait(after_version, timeout_s)

    async def close(self) -> None:
        listening, self._listening = self._listening, None
        if listening is not None:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _listen_until_closed(self) -> None:
        retry_s = RETRY_MIN_S
        while True:
            try:
                await self._listen()
                retry_s = RETRY_MIN_S
            except (*FAILURES, StoreFailed) as error:
                log.warning("store.listener_lost", error=error, retry_s=retry_s)
                retry_s = min(2 * retry_s, RETRY_MAX_S)
            await asyncio.sleep(retry_s)

    async def _listen(self) -> None:
        """Returns when the connection is lost."""
        connection = await self._connect()
        lost = asyncio.Event()
        try:
            connection.add_termination_listener(lambda _: lost.set())
            channel = await connection.fetchval("SELECT 'shunter_' || 'leadership'::regclass::oid")
            await connection.add_listener(channel, self._on_notify)
            self._signal.announce(await read_last_version(connection))  # commits may have come before
            await lost.wait()
        finally:
            await close_connection(connection)

    def _on_notify(self, _connection: Connection, _pid: int, _channel: str, payload: Any) -> None:
        self._signal.announce(int(payload))
