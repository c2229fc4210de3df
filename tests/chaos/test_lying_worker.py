"""A worker that lies, as fast as it can, next to two that do not: their jobs end as if it were not there."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shunter.adapters.grpc.worker_client import WorkerClient
from shunter.model.protocol.worker_messages import PROTOCOL_VERSION, Hello, Inventory, ManagerMessage, Welcome
from shunter.ports.workers import Uplink
from shunter.simulation.runtime.lies import LIES
from tests.chaos import campaign
from tests.chaos.campaign import LIMITS, print_figures, run_campaign
from tests.e2e.cluster import Cluster
from tests.e2e.remote import RemoteCluster

pytestmark = campaign.pytestmark

JOB_MAX = 400  # ids of jobs that the campaign's load gets


class Liar:
    """The handler of a worker's connection. It joins, lies once or twice, is thrown out, and comes again."""

    def __init__(self, name: str, rng: random.Random) -> None:
        self.lies = 0
        self.ended: dict[str, int] = {}
        self._name = name
        self._rng = rng
        self._uplink: Uplink | None = None

    def connected(self, uplink: Uplink) -> None:
        self._uplink = uplink
        uplink.send(Hello(PROTOCOL_VERSION, self._name, f"boot-{self._rng.randrange(2**64):x}", {"cpu": 1000}))

    def received(self, message: ManagerMessage) -> None:
        assert self._uplink is not None
        if isinstance(message, Welcome):
            if self._rng.random() < 0.8:
                self._uplink.send(Inventory(0, [], []))
            task = (self._rng.randint(1, JOB_MAX), self._rng.randint(0, 1), self._rng.randint(0, 3))
            self._uplink.send(self._rng.choice(LIES)(task, self._rng))
            self.lies += 1

    def disconnected(self, reason: str) -> None:
        reason = reason.partition(":")[0]
        self.ended[reason] = self.ended.get(reason, 0) + 1


class LyingWorker(threading.Thread):
    def __init__(self, address: str, token: str, liar: Liar) -> None:
        super().__init__(daemon=True)
        self._address, self._token, self._liar = address, token, liar
        self._ending = threading.Event()

    def run(self) -> None:
        asyncio.run(self._lie())

    async def _lie(self) -> None:
        """One connection after the other, without the pauses that a real worker makes."""
        while not self._ending.is_set():
            client = WorkerClient(self._liar, self._address, self._token)
            await client._attempt()

    def stop(self) -> None:
        self._ending.set()
        self.join(30)


class Calm:
    """No faults but the liar's."""

    def __init__(self) -> None:
        self.faults: dict[str, Callable[[random.Random], None]] = {"pause": lambda _: time.sleep(0.1)}


@pytest.fixture
def remote(make_home: Callable[[], Cluster]) -> Iterator[RemoteCluster]:
    running = RemoteCluster(make_home, timeout="10s", limits=LIMITS)
    running.start_manager()
    for name in ("w1", "w2"):
        running.add_worker(name)
    yield running
    running.close()


@pytest.mark.smoke
def test_a_worker_that_lies_harms_nobody(remote: RemoteCluster, tmp_path: Path) -> None:
    liar = Liar("liar", random.Random(campaign.SEED))
    token = (remote.manager.home / "worker-token").read_text().strip()
    lying = LyingWorker(remote.manager.description["workers"], token, liar)
    lying.start()
    try:
        run_campaign("lying worker", remote.manager, Calm(), tmp_path, absent={"liar"})
    finally:
        lying.stop()
        print_figures("lies", lies=liar.lies, connections_ended_as=liar.ended)
    assert liar.lies
