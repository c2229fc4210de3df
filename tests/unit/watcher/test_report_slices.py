"""A report or inventory of many entries reaches the engine in parts, and counts as one for its worker."""

from __future__ import annotations

from shunter.model.protocol.message_limits import HELD_MAX
from shunter.model.protocol.report_slices import PARTS, SLICE_MAX, count_entries, slice_report
from shunter.model.protocol.worker_messages import Ack, Ended, Health, Held, Inventory, Lost, Report, Returned, Started
from tests.unit.watcher.harness import FakeWorker, Harness, hello, virtual


def ended(first: int, count: int = 1) -> Ended:
    return Ended(1, 0, 1, first, [], [1] * count, [2] * count, 1, 0)


def large_report(seq: int = 2) -> Report:
    return Report(
        seq,
        [ended(0, SLICE_MAX // 2), *(ended(SLICE_MAX + index) for index in range(SLICE_MAX)), ended(0, 2 * SLICE_MAX)],
        [Started(1, 0, 1, index, 1, 1, 0) for index in range(SLICE_MAX - 1)],
        [Returned(1, 0, 1, index, index) for index in range(3)],
        [Lost(1, 0, 1, index, index, "gone") for index in range(SLICE_MAX)],
        [Health(1, 0, 1, index, True, 1) for index in range(3)],
    )


def test_the_parts_have_the_same_entries_in_the_same_order() -> None:
    report = large_report()
    parts = list(slice_report(report))
    for name in PARTS:
        assert [entry for part in parts for entry in getattr(part, name)] == getattr(report, name)
    assert all(count_entries(part) <= SLICE_MAX for part in parts if len(part.ended) != 1)
    assert {part.seq for part in parts} == {report.seq}


def test_an_empty_report_is_one_part() -> None:
    assert list(slice_report(Report(7))) == [Report(7)]


@virtual
async def test_a_large_report_is_acknowledged_when_its_last_part_is_committed() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    await worker.send(large_report(seq=2))
    numbers = [message.seq for kind, _, message in harness.engine.calls if kind == "report"]
    assert len(numbers) == len(list(slice_report(large_report()))) > 3
    for number in numbers[:-1]:
        harness.watcher.send(worker.node, Ack(number))
    assert worker.link.of(Ack) == [Ack(1)], "of its inventory"
    harness.watcher.send(worker.node, Ack(numbers[-1]))
    assert worker.link.of(Ack) == [Ack(1), Ack(2)]


def running(index: int) -> Held:
    return Held(1, 0, 1, index, index, True, 1, 1, 0)


@virtual
async def test_a_large_inventory_reaches_the_engine_in_parts_before_its_attempts_are_compared() -> None:
    harness = await Harness().open()
    worker = FakeWorker(harness, "n1", "b1")
    await worker.send(hello("n1", "b1"))
    ends = [ended(index) for index in range(3 * SLICE_MAX)]
    held = [running(index) for index in range(SLICE_MAX)]
    lost = [Lost(1, 0, 1, 1, 1, "gone")]
    await worker.send(Inventory(1, held, ends, lost, [Health(1, 0, 1, 2, True, 1)]))
    (*parts, last) = [message for kind, _, message in harness.engine.calls if kind.startswith("inventory")]
    assert len(parts) >= 4 and max(map(count_entries, parts)) <= SLICE_MAX
    assert [end for part in parts for end in part.ended] == ends
    assert [start.index for part in parts for start in part.started] == list(range(SLICE_MAX))
    assert [each for part in parts for each in part.lost] == lost
    assert (last.held, last.ended, last.lost, last.health) == (held, [], [], [])
    for part in parts:
        harness.watcher.send(worker.node, Ack(part.seq))
    assert not worker.link.of(Ack)
    harness.watcher.send(worker.node, Ack(last.seq))
    assert worker.link.of(Ack) == [Ack(1)]


@virtual
async def test_an_inventory_of_more_attempts_than_a_node_can_hold_is_refused() -> None:
    harness = await Harness().open()
    worker = FakeWorker(harness, "n1", "b1")
    await worker.send(hello("n1", "b1"))
    await worker.send(Inventory(1, [running(index) for index in range(HELD_MAX + 1)], []))
    assert (
        worker.link.refused is not None
        and f"Inventory.held: {HELD_MAX + 1} is not within" in worker.link.refused.reason
    )
    assert not [kind for kind in harness.engine.call_kinds() if kind.startswith("inventory")]
