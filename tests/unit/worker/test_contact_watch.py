"""Orders that wait for contact: a worker that has too many of them connects again instead of losing some."""

from __future__ import annotations

from pathlib import Path

from shunter.adapters.system.clock import SystemClock
from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.worker_messages import Order, Orders, Stop
from shunter.worker.contact_watch import DEFERRED_MAX, ContactWatch


async def test_too_many_deferred_messages_end_the_connection_once(tmp_path: Path) -> None:
    reconnects: list[None] = []
    watch = ContactWatch(tmp_path, SystemClock(), lambda _: None, set, lambda *_: None, lambda: reconnects.append(None))
    order = Order(1, 0, 0, 0, 1, 1, 1, 1, "default", "job", "main", 1)
    assert watch.defers(Orders(1, [order], {1: TaskSpec(command=("true",), stop_after_s=10.0)}))
    for _ in range(DEFERRED_MAX - 2):
        assert watch.defers(Stop(1, []))
    assert not reconnects
    for _ in range(3):
        assert watch.defers(Stop(1, []))
    assert len(reconnects) == 1
    watch.disconnected()
    assert not watch.defers(Stop(1, []))
