"""The worker's own client: connects, always reconnects, delivers messages in order, and never blocks its worker."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest

from shunter.adapters.grpc.channel import ClientTls
from shunter.adapters.grpc.listen import ServerTls
from shunter.adapters.grpc.worker_client import CONNECT_TIMEOUT_S, WorkerClient
from shunter.adapters.grpc.worker_server import WorkerServer
from shunter.model.errors import Unauthorized
from shunter.model.lifecycles import NodeEvent
from shunter.model.protocol.worker_messages import (
    Ack,
    Goodbye,
    Inventory,
    ManagerMessage,
    Refused,
    Report,
    Shutdown,
    Stop,
    Welcome,
)
from shunter.ports.workers import Uplink
from tests.services.grpc_harness import PATIENCE_S, TOKEN, Manager, ScriptedWorker, manager
from tests.unit.watcher.harness import hello

pytestmark = pytest.mark.services


class WaitingWorker:
    """Says Hello and its inventory by itself; everything else can be waited for."""

    def __init__(self) -> None:
        self.uplink: Uplink | None = None
        self.heard: asyncio.Queue[ManagerMessage] = asyncio.Queue()
        self.ends: asyncio.Queue[str] = asyncio.Queue()

    def connected(self, uplink: Uplink) -> None:
        self.uplink = uplink
        uplink.send(hello())

    def received(self, message: ManagerMessage) -> None:
        if isinstance(message, Welcome):
            self.send(Inventory(1, [], []))
        self.heard.put_nowait(message)

    def disconnected(self, reason: str) -> None:
        self.ends.put_nowait(reason)

    def send(self, message: Inventory | Report | Goodbye) -> None:
        assert self.uplink is not None
        self.uplink.send(message)

    async def receive(self, kind: type) -> ManagerMessage:
        """The next message of that kind; others are skipped."""
        async with asyncio.timeout(PATIENCE_S):
            while not isinstance(message := await self.heard.get(), kind):
                pass
            return message


@asynccontextmanager
async def client(
    address: str | list[str], token: str = TOKEN, certificate: bytes | None = None, worker: WaitingWorker | None = None
) -> AsyncIterator[WaitingWorker]:
    worker = worker or WaitingWorker()
    tls = None if certificate is None else lambda: ClientTls(certificate)
    connecting = WorkerClient(worker, address, token, tls=tls)
    running = asyncio.create_task(connecting.run())
    try:
        yield worker
    finally:
        connecting.stop()
        async with asyncio.timeout(PATIENCE_S):
            await running


async def test_messages_keep_their_order_both_ways() -> None:
    async with manager() as served, client(served.address) as worker:
        await worker.receive(Ack)
        for epoch in range(200):
            served.watcher.send(1, Stop(epoch, []))
        for seq in range(2, 202):
            worker.send(Report(seq))
        heard = [await worker.heard.get() for _ in range(400)]
        assert [message.epoch for message in heard if isinstance(message, Stop)] == list(range(200))
        assert [message.seq for message in heard if isinstance(message, Ack)] == list(range(2, 202))


async def test_a_worker_waits_for_its_manager_and_finds_it_again_after_a_restart() -> None:
    async with manager() as served:
        address = served.address
        async with client(address) as worker:
            await worker.receive(Ack)
            await served.watcher.stop("restart")
            await served.server.stop()
            assert (await worker.ends.get()).startswith("shutting_down: ")
            again = Manager(None, 2**20)
            again.server = WorkerServer(again.watcher, TOKEN, "127.0.0.1", int(address.rpartition(":")[2]))
            await again.watcher.start(again.engine)
            await again.server.start()
            await worker.receive(Ack)
            assert await again.engine.verdict(NodeEvent.HEARD) == "connected"
            await again.watcher.stop("over")
            await again.server.stop()


async def test_after_a_reset_the_client_comes_back_by_itself() -> None:
    async with manager() as served, client(served.address) as worker:
        await worker.receive(Ack)
        served.watcher.reset("new epoch")
        refused = await worker.receive(Refused)
        assert isinstance(refused, Refused)
        assert refused.code == "reset"
        await worker.receive(Ack)
        assert served.engine.call_kinds() == ["hello", "inventory", "hello", "inventory"]


async def test_what_is_sent_after_the_end_of_a_connection_is_dropped() -> None:
    async with manager() as served, client(served.address) as worker:
        await worker.receive(Ack)
        old = worker.uplink
        assert old is not None
        served.watcher.reset("new epoch")
        await worker.ends.get()
        await worker.receive(Ack)
        old.send(Report(2))
        worker.send(Report(3))
        assert await worker.receive(Ack) == Ack(3)
        assert served.engine.call_kinds().count("report") == 1


async def test_a_goodbye_said_right_before_the_stop_arrives() -> None:
    async with manager() as served:
        async with client(served.address) as worker:
            await worker.receive(Ack)
            worker.send(Goodbye("maintenance"))
        assert await served.engine.verdict(NodeEvent.LEFT) == "left: maintenance"


async def test_a_client_that_stops_without_a_goodbye_makes_its_node_suspect() -> None:
    async with manager() as served:
        async with client(served.address) as worker:
            await worker.receive(Ack)
        assert "closed" in await served.engine.verdict(NodeEvent.SILENT)


async def test_a_worker_whose_token_was_always_wrong_gives_up() -> None:
    worker = WaitingWorker()
    async with manager() as served:
        with pytest.raises(Unauthorized, match="the worker token is missing or wrong"):
            await WorkerClient(worker, served.address, "wrong").run()
        refused = await worker.receive(Refused)
        assert isinstance(refused, Refused)
        assert (refused.code, refused.retry) == ("unauthorized", False)
        assert (await worker.ends.get()).startswith("unauthorized: ")


async def test_a_client_without_a_manager_can_be_stopped() -> None:
    async with client("127.0.0.1:1") as worker:
        pass
    assert worker.uplink is None


async def test_a_client_can_be_stopped_while_a_manager_that_never_answers_keeps_it_waiting() -> None:
    taken = asyncio.Event()
    server = await asyncio.start_server(lambda *_: taken.set(), "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, asyncio.timeout(CONNECT_TIMEOUT_S / 2), client(address) as worker:
        await taken.wait()
    assert worker.uplink is None


async def test_a_message_that_cannot_be_written_costs_the_connection_and_not_the_worker() -> None:
    async with manager() as served, client(served.address) as worker:
        await worker.receive(Ack)
        worker.send(Report(2**70))
        await worker.receive(Ack)
        assert served.engine.call_kinds() == ["hello", "inventory", "hello", "inventory"]


async def test_a_worker_that_fails_on_a_message_still_hears_the_next() -> None:
    class Clumsy(WaitingWorker):
        def received(self, message: ManagerMessage) -> None:
            super().received(message)
            if isinstance(message, Stop):
                raise RuntimeError("a bug")

    async with manager() as served, client(served.address, worker=Clumsy()) as worker:
        await worker.receive(Ack)
        served.watcher.send(1, Stop(1, []))
        served.watcher.send(1, Shutdown(False))
        assert await worker.receive(Shutdown) == Shutdown(False)


async def test_the_connection_is_protected_where_both_sides_have_certificates(tmp_path: Path) -> None:
    key, certificate = make_certificate(tmp_path)
    served = Manager(None, 2**20)
    server = WorkerServer(served.watcher, TOKEN, tls=lambda: ServerTls(key, certificate))
    await served.watcher.start(served.engine)
    port = await server.start()
    try:
        async with client(f"localhost:{port}", certificate=certificate) as worker:
            await worker.receive(Ack)
            served.watcher.send(1, Shutdown(False))
            await worker.receive(Shutdown)
        async with ScriptedWorker(f"localhost:{port}") as unprotected:
            assert (await unprotected.end())[0] is grpc.StatusCode.UNAVAILABLE
    finally:
        await served.watcher.stop("over")
        await server.stop()


def make_certificate(folder: Path) -> tuple[bytes, bytes]:
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=DNS:localhost", "-keyout", "key.pem", "-out", "certificate.pem"]
    subprocess.run([*command.split(), *names], cwd=folder, check=True, capture_output=True)
    return (folder / "key.pem").read_bytes(), (folder / "certificate.pem").read_bytes()
