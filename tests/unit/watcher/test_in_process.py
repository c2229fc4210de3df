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
from tests.unit.watcher.harness import Stage, hello, virtual


class ShortWorker:
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
            self.say(Inventory(1, [], []))

    def disconnected(self, reason: str) -> None:
        self.ends.append(reason)

    def say(self, message: Inventory | Report | Goodbye) -> None:
        assert self.uplink is not None
        self.uplink.send(message)


@virtual
async def test_a_worker_in_process_joins_without_time_passing() -> None:
    stage = await Stage().open()
    worker = ShortWorker()
    began = stage.clock.now()
    connect_in_process(stage.watcher, worker)
    await stage.settle()
    assert stage.engine.kinds() == ["hello", "inventory"]
    assert isinstance(worker.heard[0], Welcome)
    assert stage.clock.now() == began


@virtual
async def test_messages_keep_their_order_both_ways_and_are_not_copied() -> None:
    stage = await Stage().open()
    worker = ShortWorker()
    connect_in_process(stage.watcher, worker)
    await stage.settle()
    down = [Stop(epoch, []) for epoch in range(100)]
    for message in down:
        stage.watcher.send(1, message)
    for seq in range(2, 102):
        worker.say(Report(seq, ended=[]))
    await stage.settle()
    await stage.settle()
    assert all(heard is sent for heard, sent in zip(worker.heard[1:], down, strict=True))
    numbers = [message.seq for kind, _, message in stage.engine.calls if kind == "report"]
    assert len(numbers) == 100
    assert numbers == sorted(numbers)


@virtual
async def test_neither_side_is_called_within_its_own_call() -> None:
    stage = await Stage().open()
    worker = ShortWorker()
    connect_in_process(stage.watcher, worker)
    await stage.settle()
    stage.watcher.send(1, Shutdown(False))
    worker.say(Report(2))
    assert Shutdown(False) not in worker.heard
    assert "report" not in stage.engine.kinds()


@virtual
async def test_a_connection_that_the_watcher_ends_is_opened_again() -> None:
    stage = await Stage().open()
    worker = ShortWorker()
    connect_in_process(stage.watcher, worker)
    await stage.settle()
    stage.watcher.reset("new epoch")
    worker.say(Report(2))
    await stage.settle()
    assert worker.ends == ["reset: new epoch"]
    assert worker.heard[-1] == Refused("reset", "new epoch", retry=True)
    await stage.pass_time(RECONNECT_S)
    assert stage.engine.kinds() == ["hello", "inventory", "hello", "inventory"]


@virtual
async def test_a_worker_that_closes_hands_over_what_it_said_and_does_not_come_back() -> None:
    stage = await Stage().open()
    worker = ShortWorker()
    connection = connect_in_process(stage.watcher, worker)
    await stage.settle()
    worker.say(Report(2))
    worker.say(Goodbye("stopped"))
    connection.close("stopped")
    worker.say(Report(3))
    await stage.pass_time(10.0)
    assert stage.engine.kinds() == ["hello", "inventory", "report"]
    assert stage.engine.told(1) == [NodeEvent.HEARD, NodeEvent.LEFT]
    assert len(worker.ends) == 1


@virtual
async def test_a_worker_that_closes_while_its_connection_is_being_reopened_stays_closed() -> None:
    stage = await Stage().open()
    worker = ShortWorker()
    connection = connect_in_process(stage.watcher, worker)
    await stage.settle()
    stage.watcher.reset("new epoch")
    await stage.settle()
    connection.close("stopped")
    await stage.pass_time(10.0)
    assert stage.engine.kinds() == ["hello", "inventory"]


@virtual
async def test_a_worker_that_fails_on_a_message_still_hears_the_next() -> None:
    class Clumsy(ShortWorker):
        def received(self, message: ManagerMessage) -> None:
            super().received(message)
            if isinstance(message, Stop):
                raise RuntimeError("a bug")

    stage = await Stage().open()
    worker = Clumsy()
    connect_in_process(stage.watcher, worker)
    await stage.settle()
    stage.watcher.send(1, Stop(1, []))
    stage.watcher.send(1, Shutdown(False))
    await stage.settle()
    assert worker.heard[-1] == Shutdown(False)


@virtual
async def test_a_backlog_past_its_limit_costs_the_connection_and_the_inventory_repairs_it() -> None:
    stage = await Stage().open()
    worker = ShortWorker()
    connect_in_process(stage.watcher, worker)
    await stage.settle()
    stage.engine.gate.clear()
    for seq in range(2, BACKLOG_MAX + 4):
        worker.say(Report(seq))
    stage.engine.gate.set()
    await stage.pass_time(RECONNECT_S)
    assert worker.ends == [f"more than {BACKLOG_MAX} messages of the worker wait"]
    assert stage.engine.kinds()[-2:] == ["hello", "inventory"]


@virtual
async def test_a_slow_engine_holds_up_the_worker_but_loses_nothing() -> None:
    stage = await Stage().open()
    worker = ShortWorker()
    connect_in_process(stage.watcher, worker)
    await stage.settle()
    stage.engine.gate.clear()
    for seq in range(2, 5):
        worker.say(Report(seq))
    await stage.settle()
    assert stage.engine.kinds().count("report") == 1
    stage.engine.gate.set()
    await asyncio.sleep(0)
    await stage.settle()
    assert stage.engine.kinds().count("report") == 3
