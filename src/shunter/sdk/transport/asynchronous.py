"""The async transport: keep-alive connections over asyncio streams, which carry out the core's conversations.

For one event loop; conversations run concurrently, each on its own connection."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import suppress
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
from shunter.sdk.transport.tls import client_context

T = TypeVar("T")


class Transport:
    """Carries out conversations; `perform` for the result alone, `stream` for the items on the way."""

    def __init__(self, find: Finder) -> None:
        self.find = find
        self._idle: list[Connection] = []

    async def perform(self, conversation: Conversation[T]) -> T:
        driver = ConversationDriver(conversation)
        async for _ in self._execute(driver):
            pass
        return driver.result

    def stream(self, conversation: Conversation[Any]) -> AsyncGenerator[Any, None]:
        return self._execute(ConversationDriver(conversation))

    async def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    async def acquire_connection(self) -> Connection:
        """An idle connection that is still open, or a new one. Raises NotReachable."""
        while self._idle:
            connection = self._idle.pop()
            if connection.open and self.find.is_current(connection.endpoint):
                return connection
            connection.close()
        return await open_connection(self.find(), self.find.managers)

    def release_connection(self, connection: Connection) -> None:
        if len(self._idle) < IDLE_MAX:
            self._idle.append(connection)
        else:
            connection.close()

    async def _execute(self, driver: ConversationDriver[Any]) -> AsyncGenerator[Any, None]:
        leased = _LeasedConnection(self)
        try:
            while (step := driver.step) is not None:
                if isinstance(step, Emit):
                    yield step.item
                    driver.answer(None)
                    continue
                try:
                    reply = await leased.execute(step)
                except (ConnectionLost, NotReachable, TimeoutError) as error:
                    driver.fail(error)
                else:
                    driver.answer(reply)
        finally:
            leased.release()


class _LeasedConnection:
    """The connection of one conversation: taken at the first send, given back when its answer is complete."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._connection: Connection | None = None
        self._parser: ResponseParser | None = None
        self._position = 0  # of the manager that was asked last

    async def execute(self, step: Step) -> Any:
        if isinstance(step, Send):
            return await self._send(step)
        if isinstance(step, Read):
            return await self._read(step.timeout_s)
        if isinstance(step, Switch):
            self.release()
            return self._transport.find.skip(self._position)
        assert isinstance(step, Pause)
        return await asyncio.sleep(step.seconds)

    async def _send(self, step: Send) -> Response:
        self.release()
        self._position = self._transport.find.position
        self._connection = await self._transport.acquire_connection()
        self._parser = parser = ResponseParser()
        await self._connection.send(encode_request(self._connection.endpoint, step.request, step.min_version))
        try:
            while parser.status is None:
                parser.feed(await self._receive(self._connection, step.timeout_s))
        except ConnectionLost:
            await asyncio.to_thread(check_scheme, self._connection.endpoint)
            raise
        response = Response(parser.status, parser.headers)
        if not step.stream or parser.status >= 300:
            while not parser.complete:
                parser.feed(await self._receive(self._connection, step.timeout_s))
            response.body = parser.take_body()
            self.release()
        return response

    async def _read(self, timeout_s: float | None) -> bytes:
        assert self._connection is not None and self._parser is not None
        while not (data := self._parser.take_body()) and not self._parser.complete:
            self._parser.feed(await self._receive(self._connection, timeout_s))
        return data

    async def _receive(self, connection: Connection, timeout_s: float | None) -> bytes:
        silence = Silence(timeout_s, is_probed=self._transport.find.managers > 1)
        while True:
            try:
                return await connection.receive(silence.wait_s)
            except TimeoutError:
                silence.on_timeout()
                await _probe(connection.endpoint)

    def release(self) -> None:
        if self._connection is None:
            return
        if self._parser is not None and self._parser.reusable:
            self._transport.release_connection(self._connection)
        else:
            self._connection.close()
        self._connection = self._parser = None


class Connection:
    """One connection to the cluster. Errors of the network come out as ConnectionLost."""

    def __init__(self, endpoint: Endpoint, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.endpoint = endpoint
        self._reader = reader
        self._writer = writer

    @property
    def open(self) -> bool:
        return not self._reader.at_eof() and not self._writer.is_closing()

    async def send(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            async with asyncio.timeout(SEND_TIMEOUT_S):
                await self._writer.drain()
        except OSError as error:
            raise ConnectionLost(f"the connection to {self.endpoint.url} broke: {error}") from error

    async def receive(self, timeout_s: float | None) -> bytes:
        """Raises TimeoutError when nothing came in that time."""
        try:
            async with asyncio.timeout(timeout_s):
                return await self._reader.read(RECEIVE_MAX_BYTES)
        except TimeoutError:
            raise
        except OSError as error:
            raise ConnectionLost(f"the connection to {self.endpoint.url} broke: {error}") from error

    def close(self) -> None:
        self._writer.close()


async def _probe(endpoint: Endpoint) -> None:
    """Raises ConnectionLost if a manager that is silent does not run; see `sockets`."""
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            connection = await open_connection(endpoint)
            try:
                with suppress(ConnectionLost):  # a manager that closes connections runs
                    await connection.send(encode_probe(endpoint))
                    await connection.receive(PROBE_TIMEOUT_S)
            finally:
                connection.close()
    except (TimeoutError, NotReachable) as error:
        raise ConnectionLost(f"{endpoint.url} does not answer any more") from error


async def open_connection(endpoint: Endpoint, managers: int = 1) -> Connection:
    """A new connection. Raises NotReachable."""
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S if managers == 1 else FAILOVER_CONNECT_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(
                endpoint.host, endpoint.port, ssl=client_context(endpoint) if endpoint.tls else None
            )
    except OSError as error:
        raise not_reachable(endpoint, error, managers) from error
    connected: socket.socket | None = writer.get_extra_info("socket")
    if connected is not None:
        set_socket_options(connected)
    return Connection(endpoint, reader, writer)
