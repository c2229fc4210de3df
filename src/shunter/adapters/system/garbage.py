"""Python's collector of cycles, told to look seldom. Called by processes that hold many jobs.

What the engine drops it drops without cycles, so nearly all memory is freed by counting references; looking for cycles
through a hundred thousand live jobs again and again takes a quarter of the engine's time.
"""

from __future__ import annotations

import gc

GEN0_THRESHOLD = 100_000  # between two looks at what is young
GEN1_THRESHOLD = 20  # before the middle-aged are looked at
GEN2_THRESHOLD = 100  # before everything is


def tune_garbage_collector() -> None:
    gc.collect()
    gc.freeze()  # what is there stays for good
    gc.set_threshold(GEN0_THRESHOLD, GEN1_THRESHOLD, GEN2_THRESHOLD)
