"""Makes Python's cyclic garbage collector run rarely and never for long. Called by processes that hold many jobs.

The engine creates no cycles in what it drops, so reference counting frees nearly all memory. A search for cycles
through a million live jobs would stop the loop for half a second, so nothing starts one by itself: the manager starts
it when there are few jobs."""

from __future__ import annotations

import gc

GEN0_THRESHOLD = 25_000  # between two collections of young objects, which take a few milliseconds
GEN1_THRESHOLD = 2  # before the middle-aged are looked at
GEN2_THRESHOLD = 1_000_000  # before everything is: never
COLLECT_EVERY_S = 60.0  # everything, if that is quick
QUICK_JOBS_MAX = 20_000  # with so few live jobs, everything is looked at in some ten milliseconds


def tune_garbage_collector() -> None:
    gc.collect()
    gc.freeze()  # existing objects stay forever
    gc.set_threshold(GEN0_THRESHOLD, GEN1_THRESHOLD, GEN2_THRESHOLD)


def collect_if_quick(live_jobs: int) -> None:
    """Look for cycles among all objects, unless there are so many that it would take long."""
    if live_jobs <= QUICK_JOBS_MAX:
        gc.collect()
