"""Reads ended jobs of a window from history, the newest first, and where their tasks failed. Used by `analytics` and
`rollup_recorder`."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import replace

import numpy as np

from shunter.engine.jobs.finish import decode_summary
from shunter.gateway.jobs.task_reader import TaskReader
from shunter.gateway.jobs.task_refs import FinishedRun, task_sets_of
from shunter.model.lifecycles import TaskState
from shunter.ports.store import FinishedQuery, Store

PAGE = 1_000
FAILED_JOBS_MAX = 200  # whose tasks are looked at for one answer
FAILED_TASKS_MAX = 100_000  # of one job


async def ended_jobs(store: Store, query: FinishedQuery, limit: int) -> AsyncGenerator[tuple[FinishedRun, float]]:
    """At most `limit` of them, each with the time of its end."""
    before, left = None, limit
    while left > 0:
        jobs = await store.finished_jobs(replace(query, before_id=before, limit=min(PAGE, left)))
        for job in jobs:
            yield FinishedRun(job.id, decode_summary(job.summary)), job.ended_at
        left -= len(jobs)
        if len(jobs) < PAGE:
            return
        before = jobs[-1].id
        await asyncio.sleep(0)


async def failures_by_node(reader: TaskReader, run: FinishedRun) -> dict[str, int]:
    """Failed attempts of a job, by node: the last ones of its tasks, and those that were tried again."""
    found: Counter[str] = Counter()
    for position, task_set in enumerate(task_sets_of(run)):
        first, names = 0, list[str]()
        while first < min(task_set.count, FAILED_TASKS_MAX):
            block = await reader.block(run, task_set, first)
            if block is None:
                break
            names = block.node_names
            rows = np.flatnonzero(block.columns["state"] == TaskState.FAILED)
            for node, count in zip(*np.unique(block.columns["node"][rows], return_counts=True), strict=True):
                found[_name(names, int(node))] += int(count)
            first = block.first + len(block)
            await asyncio.sleep(0)
        past = run.summary.history[position] if position < len(run.summary.history) else []
        for attempt in past:
            if attempt[3] > 0:  # its exit code
                found[_name(names, attempt[2])] += 1
    found.pop("", None)
    return dict(found)


def _name(names: list[str], row: int) -> str:
    """Row 0 is no node: the task never had one."""
    return names[row] if 0 < row < len(names) else ""
