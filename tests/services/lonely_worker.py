"""A worker in a process of its own, which a test pauses or kills. Started with its home, `stop_after_s` and a command;
its keeper gets several tasks. Prints `running` once one of them runs, and has contact for as long as it runs itself."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from shunter.worker.process import lanes
from tests.services.worker_harness import Harness


async def _run(home: Path, stop_after_s: float, command: list[str]) -> None:
    harness = Harness(home)
    await harness.start()
    lanes.WINDOW_WORK_S = 100.0  # so that a keeper gets several tasks at once, however long they take
    for _ in range(2):
        await harness.run("/bin/true", first=len(harness.ended))
    harness.order(*command, job=2, stop_after_s=stop_after_s, stop_grace_s=0.2, last=3)
    await harness.until(lambda: any(started.job == 2 for started in harness.started))
    [keeper] = [each for each in harness.worker._keeper_pool.keepers if each.held]
    assert keeper.unstarted >= 1
    keeper.flush()
    print("running", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_run(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))
