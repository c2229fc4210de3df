"""What happened over time, added up by the leader: it outlives history, and history answers for the rest."""

from __future__ import annotations

import pytest

from shunter.gateway.explain.plan import run_inline
from shunter.gateway.jobs.task_reader import TaskReader
from shunter.gateway.monitor import analytics
from shunter.gateway.monitor.analytics import AnalyticsReader, Window
from shunter.gateway.monitor.rollup_recorder import LATE_S, RollupRecorder, sample_cluster
from shunter.gateway.monitor.tallies import JobTally, Rollup, Times, common_reason, decode_rollups, encode_rollup
from shunter.model.rest.monitor.analytics_views import Analytics
from shunter.ports.metrics import HOUR_S, MINUTE_S
from shunter.ports.store import Retention, RollupRow
from tests.unit.gateway.harness import GatewayHarness, run_scenario


class OldRows:
    """Rows that an earlier version left."""

    def __init__(self, rows: dict[int, list[bytes]]) -> None:
        self.rows = rows
        self.is_removed = False

    def read(self, tier_s: int) -> list[bytes]:
        return self.rows.get(tier_s, [])

    def remove(self) -> None:
        self.is_removed = True


def recorder(harness: GatewayHarness, old: OldRows | None = None) -> RollupRecorder:
    return RollupRecorder(harness.engine, harness.store, run_inline, old)


async def save(harness: GatewayHarness, tier_s: int, rollups: list[Rollup]) -> None:
    rows = [RollupRow(each.start, encode_rollup(each)) for each in rollups]
    await harness.store.save_rollups(harness.engine.epoch, tier_s, rows)


async def find(harness: GatewayHarness, hours: float = 1.0, steps: int = 1) -> Analytics:
    reader = AnalyticsReader(harness.engine, harness.store, TaskReader(harness.engine, harness.store), run_inline)
    now_s = (harness.engine.now_ms() + 1) / 1000
    return await reader.find(Window(now_s - hours * HOUR_S, now_s, steps), lambda _: True)


def test_rollups_outlive_the_jobs_of_history_and_count_none_twice() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=1, name="n1")
        rollups = recorder(harness)
        await harness.run_to_end(node, "a", count=3)
        await harness.run_to_end(node, "b", exit_code=3)
        await rollups.tick()
        assert (await find(harness)).jobs == 2, "history answers as long as no minute is closed"
        await harness.settle(MINUTE_S + LATE_S + 1.0)
        await rollups.tick()
        await harness.run_to_end(node, "c")
        assert (await find(harness)).jobs == 3, "the newest job is not in a row yet"
        await harness.store.purge(harness.engine.epoch, Retention(finished_age_s=0), harness.engine.now_ms() / 1000)
        found = await find(harness)
        assert (found.jobs, sum(found.succeeded), sum(found.failed), sum(found.tasks)) == (2, 1, 1, 4)
        assert [(share.key, share.tasks) for share in found.nodes] == [("n1", 1)]
        assert [share.key for share in found.users] == ["anna"]
        assert found.rollups_from is not None
        again = recorder(harness)
        await harness.settle(MINUTE_S + LATE_S + 1.0)
        await again.tick()
        assert (await find(harness)).jobs == 2, "another leader goes on where the log ends"

    run_scenario(scenario)


def test_a_sample_counts_what_is_free_as_stranded_only_while_tasks_wait() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join(cpu=4)
        await harness.run("small", resources={"cpu": 1})
        assert (sample_cluster(harness.engine).cpu, sample_cluster(harness.engine).stranded) == (0.25, 0.0)
        await harness.run("large", resources={"cpu": 4})
        sample = sample_cluster(harness.engine)
        assert (sample.cpu, sample.stranded, sample.waiting, sample.running) == (0.25, 0.75, 1.0, 1.0)

    run_scenario(scenario)


def test_utilisation_is_the_mean_of_the_samples_of_a_step() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join(cpu=4)
        assert (await find(harness)).cluster is None, "nothing was measured yet"
        rollups = recorder(harness)
        await rollups.tick()
        await harness.run("half", resources={"cpu": 2})
        await rollups.tick()
        await harness.settle(MINUTE_S + LATE_S + 1.0)
        await rollups.tick()
        found = await find(harness)
        assert found.cluster is not None
        assert found.cluster.cpu == [pytest.approx(0.25)]

    run_scenario(scenario)


def test_long_windows_are_answered_by_hours_and_the_minutes_behind_them() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        now_s = harness.engine.now_ms() // 1000 // HOUR_S * HOUR_S
        tally = JobTally(states=[5, 0, 0], tasks=5)
        await save(harness, HOUR_S, [Rollup(now_s + hour * HOUR_S, jobs={"default": tally}) for hour in range(-60, 0)])
        tally = JobTally(states=[1, 0, 0], tasks=1)
        minutes = [Rollup(now_s + minute * MINUTE_S, jobs={"default": tally}) for minute in (-1, 0)]
        await save(harness, MINUTE_S, minutes)  # the first one is part of the last hour
        reader = AnalyticsReader(harness.engine, harness.store, TaskReader(harness.engine, harness.store), run_inline)
        found = await reader.find(Window(now_s - 60 * HOUR_S, now_s + HOUR_S, 10), lambda _: True)
        assert (found.jobs, found.partial) == (60 * 5 + 1, False)
        hidden = await reader.find(Window(now_s - 60 * HOUR_S, now_s + HOUR_S, 10), lambda name: name == "film")
        assert (hidden.jobs, hidden.cluster, hidden.nodes) == (0, None, [])

    run_scenario(scenario)


def test_minutes_become_an_hour_when_the_next_one_begins() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=1)
        rollups = recorder(harness)
        for name in ("a", "b"):
            await harness.run_to_end(node, name)
            await rollups.tick()
            await harness.settle(HOUR_S + MINUTE_S + LATE_S)
            await rollups.tick()
        [hour, *_] = decode_rollups(row.body for row in await harness.store.rollups(HOUR_S, 0))
        assert hour.start % HOUR_S == 0
        assert hour.jobs["default"].jobs == 1

    run_scenario(scenario)


def test_rows_of_an_earlier_version_move_into_the_store_and_spoil_none_of_its_rows() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        now_s = harness.engine.now_ms() // 1000 // HOUR_S * HOUR_S
        tally = JobTally(states=[1, 0, 0], tasks=1)
        first, second = (Rollup(now_s - minutes * MINUTE_S, jobs={"default": tally}) for minutes in (3, 2))
        counted = Rollup(second.start, jobs={"default": JobTally(states=[7, 0, 0])})
        await save(harness, MINUTE_S, [counted])
        old = OldRows({MINUTE_S: [encode_rollup(first), encode_rollup(second), b"{cut off"]})
        await recorder(harness, old).tick()
        assert old.is_removed
        assert decode_rollups(row.body for row in await harness.store.rollups(MINUTE_S, 0)) == [first, counted]
        assert (await find(harness)).jobs == 8

    run_scenario(scenario)


def test_percentiles_are_right_within_an_eighth() -> None:
    times = Times()
    values = [0.02 * 1.1**number for number in range(100)]
    for value in values:
        times.add(value)
    for share in (0.5, 0.95):
        exact, found = values[int(share * 100) - 1], times.percentile(share)
        assert found is not None
        assert abs(found - exact) <= exact / 8
    assert Times().percentile(0.5) is None
    assert times.distribution().buckets[-1] == sum(value >= 100_000 for value in values)


def test_jobs_that_failed_for_the_same_reason_are_counted_together() -> None:
    assert common_reason("3 of 4 tasks failed; first failure: task 0: exit code 1") == "exit code 1"
    assert common_reason("1 of 9 tasks failed; first failure: task work/7: exit code 1") == "exit code 1"
    assert common_reason("deadline missed") == "deadline missed"
    assert common_reason(None) == "no reason"


def test_very_many_keys_and_damaged_rows_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shunter.gateway.monitor.tallies.KEYS_MAX", 2)
    one, two = JobTally(users={"a": [1, 1, 0]}), JobTally(users={"b": [1, 1, 0], "c": [2, 2, 1], "a": [1, 1, 0]})
    one.merge(two)
    assert one.users == {"a": [2, 2, 0], "b": [1, 1, 0], "others": [2, 2, 1]}
    row = encode_rollup(Rollup(60, jobs={"default": one}))
    assert decode_rollups([row, row[:-3], b"nothing"]) == [Rollup(60, jobs={"default": one})]
    assert analytics.SHARES_MAX < 200
