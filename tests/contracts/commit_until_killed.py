"""A process that commits until it is killed, and prints each version after the store has acknowledged it.

Run by test_store_sqlite.py. Every version ends the job of the same number; snapshots and retention join in.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from shunter.adapters.sqlite.store import SqliteStore
from shunter.ports.store import Commit, FinishedJob, FinishedTasks, Retention, Snapshot


async def main() -> None:
    store = SqliteStore(Path(sys.argv[1]))
    await store.open()
    epoch = await store.begin_epoch()
    version = await store.last_version()
    while True:
        version += 1
        tasks = [FinishedTasks(0, 0, 1, b"tasks %d" % version)]
        job = FinishedJob(version, "default", f"job-{version}", 1, "succeeded", 1.0, 2.0, {"n": "1"}, b"summary", tasks)
        await store.commit(Commit(epoch, version, float(version), b"round %d" % version, [job]))
        print(version, flush=True)
        if version % 40 == 0:
            await store.save_snapshot(epoch, Snapshot(version, b"snapshot %d" % version))
            await store.purge(epoch, Retention(finished_age_s=1e9, rounds_max=20), now=0.0)


asyncio.run(main())
