"""Workers with another date than the manager: the engine gets every time by the manager's clock."""

from __future__ import annotations

import pytest

from shunter.model.protocol.worker_messages import (
    Ended,
    Health,
    Heartbeat,
    Held,
    Inventory,
    MachineStats,
    Report,
    Started,
)
from shunter.watcher.clock_skew import DELAY_MAX_MS, SKEW_MIN_MS, ClockSkew
from tests.unit.watcher.harness import FakeWorker, Harness, hello, virtual

HOUR_MS = 3600 * 1000


@pytest.mark.parametrize("ahead_ms", [HOUR_MS, -HOUR_MS, 2 * SKEW_MIN_MS])
def test_times_of_reports_and_inventories_reach_the_engine_by_its_own_clock(ahead_ms: int) -> None:
    @virtual
    async def scenario() -> None:
        harness = await Harness().open()
        await harness.advance(2 * HOUR_MS / 1000)
        now_ms = int(harness.clock.now() * 1000)
        worker = FakeWorker(harness, "n1", "b1")
        await worker.send(hello())
        at_ms = now_ms + ahead_ms
        await worker.send(Heartbeat(MachineStats(at_ms)))
        ended, health = Ended(1, 0, 1, 0, [], [at_ms], [at_ms], 1, 0), Health(1, 0, 1, 1, True, at_ms)
        held = [Held(1, 0, 1, 1, 1, True, at_ms), Held(1, 0, 1, 2, 9, False)]
        await worker.send(Inventory(1, held, [ended], [], [health]))
        await worker.send(Report(2, [ended], [Started(1, 0, 1, 1, at_ms, 1, 0)], health=[health]))

        inventory, report = (message for kind, _, message in harness.engine.calls if kind in ("inventory", "report"))
        assert [part.started_ms for part in inventory.held] == [now_ms, 0]
        assert report.started[0].started_ms == now_ms
        for message in (inventory, report):
            assert message.ended[0].started_ms == message.ended[0].ended_ms == [now_ms]
            assert message.health[0].at_ms == now_ms
        assert ended.ended_ms == [at_ms], "a worker in the same process still has its own message"

    scenario()


def test_a_small_difference_is_the_time_that_a_message_takes() -> None:
    skew = ClockSkew()
    skew.measure(1_000_000, 1_000_000 + SKEW_MIN_MS - 1)
    assert skew.ahead_ms == 0


def test_a_slow_heartbeat_does_not_change_what_is_known() -> None:
    skew = ClockSkew()
    skew.measure(5_000_000, 1_000_000)
    skew.measure(5_010_000, 1_010_000 + DELAY_MAX_MS - 1)
    assert skew.ahead_ms == 4_000_000


def test_a_clock_that_is_set_back_or_forward_is_noticed() -> None:
    skew = ClockSkew()
    skew.measure(HOUR_MS, HOUR_MS)
    skew.measure(2 * HOUR_MS, HOUR_MS)
    assert skew.ahead_ms == HOUR_MS
    skew.measure(HOUR_MS // 2, HOUR_MS)
    assert skew.ahead_ms == -HOUR_MS // 2
