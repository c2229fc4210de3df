"""Connects a worker and the watcher inside one process, without copying: the embedded default. Called by the app.

Messages arrive in later turns of the event loop and in order, as over a network, so neither side can call itself
through the other. A connection that the watcher closes is reopened, as the gRPC client does."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from shunter.log import Log
from shunter.model.protocol.worker_messages import ManagerMessage, WorkerMessage
from shunter.ports.workers import WorkerAcceptor, WorkerHandler

RECONNECT_S = 0.1
BACKLOG_MAX = 100_000  # messages of the worker that the engine has not taken yet

log = Log(__name__)


def connect_in_process(acceptor: WorkerAcceptor, handler: WorkerHandler) -> InProcessWorker:
    """Connects at once; `close` ends it for good."""
    worker = InProcessWorker(acceptor, handler)
    worker.open()
    return worker


class InProcessWorker:
    """Keeps one connection open."""

    def __init__(self, acceptor: WorkerAcceptor, handler: WorkerHandler) -> None:
        self._acceptor = acceptor
        self._handler = handler
        self._connection: _Connection | None = None
        self._reopen_timer: asyncio.TimerHandle | None = None
        self._closed = False

    def open(self) -> None:
        self._connection = _Connection(self._acceptor, self._handler, self._connection_ended)
        self._handler.connected(self._connection.uplink)

    def close(self, reason: str) -> None:
        """Messages that the worker has sent are still delivered."""
        self._closed = True
        if self._reopen_timer is not None:
            self._reopen_timer.cancel()
        if self._connection is not None:
            self._connection.close_from_worker(reason)

    def _connection_ended(self) -> None:
        self._connection = None
        if not self._closed:
            self._reopen_timer = asyncio.get_running_loop().call_later(RECONNECT_S, self.open)


class _Connection:
    """One connection: `send_down` to the worker by the loop's queue, `send_up` to the session by a task that lives
    while there is something to hand over."""

    def __init__(self, acceptor: WorkerAcceptor, handler: WorkerHandler, on_end: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._handler = handler
        self._on_end = on_end
        self._open = True
        self._backlog: deque[WorkerMessage] = deque()
        self._pump: asyncio.Task[None] | None = None
        self.uplink = _Uplink(self)
        self._session = acceptor.connect(_Link(self))

    def send_down(self, message: ManagerMessage) -> None:
        if self._open:
            self._loop.call_soon(self._deliver, message)

    def send_up(self, message: WorkerMessage) -> None:
        if not self._open:
            return
        if len(self._backlog) >= BACKLOG_MAX:
            self.close(f"more than {BACKLOG_MAX} messages of the worker are pending")
            return
        self._backlog.append(message)
        if self._pump is None:
            self._pump = self._loop.create_task(self._deliver_backlog())

    def close(self, reason: str) -> None:
        """The manager's side closes it: messages to the worker still arrive, messages from it do not."""
        if self._open:
            self._open = False
            self._loop.call_soon(self._end, reason)

    def close_from_worker(self, reason: str) -> None:
        if self._open:
            self._open = False
            if self._pump is None:
                self._loop.call_soon(self._end, reason)
            else:
                self._pump.add_done_callback(lambda _: self._end(reason))

    async def _deliver_backlog(self) -> None:
        while self._backlog:
            await self._session.received(self._backlog.popleft())
        self._pump = None

    def _deliver(self, message: ManagerMessage) -> None:
        try:
            self._handler.received(message)
        except Exception:
            log.exception("message.failed", kind=type(message).__name__)

    def _end(self, reason: str) -> None:
        self._session.closed(reason)
        self._handler.disconnected(reason)
        self._on_end()


class _Link:
    """The manager's end."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection

    def send(self, message: ManagerMessage) -> None:
        self._connection.send_down(message)

    def close(self, reason: str) -> None:
        self._connection.close(reason)


class _Uplink:
    """The worker's end."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection

    def send(self, message: WorkerMessage) -> None:
        self._connection.send_up(message)

    def close_after_flush(self) -> None:
        self._connection.close_from_worker("the worker reconnects")
