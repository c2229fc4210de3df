"""The quotas of a tenant by name: what it may have queued at most, what it may have on nodes, how many requests it
may send, and how many finished jobs history keeps. Pure.

The engine refuses submits beyond QUEUED. Tasks wait while a quota of PLACED is used up. The API refuses requests beyond
REQUESTS. Of the finished jobs beyond HISTORY, those that ended first are dropped."""

from __future__ import annotations

from collections.abc import Mapping

QUEUED = "queued"  # tasks of unfinished jobs that are not on nodes
RUNNING = "running"  # tasks on nodes
CPU, MEMORY, GPU = "cpu", "memory", "gpu"  # reserved on nodes: milli-cores, bytes, devices
PLACED = (RUNNING, CPU, MEMORY, GPU)  # what running tasks use, in the order of the planner's columns
NOTHING_PLACED = (0,) * len(PLACED)
REQUESTS = "requests_per_s"  # of all its users together
HISTORY = "history"  # finished jobs
QUOTAS = (QUEUED, *PLACED, REQUESTS, HISTORY)


def placed_needs(needs: Mapping[str, int]) -> tuple[int, ...]:
    """What one task with these needs uses of each of PLACED."""
    return (1, needs.get(CPU, 0), needs.get(MEMORY, 0), needs.get(GPU, 0))
