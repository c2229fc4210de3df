"""Members of a coordination by etcd for tests, closed at the end, and a holder in a process of its own."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from shunter.adapters.etcd.coordination import EtcdCoordination
from shunter.adapters.etcd.settings import EtcdSettings
from tests.etcd_servers import TTL_S

prefixes = (f"test-{os.getpid()}-{number}" for number in itertools.count())


@asynccontextmanager
async def member(settings: EtcdSettings, name: str = "a") -> AsyncIterator[EtcdCoordination]:
    coordination = EtcdCoordination(settings, name)
    await coordination.open()
    try:
        yield coordination
    finally:
        await coordination.close()


@dataclass(frozen=True, slots=True)
class Holder:
    process: asyncio.subprocess.Process
    term: int

    def send(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    async def read_line(self) -> list[str]:
        assert self.process.stdout is not None
        return (await asyncio.wait_for(self.process.stdout.readline(), 30)).decode().split()


@asynccontextmanager
async def holder(address: str, prefix: str, ttl_s: int = TTL_S) -> AsyncIterator[Holder]:
    script = Path(__file__).with_name("etcd_holder.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(script), address, prefix, str(ttl_s), stdout=asyncio.subprocess.PIPE
    )
    try:
        _, term = await Holder(process, 0).read_line()
        yield Holder(process, int(term))
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
