"""A real engine on simulated nodes behind the manager's real gRPC server, on loopback, with a client that has only the
generated stubs."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
import pytest

from shunter.adapters.grpc.scheduler_server import SchedulerServer
from shunter.adapters.memory.coordination import Alone
from shunter.adapters.memory.store import MemoryStore
from shunter.adapters.system.clock import SystemClock
from shunter.api.grpc.calls import Limits
from shunter.api.grpc.services import ANSWERED_HERE, ClientServices
from shunter.api.http.app import build_app
from shunter.engine.engine import Engine
from shunter.gateway.gateway import LocalGateway
from shunter.gateway.known_leader import KnownLeader
from shunter.gateway.managers import Members
from shunter.gateway.tokens import ADMIN, TokenFile, Tokens
from shunter.model.identity.roles import Role
from shunter.planning.planner import build_policy
from shunter.ports.coordination import ManagerRecord
from shunter.ports.gateway import CallerGateway
from shunter.ports.identity import NewKey, TenantChange
from shunter.ports.principals import Principal
from shunter.proto.v1 import jobs_pb2 as pb
from shunter.proto.v1 import jobs_pb2_grpc as pb_grpc
from shunter.simulation.fleet.direct import SimulatedWorkers
from shunter.simulation.fleet.fleet import simulated_hellos

TOKEN = "correct-horse"
PATIENCE_S = 60.0
NODES = 2


class JobsHarness:
    def __init__(self, engine: Engine, gateway: LocalGateway, address: str, services: ClientServices) -> None:
        self.engine, self.local_gateway, self.address, self.services = engine, gateway, address, services

    @property
    def gateway(self) -> CallerGateway:
        return self.local_gateway.for_caller(Principal("root", ADMIN), "getMe")

    async def create_key(self, *roles: Role, tenant: str = "") -> str:
        return (await self.gateway.identity.create_key(NewKey(roles, tenant=tenant))).key

    async def create_tenant(self, name: str) -> str:
        """Returns a key that may submit."""
        await self.gateway.tenants.create(name, TenantChange())
        return await self.create_key(Role.SUBMITTER, tenant=name)

    @asynccontextmanager
    async def client(self, token: str = TOKEN) -> AsyncIterator[Client]:
        own_connection = (("grpc.use_local_subchannel_pool", 1),)
        async with grpc.aio.insecure_channel(self.address, own_connection) as channel:
            yield Client(channel, token)


class Client:
    def __init__(self, channel: grpc.aio.Channel, token: str) -> None:
        self.channel = channel
        self.stub: Any = pb_grpc.JobsStub(channel)  # type: ignore[no-untyped-call]
        self.metadata = (("authorization", f"Bearer {token}"),)

    async def submit(self, name: str = "job", seconds: float = 0.0, count: int = 1, **fields: Any) -> pb.SubmitAnswer:
        request = pb.SubmitRequest(manifest=manifest(name, seconds, count), **fields)
        answer: pb.SubmitAnswer = await self.call("Submit", request)
        return answer

    def call(self, method: str, request: Any, timeout: float = PATIENCE_S) -> Any:
        return getattr(self.stub, method)(request, metadata=self.metadata, timeout=timeout)

    def watch(self, job: str, **fields: Any) -> Any:
        return self.call("Watch", pb.WatchJobRequest(job=job, **fields))


def manifest(name: str, seconds: float = 0.0, count: int = 1) -> str:
    return f"""
apiVersion: shunter.dev/v1
kind: Job
metadata: {{name: {name}, labels: {{team: blue}}}}
spec: {{command: [work], count: {count}, env: {{SHUNTER_SIM_DURATION: "{seconds}"}}}}
"""


async def refusal(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    return raised.value


@asynccontextmanager
async def open_jobs_harness(
    limits: Limits | None = None, tokens: Tokens | TokenFile | None = None
) -> AsyncIterator[JobsHarness]:
    clock, store, coordination = SystemClock(), MemoryStore(), Alone()
    await store.open()
    workers = SimulatedWorkers(clock, random.Random(1))
    engine = Engine(store=store, workers=workers, policy=build_policy("bin-pack"), clock=clock, random=random.Random(2))
    await engine.start()
    running = asyncio.create_task(engine.run())
    gateway = LocalGateway(
        engine=engine,
        store=store,
        workers=workers,
        clock=clock,
        tokens=tokens or Tokens({TOKEN: "root"}),
        identity={"name": "test", "version": "1.0.0"},
        members=Members(coordination, KnownLeader(coordination), None, ManagerRecord("m1", "http://m1")),
        is_simulated=True,
        on_down=lambda _: None,
        on_heartbeat=lambda _: None,
    )
    services = ClientServices(gateway, build_app(gateway).shared, limits=limits)
    server = SchedulerServer(services.identify_scheduler, add_services=services.add_to, answered_here=ANSWERED_HERE)
    port = await server.start()
    await workers.start(engine, simulated_hellos(NODES))
    async with asyncio.timeout(PATIENCE_S):
        while engine.state.nodes.view.eligible.sum() < NODES:
            await asyncio.sleep(0.005)
    try:
        yield JobsHarness(engine, gateway, f"127.0.0.1:{port}", services)
    finally:
        await engine.stop()
        await server.stop()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await workers.stop()
