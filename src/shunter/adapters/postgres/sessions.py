"""The connections of a PostgresStore: one that writes, and a bounded pool for everything else. Both open connections
when they need them, and again when one was lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from shunter.adapters.postgres.connection import ANSWER_TIMEOUT_S, Connection
from shunter.adapters.postgres.errors import FAILURES, translate
from shunter.model.errors import ShunterError, StoreFailed

POOL_MAX = 4

P = ParamSpec("P")
T = TypeVar("T")
Connect: TypeAlias = Callable[[], Awaitable[Connection]]


class Writer:
    """One connection and one statement at a time. Whoever waits for it may be cancelled: the statement runs to its end,
    because cancelling a commit could make the server skip its wait for a standby."""

    def __init__(self, public_url: str, connect: Connect) -> None:
        self._public_url = public_url
        self._connect = connect
        self._connection: Connection | None = None
        self._is_open = False
        self._turn = asyncio.Lock()

    async def open(self) -> None:
        self._is_open = True
        try:
            self._connection = await self._connect()
        except BaseException as error:
            self._is_open = False
            if isinstance(error, FAILURES):
                raise translate(error, self._public_url) from error
            raise

    async def close(self) -> None:
        """After everything that was handed over before. Closing twice does nothing."""
        self._is_open = False
        async with self._turn:
            connection, self._connection = self._connection, None
            await close_connection(connection)

    async def run(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The result or error of `work`, in our errors."""
        if not self._is_open:
            raise StoreFailed("it is not open", self._public_url)
        task = asyncio.get_running_loop().create_task(self._run(lambda connection: work(connection, *args, **kwargs)))
        task.add_done_callback(_retrieve_error)
        return await asyncio.shield(task)

    async def _run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        async with self._turn:
            try:
                if self._connection is None or self._connection.is_closed():
                    self._connection = await self._connect()
                # Ends the connection without a word to the server, where asyncpg's own time-out would cancel.
                silence = asyncio.get_running_loop().call_later(ANSWER_TIMEOUT_S, self._connection.terminate)
                try:
                    return await work(self._connection)
                finally:
                    silence.cancel()
            except FAILURES as error:
                raise translate(error, self._public_url) from error


class Pool:
    """At most POOL_MAX connections; who finds none free waits."""

    def __init__(self, public_url: str, connect: Connect) -> None:
        self._public_url = public_url
        self._connect = connect
        self._idle: list[Connection] = []
        self._slots = asyncio.Semaphore(POOL_MAX)
        self._is_open = False

    def open(self) -> None:
        self._is_open = True

    async def close(self) -> None:
        """After everything that was handed over before."""
        self._is_open = False
        for _ in range(POOL_MAX):
            await self._slots.acquire()
        while self._idle:
            await close_connection(self._idle.pop())
        for _ in range(POOL_MAX):
            self._slots.release()

    async def run(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The result or error of `work`, in our errors."""
        async with self._slots:
            if not self._is_open:
                raise StoreFailed("it is not open", self._public_url)
            connection: Connection | None = None
            try:
                connection = self._pop_idle() or await self._connect()
                result = await work(connection, *args, **kwargs)
            except (*FAILURES, ShunterError) as error:
                self._give_back(connection)
                if isinstance(error, ShunterError):
                    raise
                raise translate(error, self._public_url) from error
            except BaseException:
                if connection is not None:
                    connection.terminate()  # it may still be busy with a statement that nobody waits for
                raise
            self._give_back(connection)
            return result

    def _pop_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return None

    def _give_back(self, connection: Connection | None) -> None:
        if connection is not None and not connection.is_closed():
            if connection.is_in_transaction():
                connection.terminate()
            else:
                self._idle.append(connection)


async def close_connection(connection: Connection | None) -> None:
    if connection is None or connection.is_closed():
        return
    try:
        await connection.close(timeout=1.0)
    except FAILURES:
        connection.terminate()


def _retrieve_error(task: asyncio.Task[Any]) -> None:
    """The caller may be gone; then its error is nobody's."""
    if not task.cancelled():
        task.exception()
