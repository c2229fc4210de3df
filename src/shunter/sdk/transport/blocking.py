"""The blocking transport: keep-alive connections over plain sockets, which carry out the core's conversations.

Safe to use from several threads: a conversation takes a connection out of the idle ones for as long as it lasts.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from types import TracebackType
from typing import Any, TypeVar

from shunter.sdk.endpoint import Endpoint, Finder
from shunter.sdk.errors import ConnectionLost, NotReachable
from shunter.sdk.transport.http1 import ResponseParser, encode_probe, encode_request
from shunter.sdk.transport.sockets import (
    CONNECT_TIMEOUT_S,
    FAILOVER_CONNECT_TIMEOUT_S,
    IDLE_MAX,
    PROBE_TIMEOUT_S,
    RECEIVE_MAX_BYTES,
    SEND_TIMEOUT_S,
    Silence,
    check_scheme,
    not_reachable,
    set_socket_options,
)
from shunter.sdk.transport.steps import (
    Conversation,
    ConversationDriver,
    Emit,
    Pause,
    Read,
    Response,
    Send,
    Step,
    Switch,
)

T = TypeVar("T")


class Aborted(Exception):
    """`Transport.abort` was called in another thread."""


class Transport:
    """Carries out conversations; `perform` for the result alone, `stream` for the items on the way."""

    def __init__(self, find: Finder, sleep: Callable[[float], None] = time.sleep) -> None:
        self.find = find
        self._sleep = sleep
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()
        self._is_aborted = False

    def perform(self, conversation: Conversation[T]) -> T:
        streamed = self.stream(conversation)
        while True:
            try:
                next(streamed)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]

    def stream(self, conversation: Conversation[T]) -> Generator[Any, None, T]:
        driver = ConversationDriver(conversation)
        with _LeasedConnection(self) as leased:
            while (step := driver.step) is not None:
                if isinstance(step, Emit):
                    yield step.item
                    driver.answer(None)
                    continue
                try:
                    reply = leased.execute(step)
                except (ConnectionLost, NotReachable, TimeoutError) as error:
                    if self._is_aborted:
                        raise Aborted("the client was closed") from error
                    driver.fail(error)
                else:
                    driver.answer(reply)
        return driver.result

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def abort(self) -> None:
        """For good: whatever other threads do here ends at once with Aborted, and nothing is tried again."""
        self._is_aborted = True
        for connection in list(self._busy):
            connection.interrupt()
        self.close()

    def acquire_connection(self) -> Connection:
        """An idle connection that is still open, or a new one. Raises NotReachable."""
        connection = self._pop_idle() or Connection(self.find(), self.find.managers)
        self._busy.add(connection)
        if self._is_aborted:  # looked at after it was added: an abort that comes later finds it there
            self.release_connection(connection, False)
            raise ConnectionLost("the client was closed")
        return connection

    def _pop_idle(self) -> Connection | None:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:  # asked this way, because another thread may have taken the last one
                return None
            if connection.is_reusable_now() and self.find.is_current(connection.endpoint):
                return connection
            connection.close()

    def release_connection(self, connection: Connection, is_reusable: bool) -> None:
        self._busy.discard(connection)
        if is_reusable and len(self._idle) < IDLE_MAX and not self._is_aborted:
            self._idle.append(connection)
        else:
            connection.close()

    def pause(self, seconds: float) -> None:
        if seconds > 0:
            self._sleep(seconds)


class _LeasedConnection:
    """The connection of one conversation: taken at the first send, given back when its answer is complete."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._connection: Connection | None = None
        self._parser: ResponseParser | None = None
        self._position = 0  # of the manager that was asked last

    def __enter__(self) -> _LeasedConnection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release()

    def execute(self, step: Step) -> Any:
        if isinstance(step, Send):
            return self._send(step)
        if isinstance(step, Read):
            return self._read(step.timeout_s)
        if isinstance(step, Switch):
            self._release()
            return self._transport.find.skip(self._position)
        assert isinstance(step, Pause)
        return self._transport.pause(step.seconds)

    def _send(self, step: Send) -> Response:
        self._release()
        self._position = self._transport.find.position
        self._connection = self._transport.acquire_connection()
        self._parser = parser = ResponseParser()
        self._connection.send(encode_request(self._connection.endpoint, step.request, step.min_version))
        try:
            while parser.status is None:
                parser.feed(self._receive(self._connection, step.timeout_s))
        except ConnectionLost:
            check_scheme(self._connection.endpoint)
            raise
        response = Response(parser.status, parser.headers)
        if not step.stream or parser.status >= 300:
            while not parser.complete:
                parser.feed(self._receive(self._connection, step.timeout_s))
            response.body = parser.take_body()
            self._release()
        return response

    def _read(self, timeout_s: float | None) -> bytes:
        assert self._connection is not None and self._parser is not None
        while not (data := self._parser.take_body()) and not self._parser.complete:
            self._parser.feed(self._receive(self._connection, timeout_s))
        return data

    def _receive(self, connection: Connection, timeout_s: float | None) -> bytes:
        silence = Silence(timeout_s, is_probed=self._transport.find.managers > 1)
        while True:
            try:
                return connection.receive(silence.wait_s)
            except TimeoutError:
                silence.on_timeout()
                _probe(connection.endpoint)

    def _release(self) -> None:
        if self._connection is None:
            return
        self._transport.release_connection(self._connection, self._parser is not None and self._parser.reusable)
        self._connection = self._parser = None


class Connection:
    """One socket to the cluster. Errors of the network come out as NotReachable or ConnectionLost."""

    def __init__(self, endpoint: Endpoint, managers: int = 1) -> None:
        self.endpoint = endpoint
        try:
            self._socket = _connect(endpoint, CONNECT_TIMEOUT_S if managers == 1 else FAILOVER_CONNECT_TIMEOUT_S)
        except OSError as error:
            raise not_reachable(endpoint, error, managers) from error

    def send(self, data: bytes) -> None:
        try:
            self._socket.settimeout(SEND_TIMEOUT_S)
            self._socket.sendall(data)
        except OSError as error:
            raise ConnectionLost(f"the connection to {self.endpoint.url} broke: {error}") from error

    def receive(self, timeout_s: float | None) -> bytes:
        """Raises TimeoutError when nothing came in that time."""
        try:
            self._socket.settimeout(timeout_s)
            return self._socket.recv(RECEIVE_MAX_BYTES)
        except TimeoutError:
            raise
        except OSError as error:
            raise ConnectionLost(f"the connection to {self.endpoint.url} broke: {error}") from error

    def is_reusable_now(self) -> bool:
        """An idle connection with something to read has been closed by the other side."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def interrupt(self) -> None:
        """Wakes whoever reads from it in another thread."""
        with suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # that of TLS must not run next to a reader

    def close(self) -> None:
        self._socket.close()


def _probe(endpoint: Endpoint) -> None:
    """Raises ConnectionLost if a manager that is silent does not run; see `sockets`."""
    try:
        with closing(_connect(endpoint, PROBE_TIMEOUT_S)) as connected:
            connected.sendall(encode_probe(endpoint))
            connected.recv(RECEIVE_MAX_BYTES)
    except ConnectionResetError:
        return  # a manager that closes connections runs
    except OSError as error:
        raise ConnectionLost(f"{endpoint.url} does not answer any more") from error


def _connect(endpoint: Endpoint, timeout_s: float) -> socket.socket:
    # As bytes, because a host given as text loads the codec for international names: 5 ms of a command's start.
    host = endpoint.host.encode() if endpoint.host.isascii() else endpoint.host
    connected = socket.create_connection((host, endpoint.port), timeout_s)  # type: ignore[arg-type]
    set_socket_options(connected)
    if not endpoint.tls:
        return connected
    from shunter.sdk.transport.tls import client_context

    try:
        return client_context(endpoint).wrap_socket(connected, server_hostname=endpoint.host)
    except BaseException:
        connected.close()
        raise
