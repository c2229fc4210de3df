"""STOMP over WebSocket on a real socket: heart-beats, limits, subscribers that stop reading, and the end."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import msgspec
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from shunter.api.http.server import serve
from shunter.api.stomp.hub import Hub
from shunter.api.stomp.outbox import OutboxLimits
from shunter.api.stomp.server import StompServer, StompSettings
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.testbeds import Slot, SlotPlace, TestbedStatus
from tests.contracts.memory_objects import MemoryObjectService
from tests.contracts.objects import batch_job, testbed
from tests.unit.api.fake_gateway import FakeGateway
from tests.unit.api.stomp.harness import BEARER, AnyReader, Peer, apply, peer, serving, until


@pytest.fixture
def beating(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shunter.api.stomp.session.HEARTBEAT_MS", 20)


@pytest.mark.usefixtures("beating")
async def test_heart_beats_go_both_ways(gateway: FakeGateway) -> None:
    """We beat as agreed; whoever does not is ended, and told."""
    async with serving(gateway) as server, peer(server, **BEARER) as one:
        await one.connected(heart_beat="400,20")  # silence is borne long enough for many beats, on a busy machine too
        assert (await one.receive_frame()).headers["message"] == "no heart-beat"
        assert one.beats >= 2


@pytest.mark.usefixtures("beating")
async def test_a_client_that_beats_is_kept(gateway: FakeGateway) -> None:
    async with serving(gateway) as server, peer(server, **BEARER) as one:
        await one.connected(heart_beat="500,20")
        await one.subscribe("/topic/jobs")
        hearing = asyncio.create_task(one.receive_frame())
        while one.beats < 160:  # it takes longer than a silent client is kept
            await one.socket.send("\n")
            await asyncio.sleep(0.01)
        await apply(gateway, batch_job())
        assert (await hearing).command == "MESSAGE"


class BareApp:
    """The server with settings of its own, without the application around it."""

    def __init__(self, **settings: Any) -> None:
        self.object_service = MemoryObjectService()
        self.hub = Hub(self.object_service)
        self._stomp = StompServer(self.hub, StompSettings(**settings))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._stomp.serve(scope, receive, send, lambda _token: AnyReader(), AnyReader())


async def test_who_does_not_connect_in_time_is_ended() -> None:
    server = await serve(BareApp(connect_s=0.05))
    async with peer(server) as one:
        assert (await one.receive_frame()).headers["message"] == "no CONNECT"
    await server.stop(0.1)


async def test_connections_are_limited() -> None:
    server = await serve(BareApp(connections_max=1))
    async with peer(server) as one:
        await one.connected()
        with pytest.raises(InvalidStatus, match="503"):
            async with peer(server):
                raise AssertionError
    await server.stop(0.1)


async def test_a_subscriber_that_stops_reading_is_cut_off_and_slows_nobody() -> None:
    """Its own outbox overflows; the other one gets every message. It is closed although it never reads."""
    app = BareApp(outbox=OutboxLimits(messages_max=20), disconnect_grace_s=0.1)
    slots = tuple(Slot(SlotPlace("node", number), 0, {"cpu": 100}) for number in range(200))
    await app.object_service.apply([testbed()], namespace="default")
    server = await serve(app)
    stalled = await stalled_subscriber(server.port, "/topic/testbeds/bench")
    async with connect(f"ws://127.0.0.1:{server.port}/scheduler", max_size=None) as opened:
        one = Peer(opened)
        await one.connected()
        await one.subscribe("/topic/testbeds")
        await until(lambda: app.hub.subscription_count == 2)
        told = 0
        while app.hub.subscription_count == 2:  # each change is some 50 kB for the one that does not read
            assert told < 2_000
            found: Any = await app.object_service.object("Testbed", ObjectName("default", "bench"))
            await app.object_service.put(msgspec.structs.replace(found, status=TestbedStatus(slots=slots)))
            assert await one.next_change() == ("MODIFIED", "bench")
            told += 1
        assert told > 20
        with pytest.raises((ConnectionResetError, EOFError)):
            await asyncio.wait_for(read_all(stalled), 10)
    await server.stop(0.1)


async def stalled_subscriber(port: int, destination: str) -> socket.socket:
    """A socket that has subscribed and does not read."""
    loop = asyncio.get_running_loop()
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    found.setblocking(False)
    await loop.sock_connect(found, ("127.0.0.1", port))
    handshake = (
        b"GET /scheduler HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    await loop.sock_sendall(found, handshake)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += await loop.sock_recv(found, 4096)
    assert b" 101 " in answer
    frames = f"CONNECT\naccept-version:1.2\n\n\0SUBSCRIBE\nid:0\ndestination:{destination}\n\n\0".encode()
    assert len(frames) < 126
    await loop.sock_sendall(found, bytes([0x81, 0x80 | len(frames), 0, 0, 0, 0]) + frames)
    return found


async def read_all(stalled: socket.socket) -> None:
    while await asyncio.get_running_loop().sock_recv(stalled, 65536):
        pass
    raise EOFError


async def test_a_manager_that_stops_ends_every_connection() -> None:
    server = await serve(BareApp())
    async with peer(server) as one:
        await one.connected()
        stopping = asyncio.create_task(server.stop(grace_s=0.1))
        with pytest.raises(ConnectionClosed):
            await one.receive_frame()
        await asyncio.wait_for(stopping, 10)
