"""Distribution of work to keepers: shares, windows, and reclaimed tasks. The keepers' connections are fakes."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.worker_messages import Ended, Order
from shunter.worker.grants import Devices, Grants, HostPorts
from shunter.worker.process.keeper_client import Keeper
from shunter.worker.process.lanes import WINDOW_WORK_S, Lanes
from shunter.worker.process.protocol import KeeperStarted, Reclaimed, ReclaimedRange
from shunter.worker.process.range_ledger import TaskRange, TaskRangeLedger

SPECS = {1: TaskSpec(command=("/bin/true",))}


class RecordingTransport(asyncio.Transport):
    """Notes what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[list[Any]] = []
        self.writes = 0

    def close(self) -> None: ...

    def write(self, data: Any) -> None:
        self.writes += 1
        self.messages += [msgspec.json.decode(line) for line in bytes(data).splitlines()]


def no_grants() -> Grants:
    return Grants(HostPorts(20_000, 20_000), Devices({}))


class Harness:
    def __init__(self, keepers: int) -> None:
        self.requested_keepers: list[int] = []
        self.ledger = TaskRangeLedger()
        self.lanes = Lanes(self.ledger, SPECS, self.requested_keepers.append, no_grants())
        self.transports: dict[Keeper, RecordingTransport] = {}
        for number in range(keepers):
            keeper, transport = Keeper(number, 0, self), RecordingTransport()
            keeper.connection_made(transport)
            self.transports[keeper] = transport
            self.lanes.release(keeper, 0.0)
        self.keepers = list(self.transports)

    def order(self, count: int, width: int, first: int = 0, reservation: int = 1) -> None:
        order = Order(1, 0, first, first + count - 1, 1, 1, reservation, width, "default", "job", "main", count)
        task_range = TaskRange(order, order.first, order.last, 1)
        found = self.lanes.reservation(reservation)
        found.width = width
        self.ledger.add(task_range)
        found.push(task_range)
        self.lanes.dispatch(found)

    def messages(self, keeper: Keeper) -> list[list[Any]]:
        """All that it was sent."""
        keeper.flush()
        return self.transports[keeper].messages

    def held(self) -> list[int]:
        return [keeper.held for keeper in self.keepers]

    def keeper_reported(self, *_: Any) -> None: ...

    def keeper_returned_tasks(self) -> None: ...

    def keeper_disconnected(self, *_: Any) -> None: ...


async def test_at_first_every_lane_gets_one_task() -> None:
    harness = Harness(3)
    harness.order(100, width=2)
    assert sorted(harness.held()) == [0, 1, 1]
    assert harness.requested_keepers == []


async def test_lanes_that_have_no_keeper_ask_for_one() -> None:
    harness = Harness(1)
    harness.order(100, width=4)
    assert harness.held() == [1]
    assert harness.requested_keepers == [3]


async def test_the_window_doubles_up_to_fifty_milliseconds_of_work() -> None:
    harness = Harness(1)
    reservation = harness.lanes.reservation(1)
    windows = []
    for place in range(12):
        reservation.adapt_window(Ended(1, 0, 1, place, [], [0] * 10, [0] * 9 + [20], 1, 0))  # 2 ms each
        windows.append(reservation.window)
    assert windows[:4] == [2, 4, 8, 16]
    assert windows[-1] == int(WINDOW_WORK_S / 0.002)
    for place in range(12):
        reservation.adapt_window(Ended(1, 0, 1, place, [], [0], [5000], 1, 0))
    assert reservation.window == 1


async def test_a_wide_window_does_not_starve_the_other_lanes() -> None:
    harness = Harness(4)
    harness.lanes.reservation(1).window = 64
    harness.order(40, width=4)
    assert sum(harness.held()) == 40
    assert max(harness.held()) == 10


async def test_what_waits_behind_a_long_task_moves_to_a_free_lane_when_the_keeper_confirms() -> None:
    harness = Harness(2)
    reservation = harness.lanes.reservation(1)
    reservation.window = 64
    harness.order(20, width=1)
    busy = next(keeper for keeper in harness.keepers if keeper.held)
    busy.running = KeeperStarted(1, 0, 1, 0, 0, 1, 0, 99)
    reservation.width = 2
    harness.lanes.dispatch(reservation)
    assert harness.messages(busy)[-1][:1] == ["take"]
    assert harness.messages(busy)[-1][2:] == ["tail", 10]
    busy.data_received(msgspec.json.encode(Reclaimed(1, [ReclaimedRange(1, 0, 1, 10, 19)])) + b"\n")
    other = next(keeper for keeper in harness.keepers if keeper is not busy)
    assert other.held + reservation.queued == 10
    assert other.held > 0
    assert busy.held == 10
    assert sum(len(task_range) for task_range in harness.ledger.task_ranges()) == 20


async def test_a_spec_is_sent_once_for_many_ranges() -> None:
    harness = Harness(1)
    harness.lanes.reservation(1).window = 8
    for place in range(5):
        harness.order(1, width=1, first=place)
    verbs = [message[0] for message in harness.messages(harness.keepers[0])]
    assert verbs == ["attach", "spec", "run", "run", "run", "run", "run"]


async def test_a_part_withdrawn_from_the_queue_leaves_the_rest_in_place() -> None:
    harness = Harness(0)
    harness.order(10, width=1)
    [task_range] = harness.ledger.overlapping(1, 0, 0, 9)
    taken = harness.lanes.withdraw(task_range, 3, 5)
    assert (taken.first, taken.last) == (3, 5)
    reservation = harness.lanes.reservation(1)
    assert [(task_range.first, task_range.last) for task_range in reservation.queue] == [(0, 2), (6, 9)]
    assert reservation.queued == 7


async def test_an_order_and_an_acknowledgement_of_one_turn_are_one_write() -> None:
    """A keeper wakes up once for both."""
    harness = Harness(1)
    [keeper], attached = harness.keepers, 1
    harness.order(1, width=1)
    keeper.acknowledge(7)
    transport = harness.transports[keeper]
    assert transport.writes == attached
    await asyncio.sleep(0)
    assert [message[0] for message in transport.messages] == ["attach", "spec", "run", "ack"]
    assert transport.writes == attached + 1
    keeper.acknowledge(8)
    keeper.detach()
    assert transport.messages[-1] == ["ack", 8]
