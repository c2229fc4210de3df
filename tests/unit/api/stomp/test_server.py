"""STOMP over WebSocket on a real socket: topics, tokens, SockJS."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from shunter.api.http.app import EXTERNAL_LISTENER, OPEN_EXTERNAL_LISTENER
from shunter.api.stomp import server as stomp_server
from shunter.api.stomp.hub import Hub
from shunter.model.errors import Gone
from shunter.model.objects.object_meta import ObjectName
from tests.contracts.memory_objects import MemoryObjectService
from tests.contracts.objects import batch_job, scheduling, testbed
from tests.unit.api.fake_gateway import TOKEN, FakeGateway
from tests.unit.api.stomp.harness import BEARER, AnyReader, Peer, apply, peer, serving, until

# ---- topics ----


async def test_a_change_is_told_once_on_both_topics(gateway: FakeGateway) -> None:
    async with serving(gateway) as server, peer(server, **BEARER) as all_of_it, peer(server, **BEARER) as one:
        for each in (all_of_it, one):
            assert (await each.connected()).headers["version"] == "1.2"
        await all_of_it.subscribe("/topic/jobs")
        await one.subscribe("/topic/jobs/crawler")
        await apply(gateway, batch_job(), batch_job("sorter"))
        await gateway.objects.write_external(ObjectName("default", "crawler"), {"mine": [{"a": "b"}]})
        await gateway.objects.delete("BatchJob", ObjectName("default", "crawler"))
        assert [await all_of_it.next_change() for _ in range(4)] == [
            ("ADDED", "crawler"), ("ADDED", "sorter"), ("MODIFIED", "crawler"), ("DELETED", "crawler"),
        ]  # fmt: skip
        view = {"name": "crawler", "state": "ReadyState", "externalScheduler": {}, "scheduledEvents": []}
        changed = view | {"externalScheduler": {"mine": [{"a": "b"}]}}
        assert [await one.next_change() for _ in range(3)] == [
            ("ADDED", view),
            ("MODIFIED", changed),
            ("DELETED", changed),
        ]


async def test_every_kind_has_its_topics(gateway: FakeGateway) -> None:
    async with serving(gateway) as server, peer(server, **BEARER) as one:
        await one.connected()
        for kind, name in (("testbeds", "bench"), ("jobs", "crawler"), ("schedulings", "first")):
            await one.subscribe(f"/topic/{kind}", f"all-{kind}")
            await one.subscribe(f"/topic/{kind}/{name}", f"one-{kind}")
        await apply(gateway, testbed(), batch_job(), scheduling())
        frames = [await one.receive_frame() for _ in range(6)]
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
        assert await here.next_change() == ("ADDED", "sorter")
        assert [(await lab.receive_frame()).headers["subscription"] for _ in range(2)] == ["path", "header"]


async def test_what_is_unsubscribed_is_heard_no_more(gateway: FakeGateway) -> None:
    async with serving(gateway) as server, peer(server, **BEARER) as one:
        await one.connected()
        await one.subscribe("/topic/jobs", "all")
        await one.subscribe("/topic/jobs/sorter", "one")
        await one.send_frame("UNSUBSCRIBE", id="all", receipt="gone")
        assert (await one.receive_frame()).headers["receipt-id"] == "gone"
        await apply(gateway, batch_job(), batch_job("sorter"))
        assert (await one.receive_frame()).headers["subscription"] == "one"


async def test_messages_to_be_acknowledged_say_by_what(gateway: FakeGateway) -> None:
    async with serving(gateway) as server, peer(server, **BEARER) as one:
        await one.connected()
        await one.subscribe("/topic/jobs", ack="client-individual")
        await apply(gateway, batch_job(), batch_job("sorter"))
        for _ in range(2):
            frame = await one.receive_frame()
            assert frame.headers["ack"] == frame.headers["message-id"]
            await one.send_frame("ACK", id=frame.headers["ack"])


async def test_one_watch_serves_all_and_ends_with_the_last(gateway: FakeGateway) -> None:
    object_service = gateway.objects
    async with serving(gateway) as server:
        async with peer(server, **BEARER) as first, peer(server, **BEARER) as second:
            for each in (first, second):
                await each.connected()
                await each.subscribe("/topic/jobs")
            await until(lambda: object_service.watches_open == 1)
            await apply(gateway, batch_job())
            for each in (first, second):
                assert await each.next_change() == ("ADDED", "crawler")
            assert object_service.watches_open == 1
        await until(lambda: object_service.watches_open == 0)
        async with peer(server, **BEARER) as later:
            await later.connected()
            await later.subscribe("/topic/jobs")
            await apply(gateway, batch_job("sorter"))
            assert await later.next_change() == ("ADDED", "sorter")


async def test_clients_that_come_together_are_all_told(gateway: FakeGateway) -> None:
    """They use the same id, and the first of them waits for the watch to begin."""

    async def listen(port: int) -> tuple[str, Any]:
        async with connect(f"ws://127.0.0.1:{port}/scheduler", **BEARER) as opened:
            one = Peer(opened)
            await one.connected()
            await one.subscribe("/topic/jobs")
            arrived.release()
            return await one.next_change()

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
    await hub.attach()
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
    await gateway.objects.delete("BatchJob", ObjectName("default", "lost"))
    await gateway.objects.write_external(ObjectName("default", "changed"), {"a": [{}]})
    await apply(gateway, batch_job("new"))
    is_broken = False
    monkeypatch.setattr(gateway.objects, "objects", MemoryObjectService.objects.__get__(gateway.objects))
    await until(lambda: len(texts) == 3)
    told = [json.loads(text.partition("\n\n")[2].rstrip("\0")) for text in texts]
    assert sorted((each["action"], each["resource"]) for each in told) == [
        ("ADDED", "new"), ("DELETED", "lost"), ("MODIFIED", "changed"),
    ]  # fmt: skip
    hub.detach()


def _subscription(destination: str) -> Any:
    from shunter.api.stomp.session import Session, Subscribe

    session = Session(lambda _token: AnyReader(), AnyReader())
    frames = f"CONNECT\naccept-version:1.2\n\n\0SUBSCRIBE\nid:0\ndestination:{destination}\n\n\0"
    [_, step] = session.receive(frames.encode())
    assert isinstance(step, Subscribe)
    return step.subscription


async def _unavailable(*_arguments: Any) -> Any:
    raise Gone("not now")


# ---- who is let in ----


async def test_the_token_comes_with_the_upgrade_or_with_connect(gateway: FakeGateway) -> None:
    async with serving(gateway, EXTERNAL_LISTENER) as server:
        async with peer(server, **BEARER) as one:
            assert (await one.connected()).command == "CONNECTED"
        async with peer(server) as one:
            assert (await one.connected(login="me", passcode=TOKEN)).command == "CONNECTED"
        async with peer(server) as one:
            assert (await one.connected(passcode="wrong")).headers["message"] == "unauthorized"
            with pytest.raises(ConnectionClosed):
                await one.receive_frame()
        with pytest.raises(InvalidStatus, match="401"):
            async with peer(server, additional_headers={"authorization": "Bearer wrong"}):
                raise AssertionError


async def test_an_open_door_needs_no_token(gateway: FakeGateway) -> None:
    async with serving(gateway, OPEN_EXTERNAL_LISTENER) as server, peer(server, origin="http://localhost:1") as one:
        assert (await one.connected()).command == "CONNECTED"


async def test_an_open_door_takes_no_web_pages_of_other_sites(gateway: FakeGateway) -> None:
    async with serving(gateway, OPEN_EXTERNAL_LISTENER) as server:
        with pytest.raises(InvalidStatus, match="403"):
            async with peer(server, origin="http://elsewhere"):
                raise AssertionError


@pytest.mark.parametrize("path", ["/", "/external/jobs", "/schedulers", "/scheduler/a/websocket", "/scheduler/a/b/xhr"])
async def test_there_is_no_websocket_at_any_other_path(gateway: FakeGateway, path: str) -> None:
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
        await one.send_frame("SEND", destination="/topic/jobs")
        assert (await one.receive_frame()).headers["message"] == "SEND is not supported"
        with pytest.raises(ConnectionClosed) as closed:
            await one.receive_frame()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1002


async def test_a_client_that_leaves_gets_its_receipt(gateway: FakeGateway) -> None:
    async with serving(gateway) as server, peer(server, **BEARER) as one:
        await one.connected()
        await one.send_frame("DISCONNECT", receipt="bye")
        assert (await one.receive_frame()).headers == {"receipt-id": "bye"}
        with pytest.raises(ConnectionClosed) as closed:
            await one.receive_frame()
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


@pytest.mark.parametrize("is_in_connect_frame", [False, True])
async def test_a_session_ends_soon_after_its_token_was_revoked(
    gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch, is_in_connect_frame: bool
) -> None:
    monkeypatch.setattr(stomp_server, "CHECK_EVERY_S", 0.02)
    options, headers = ({}, {"passcode": TOKEN}) if is_in_connect_frame else (BEARER, {})
    async with serving(gateway) as server, peer(server, **options) as one:
        await one.connected(**headers)
        await one.subscribe("/topic/jobs")
        gateway.has_revoked = True
        error = await one.receive_frame()
        assert (error.command, error.headers["message"]) == ("ERROR", "unauthorized")
        assert "its token is no longer valid" in error.body.decode()
