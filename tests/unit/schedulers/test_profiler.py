"""The loops of the profiling scheduler, on a cluster in memory with planted interference between jobs."""

from __future__ import annotations

import asyncio
import random
from itertools import permutations
from typing import Any

import pytest

from shunter.model.objects.objects import BATCH_JOB, SCHEDULING, TESTBED
from shunter.schedulers.profiler.matrix import EXTERNAL_KEY, Mean, read_matrix
from shunter.schedulers.profiler.profiler import ProfilingScheduler, Settings, describe, rows_by_job
from shunter.sdk.errors import Invalid, NotFound
from tests.unit.schedulers.fake_cluster import FakeCluster

JOBS = ("crawl", "flink-wc", "flink-wc2", "spark-pi", "spark-pi-long", "sort")
PARTNERS = {"crawl": "spark-pi", "flink-wc": "sort", "flink-wc2": "spark-pi-long"}  # planted: they hardly disturb


def true_duration_s(job: str, other: str) -> float:
    base_s = 20.0 + 10 * JOBS.index(job)
    are_partners = PARTNERS.get(job) == other or PARTNERS.get(other) == job
    return base_s + (0.4 if are_partners else 5.7 + JOBS.index(other))


def run_scheduler(cluster: FakeCluster, **settings: Any) -> tuple[ProfilingScheduler, list[str]]:
    reports: list[str] = []
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    scheduler = ProfilingScheduler(cluster, Settings(**settings), reports.append, sleep)
    asyncio.run(scheduler.run())
    return scheduler, reports


def means(cluster: FakeCluster) -> dict[tuple[str, str], Mean]:
    return dict(read_matrix(rows_by_job(asyncio.run(cluster.objects(BATCH_JOB)))).means)


@pytest.mark.parametrize("nodes", [1, 3])
def test_after_enough_runs_the_matrix_is_the_truth_in_whole_seconds(nodes: int) -> None:
    """S1-25: the mean of every pair, in both directions, with equally many samples."""
    cluster = FakeCluster(JOBS, true_duration_s)
    cluster.add_testbed("measuring", nodes)
    pairs = len(JOBS) * (len(JOBS) - 1) // 2
    scheduler, reports = run_scheduler(cluster, profiler_testbed="measuring", runs=3 * pairs)
    assert means(cluster) == {(a, b): Mean(int(true_duration_s(a, b)), 3) for a, b in permutations(JOBS, 2)}
    assert scheduler.failed_runs == 0
    assert cluster.names(SCHEDULING) == []
    assert sum("/" in text for text in reports) == 3  # the table, each time that all pairs were measured once more
    assert set(cluster.queues) == {f"profiler-scheduling-{number}" for number in range(3 * pairs)}


def test_jobs_then_run_beside_the_partners_that_were_planted() -> None:
    """S1-25: the greedy choice finds them, and the queue brings them onto one node."""
    cluster = FakeCluster(JOBS, true_duration_s)
    cluster.add_testbed("measuring", 1)
    cluster.add_testbed("running", 3)
    run_scheduler(cluster, profiler_testbed="measuring", runs=15)
    run_scheduler(cluster, scheduler_testbed="running", runs=1)
    assert cluster.partners["example-scheduling-0"] == PARTNERS | {b: a for a, b in PARTNERS.items()}


def test_a_job_alone_at_choosing_always_gets_its_best_partner() -> None:
    """S1-25: whoever's turn it is."""
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    true_durations = {pair: chance.randrange(1, 1000) for pair in permutations(JOBS, 2)}
    cluster = FakeCluster(JOBS, lambda job, other: true_durations[job, other])
    cluster.add_testbed("measuring", 1)
    run_scheduler(cluster, profiler_testbed="measuring", runs=15)
    run_scheduler(cluster, scheduler_testbed="measuring", runs=len(JOBS))
    for number, first in enumerate(sorted(JOBS)):
        queue = cluster.queues[f"example-scheduling-{number}"]
        best_s = min(true_durations[first, other] for other in JOBS if other != first)
        assert (queue[0], true_durations[first, queue[1]]) == (first, best_s), f"seed {seed}"


def test_both_loops_go_side_by_side() -> None:
    cluster = FakeCluster(JOBS, true_duration_s)
    cluster.add_testbed("measuring", 1)
    cluster.add_testbed("running", 2)
    run_scheduler(cluster, profiler_testbed="measuring", scheduler_testbed="running", runs=4)
    assert sorted(cluster.partners) == [
        f"{prefix}-{number}" for prefix in ("example-scheduling", "profiler-scheduling") for number in range(4)
    ]


def test_a_pair_that_fails_is_passed_over_and_the_others_are_measured() -> None:
    cluster = FakeCluster(("a", "b", "c"), lambda *_: 7)
    cluster.add_testbed("measuring", 1)
    cluster.broken = {"a"}
    scheduler, reports = run_scheduler(cluster, profiler_testbed="measuring", runs=6)
    assert scheduler.failed_runs == 4  # twice each pair with a
    assert means(cluster) == {("b", "c"): Mean(7, 2), ("c", "b"): Mean(7, 2)}
    assert "a and b: profiler-scheduling-0 failed: a: exit code 7" in reports
    assert cluster.names(SCHEDULING) == []


def test_a_run_without_end_is_given_up() -> None:
    cluster = FakeCluster(("a", "b"), lambda *_: 7)
    cluster.add_testbed("measuring", 1)
    cluster.endless = {"a"}
    scheduler, reports = run_scheduler(cluster, profiler_testbed="measuring", runs=1, run_max_s=5.0)
    assert scheduler.failed_runs == 1
    assert reports == ["a and b: profiler-scheduling-0 did not complete within 5 s"]
    assert cluster.names(SCHEDULING) == []


def test_it_waits_for_a_free_testbed_and_for_two_jobs() -> None:
    cluster = FakeCluster(("a",), lambda *_: 7)
    cluster.add_testbed("measuring", 1)
    cluster.set_state(TESTBED, "measuring", "RUNNING")
    cluster.schedule_step(lambda: cluster.set_state(TESTBED, "measuring", "SUCCESS"))
    cluster.schedule_step(lambda: cluster.add_job("b"))
    _, reports = run_scheduler(cluster, profiler_testbed="measuring", runs=1)
    assert reports[:2] == [
        "waiting for Testbed measuring, which is RUNNING",
        "waiting for 2 BatchJobs that can run; found 1",
    ]
    assert means(cluster) == {("a", "b"): Mean(7, 1), ("b", "a"): Mean(7, 1)}


def test_failed_jobs_are_left_alone() -> None:
    cluster = FakeCluster(("a", "b", "c"), lambda *_: 7)
    cluster.add_testbed("measuring", 1)
    cluster.set_state(BATCH_JOB, "a", "FailedState")
    run_scheduler(cluster, profiler_testbed="measuring", runs=2)
    assert set(means(cluster)) == {("b", "c"), ("c", "b")}


def test_what_an_earlier_life_left_behind_goes_first_and_what_others_made_stays() -> None:
    cluster = FakeCluster(("a", "b"), lambda *_: 7)
    cluster.add_testbed("measuring", 1)
    for name, owner in (("profiler-scheduling-8", "profiler-scheduling"), ("profiler-scheduling-0", "somebody")):
        asyncio.run(cluster.apply(manifest(name, owner)))
    scheduler, reports = run_scheduler(cluster, profiler_testbed="measuring", runs=2)
    assert reports[0] == "deleted profiler-scheduling-8, which an earlier run left behind"
    assert reports[1].endswith("profiler-scheduling-0 was rejected: profiler-scheduling-0 is there")
    assert cluster.names(SCHEDULING) == ["profiler-scheduling-0"]
    assert scheduler.failed_runs == 1
    assert means(cluster)["a", "b"] == Mean(7, 1)


def manifest(name: str, owner: str) -> dict[str, Any]:
    metadata = {"name": name, "labels": {"batchjob.tuberlin.de/scheduler": owner}}
    return {"metadata": metadata, "spec": {"queueBased": [{"name": "a"}], "testbed": {"name": "measuring"}}}


def test_what_others_noted_of_a_job_stays() -> None:
    cluster = FakeCluster(("a", "b"), lambda *_: 41)
    cluster.add_testbed("measuring", 1)
    asyncio.run(
        cluster.write_external("a", {"other-scheduler": [{"x": "y"}], EXTERNAL_KEY: [{"b": "24 (16)"}, {"gone": "3"}]})
    )
    run_scheduler(cluster, profiler_testbed="measuring", runs=1)
    kept = asyncio.run(cluster.get(BATCH_JOB, "a")).spec["externalScheduler"]
    assert kept == {"other-scheduler": [{"x": "y"}], EXTERNAL_KEY: [{"b": "25 (17)"}, {"gone": "3"}]}


def test_a_testbed_without_two_slots_on_a_node_or_none_at_all_ends_it() -> None:
    cluster = FakeCluster(("a", "b"), lambda *_: 7)
    cluster.add_testbed("narrow", 2, slots_per_node=1)
    with pytest.raises(Invalid, match="slotsPerNode"):
        run_scheduler(cluster, profiler_testbed="narrow", runs=1)
    with pytest.raises(NotFound):
        run_scheduler(cluster, profiler_testbed="absent", runs=1)


def test_describing_shows_the_matrix_and_the_partners_and_changes_nothing() -> None:
    cluster = FakeCluster(("a", "b", "c"), lambda *_: 7)
    cluster.add_testbed("running", 4)
    asyncio.run(cluster.write_external("a", {EXTERNAL_KEY: [{"c": "24 (16)", "b": "soon"}]}))
    before = asyncio.run(cluster.objects())
    assert asyncio.run(describe(cluster, "running")) == [
        "   a  b  c",
        "a  /  -  24 (16)",
        "b  -  /  -",
        "c  -  -  /",
        "",
        "a with c",
        "cannot parse 'soon' of a with b",
    ]
    assert asyncio.run(cluster.objects()) == before


def test_interrupted_it_takes_its_scheduling_away() -> None:
    cluster = FakeCluster(("a", "b"), lambda *_: 7)
    cluster.add_testbed("measuring", 1)
    cluster.endless = {"a"}

    async def interrupt() -> None:
        running = asyncio.create_task(
            ProfilingScheduler(cluster, Settings("measuring"), lambda _: None, asyncio.sleep).run()
        )
        # A step of the cluster's own stands in for Ctrl-C in the midst of a run.
        cluster.schedule_step(running.cancel)
        await running

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupt())
    assert cluster.names(SCHEDULING) == []
