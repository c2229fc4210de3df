"""The index of unfinished jobs answers like a scan of all of them."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from shunter.engine.state.job_index import BLOCK_ROWS, COMPACT_ROWS_MIN, JobIndex
from shunter.model.lifecycles import JobState

NAMESPACES = ("default", "film", "sound")
LIVE = (JobState.PENDING, JobState.RUNNING, JobState.STOPPING)


@pytest.mark.parametrize("seed", range(4))
def test_pages_and_totals_are_those_of_a_scan(seed: int) -> None:
    rng, index, jobs = random.Random(seed), JobIndex(), dict[int, tuple[str, JobState]]()
    for job_id in range(1, 3 * COMPACT_ROWS_MIN):
        jobs[job_id] = (rng.choice(NAMESPACES), rng.choice(LIVE))
        index.add(job_id, *jobs[job_id])
        for other in rng.sample(list(jobs), min(2, len(jobs))) if rng.random() < 0.7 else ():
            if rng.random() < 0.5:
                jobs[other] = (jobs[other][0], rng.choice(LIVE))
                index.move(other, jobs[other][1])
            else:
                del jobs[other]
                index.remove(other)
    assert index.rows() == [(id, int(state), namespace) for id, (namespace, state) in jobs.items()]
    for _ in range(50):
        namespace, before = rng.choice((None, "unknown", *NAMESPACES)), rng.choice((None, rng.randrange(4_000)))
        states = tuple(rng.sample(LIVE, rng.randrange(3)))
        expected = [
            id
            for id, (space, state) in sorted(jobs.items(), reverse=True)
            if namespace in (None, space) and (not states or state in states)
        ]
        assert index.count(namespace, states) == len(expected)
        page = [id for id in expected if before is None or id < before][:20]
        assert list(islice(index.newest(namespace, states, before), 20)) == page


def test_a_page_goes_on_in_the_next_block() -> None:
    index = JobIndex()
    for job_id in range(1, 2 * BLOCK_ROWS):
        index.add(job_id, "default", JobState.RUNNING if job_id in (1, BLOCK_ROWS) else JobState.PENDING)
    assert list(index.newest("default", (JobState.RUNNING,), None)) == [BLOCK_ROWS, 1]
