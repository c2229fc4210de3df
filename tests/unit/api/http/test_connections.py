"""Connections have time-outs and a limit; streams and health checks are not affected by them."""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import ssl
import time
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from websockets.asyncio.client import connect

from shunter.adapters.certificates.authority import Authority
from shunter.adapters.certificates.issuing import Subject, key_pem, make_key, utc
from shunter.adapters.system.descriptors import raise_descriptor_limit
from shunter.api.http import connection
from shunter.api.http.app import OPEN_EXTERNAL_LISTENER, ApiSettings, build_app
from shunter.api.http.server import HttpServer, serve
from shunter.api.limits.connection_limits import ConnectionLimits, ConnectionTimeouts
from shunter.model.identity.certified_names import Bearer, CertifiedName
from shunter.ports.jobs import LogChunk
from tests.unit.api.asgi_client import AUTHORIZED, Client, manifest
from tests.unit.api.fake_gateway import FakeGateway
from tests.unit.api.live_server import live_server

SHORT = ConnectionTimeouts(header_s=0.05, body_pause_s=0.05, body_s=0.2, write_s=0.05, header_bytes_max=2_000)
PATIENT = replace(SHORT, header_s=10.0)  # for requests whose headers come
TOKEN = f"authorization: {AUTHORIZED['authorization']}\r\n"
HEALTH = "GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n"
WAIT_S = 20.0


async def start(limits: ConnectionLimits) -> tuple[HttpServer, FakeGateway]:
    gateway = FakeGateway()
    return await serve(build_app(gateway, ApiSettings(heartbeat_s=0.02)), limits=limits), gateway


async def converse(server: HttpServer, text: str) -> bytes:
    """Send something, and read until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(text.encode())
    try:
        async with asyncio.timeout(WAIT_S):
            return await reader.read()
    except ConnectionResetError:
        return b"reset"
    finally:
        writer.close()


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        ("GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: ", b"408", "the headers of the request did not come within"),
        (f"POST /api/v1/jobs HTTP/1.1\r\n{TOKEN}content-length: 10\r\n\r\nab", b"408", "the body of the request"),
        (f"POST /api/v1/jobs HTTP/1.1\r\n{TOKEN}transfer-encoding: chunked\r\n\r\n", b"408", "the body of the request"),
        ("GET /healthz HTTP/1.1\r\nx-long: " + "x" * 3_000, b"431", "may have 2,000 bytes"),
    ],
)
async def test_half_a_request_is_refused_in_time(text: str, status: bytes, words: str) -> None:
    timeouts = SHORT if "headers" in words else PATIENT
    server, _ = await start(ConnectionLimits(100, timeouts=timeouts))
    answer = await converse(server, text)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 " + status)
    assert words in json.loads(body)["detail"]
    await server.stop()


async def test_a_connection_that_sends_nothing_is_closed() -> None:
    limits = ConnectionLimits(100, timeouts=SHORT)
    server, _ = await start(limits)
    assert await converse(server, "") in (b"", b"reset")
    await server.stop()
    assert limits.open == 0


async def test_a_body_that_trickles_is_cut_off() -> None:
    server, _ = await start(ConnectionLimits(100, timeouts=PATIENT))
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(f"POST /api/v1/jobs HTTP/1.1\r\n{TOKEN}content-length: 1000\r\n\r\n".encode())
    answer = asyncio.create_task(reader.readuntil(b"\r\n\r\n"))
    async with asyncio.timeout(WAIT_S):
        while not answer.done():
            writer.write(b"x")
            await asyncio.sleep(0.01)
    assert (await answer).startswith(b"HTTP/1.1 408")
    writer.close()
    await server.stop()


async def test_streams_outlast_every_time_out() -> None:
    server, _ = await start(ConnectionLimits(100, timeouts=PATIENT))
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(f"GET /api/v1/events?follow=true HTTP/1.1\r\n{TOKEN}\r\n".encode())
    async with asyncio.timeout(WAIT_S):
        seen = b""
        while seen.count(b": still here") < 15:  # longer than all time-outs
            seen += await reader.read(4096)
    writer.close()
    await server.stop()


async def test_a_stream_whose_reader_stopped_reading_is_cut_off() -> None:
    limits = ConnectionLimits(100, timeouts=PATIENT)
    server, gateway = await start(limits)
    await Client(build_app(gateway)).post("/api/v1/jobs", manifest())
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(f"GET /api/v1/jobs/render/tasks/0/logs?follow=true HTTP/1.1\r\n{TOKEN}\r\n".encode())
    cast("asyncio.Transport", writer.transport).pause_reading()
    chunk, was_open = b"x" * 2**20, False
    async with asyncio.timeout(WAIT_S):
        while limits.open or not was_open:
            was_open = was_open or bool(limits.open)
            if gateway.chunks.qsize() < 4:
                gateway.chunks.put_nowait(LogChunk(chunk, 0, eof=False))
            await asyncio.sleep(0.01)
    del reader
    writer.close()
    await server.stop()


async def test_a_pipelined_request_may_wait_for_its_turn() -> None:
    server, _ = await start(ConnectionLimits(100, timeouts=PATIENT))
    one = f"GET /api/v1/cluster HTTP/1.1\r\n{TOKEN}\r\n"
    last = f"GET /api/v1/cluster HTTP/1.1\r\n{TOKEN}connection: close\r\n\r\n"
    assert (await converse(server, one + one + last)).count(b"HTTP/1.1 200") == 3
    await server.stop()


async def test_headers_that_began_during_an_answer_are_due_when_it_has_ended() -> None:
    """Each byte ends the time-out of an idle connection."""
    server, gateway = await start(ConnectionLimits(100, timeouts=replace(SHORT, header_bytes_max=2**20)))
    await Client(build_app(gateway)).post("/api/v1/jobs", manifest())
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(f"GET /api/v1/jobs/render/tasks/0/logs?follow=true HTTP/1.1\r\n{TOKEN}\r\n".encode())
    gateway.chunks.put_nowait(LogChunk(b"first", 0, eof=False))
    async with asyncio.timeout(WAIT_S):
        await reader.readuntil(b"first")
        writer.write(b"GET /")
        await asyncio.sleep(3 * SHORT.header_s)
        gateway.chunks.put_nowait(LogChunk(b"last", 0, eof=False))
        gateway.chunks.put_nowait(None)
        await reader.readuntil(b"last")
        answer = asyncio.create_task(reader.readuntil(b"HTTP/1.1 408"))
        while not answer.done():
            writer.write(b"x")
            await asyncio.sleep(0.01)
    await answer
    writer.close()
    await server.stop()


async def test_health_checks_are_answered_while_half_requests_fill_their_reserve() -> None:
    timeouts = ConnectionTimeouts(header_s=1_000.0, reserve_header_s=0.05)
    server, _ = await start(ConnectionLimits(1, health_reserve=1, timeouts=timeouts))
    taken = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(2)]
    for _, writer in taken:
        writer.write(b"GET /healthz HTTP/1.1\r\nx-slow: ")
    async with asyncio.timeout(WAIT_S):
        while not (await converse(server, HEALTH)).startswith(b"HTTP/1.1 200"):
            await asyncio.sleep(0.01)
    for _, writer in taken:
        writer.close()
    await server.stop()


async def open_stream(server: HttpServer) -> asyncio.StreamWriter:
    """A connection that is busy."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(f"GET /api/v1/events?follow=true HTTP/1.1\r\n{TOKEN}\r\n".encode())
    await reader.readuntil(b"HTTP/1.1 200")
    return writer


async def test_if_all_connections_are_busy_only_health_checks_are_answered() -> None:
    limits = ConnectionLimits(2, health_reserve=2)
    server, _ = await start(limits)
    taken = [await open_stream(server) for _ in range(2)]
    cluster = f"GET /api/v1/cluster HTTP/1.1\r\n{TOKEN}connection: close\r\n\r\n"
    websocket = "GET /scheduler HTTP/1.1\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n"
    assert (await converse(server, HEALTH)).startswith(b"HTTP/1.1 200")
    for text in (cluster, websocket):
        answer = await converse(server, text)
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"retry-after: " in answer
        assert b"more than 2 connections are open" in answer
    for writer in taken:
        writer.close()
    while limits.open:
        await asyncio.sleep(0.01)
    assert (await converse(server, cluster)).startswith(b"HTTP/1.1 200")
    await server.stop()


@pytest.mark.parametrize(
    "said", ["", "GET /api/v1/cluster HTTP/1.1\r\nx-slow: ", "POST /api/v1/jobs HTTP/1.1\r\ncontent-length: 9\r\n\r\n"],
    ids=["nothing", "half of the headers", "no body, and no token"],
)  # fmt: skip
async def test_whoever_owes_a_request_keeps_nobody_out(said: str) -> None:
    limits = ConnectionLimits(4, health_reserve=2)
    server, _ = await start(limits)
    cluster = f"GET /api/v1/cluster HTTP/1.1\r\n{TOKEN}connection: close\r\n\r\n"
    stream = await open_stream(server)
    taken = []
    for _ in range(20):
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(said.encode())
        taken.append(writer)
        for text in (HEALTH, cluster):
            assert (await converse(server, text)).startswith(b"HTTP/1.1 200")
        assert limits.open <= 4
    assert not stream.is_closing()
    for writer in (stream, *taken):
        writer.close()
    async with asyncio.timeout(WAIT_S):
        while limits.open:
            await asyncio.sleep(0.01)
    await server.stop()


async def test_handshakes_that_do_not_come_keep_nobody_out(tmp_path: Path) -> None:
    limits = ConnectionLimits(4, health_reserve=2)
    app = build_app(FakeGateway(), ApiSettings())
    server = await serve(app, limits=limits, tls=_server_context(tmp_path))
    trusting = ssl.create_default_context(cadata=Authority(tmp_path / "ca").bundle().decode())
    taken = []
    for _ in range(20):
        taken.append((await asyncio.open_connection("127.0.0.1", server.port))[1])
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=trusting)
        writer.write(HEALTH.encode())
        assert (await reader.read()).startswith(b"HTTP/1.1 200")
        writer.close()
        assert limits.open <= 4
    for each in taken:
        each.close()
    async with asyncio.timeout(WAIT_S):
        while limits.open:
            await asyncio.sleep(0.01)
    await server.stop()


def _server_context(folder: Path) -> ssl.SSLContext:
    key, now = make_key(), utc(time.time())
    authority = Authority(folder / "ca")
    authority.create("test", 1000.0, now)
    subject = Subject(CertifiedName(Bearer.MANAGER, "m1"), ("127.0.0.1",))
    (folder / "s.crt").write_bytes(authority.issue(subject, key.public_key(), 1000.0, now))
    (folder / "s.key").write_bytes(key_pem(key))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "s.crt", folder / "s.key")
    return context


async def test_a_client_between_two_requests_outlasts_whoever_never_sent_one() -> None:
    server, _ = await start(ConnectionLimits(3))
    ask = f"GET /api/v1/cluster HTTP/1.1\r\n{TOKEN}\r\n".encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    taken = []
    async with asyncio.timeout(WAIT_S):
        for _ in range(10):
            writer.write(ask)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
            taken.append((await asyncio.open_connection("127.0.0.1", server.port))[1])
    for each in (writer, *taken):
        each.close()
    await server.stop()


def test_the_limit_of_open_files_is_raised_and_leaves_some_for_workers() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
        assert ConnectionLimits().connections_max == 512 - 256 - 16
        assert raise_descriptor_limit() == 512
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == before[1]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_a_websocket_counts_until_it_ends() -> None:
    limits = ConnectionLimits(100, timeouts=PATIENT)
    server, _ = await start(limits)
    async with connect(f"ws://127.0.0.1:{server.port}/scheduler", additional_headers=AUTHORIZED):
        assert limits.open == 1
        await asyncio.sleep(3 * SHORT.header_s)  # longer than the time-outs of requests
        assert limits.open == 1
    async with asyncio.timeout(WAIT_S):
        while limits.open:
            await asyncio.sleep(0.01)
    await server.stop()


@pytest.mark.parametrize(
    ("target", "hosts", "status"),
    [
        ("/external/nothing", ["127.0.0.1"], b"404"),
        ("/external/nothing", ["127.0.0.1", "evil.example"], b"400"),
        ("/external/nothing", ["127.0.0.1", "127.0.0.1"], b"400"),
        ("http://evil.example/external/nothing", ["127.0.0.1"], b"403"),
        ("HTTP://127.0.0.1@evil.example/external/nothing", ["127.0.0.1"], b"403"),
        ("http://localhost:80/external/nothing", ["127.0.0.1"], b"404"),
    ],
)
async def test_a_request_has_one_host_and_an_absolute_uri_names_it(
    target: str, hosts: list[str], status: bytes
) -> None:
    """Whatever a proxy in front made of them, the check of the host sees what counts."""
    server = await serve(build_app(FakeGateway(), listener=OPEN_EXTERNAL_LISTENER))
    headers = "".join(f"host: {host}\r\n" for host in hosts)
    answer = await converse(server, f"GET {target} HTTP/1.1\r\n{headers}connection: close\r\n\r\n")
    assert answer.split(b" ", 2)[1] == status
    await server.stop()


@pytest.mark.parametrize(
    ("target", "hosts"),
    [("/scheduler", ["127.0.0.1", "evil.example"]), ("http://evil.example/scheduler", ["127.0.0.1"])],
)
async def test_a_websocket_has_one_host_too(target: str, hosts: list[str]) -> None:
    server = await serve(build_app(FakeGateway(), listener=OPEN_EXTERNAL_LISTENER))
    headers = "".join(f"host: {host}\r\n" for host in hosts) + "connection: upgrade\r\nupgrade: websocket\r\n"
    headers += "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    answer = await converse(server, f"GET {target} HTTP/1.1\r\n{headers}\r\n")
    assert answer.split(b" ", 2)[1] in (b"400", b"403", b"404"), answer
    await server.stop()


def _upload(port: int, version: str, size: int) -> bytes:
    """As simple clients do: send everything, then read; the server closes afterwards."""
    head = f"POST /api/v1/nodes/n1/drain HTTP/{version}\r\nhost: x\r\n{TOKEN}connection: close\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as peer:
        peer.sendall(f"{head}content-length: {size}\r\n\r\n".encode() + bytes(size))
        answer = b""
        while part := peer.recv(65_536):
            answer += part
    return answer


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_client_that_sends_a_body_over_the_limit_gets_its_answer_and_no_reset(version: str) -> None:
    with live_server() as (port, _):
        answer = _upload(port, version, 16 * 2**20)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"the body is larger than 65,536 bytes" in answer


def test_only_so_much_of_such_a_body_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "DRAINED_BYTES_MAX", 2**20)
    with live_server() as (port, _), pytest.raises((ConnectionResetError, BrokenPipeError)):
        _upload(port, "1.1", 64 * 2**20)
