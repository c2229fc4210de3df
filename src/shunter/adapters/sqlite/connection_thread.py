"""The threads that own connections. SqliteStore has one for writes and one for reads, so that a query never waits for a
commit."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Concatenate, ParamSpec, TypeVar

from shunter.adapters.sqlite.errors import SQLITE_ERRORS, translate
from shunter.log import Log
from shunter.model.errors import StoreFailed

P = ParamSpec("P")
T = TypeVar("T")

log = Log(__name__)


class ConnectionThread:
    """A thread that owns one connection and works on what it is handed, in order.

    The hand-over is one queue and one wake-up of the event loop, because every submit and every result waits for it.
    """

    def __init__(self, name: str, path: Path, after_each: Callable[[sqlite3.Connection], None] | None = None) -> None:
        self._name = name
        self._path = str(path)
        self._after_each = after_each
        self._connection: sqlite3.Connection | None = None
        self._commands: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def open(self, connect: Callable[[], sqlite3.Connection]) -> None:
        """May be called again after `close`."""
        if self._thread is not None:
            raise StoreFailed("it is already open", self._path)
        self._thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
        self._thread.start()
        try:
            self._connection = await self._call(connect)
        except BaseException:
            self._stop()
            raise

    async def run(self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result or error of `work`, in our errors. It runs to its end even if the caller is cancelled."""
        connection = self._connection
        if connection is None:
            raise StoreFailed("it is not open", self._path)
        return await self._call(lambda: work(connection, *args, **kwargs))

    def post(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Run work without waiting for it; from any thread. Errors are logged."""
        connection = self._connection
        if connection is None:
            return
        self._commands.put(lambda: self._run_maintenance(work, connection))

    async def close(self) -> None:
        """After everything that was handed over before. Closing twice does nothing."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            await self._call(connection.close)
        finally:
            self._stop()

    def _stop(self) -> None:
        self._commands.put(None)
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    async def _call(self, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def command() -> None:
            result: Any = None
            problem: BaseException | None = None
            try:
                result = work()
            except SQLITE_ERRORS as error:
                problem = translate(error, self._path)
                problem.__cause__ = error
            except Exception as error:
                problem = error
            try:
                loop.call_soon_threadsafe(_resolve, future, result, problem)
            except RuntimeError:
                log.warning("store.answer_dropped", reason="the event loop is closed")

        self._commands.put(command)
        return await future

    def _serve(self) -> None:
        while (command := self._commands.get()) is not None:
            command()
            del command  # it may hold a large body, and the next one may come much later
            if self._after_each is not None and self._connection is not None:
                self._run_maintenance(self._after_each, self._connection)

    def _run_maintenance(self, work: Callable[[sqlite3.Connection], None], connection: sqlite3.Connection) -> None:
        try:
            work(connection)
        except Exception:
            log.exception("store.maintenance_failed", path=self._path)


def _resolve(future: asyncio.Future[T], result: T, problem: BaseException | None) -> None:
    if future.done():  # its caller was cancelled
        return
    if problem is not None:
        future.set_exception(problem)
    else:
        future.set_result(result)
