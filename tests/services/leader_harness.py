"""Several managers behind real gRPC servers on loopback, and an election by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from shunter.adapters.grpc.byte_budget import ByteBudget
from shunter.adapters.grpc.worker_server import WorkerServer
from shunter.model.protocol.worker_messages import Leader
from shunter.simulation.runtime.clock import ScaledClock
from shunter.watcher.watcher import Watcher
from tests.services.grpc_harness import TOKEN, CommittingEngine


class Election:
    """What one manager has heard of it. Every manager has its own, which a test may leave behind."""

    def __init__(self) -> None:
        self.known = Leader()
        self.is_watcher = False  # and nothing else
        self.referral: str | None = None  # of a scheduler that is no watcher
        self._changed = asyncio.Event()

    def tell(self, address: str, term: int) -> None:
        self.known = Leader(address, term)
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def term(self) -> int:
        return self.known.term

    def address(self) -> str:
        return self.known.address

    def relay_to(self) -> str | None:
        """A watcher relays to whoever leads."""
        return self.known.address if self.is_watcher else None

    def refer_to(self) -> str | None:
        return self.referral

    async def wait_changed(self) -> None:
        await self._changed.wait()


class Member:
    def __init__(self, token: str = TOKEN, port: int = 0, relay_budget: ByteBudget | None = None) -> None:
        clock = ScaledClock()
        self.election = Election()
        self.watcher = Watcher(clock, leader=self.election.address)
        self.engine = CommittingEngine(clock, self.watcher)
        self.server = WorkerServer(self.watcher, token, "127.0.0.1", port, self.election, relay_budget=relay_budget)
        self.address = ""

    async def start(self) -> None:
        self.address = f"127.0.0.1:{await self.server.start()}"

    async def stop(self) -> None:
        await self.watcher.stop("the test is over")
        await self.server.stop()

    def hellos(self) -> int:
        return self.engine.call_kinds().count("hello")


class Members:
    """`elect` makes one of them lead; all that are not `deaf` hear of it."""

    def __init__(self, members: list[Member]) -> None:
        self.all = members
        self.deaf: set[Member] = set()
        self.term = 4

    @property
    def addresses(self) -> list[str]:
        return [member.address for member in self.all]

    async def elect(self, winner: Member, address: str = "") -> None:
        self.term += 1
        for member in self.all:
            if member is not winner and member not in self.deaf:
                await member.watcher.step_down("another manager was elected")
        await winner.watcher.start(winner.engine, term=self.term)
        self.tell(address or winner.address)

    def tell(self, address: str) -> None:
        for member in self.all:
            if member not in self.deaf:
                member.election.tell(address, self.term)


@asynccontextmanager
async def members(
    count: int = 3, tokens: dict[int, str] | None = None, relay_budget: ByteBudget | None = None
) -> AsyncIterator[Members]:
    started = [Member((tokens or {}).get(number, TOKEN), relay_budget=relay_budget) for number in range(count)]
    for member in started:
        await member.start()
    try:
        yield Members(started)
    finally:
        await asyncio.gather(*(member.stop() for member in started))
