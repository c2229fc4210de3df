"""The application behind a real socket: keep-alive connections, unread bodies, clients that disconnect."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket

import pytest

from shunter.api.http.app import build_app
from shunter.api.http.server import serve, serve_socket
from tests.unit.api.asgi_client import AUTHORIZED, manifest
from tests.unit.api.fake_gateway import FakeGateway
from tests.unit.api.live_server import live_server


def ask(connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    connection.request(method, path, body=body, headers=AUTHORIZED)
    response = connection.getresponse()
    return response.status, response.read()


def test_a_connection_is_kept_after_answers_refusals_and_unread_bodies() -> None:
    with live_server() as (port, _):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.connect()
        first = connection.sock.getsockname()
        assert ask(connection, "GET", "/api/v1/cluster")[0] == 200
        assert ask(connection, "POST", "/api/v1/jobs", b" " * 50_000_000)[0] == 413
        assert ask(connection, "POST", "/api/v1/cluster", b" " * 5_000_000)[0] == 405
        connection.request("POST", "/api/v1/jobs", body=b" " * 5_000_000)
        response = connection.getresponse()
        assert (response.status, response.read() != b"") == (401, True)
        assert ask(connection, "GET", "/api/v1/cluster")[0] == 200
        assert connection.sock.getsockname() == first
        connection.close()


def test_a_job_is_followed_line_by_line_over_one_connection() -> None:
    with live_server() as (port, gateway):
        gateway.is_eager = True
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for _ in range(3):
            body = json.dumps(manifest(None)).encode()
            status, lines = ask(connection, "POST", "/api/v1/jobs?follow=end", body)
            assert (status, len(lines.splitlines())) == (201, 2)
        connection.close()


async def test_port_zero_finds_a_free_one_and_a_taken_one_is_an_error() -> None:
    app = build_app(FakeGateway())
    server = await serve(app)
    assert server.port > 0
    with pytest.raises(OSError, match="in use"):
        await serve(app, port=server.port)
    await server.stop()
    again = await serve(app, port=server.port)
    await again.stop()


async def test_a_socket_that_is_bound_already_is_served() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    server = await serve_socket(build_app(FakeGateway()), listening)
    assert server.port == listening.getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    assert b'{"status":"ok"}' in await reader.read()
    writer.close()
    await server.stop()


async def open_stream(port: int, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    token = AUTHORIZED["authorization"]
    writer.write(f"GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: {token}\r\n\r\n".encode())
    await reader.readuntil(b"\r\n\r\n")
    return reader, writer


async def test_a_closed_connection_ends_the_work_behind_its_stream() -> None:
    gateway = FakeGateway()
    server = await serve(build_app(gateway))
    _, writer = await open_stream(server.port, "/api/v1/events?follow=true")
    assert gateway.streams_open == 1
    writer.close()
    async with asyncio.timeout(60):
        await gateway.stream_closed.wait()
    await server.stop()


async def test_stopping_ends_streams_properly_and_takes_no_more_connections() -> None:
    gateway = FakeGateway()
    server = await serve(build_app(gateway))
    reader, writer = await open_stream(server.port, "/api/v1/events?follow=true")
    async with asyncio.timeout(60):
        await server.stop(grace_s=0.01)
        rest = await reader.read()
    assert rest.endswith(b"0\r\n\r\n")
    assert gateway.streams_open == 0
    writer.close()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", server.port)
