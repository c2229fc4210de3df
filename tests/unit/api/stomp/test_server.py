"""STOMP over WebSocket on a real socket: topics, tokens, heart-beats, SockJS, and subscribers that stop reading."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import msgspec
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from shunter.api.app import EXTERNAL_DOOR, OPEN_EXTERNAL_DOOR
from shunter.api.server import serve
from shunter.api.stomp.hub import Hub
from shunter.api.stomp.outbox import OutboxLimits
from shunter.api.stomp.server import StompServer, StompSettings
from shunter.model.errors import Gone
from shunter.model.object_meta import ObjectName
from shunter.model.testbeds import Slot, SlotPlace, TestbedStatus
from shunter.ports.callers import Caller
from tests.contracts.memory_objects import MemoryObjectDesk
from tests.contracts.objects import batch_job, scheduling, testbed
from tests.unit.api.fake_gateway import TOKEN, FakeGateway

from .stage import Peer, peer, serving, until

ME = Caller("tester")
BEARER: dict[str, Any] = {"additional_headers": {"authorization": f"Bearer {TOKEN}"}}


@pytest.fixture
def gateway() -> FakeGateway:
    return FakeGateway()


async def apply(gateway: FakeGateway, *documents: object, namespace: str = "default") -> None:
    await gateway.objects.apply(ME, documents, namespace=namespace)


# ---- topics ----


async def test_a_change_is_told_once_on_both_topics(gateway: FakeGateway) -> None:
    async with serving(gateway) as server, peer(server, **BEARER) as all_of_it, peer(server, **BEARER) as one:
        for each in (all_of_it, one):
            assert (await each.connected()).headers["version"] == "1.2"
        await all_of_it.subscribe("/topic/jobs")
        await one.subscribe("/topic/jobs/crawler")
        await apply(gateway, batch_job(), batch_job("sorter"))
        await gateway.objects.write_external(ME, ObjectName("default", "crawler"), {"mine": [{"a": "b"}]})
        await gateway.objects.delete(ME, "BatchJob", ObjectName("default", "crawler"))
        assert [await all_of_it.news() for _ in range(4)] == [
            ("ADDED", "crawler"), ("ADDED", "sorter"), ("MODIFIED", "crawler"), ("DELETED", "crawler"),
        ]  # fmt: skip
        view = {"name": "crawler", "state": "ReadyState", "externalScheduler": {}, "scheduledEvents": []}
        changed = view | {"externalScheduler": {"mine": [{"a": "b"}]}}
        assert [await one.news() for _ in range(3)] == [("ADDED", view), ("MODIFIED", changed), ("DELETED", changed)]


async def test_every_kind_has_its_topics(gateway: FakeGateway) -> None:
    async with serving(gateway) as server, peer(server, **BEARER) as one:
        await one.connected()
        for kind, name in (("testbeds", "bench"), ("jobs", "crawler"), ("schedulings", "first")):
            await one.subscribe(f"/topic/{kind}", f"all-{kind}")
            await one.subscribe(f"/topic/{kind}/{name}", f"one-{kind}")
        await apply(gateway, testbed(), batch_job(), scheduling())
        frames = [await one.hear() for _ in range(6)]
        assert [(frame.headers["subscription"], frame.headers["destination"]) for frame in frames] == [
            ("all-testbeds", "/topic/testbeds"), ("one-testbeds", "/topic/testbeds/bench"),
            ("all-jobs", "/topic/jobs"), ("one-jobs", "/topic/jobs/crawler"),
            ("all-schedulings", "/topic/schedulings"), ("one-schedulings", "/topic/schedulings/first"),
        ]  # fmt: skip
        assert len({frame.headers["message-id"] for frame in frames}) == 6
        assert json.loads(frames[5].body)["resource"]["queue"] == ["crawler"]


async def test_equal_names_in_two_namespaces_stay_distinct(gateway: FakeGateway) -> None:
    """S1-32."""
    async with serving(gateway) as server, peer(server, **BEARER) as here, peer(server, **BEARER) as lab:
        for each in (here, lab):
            await each.connected()
        await here.subscribe("/topic/jobs")
        await lab.subscribe("/topic/namespaces/lab/jobs", "path")
        await lab.subscribe("/topic/jobs", "header", namespace="lab")
        await apply(gateway, batch_job(), namespace="lab")
        await apply(gateway, batch_job("sorter"))
        assert await here.news() == ("ADDED", "sorter")
        assert [(await lab.hear()).headers["subscription"] for _ in range(2)] == ["path", "header"]


async def test_what_is_unsubscribed_is_heard_no_more(gateway: FakeGateway) -> None:
    async with serving(gateway) as server, peer(server, **BEARER) as one:
        await one.connected()
        await one.subscribe("/topic/jobs", "all")
        await one.subscribe("/topic/jobs/sorter", "one")
        await one.say("UNSUBSCRIBE", id="all", receipt="gone")
        assert (await one.hear()).headers["receipt-id"] == "gone"
        await apply(gateway, batch_job(), batch_job("sorter"))
        assert (await one.hear()).headers["subscription"] == "one"


async def test_messages_to_be_acknowledged_say_by_what(gateway: FakeGateway) -> None:
    async with serving(gateway) as server, peer(server, **BEARER) as one:
        await one.connected()
        await one.subscribe("/topic/jobs", ack="client-individual")
        await apply(gateway, batch_job(), batch_job("sorter"))
        for _ in range(2):
            frame = await one.hear()
            assert frame.headers["ack"] == frame.headers["message-id"]
            await one.say("ACK", id=frame.headers["ack"])


async def test_one_watch_serves_all_and_ends_with_the_last(gateway: FakeGateway) -> None:
    desk = gateway.objects
    async with serving(gateway) as server:
        async with peer(server, **BEARER) as first, peer(server, **BEARER) as second:
            for each in (first, second):
                await each.connected()
                await each.subscribe("/topic/jobs")
            await until(lambda: desk.watches_open == 1)
            await apply(gateway, batch_job())
            for each in (first, second):
                assert await each.news() == ("ADDED", "crawler")
            assert desk.watches_open == 1
        await until(lambda: desk.watches_open == 0)
        async with peer(server, **BEARER) as later:
            await later.connected()
            await later.subscribe("/topic/jobs")
            await apply(gateway, batch_job("sorter"))
            assert await later.news() == ("ADDED", "sorter")


async def test_clients_that_come_together_are_all_told(gateway: FakeGateway) -> None:
    """They use the same id, and the first of them waits for the watch to begin."""

    async def listen(port: int) -> tuple[str, Any]:
        async with connect(f"ws://127.0.0.1:{port}/scheduler", **BEARER) as opened:
            one = Peer(opened)
            await one.connected()
            await one.subscribe("/topic/jobs")
            arrived.release()
            return await one.news()

    arrived = asyncio.Semaphore(0)
    async with serving(gateway) as server:
        listening = [asyncio.create_task(listen(server.port)) for _ in range(20)]
        for _ in listening:
            await asyncio.wait_for(arrived.acquire(), 10)
        await apply(gateway, batch_job())
        assert await asyncio.gather(*listening) == [("ADDED", "crawler")] * 20


async def test_after_a_gap_what_is_different_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes that came while the watch was broken are told from what is there now."""
    monkeypatch.setattr("shunter.api.stomp.hub.RETRY_S", 0.01)
    gateway = FakeGateway()
    await apply(gateway, batch_job("kept"), batch_job("changed"), batch_job("lost"))
    hub = Hub(gateway.objects)
    texts: list[str] = []
    await hub.enter()
    hub.subscribe(1, _subscription("/topic/jobs"), texts.append)
    watch, is_broken = gateway.objects.watch, True

    async def broken(*arguments: Any) -> Any:
        if is_broken:
            raise Gone("not remembered")
        return await watch(*arguments)

    monkeypatch.setattr(gateway.objects, "watch", broken)
    monkeypatch.setattr(gateway.objects, "objects", _unavailable)
    gateway.objects.is_eager = True  # the watch that is open ends
    await apply(gateway, batch_job("trigger"))
    await until(lambda: gateway.objects.watches_open == 0)
    texts.clear()
    gateway.objects.is_eager = False
    await gateway.objects.delete(ME, "BatchJob", ObjectName("default", "lost"))
    await gateway.objects.write_external(ME, ObjectName("default", "changed"), {"a": [{}]})
    await apply(gateway, batch_job("new"))
    is_broken = False
    monkeypatch.setattr(gateway.objects, "objects", MemoryObjectDesk.objects.__get__(gateway.objects))
    await until(lambda: len(texts) == 3)
    told = [json.loads(text.partition("\n\n")[2].rstrip("\0")) for text in texts]
    assert sorted((each["action"], each["resource"]) for each in told) == [
        ("ADDED", "new"), ("DELETED", "lost"), ("MODIFIED", "changed"),
    ]  # fmt: skip
    hub.leave()


def _subscription(destination: str) -> Any:
    from shunter.api.stomp.session import Session, Subscribe

    session = Session(lambda _token: True, is_let_in=True)
    frames = f"CONNECT\naccept-version:1.2\n\n\0SUBSCRIBE\nid:0\ndestination:{destination}\n\n\0"
    [_, step] = session.receive(frames.encode())
    assert isinstance(step, Subscribe)
    return step.subscription


async def _unavailable(*_arguments: Any) -> Any:
    raise Gone("not now")


# ---- who is let in ----


async def test_the_token_comes_with_the_upgrade_or_with_connect(gateway: FakeGateway) -> None:
    async with serving(gateway, EXTERNAL_DOOR) as server:
        async with peer(server, **BEARER) as one:
            assert (await one.connected()).command == "CONNECTED"
        async with peer(server) as one:
            assert (await one.connected(login="me", passcode=TOKEN)).command == "CONNECTED"
        async with peer(server) as one:
            assert (await one.connected(passcode="wrong")).headers["message"] == "unauthorized"
            with pytest.raises(ConnectionClosed):
                await one.hear()
        with pytest.raises(InvalidStatus, match="401"):
            async with peer(server, additional_headers={"authorization": "Bearer wrong"}):
                raise AssertionError


async def test_an_open_door_needs_no_token(gateway: FakeGateway) -> None:
    async with serving(gateway, OPEN_EXTERNAL_DOOR) as server, peer(server, origin="http://elsewhere") as one:
        assert (await one.connected()).command == "CONNECTED"


@pytest.mark.parametrize("path", ["/", "/external/jobs", "/schedulers", "/scheduler/a/websocket", "/scheduler/a/b/xhr"])
async def test_there_is_no_websocket_elsewhere(gateway: FakeGateway, path: str) -> None:
    async with serving(gateway) as server:
        with pytest.raises(InvalidStatus, match="404"):
            async with peer(server, path, **BEARER):
                raise AssertionError


async def test_the_subprotocol_is_agreed_on(gateway: FakeGateway) -> None:
    async with serving(gateway) as server, peer(server, subprotocols=["v11.stomp", "v12.stomp"], **BEARER) as one:
        assert one.socket.subprotocol == "v12.stomp"


async def test_an_error_ends_the_connection(gateway: FakeGateway) -> None:
    async with serving(gateway) as server, peer(server, **BEARER) as one:
        await one.connected()
        await one.say("SEND", destination="/topic/jobs")
        assert (await one.hear()).headers["message"] == "nothing can be sent here"
        with pytest.raises(ConnectionClosed) as closed:
            await one.hear()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1002


async def test_a_client_that_leaves_gets_its_receipt(gateway: FakeGateway) -> None:
    async with serving(gateway) as server, peer(server, **BEARER) as one:
        await one.connected()
        await one.say("DISCONNECT", receipt="bye")
        assert (await one.hear()).headers == {"receipt-id": "bye"}
        with pytest.raises(ConnectionClosed) as closed:
            await one.hear()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1000


# ---- SockJS ----


async def test_a_client_of_sockjs_gets_frames_around_frames(gateway: FakeGateway) -> None:
    async with serving(gateway) as server, peer(server, "/scheduler/123/abcd/websocket", **BEARER) as one:
        assert await one.socket.recv() == "o"
        connecting = "CONNECT\naccept-version:1.2\n\n\0"
        subscribing = "SUBSCRIBE\nid:0\ndestination:/topic/jobs\nreceipt:r\n\n\0"
        await one.socket.send(json.dumps([connecting, subscribing]))
        await until_text(one, "receipt-id:r")
        await apply(gateway, batch_job())
        [frame] = await until_text(one, "MESSAGE")
        assert frame.endswith('{"action":"ADDED","resource":"crawler"}\0')
        await one.socket.send(json.dumps("DISCONNECT\n\n\0"))
        assert await one.socket.recv() == 'c[3000, "Go away!"]'


async def until_text(one: Peer, word: str) -> list[str]:
    while True:
        text = str(await asyncio.wait_for(one.socket.recv(), 10))
        assert text[0] == "a"
        frames: list[str] = json.loads(text[1:])
        if any(word in frame for frame in frames):
            return frames


async def test_what_is_no_message_of_sockjs_is_an_error(gateway: FakeGateway) -> None:
    async with serving(gateway) as server, peer(server, "/scheduler/1/b/websocket", **BEARER) as one:
        await one.socket.send("CONNECT")
        assert await one.socket.recv() == "o"
        [error] = await until_text(one, "ERROR")
        assert "JSON array" in error


async def test_below_the_endpoint_there_is_a_raw_websocket(gateway: FakeGateway) -> None:
    async with serving(gateway) as server, peer(server, "/scheduler/websocket", **BEARER) as one:
        assert (await one.connected()).command == "CONNECTED"


# ---- heart-beats and limits ----


@pytest.fixture
def beating(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shunter.api.stomp.session.HEARTBEAT_MS", 20)


@pytest.mark.usefixtures("beating")
async def test_heart_beats_go_both_ways(gateway: FakeGateway) -> None:
    """We beat as agreed; whoever does not is ended, and told."""
    async with serving(gateway) as server, peer(server, **BEARER) as one:
        await one.connected(heart_beat="400,20")  # silence is borne long enough for many beats, on a busy machine too
        assert (await one.hear()).headers["message"] == "no heart-beat"
        assert one.beats >= 2


@pytest.mark.usefixtures("beating")
async def test_a_client_that_beats_is_kept(gateway: FakeGateway) -> None:
    async with serving(gateway) as server, peer(server, **BEARER) as one:
        await one.connected(heart_beat="500,20")
        await one.subscribe("/topic/jobs")
        hearing = asyncio.create_task(one.hear())
        while one.beats < 160:  # it takes longer than a silent client is kept
            await one.socket.send("\n")
            await asyncio.sleep(0.01)
        await apply(gateway, batch_job())
        assert (await hearing).command == "MESSAGE"


class Bare:
    """The server with settings of its own, without the application around it."""

    def __init__(self, **settings: Any) -> None:
        self.desk = MemoryObjectDesk()
        self.hub = Hub(self.desk)
        self._stomp = StompServer(self.hub, StompSettings(**settings))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._stomp.serve(scope, receive, send, lambda _token: True, is_let_in=True)


async def test_who_does_not_connect_in_time_is_ended() -> None:
    server = await serve(Bare(connect_s=0.05))
    async with peer(server) as one:
        assert (await one.hear()).headers["message"] == "no CONNECT"
    await server.stop(0.1)


async def test_connections_are_limited() -> None:
    server = await serve(Bare(connections_max=1))
    async with peer(server) as one:
        await one.connected()
        with pytest.raises(InvalidStatus, match="503"):
            async with peer(server):
                raise AssertionError
    await server.stop(0.1)


async def test_a_subscriber_that_stops_reading_is_cut_off_and_slows_nobody() -> None:
    """Its own outbox overflows; the other one gets every message. It is closed although it never reads."""
    app = Bare(outbox=OutboxLimits(messages_max=20), cut_off_s=0.1)
    slots = tuple(Slot(SlotPlace("node", number), 0, {"cpu": 100}) for number in range(200))
    await app.desk.apply(ME, [testbed()], namespace="default")
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
            found: Any = await app.desk.object(ME, "Testbed", ObjectName("default", "bench"))
            await app.desk.put(msgspec.structs.replace(found, status=TestbedStatus(slots=slots)))
            assert await one.news() == ("MODIFIED", "bench")
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
    server = await serve(Bare())
    async with peer(server) as one:
        await one.connected()
        stopping = asyncio.create_task(server.stop(grace_s=0.1))
        with pytest.raises(ConnectionClosed):
            await one.hear()
        await asyncio.wait_for(stopping, 10)
