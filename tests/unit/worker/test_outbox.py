"""Reports of one turn are sent as one; nothing important is dropped before it is acknowledged."""

from __future__ import annotations

import asyncio

from shunter.model.protocol.report_slices import SLICE_MAX, count_entries
from shunter.model.protocol.worker_messages import (
    Ended,
    Health,
    Held,
    Inventory,
    Lost,
    Report,
    Returned,
    WorkerMessage,
)
from shunter.watcher.message_checks import message_problem
from shunter.worker.outbox import Outbox
from shunter.worker.process.keeper_client import Keeper
from shunter.worker.process.protocol import KeeperReport


class Uplink:
    def __init__(self) -> None:
        self.messages: list[WorkerMessage] = []

    def send(self, message: WorkerMessage) -> None:
        self.messages.append(message)


class NullOwner:
    def keeper_reported(self, keeper: Keeper, report: KeeperReport) -> None: ...

    def keeper_returned_tasks(self) -> None: ...

    def keeper_disconnected(self, keeper: Keeper) -> None: ...


def ended(index: int) -> Ended:
    return Ended(1, 0, 1, index, [], [1], [2], 1, index)


async def test_what_happens_in_one_turn_is_one_report() -> None:
    outbox, uplink, keeper = Outbox(), Uplink(), Keeper(1, 0, NullOwner())
    outbox.connect(uplink, [], [])
    for index in range(3):
        outbox.add_keeper_report(keeper, KeeperReport(index + 1, [ended(index)], [], 1))
    outbox.add_returned(Returned(1, 0, 1, 5, 6))
    assert len(uplink.messages) == 1
    await asyncio.sleep(0)
    report = uplink.messages[-1]
    assert isinstance(report, Report)
    assert (report.seq, len(report.ended), len(report.returned), len(uplink.messages)) == (2, 3, 1, 2)


async def test_acknowledging_tells_how_far_each_keeper_s_reports_are_safe() -> None:
    outbox, uplink = Outbox(), Uplink()
    one, other = Keeper(1, 0, NullOwner()), Keeper(2, 0, NullOwner())
    outbox.connect(uplink, [], [])
    for seq in (1, 2):
        outbox.add_keeper_report(one, KeeperReport(seq, [ended(seq)], [], 1))
        await asyncio.sleep(0)
    outbox.add_keeper_report(other, KeeperReport(1, [ended(9)], [], 1))
    await asyncio.sleep(0)
    done = outbox.acknowledge(2)
    assert (done.keepers, [each.first for each in done.ended]) == ({one: 1}, [1])
    done = outbox.acknowledge(4)
    assert (done.keepers, [each.first for each in done.ended]) == ({one: 2, other: 1}, [2, 9])


async def test_the_next_connection_s_inventory_carries_what_was_not_acknowledged() -> None:
    outbox, first, second, keeper = Outbox(), Uplink(), Uplink(), Keeper(1, 0, NullOwner())
    outbox.connect(first, [], [])
    outbox.acknowledge(1)
    outbox.add_keeper_report(keeper, KeeperReport(1, [ended(1)], [], 1))
    await asyncio.sleep(0)
    outbox.disconnect()
    outbox.add_keeper_report(keeper, KeeperReport(2, [ended(2)], [], 1))
    outbox.add_lost(Lost(1, 0, 1, 3, 3, "gone"))
    await asyncio.sleep(0)
    outbox.connect(second, [], [])
    [inventory] = second.messages
    assert isinstance(inventory, Inventory)
    assert ([each.first for each in inventory.ended], len(inventory.lost)) == ([1, 2], 1)
    assert len(first.messages) == 2
    assert outbox.acknowledge(inventory.seq).keepers == {keeper: 2}
    await asyncio.wait_for(outbox.wait_empty(), 1)


async def test_no_text_is_longer_than_a_manager_accepts() -> None:
    """A manager ends the connection otherwise, again and again: the text is part of every inventory."""
    outbox, uplink, keeper = Outbox(), Uplink(), Keeper(1, 0, NullOwner())
    outbox.connect(uplink, [], [])
    text = "/" + "x" * 100_000
    failed = Ended(1, 0, 1, 0, [126], [1], [2], 1, 0, "error", text)
    outbox.add_keeper_report(keeper, KeeperReport(1, [failed], [], 1))
    outbox.add_ended(Ended(1, 0, 1, 1, [126], [1], [2], 1, 0, "error", text))
    outbox.add_lost(Lost(1, 0, 1, 2, 2, text))
    health = Health(1, 0, 1, 3, False, 1, text)
    outbox.add_health(health)
    await asyncio.sleep(0)
    outbox.disconnect()
    outbox.connect(uplink, [], [health])
    _, report, inventory = uplink.messages
    assert message_problem(report) is None and message_problem(inventory) is None
    assert isinstance(report, Report) and isinstance(inventory, Inventory)
    details = [*(each.detail for each in inventory.ended), inventory.lost[0].reason, inventory.health[0].detail]
    assert len(details) == 4 and all(each.startswith("/xxx") and each.endswith("xxx...") for each in details)


async def test_a_large_report_is_sent_as_several_and_forgotten_when_all_are_committed() -> None:
    outbox, uplink, keeper = Outbox(), Uplink(), Keeper(1, 0, NullOwner())
    outbox.connect(uplink, [], [])
    outbox.acknowledge(1)
    outbox.add_keeper_report(keeper, KeeperReport(7, [ended(index) for index in range(2 * SLICE_MAX + 1)], [], 1))
    await asyncio.sleep(0)
    reports = [message for message in uplink.messages if isinstance(message, Report)]
    assert [report.seq for report in reports] == [2, 3, 4]
    assert [count_entries(report) for report in reports] == [SLICE_MAX, SLICE_MAX, 1]
    assert outbox.keepers_with_results() == {keeper}
    assert not outbox.acknowledge(3).keepers
    assert outbox.acknowledge(4).keepers == {keeper: 7}


async def test_of_very_many_results_the_inventory_has_the_first_and_reports_have_the_others() -> None:
    outbox, uplink, keeper = Outbox(), Uplink(), Keeper(1, 0, NullOwner())
    running = Held(1, 0, 1, 99_999, 99_999, True)
    outbox.add_keeper_report(keeper, KeeperReport(7, [ended(index) for index in range(2 * SLICE_MAX)], [], 1))
    outbox.add_lost(Lost(1, 0, 1, 2 * SLICE_MAX, 2 * SLICE_MAX, "its keeper died"))
    outbox.connect(uplink, [running], [])
    inventory, *reports = uplink.messages
    assert isinstance(inventory, Inventory) and len(inventory.ended) == SLICE_MAX
    # to the manager these have not ended yet, so that it does not take them for lost
    assert inventory.held == [running, Held(1, 0, 1, SLICE_MAX, 2 * SLICE_MAX, False)]
    assert [len(report.ended) for report in reports if isinstance(report, Report)] == [SLICE_MAX, 0]
    assert outbox.acknowledge(2).keepers == {} and outbox.acknowledge(3).keepers == {keeper: 7}
