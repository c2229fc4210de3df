"""A worker and the watcher in one process."""

from __future__ import annotations

import asyncio

from shunter.model.lifecycles import NodeEvent
from shunter.model.protocol.worker_messages import (
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
from shunter.watcher.in_process import BACKLOG_MAX, RECONNECT_S, connect_in_process
from tests.unit.watcher.harness import Harness, hello, virtual


class MinimalWorker:
    """Says Hello and its inventory by itself; notes the rest."""

    def __init__(self) -> None:
        self.uplink: Uplink | None = None
        self.heard: list[ManagerMessage] = []
        self.ends: list[str] = []

    def connected(self, uplink: Uplink) -> None:
        self.uplink = uplink
        uplink.send(hello())

    def received(self, message: ManagerMessage) -> None:
        self.heard.append(message)
        if isinstance(message, Welcome):
            self.send(Inventory(1, [], []))

    def disconnected(self, reason: str) -> None:
        self.ends.append(reason)

    def send(self, message: Inventory | Report | Goodbye) -> None:
        assert self.uplink is not None
        self.uplink.send(message)


@virtual
async def test_a_worker_in_process_joins_without_time_passing() -> None:
    harness = await Harness().open()
    worker = MinimalWorker()
    began = harness.clock.now()
    connect_in_process(harness.watcher, worker)
    await harness.settle()
    assert harness.engine.call_kinds() == ["hello", "inventory"]
    assert isinstance(worker.heard[0], Welcome)
    assert harness.clock.now() == began


@virtual
async def test_messages_keep_their_order_both_ways_and_are_not_copied() -> None:
    harness = await Harness().open()
    worker = MinimalWorker()
    connect_in_process(harness.watcher, worker)
    await harness.settle()
    down = [Stop(epoch, []) for epoch in range(100)]
    for message in down:
        harness.watcher.send(1, message)
    for seq in range(2, 102):
        worker.send(Report(seq, ended=[]))
    await harness.settle()
    await harness.settle()
    assert all(heard is sent for heard, sent in zip(worker.heard[1:], down, strict=True))
    numbers = [message.seq for kind, _, message in harness.engine.calls if kind == "report"]
    assert len(numbers) == 100
    assert numbers == sorted(numbers)


@virtual
async def test_neither_side_is_called_within_its_own_call() -> None:
    harness = await Harness().open()
    worker = MinimalWorker()
    connect_in_process(harness.watcher, worker)
    await harness.settle()
    harness.watcher.send(1, Shutdown(False))
    worker.send(Report(2))
    assert Shutdown(False) not in worker.heard
    assert "report" not in harness.engine.call_kinds()


@virtual
async def test_a_connection_that_the_watcher_ends_is_opened_again() -> None:
    harness = await Harness().open()
    worker = MinimalWorker()
    connect_in_process(harness.watcher, worker)
    await harness.settle()
    harness.watcher.reset("new epoch")
    worker.send(Report(2))
    await harness.settle()
    assert worker.ends == ["reset: new epoch"]
    assert worker.heard[-1] == Refused("reset", "new epoch", retry=True)
    await harness.advance(RECONNECT_S)
    assert harness.engine.call_kinds() == ["hello", "inventory", "hello", "inventory"]


@virtual
async def test_a_worker_that_closes_hands_over_what_it_said_and_does_not_come_back() -> None:
    harness = await Harness().open()
    worker = MinimalWorker()
    connection = connect_in_process(harness.watcher, worker)
    await harness.settle()
    worker.send(Report(2))
    worker.send(Goodbye("stopped"))
    connection.close("stopped")
    worker.send(Report(3))
    await harness.advance(10.0)
    assert harness.engine.call_kinds() == ["hello", "inventory", "report"]
    assert harness.engine.events_of(1) == [NodeEvent.HEARD, NodeEvent.LEFT]
    assert len(worker.ends) == 1


@virtual
async def test_a_worker_that_closes_while_its_connection_is_being_reopened_stays_closed() -> None:
    harness = await Harness().open()
    worker = MinimalWorker()
    connection = connect_in_process(harness.watcher, worker)
    await harness.settle()
    harness.watcher.reset("new epoch")
    await harness.settle()
    connection.close("stopped")
    await harness.advance(10.0)
    assert harness.engine.call_kinds() == ["hello", "inventory"]


@virtual
async def test_a_worker_that_fails_on_a_message_still_hears_the_next() -> None:
    class Clumsy(MinimalWorker):
        def received(self, message: ManagerMessage) -> None:
            super().received(message)
            if isinstance(message, Stop):
                raise RuntimeError("a bug")

    harness = await Harness().open()
    worker = Clumsy()
    connect_in_process(harness.watcher, worker)
    await harness.settle()
    harness.watcher.send(1, Stop(1, []))
    harness.watcher.send(1, Shutdown(False))
    await harness.settle()
    assert worker.heard[-1] == Shutdown(False)


@virtual
async def test_a_backlog_past_its_limit_costs_the_connection_and_the_inventory_repairs_it() -> None:
    harness = await Harness().open()
    worker = MinimalWorker()
    connect_in_process(harness.watcher, worker)
    await harness.settle()
    harness.engine.gate.clear()
    for seq in range(2, BACKLOG_MAX + 4):
        worker.send(Report(seq))
    harness.engine.gate.set()
    await harness.advance(RECONNECT_S)
    assert worker.ends == [f"more than {BACKLOG_MAX} messages of the worker are pending"]
    assert harness.engine.call_kinds()[-2:] == ["hello", "inventory"]


@virtual
async def test_a_slow_engine_holds_up_the_worker_but_loses_nothing() -> None:
    harness = await Harness().open()
    worker = MinimalWorker()
    connect_in_process(harness.watcher, worker)
    await harness.settle()
    harness.engine.gate.clear()
    for seq in range(2, 5):
        worker.send(Report(seq))
    await harness.settle()
    assert harness.engine.call_kinds().count("report") == 1
    harness.engine.gate.set()
    await asyncio.sleep(0)
    await harness.settle()
    assert harness.engine.call_kinds().count("report") == 3
