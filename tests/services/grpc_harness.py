"""A watcher behind a real gRPC server on loopback, and a worker that knows nothing but the generated stubs: what a
worker in another language would be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio

from shunter.adapters.grpc.listen import ServerTimeouts
from shunter.adapters.grpc.send_buffer import SEND_BUFFER_BYTES_MAX
from shunter.adapters.grpc.worker_server import WorkerServer
from shunter.model.lifecycles import NodeEvent
from shunter.model.protocol.worker_messages import Ack, Inventory, Report
from shunter.proto.worker.v1 import worker_pb2 as pb
from shunter.proto.worker.v1 import worker_pb2_grpc
from shunter.simulation.runtime.clock import ScaledClock
from shunter.watcher.settings import WatcherSettings
from shunter.watcher.watcher import Watcher
from tests.unit.watcher.harness import RecordingEngine

TOKEN = "a-worker-token"
PATIENCE_S = 60.0


class CommittingEngine(RecordingEngine):
    """Acknowledges what it is told, as after a commit; its events can be waited for."""

    def __init__(self, clock: ScaledClock, watcher: Watcher) -> None:
        super().__init__(clock)
        self._watcher = watcher
        self.verdicts: asyncio.Queue[tuple[int, NodeEvent, str]] = asyncio.Queue()

    async def inventory(self, node: int, inventory: Inventory) -> None:
        await super().inventory(node, inventory)
        self._watcher.send(node, Ack(inventory.seq))

    async def report(self, node: int, report: Report) -> None:
        await super().report(node, report)
        self._watcher.send(node, Ack(report.seq))

    async def node_event(self, node: int, event: NodeEvent, reason: str) -> None:
        await super().node_event(node, event, reason)
        self.verdicts.put_nowait((node, event, reason))

    async def verdict(self, wanted: NodeEvent) -> str:
        """The reason of the next verdict of that kind."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                _, event, reason = await self.verdicts.get()
                if event is wanted:
                    return reason


class Manager:
    def __init__(
        self,
        settings: WatcherSettings | None,
        send_buffer_bytes_max: int,
        timeouts: ServerTimeouts | None = None,
        connections_max: int | None = None,
    ) -> None:
        clock = ScaledClock()
        self.watcher = Watcher(clock, settings)
        self.engine = CommittingEngine(clock, self.watcher)
        self.server = WorkerServer(
            self.watcher,
            TOKEN,
            send_buffer_bytes_max=send_buffer_bytes_max,
            timeouts=timeouts,
            connections_max=connections_max,
        )
        self.address = ""


@asynccontextmanager
async def manager(
    settings: WatcherSettings | None = None,
    *,
    leading: bool = True,
    send_buffer_bytes_max: int = SEND_BUFFER_BYTES_MAX,
    timeouts: ServerTimeouts | None = None,
    connections_max: int | None = None,
) -> AsyncIterator[Manager]:
    served = Manager(settings, send_buffer_bytes_max, timeouts, connections_max)
    if leading:
        await served.watcher.start(served.engine)
    served.address = f"127.0.0.1:{await served.server.start()}"
    try:
        yield served
    finally:
        await served.watcher.stop("the test is over")
        await served.server.stop()


class ScriptedWorker:
    """One connection, message by message. Use as `async with`."""

    def __init__(self, address: str, token: str | None = TOKEN) -> None:
        self._channel: Any = grpc.aio.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)])
        metadata = () if token is None else (("authorization", f"Bearer {token}"),)
        stub = worker_pb2_grpc.WorkersStub(self._channel)  # type: ignore[no-untyped-call]
        self.call: Any = stub.Connect(metadata=metadata)

    async def __aenter__(self) -> ScriptedWorker:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.call.cancel()
        await self._channel.close()

    async def send(self, **message: Any) -> None:
        """`send(report=pb.Report(seq=1))`"""
        await self.call.write(pb.WorkerMessage(**message))

    async def receive(self, wanted: str) -> Any:
        """The next message, which must be of that kind."""
        async with asyncio.timeout(PATIENCE_S):
            message = await self.call.read()
        ended = message is grpc.aio.EOF  # type: ignore[attr-defined]
        assert not ended, f"the stream ended: {await self.call.code()} {await self.call.details()}"
        assert message.WhichOneof("message") == wanted, str(message)
        return getattr(message, wanted)

    async def end(self) -> tuple[grpc.StatusCode, str]:
        """The stream's status, when the manager has ended it."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.call.code(), await self.call.details()

    async def greet(self, name: str = "n1", boot: str = "b1") -> Any:
        await self.send(hello=pb.Hello(protocol=1, name=name, boot=boot, capacity={"cpu": 4000}))
        return await self.receive("welcome")

    async def join(self, name: str = "n1", boot: str = "b1") -> Any:
        welcome = await self.greet(name, boot)
        await self.send(inventory=pb.Inventory(seq=1))
        assert (await self.receive("ack")).seq == 1
        return welcome
