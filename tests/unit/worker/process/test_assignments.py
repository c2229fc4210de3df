"""Orders, stops and answers of keepers, in every possible order. The keepers' connections are fakes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from shunter.adapters.system.clock import SystemClock
from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.worker_messages import Ended, Inventory, Order, Orders, Report, StopRange, WorkerMessage
from shunter.worker.health.keeper_health import KeeperHealth
from shunter.worker.health.monitor import Monitor
from shunter.worker.outbox import Outbox
from shunter.worker.process.assignments import Assignments
from shunter.worker.process.keeper_client import Keeper
from shunter.worker.process.protocol import KeeperReport, KeeperStarted
from shunter.worker.settings import WorkerSettings
from tests.unit.worker.process.test_lanes import RecordingTransport, no_grants

SPEC = TaskSpec(command=("/bin/true",))


def no_health() -> KeeperHealth:
    return KeeperHealth(WorkerSettings(Path("/nowhere"), "node"), Monitor(SystemClock(), lambda _: None))


class Harness:
    """Keepers answer when the test says so."""

    def __init__(self, keepers: int) -> None:
        self.outbox = Outbox()
        self.reports: list[Report | Inventory] = []
        self.outbox.connect(self, [], [])
        self.assignments = Assignments(self.outbox, lambda _: None, no_grants(), no_health())
        self.transports: dict[Keeper, RecordingTransport] = {}
        self.seqs: dict[Keeper, int] = {}
        for number in range(keepers):
            keeper, transport = Keeper(number, 0, self), RecordingTransport()
            keeper.connection_made(transport)
            self.transports[keeper] = transport
            self.seqs[keeper] = 0
            self.assignments.keeper_ready(keeper, 0.0)
        self.keepers = list(self.transports)

    def send(self, message: WorkerMessage) -> None:
        assert isinstance(message, Report | Inventory)
        self.reports.append(message)

    def keeper_reported(self, keeper: Keeper, report: KeeperReport) -> None:
        self.assignments.keeper_reported(keeper, report, 0.0)

    def keeper_returned_tasks(self) -> None: ...

    def keeper_disconnected(self, keeper: Keeper) -> None: ...

    def order(self, first: int, last: int, width: int = 2, attempt: int = 1) -> None:
        order = Order(1, 0, first, last, attempt, 3, 1, width, "default", "job", "main", 100)
        self.assignments.accept(Orders(1, [order], {3: SPEC}))

    def ended(self, keeper: Keeper, first: int, count: int = 1, how: str = "") -> None:
        self.seqs[keeper] += 1
        run = Ended(1, 0, 1, first, [], [0] * count, [1] * count, 1, first, how)
        self._say(keeper, ["report", self.seqs[keeper], [run], [], 1])

    def taken(self, keeper: Keeper, request: int, *ranges: tuple[int, int]) -> None:
        self._say(keeper, ["taken", request, [[1, 0, 1, first, last] for first, last in ranges]])

    def _say(self, keeper: Keeper, message: list[Any]) -> None:
        keeper.data_received(msgspec.json.encode(message) + b"\n")

    def messages_of(self, keeper: Keeper, verb: str) -> list[list[Any]]:
        keeper.flush()
        return [message for message in self.transports[keeper].messages if message[0] == verb]

    async def returned(self) -> list[int]:
        await asyncio.sleep(0)
        reports = [report for report in self.reports if isinstance(report, Report)]
        each = [returned for report in reports for returned in report.returned]
        return sorted(index for returned in each for index in range(returned.first, returned.last + 1))


async def test_a_stop_that_meets_tasks_on_their_way_to_another_lane_returns_them() -> None:
    harness = Harness(2)
    harness.assignments.lanes.reservation(1).window = 16
    harness.order(0, 9, width=1)
    busy = next(keeper for keeper in harness.keepers if keeper.held)
    free = next(keeper for keeper in harness.keepers if not keeper.held)
    busy.running = KeeperStarted(1, 0, 1, 0, 1, 1, 0, 99)
    reservation = harness.assignments.lanes.reservation(1)
    reservation.width = 2
    harness.assignments.lanes.dispatch(reservation)
    assert harness.messages_of(busy, "take") == [["take", 1, "tail", 5]]
    harness.assignments.stop(StopRange(1, 0, 0, 9, 5.0))
    harness.taken(busy, 1, (5, 9))  # the answer to the first question; another lane may get them now
    harness.taken(busy, 2, (1, 4))
    for request in [message[1] for message in harness.messages_of(free, "take")]:
        given = [(order[2], order[3]) for message in harness.messages_of(free, "run") for order in message[1]]
        harness.taken(free, request, *given)
    assert await harness.returned() == list(range(1, 10))
    assert busy.held == 1
    assert free.held == 0


async def test_stopping_a_range_in_two_lanes_asks_each_of_them_once() -> None:
    harness = Harness(2)
    harness.order(0, 1)
    harness.assignments.stop(StopRange(1, 0, 0, 1, 5.0))
    for keeper in harness.keepers:
        harness.taken(keeper, 1)
        assert len(harness.messages_of(keeper, "take")) == 1
        assert len(harness.messages_of(keeper, "stop")) == 1


async def test_a_newer_attempt_waits_until_the_older_one_has_left_its_keeper() -> None:
    harness = Harness(1)
    harness.order(0, 0, width=1)
    [keeper] = harness.keepers
    harness.order(0, 0, width=1, attempt=2)
    assert harness.messages_of(keeper, "stop") == [["stop", [1, 0, 0, 0], 1, 0.0, 0, "stopped", ""]]
    assert len(harness.messages_of(keeper, "run")) == 1
    harness.taken(keeper, 1)
    harness.ended(keeper, 0, how="stopped")
    assert [order[4] for message in harness.messages_of(keeper, "run") for order in message[1]] == [1, 2]


async def test_when_the_cluster_stops_nothing_new_is_taken_and_stopped_tasks_are_lost() -> None:
    harness = Harness(1)
    harness.order(0, 2, width=1)
    [keeper] = harness.keepers
    assert harness.assignments.stop_all() == SPEC.stop_grace_s
    harness.order(5, 9, width=1)
    harness.taken(keeper, 1)
    harness.ended(keeper, 0, how="stopped")
    assert await harness.returned() == [1, 2]
    lost = [lost for report in harness.reports for lost in report.lost]
    assert [(each.first, each.reason) for each in lost] == [(0, "cluster stopped")]
    assert not harness.assignments.held()
