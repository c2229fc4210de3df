"""Makes Python's cyclic garbage collector run rarely. Called by processes that hold many jobs.

The engine creates no cycles in what it drops, so reference counting frees nearly all memory. Repeated searches for
cycles through a hundred thousand live jobs would take a quarter of the engine's time."""

from __future__ import annotations

import gc

GEN0_THRESHOLD = 100_000  # between two collections of young objects
GEN1_THRESHOLD = 20  # before the middle-aged are looked at
GEN2_THRESHOLD = 100  # before everything is


def tune_garbage_collector() -> None:
    gc.collect()
    gc.freeze()  # existing objects stay forever
    gc.set_threshold(GEN0_THRESHOLD, GEN1_THRESHOLD, GEN2_THRESHOLD)
