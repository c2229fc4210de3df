"""Claims about finished jobs: what is found, page by page, and what retention drops."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from typing import Any

import pytest

from shunter.model.errors import NotFound
from shunter.ports.store import EndedRun, FinishedJob, FinishedQuery, FinishedTasks, RunKey, Share, Snapshot
from tests.contracts.store_samples import FOREVER, Claim, OpenStore, collector, finished_job, without_tasks, write

CLAIMS: list[Claim] = []
claim = collector(CLAIMS)


# ---- history ----


@claim
async def a_finished_job_comes_back_as_it_was_committed(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    job = FinishedJob(
        id=2**53 + 1,
        namespace="wörk",
        name="render",
        run=7,
        state="failed",
        submitted_at=1700000000.1234567,
        ended_at=0.1 + 0.2,
        labels={"team": "film", 'quo"te': "ü 'x'"},
        summary=bytes(range(256)),
        tasks=[],
    )
    await write(store, epoch, 1, [job])
    assert await store.finished_job(job.id) == job
    assert await store.finished_jobs(FinishedQuery()) == [job]
    assert await store.finished_run("wörk", "render", 7) == job
    assert await store.finished_job(1) is None


@claim
async def a_name_means_its_newest_run(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    runs = [finished_job(10 + run, name="nightly", run=run) for run in (1, 2, 9, 10)]
    other = finished_job(30, name="nightly", run=3, namespace="other", state="failed")
    await write(store, epoch, 1, [*runs, other])
    assert await store.finished_run("default", "nightly", None) == without_tasks(runs[-1])
    assert await store.finished_run("default", "nightly", 2) == without_tasks(runs[1])
    assert await store.finished_run("default", "nightly", 3) is None
    assert await store.finished_run("default", "weekly", None) is None


@claim
async def many_runs_are_looked_up_at_once(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    assert await store.ended_runs([("default", "nightly", None)]) == {}
    runs = [finished_job(10 + run, name="nightly", run=run) for run in (1, 2, 9, 10)]
    odd = finished_job(40, name='it\'s "odd", $1 ?', run=1, namespace="ö")
    other = finished_job(30, name="nightly", run=3, namespace="other", state="failed")
    await write(store, epoch, 1, [*runs, other, odd])
    keys: list[RunKey] = [
        ("default", "nightly", None), ("default", "nightly", 2), ("default", "nightly", 3), ("other", "nightly", None),
        ("other", "weekly", None), ("ö", odd.name, None), ("ö", odd.name, 1),
    ]  # fmt: skip
    assert await store.ended_runs(keys) == {
        ("default", "nightly", None): EndedRun(10, 20, "succeeded"),
        ("default", "nightly", 2): EndedRun(2, 12, "succeeded"),
        ("other", "nightly", None): EndedRun(3, 30, "failed"),
        ("ö", odd.name, None): EndedRun(1, 40, "succeeded"),
        ("ö", odd.name, 1): EndedRun(1, 40, "succeeded"),
    }
    assert await store.ended_runs([("default", f"none-{number}", None) for number in range(5_000)]) == {}


@claim
async def runs_are_looked_up_as_soon_as_they_are_committed(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    for version in range(1, 20):
        await write(store, epoch, version, [finished_job(version, name="often", run=version)])
        key = ("default", "often", None)
        assert await store.ended_runs([key]) == {key: EndedRun(version, version, "succeeded")}


@claim
async def only_the_chunks_that_hold_the_tasks_are_read(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    chunks = [FinishedTasks(0, first, 100, b"0:%d" % first) for first in (200, 0, 100)]
    other_group = FinishedTasks(1, 0, 7, b"1:0")
    await write(
        store,
        epoch,
        1,
        [finished_job(5, tasks=[*chunks, other_group]), finished_job(6, tasks=[FinishedTasks(0, 0, 1, b"6")])],
    )

    async def firsts(group: int, first: int, last: int) -> list[int]:
        return [chunk.first for chunk in await store.finished_tasks(5, group, first, last)]

    assert await store.finished_tasks(5, 0, 0, 10**9) == sorted(chunks, key=lambda chunk: chunk.first)
    assert await store.finished_tasks(5, 1, 3, 3) == [other_group]
    assert await firsts(0, 99, 100) == [0, 100]
    assert await firsts(0, 100, 199) == [100]
    assert await firsts(0, 299, 299) == [200]
    assert await firsts(0, 300, 400) == []
    assert await firsts(1, 7, 9) == []
    assert await store.finished_tasks(7, 0, 0, 10) == []


@claim
async def every_filter_finds_exactly_what_matches(open_store: OpenStore) -> None:
    seed = int(os.environ.get("SHUNTER_SEED", random.SystemRandom().randrange(2**32)))
    print(f"SHUNTER_SEED={seed}")
    rng = random.Random(seed)
    store = await open_store()
    epoch = await store.begin_epoch()
    jobs = [_random_job(rng, id) for id in rng.sample(range(1, 1000), 150)]
    for version, start in enumerate(range(0, len(jobs), 25), 1):
        await write(store, epoch, version, jobs[start : start + 25])
    newest_first = sorted(jobs, key=lambda job: -job.id)
    for _ in range(150):
        query = _random_query(rng)
        matching = [without_tasks(job) for job in newest_first if _matches(job, query)]
        assert await store.count_finished(query) == len(matching), query
        page = [job for job in matching if query.before_id is None or job.id < query.before_id][: query.limit]
        assert await store.finished_jobs(query) == page, query


@claim
async def pages_have_no_gaps_or_repeats_while_new_jobs_arrive(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    await write(store, epoch, 1, [finished_job(id) for id in range(1, 51)])
    seen: list[int] = []
    query = FinishedQuery(namespace="default", limit=7)
    while page := await store.finished_jobs(query):
        seen += [job.id for job in page]
        query = replace(query, before_id=page[-1].id)
        newest = 50 + await store.last_version()
        await write(store, epoch, await store.last_version() + 1, [finished_job(newest)])
    assert seen == list(range(50, 0, -1))


# ---- retention ----


@claim
async def retention_preserves_what_its_limits_allow(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    for version in (1, 2, 3):
        await write(store, epoch, version, [finished_job(version, ended_at=1000.0 * version)])
    await store.save_snapshot(epoch, Snapshot(3, b""))
    purged = await store.purge(epoch, FOREVER, now=5000.0)
    assert (purged.names, purged.rounds) == ((), 0)
    assert await store.count_finished(FinishedQuery()) == 3
    assert len(await store.rounds_after(0, 10)) == 3


@claim
async def the_jobs_that_ended_first_go_first(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    # The job with the smallest id ran longest.
    ends = {1: 9000.0, 2: 1000.0, 3: 2000.0, 4: 3000.0, 5: 4000.0}
    tasks = [FinishedTasks(0, 0, 1, b"task")]
    await write(
        store, epoch, 1, [finished_job(id, ended_at=at, tasks=tasks, labels={"a": "b"}) for id, at in ends.items()]
    )
    by_age = await store.purge(epoch, replace(FOREVER, finished_age_s=8500.0), now=10_000.0)
    assert by_age.names == (("default", "job-2"),)
    by_number = await store.purge(epoch, replace(FOREVER, finished_max=2), now=10_000.0)
    assert sorted(by_number.names) == [("default", "job-3"), ("default", "job-4")]
    for query in (FinishedQuery(), FinishedQuery(namespace="default"), FinishedQuery(labels=(("a", "b"),))):
        assert [job.id for job in await store.finished_jobs(query)] == [5, 1]
        assert await store.count_finished(query) == 2
    assert await store.finished_tasks(3, 0, 0, 0) == []
    assert await store.finished_tasks(5, 0, 0, 0) == tasks
    await store.purge(epoch, replace(FOREVER, finished_max=0), now=10_000.0)
    assert await store.count_finished(FinishedQuery()) == 0


@claim
async def a_share_of_history_is_cut_alone(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    ends = {1: 9.0, 2: 3.0, 3: 2.0, 4: 5.0, 5: 1.0, 6: 0.5}
    namespaces = {1: "red", 2: "red", 3: "pink", 4: "red", 5: "blue", 6: "default"}
    common: dict[str, Any] = {"labels": {"team": "a"}, "tasks": [FinishedTasks(0, 0, 1, b"tasks")]}
    places = {id: {"namespace": namespaces[id], "ended_at": at, **common} for id, at in ends.items()}
    await write(store, epoch, 1, [finished_job(id, name=f"j{id}", **place) for id, place in places.items()])
    shares = (Share(("red", "pink"), 2), Share(("blue",), 5), Share(("none",), 0))
    purged = await store.purge(epoch, replace(FOREVER, shares=shares), now=10.0)
    assert sorted(purged.names) == [("pink", "j3"), ("red", "j2")]
    left = [job.id for job in await store.finished_jobs(FinishedQuery(labels=(("team", "a"),)))]
    assert left == [6, 5, 4, 1]
    assert await store.count_finished(FinishedQuery(namespace="red")) == 2
    assert await store.count_finished(FinishedQuery(namespace="pink")) == 0
    assert await store.finished_tasks(2, 0, 0, 9) == []
    assert (await store.purge(epoch, replace(FOREVER, shares=shares), now=10.0)).names == ()
    many = [finished_job(id, name="many", run=id, namespace="red", ended_at=float(id)) for id in range(100, 400)]
    await write(store, epoch, 2, many)
    await store.purge(epoch, replace(FOREVER, shares=(Share(("red",), 0),)), now=500.0)
    assert await store.count_finished(FinishedQuery()) == 2


@claim
async def a_name_has_vanished_when_all_its_runs_have(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    often, once = ("default", "often", None), ("default", "once", None)
    finished = [finished_job(run, name="often", run=run, ended_at=float(run)) for run in range(1, 6)]
    await write(store, epoch, 1, [*finished, finished_job(6, name="once", run=1, ended_at=3.5)])
    purged = await store.purge(epoch, replace(FOREVER, finished_max=2), now=10.0)
    assert purged.names == (("default", "once"),)
    assert await store.ended_runs([often, once]) == {often: EndedRun(5, 5, "succeeded")}
    purged = await store.purge(epoch, replace(FOREVER, finished_age_s=0), now=1.0)
    assert purged.names == (("default", "often"),)
    assert await store.ended_runs([often]) == {}
    await write(store, epoch, 2, [finished_job(7, name="often", run=1)])


@claim
async def a_name_stays_while_an_older_run_that_ended_later_is_left(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    ends = {1: 9.0, 2: 3.0, 3: 2.0}
    await write(store, epoch, 1, [finished_job(run, name="often", run=run, ended_at=at) for run, at in ends.items()])
    for left in (2, 1):
        purged = await store.purge(epoch, replace(FOREVER, finished_max=left), now=10.0)
        assert purged.names == ()
        often = ("default", "often", None)
        assert await store.ended_runs([often]) == {often: EndedRun(left, left, "succeeded")}
    purged = await store.purge(epoch, replace(FOREVER, finished_max=0), now=10.0)
    assert purged.names == (("default", "often"),)


@claim
async def rounds_are_cut_only_behind_the_snapshot(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    for version in range(1, 11):
        await write(store, epoch, version, at=1000.0 * version)
    nothing_kept = replace(FOREVER, rounds_max=0)
    assert (await store.purge(epoch, nothing_kept, now=20_000.0)).rounds == 0
    await store.save_snapshot(epoch, Snapshot(8, b""))
    assert (await store.purge(epoch, replace(FOREVER, rounds_age_s=17_500.0), now=20_000.0)).rounds == 2
    assert (await store.purge(epoch, replace(FOREVER, rounds_max=5), now=20_000.0)).rounds == 3
    assert (await store.purge(epoch, nothing_kept, now=20_000.0)).rounds == 3
    assert [round.version for round in await store.rounds_after(8, 10)] == [9, 10]


@claim
async def rounds_that_were_cut_are_not_found(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await store.begin_epoch()
    for version in range(1, 6):
        await write(store, epoch, version)
    await store.save_snapshot(epoch, Snapshot(5, b"all"))
    await store.purge(epoch, replace(FOREVER, rounds_max=2), now=0.0)
    with pytest.raises(NotFound):
        await store.rounds_after(2, 10)
    assert [round.version for round in await store.rounds_after(3, 10)] == [4, 5]
    assert await store.first_version() == 4
    await store.purge(epoch, replace(FOREVER, rounds_max=0), now=0.0)
    with pytest.raises(NotFound):
        await store.rounds_after(4, 10)
    assert await store.rounds_after(5, 10) == []
    assert (await store.first_version(), await store.last_version()) == (6, 5)
    await write(store, epoch, 6)
    assert [round.version for round in await store.rounds_after(5, 10)] == [6]


# ---- random jobs and queries ----


def _random_job(rng: random.Random, id: int) -> FinishedJob:
    return finished_job(
        id,
        name=rng.choice("abcdef"),
        run=id,
        namespace=rng.choice(("default", "film")),
        state=rng.choice(("succeeded", "failed", "cancelled")),
        ended_at=float(rng.randrange(50)),
        labels={key: rng.choice("xy") for key in ("team", "tier", "os") if rng.random() < 0.6},
    )


def _random_query(rng: random.Random) -> FinishedQuery:
    def maybe(value: Any, otherwise: Any = None) -> Any:
        return value if rng.random() < 0.35 else otherwise

    return FinishedQuery(
        namespace=maybe(rng.choice(("default", "film", "nowhere"))),
        name=maybe(rng.choice("abcz")),
        states=maybe(tuple(rng.sample(("succeeded", "failed", "cancelled"), rng.randint(1, 3))), ()),
        labels=maybe(tuple((key, rng.choice("xy")) for key in rng.sample(("team", "tier", "os"), 2)), ()),
        ended_after=maybe(float(rng.randrange(50))),
        ended_before=maybe(float(rng.randrange(50))),
        before_id=maybe(rng.randrange(1000)),
        limit=rng.choice((0, 1, 10, 1000)),
    )


def _matches(job: FinishedJob, query: FinishedQuery) -> bool:
    after = 0.0 if query.ended_after is None else query.ended_after
    before = 1e9 if query.ended_before is None else query.ended_before
    return (
        job.namespace == (query.namespace or job.namespace)
        and job.name == (query.name or job.name)
        and job.state in (query.states or (job.state,))
        and set(query.labels) <= set(job.labels.items())
        and after <= job.ended_at < before
    )
