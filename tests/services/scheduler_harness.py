"""A real engine on simulated nodes behind the real gRPC server for schedulers, on loopback."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import grpc.aio

from shunter.adapters.grpc.scheduler_server import SchedulerServer
from shunter.adapters.memory.store import MemoryStore
from shunter.adapters.system.clock import SystemClock
from shunter.api.grpc.callers import NO_TOKEN
from shunter.engine.engine import Engine
from shunter.gateway.sessions import SchedulerSessions
from shunter.model.errors import Unauthorized
from shunter.model.job.spec import GroupSpec, JobSpec, TaskSpec
from shunter.planning.planner import build_policy
from shunter.planning.policies import Catalogue
from shunter.ports.schedulers import SchedulerService
from shunter.proto.v1 import external_scheduler_pb2 as pb
from shunter.proto.v1 import external_scheduler_pb2_grpc as pb_grpc
from shunter.simulation.fleet.direct import SimulatedWorkers
from shunter.simulation.fleet.fleet import simulated_hellos

TOKEN = "correct-horse"
PATIENCE_S = 60.0
NODES = 3


class SchedulerHarness:
    def __init__(self, engine: Engine, address: str, services: dict[str, SchedulerService]) -> None:
        self.engine, self.address = engine, address
        self.services = services  # by valid token

    def use_external_policy(self, name: str, lease_s: float = PATIENCE_S) -> None:
        self.engine.schedulers.set_lease(lease_s)
        self.engine.use_policy(Catalogue().build(f"remote:{name}"))

    async def submit(self, name: str, count: int = 1, seconds: float = 0.0, **fields: Any) -> int:
        task = TaskSpec(("work",), {"SHUNTER_SIM_DURATION": str(seconds)})
        group = GroupSpec("main", count, task, fields.pop("needs", {"cpu": 1000}))
        [job] = await self.engine.submit([JobSpec("default", name, (group,), **fields)], "tester")
        return job.job_id

    async def until(self, holds: Callable[[], object], what: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                await asyncio.sleep(0.005)
        assert holds(), what

    async def ended(self, job_id: int) -> None:
        await self.until(lambda: job_id not in self.engine.state.jobs, f"job {job_id} ends")

    @asynccontextmanager
    async def stub(self, token: str = TOKEN) -> AsyncIterator[Stub]:
        async with grpc.aio.insecure_channel(self.address) as channel:
            yield Stub(channel, token)


class Stub:
    """A scheduler that knows nothing but the generated stubs: what one in another language would be."""

    def __init__(self, channel: grpc.aio.Channel, token: str) -> None:
        self._stub: Any = pb_grpc.ExternalSchedulerStub(channel)  # type: ignore[no-untyped-call]
        self._metadata = (("authorization", f"Bearer {token}"),)

    def watch(self, name: str = "mine", **fields: Any) -> Any:
        return self._stub.Watch(pb.WatchRequest(name=name, **fields), metadata=self._metadata, timeout=PATIENCE_S)

    async def decide(self, **fields: Any) -> pb.DecisionAnswer:
        decision = pb.Decision(**fields)
        answer: pb.DecisionAnswer = await self._stub.Decide(decision, metadata=self._metadata, timeout=PATIENCE_S)
        return answer

    async def renew(self, token: str) -> pb.Lease:
        request = pb.RenewRequest(token=token)
        lease: pb.Lease = await self._stub.Renew(request, metadata=self._metadata, timeout=PATIENCE_S)
        return lease


class TokenCaller:
    """May call as long as its token is valid."""

    def __init__(self, services: Mapping[str, SchedulerService], token: str) -> None:
        self._services, self._token = services, token
        self.service = services[token]

    def is_permitted(self) -> bool:
        return self._token in self._services


def callers_of(services: Mapping[str, SchedulerService]) -> Callable[[Any], Awaitable[TokenCaller]]:
    """By valid token."""

    async def identify(context: Any) -> TokenCaller:
        token = dict(context.invocation_metadata() or ()).get("authorization", "").removeprefix("Bearer ")
        if token not in services:
            raise Unauthorized(NO_TOKEN)
        return TokenCaller(services, token)

    return identify


@asynccontextmanager
async def open_scheduler_harness() -> AsyncIterator[SchedulerHarness]:
    clock, store = SystemClock(), MemoryStore()
    await store.open()
    workers = SimulatedWorkers(clock, random.Random(1))
    engine = Engine(store=store, workers=workers, policy=build_policy("bin-pack"), clock=clock, random=random.Random(2))
    await engine.start()
    running = asyncio.create_task(engine.run())
    services: dict[str, SchedulerService] = {TOKEN: SchedulerSessions(engine)}
    server = SchedulerServer(callers_of(services))
    port = await server.start()
    await workers.start(engine, simulated_hellos(NODES))
    harness = SchedulerHarness(engine, f"127.0.0.1:{port}", services)
    await harness.until(lambda: engine.state.nodes.view.eligible.sum() == NODES, "the nodes are there")
    try:
        yield harness
    finally:
        await engine.stop()
        await server.stop()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await workers.stop()
