"""How many jobs there are by state, queue, user, type or namespace. Used by `gateway.monitor`."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from itertools import islice

from shunter.engine.engine import Engine
from shunter.engine.read.views import counts_view
from shunter.engine.state.records import STATE_COUNT, Job
from shunter.model.rest.monitor.views import JobCount, JobCounts
from shunter.ports.store import FinishedQuery, Store

GROUP_BY = ("state", "queue", "user", "type", "namespace")
GROUPS_MAX = 1_000
SLICE_JOBS = 5_000  # looked at before the loop comes around
FINISHED_STATES = ("succeeded", "failed", "cancelled")
_KEYS: dict[str, Callable[[Job], str]] = {
    "state": lambda job: job.state.wire_name,
    "queue": lambda job: job.options.queue,
    "user": lambda job: job.user,
    "type": lambda job: job.type,
    "namespace": lambda job: job.namespace,
}


async def count_jobs(
    engine: Engine, store: Store, namespace: str | None, group_by: str, sees: Callable[[str | None], bool]
) -> JobCounts:
    await engine.wait_committed()
    key_of = _KEYS[group_by]
    jobs: Counter[str] = Counter()
    tasks: dict[str, list[int]] = {}
    before: int | None = None
    while True:
        state = engine.state
        ids = list(islice(state.job_index.newest(namespace, (), before), SLICE_JOBS))
        for job in (state.jobs[id] for id in ids):
            if sees(job.namespace):
                key = key_of(job)
                jobs[key] += 1
                sums = tasks.setdefault(key, [0] * STATE_COUNT)
                for code, count in enumerate(job.counts()):
                    if count:
                        sums[code] += count
        if len(ids) < SLICE_JOBS:
            break
        before = ids[-1]
        await asyncio.sleep(0)
        await engine.wait_committed()
    with_finished = group_by == "state" and (sees(namespace) if namespace else sees(None))
    if with_finished:
        for name in FINISHED_STATES:
            jobs[name] += await store.count_finished(FinishedQuery(namespace=namespace, states=(name,)))
    items = [
        JobCount(key=key, jobs=count, tasks=counts_view(tasks.get(key, ())))
        for key, count in jobs.most_common(GROUPS_MAX)
        if count
    ]
    return JobCounts(group_by=group_by, items=items, with_finished=with_finished)
