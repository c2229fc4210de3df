"""Templates on schedule: when they fire, one run or several, missed firings, and changes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from unittest.mock import patch
from zoneinfo import ZoneInfo

import pytest

from shunter.engine.jobs.dependencies import waits_for
from shunter.engine.jobs.templates import CATCH_UP_MAX, Dispatch
from shunter.model.errors import Conflict, Invalid, NotFound
from shunter.model.job.spec import After, JobOptions, JobSpec, Schedule
from shunter.ports.store import Retention
from shunter.simulation.runtime import loop
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.engine.harness import Harness, run_scenario, spec


def run_scenario_from(begin: str, scenario: Callable[[Harness], Coroutine[Any, Any, None]], zone: str = "UTC") -> None:
    """A scene that begins at a time on the clocks of a zone."""
    begin_s = datetime.fromisoformat(begin).replace(tzinfo=ZoneInfo(zone)).timestamp()
    with patch.object(loop, "START_S", begin_s):
        run_scenario(scenario)


def cron_job(line: str = "*/10 * * * *", name: str = "tick", **fields: str) -> JobSpec:
    return spec(name, options=JobOptions(schedule=Schedule(line, **fields)))


async def firing_times(harness: Harness, zone: str = "UTC") -> list[str]:
    """When runs were made, as a clock on the wall shows it."""
    events = [event for event in await harness.events() if event.type == "job.submitted"]
    times = [datetime.fromisoformat(event.at).astimezone(ZoneInfo(zone)) for event in events]
    return [time.strftime("%m-%d %H:%M") for time in times]


async def run_for(harness: Harness, seconds: float, step: float = 60.0) -> None:
    until = VirtualClock().now() + seconds
    while VirtualClock().now() < until:
        await harness.settle(step)
        await harness.end_all()


def test_a_schedule_fires_on_the_minute_and_each_firing_is_a_run_of_its_name() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join()
        [template] = await harness.submit(cron_job())
        assert (template.created, template.run, harness.orders()) == (True, 0, [])
        await run_for(harness, 31 * 60)
        assert await firing_times(harness) == ["03-01 00:10", "03-01 00:20", "03-01 00:30"]
        assert harness.engine.state.ended_runs.newest("default", "tick").run == 3
        types = [event.type for event in await harness.events()]
        assert types.count("template.set") == 1 and types.count("template.fired") == 3

    run_scenario_from("2026-03-01 00:05", scenario)


@pytest.mark.parametrize(
    ("begin", "line", "expected"),
    [
        # At 03:00 summer time the clock goes back to 02:00: half past two comes twice, and the job once.
        ("2026-10-24 12:00", "30 2 * * *", ["10-25 02:30", "10-26 02:30"]),
        # At 02:00 the clock goes to 03:00: half past two does not come, and the job all the same.
        ("2026-03-28 12:00", "30 2 * * *", ["03-29 03:00", "03-30 02:30"]),
        ("2026-10-24 12:00", "0 9 * * *", ["10-25 09:00", "10-26 09:00"]),
    ],
)
def test_a_daily_job_runs_once_a_day_when_the_clocks_change_in_berlin(
    begin: str, line: str, expected: list[str]
) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join()
        await harness.submit(cron_job(line, timezone="Europe/Berlin"))
        await run_for(harness, 47 * 3600, step=600)
        assert await firing_times(harness, "Europe/Berlin") == expected

    run_scenario_from(begin, scenario, "Europe/Berlin")


def test_every_hour_means_every_hour_that_passes_also_when_the_clocks_change() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join()
        await harness.submit(cron_job("0 * * * *", timezone="Europe/Berlin"))
        begun = VirtualClock().now()
        await run_for(harness, 5 * 3600, step=600)
        times = [datetime.fromisoformat(event.at) for event in await harness.events() if event.type == "job.submitted"]
        assert len(times) == 5
        assert {later - earlier for earlier, later in pairwise(times)} == {timedelta(hours=1)}
        assert times[0].timestamp() - begun == 1800

    run_scenario_from("2026-10-25 00:30", scenario, "Europe/Berlin")


def test_a_firing_is_skipped_while_the_last_run_has_not_ended() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        await harness.submit(cron_job())
        await harness.settle(16 * 60)
        [(_, first)] = harness.orders()
        skipped = [event for event in await harness.events() if event.type == "template.skipped"]
        assert [event.reason for event in skipped] == [
            "due at 2026-03-01T00:20:00.000Z; run 1 has not ended (overlap skip)"
        ]
        await harness.end(node, first)
        await harness.settle(10 * 60)
        [(_, second)] = harness.orders()
        assert harness.engine.state.jobs[second.job].run == 2

    run_scenario_from("2026-03-01 00:05", scenario)


def test_a_queued_firing_runs_when_the_one_before_it_has_ended() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=9)
        await harness.submit(cron_job(overlap="queue"))
        await harness.settle(26 * 60)
        runs = harness.engine.state.unfinished_runs("default", "tick")
        assert [harness.counts(run.id) for run in runs] == [{"assigned": 1}, {"waiting": 1}, {"waiting": 1}]
        for run in runs:
            [(_, order)] = harness.orders()
            assert order.job == run.id
            await harness.end(node, order, exit_code=1)

    run_scenario_from("2026-03-01 00:05", scenario)


def test_a_queued_firing_waits_for_all_earlier_runs_also_when_a_dispatch_between_them_ends_first() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=9)
        await harness.submit(cron_job(overlap="queue"))
        await harness.settle(6 * 60)
        [(_, first)] = harness.orders()
        dispatched = await harness.engine.dispatch(Dispatch("default", "tick", "me", {}))
        await harness.settle(10 * 60)
        [(_, between)] = harness.orders()
        assert between.job == dispatched.job_id
        queued = harness.engine.state.unfinished_runs("default", "tick")[-1]
        await harness.end(node, between)
        assert (harness.orders(), harness.counts(queued.id)) == ([], {"waiting": 1})
        assert waits_for(harness.engine.state, queued) == ["tick@1 to have ended (it is pending)"]
        await harness.end(node, first)
        [(_, third)] = harness.orders()
        assert third.job == queued.id

    run_scenario_from("2026-03-01 00:05", scenario)


def test_a_queued_firing_waits_on_when_the_one_before_it_is_stopped_while_it_waits() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=9)
        await harness.submit(cron_job(overlap="queue"))
        await harness.settle(26 * 60)
        first, second, third = harness.engine.state.unfinished_runs("default", "tick")
        await harness.engine.stop_tasks(second.id, None, now=False)
        await harness.restart_manager()
        await harness.settle()
        [(_, running)] = harness.orders()
        assert running.job == first.id
        assert harness.counts(third.id) == {"waiting": 1}
        await harness.end(node, running)
        assert [order.job for _, order in harness.orders()] == [third.id]

    run_scenario_from("2026-03-01 00:05", scenario)


def test_a_replacing_firing_stops_the_run_before_and_waits_for_its_end() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=9)
        await harness.submit(cron_job(overlap="replace"))
        await harness.settle(16 * 60)
        [(_, first)] = harness.orders()
        assert [stop.job for stop in harness.stops()] == [first.job]
        await harness.end(node, first, exit_code=143, how="stopped")
        [(_, second)] = harness.orders()
        assert harness.engine.state.jobs[second.job].run == 2
        finished = await harness.store.finished_run("default", "tick", 1)
        assert finished is not None and b"replaced by run 2 (overlap replace)" in finished.summary

    run_scenario_from("2026-03-01 00:05", scenario)


@pytest.mark.parametrize(("catch_up", "runs"), [("none", 0), ("last", 1), ("all", 6)])
def test_firings_that_a_stopped_cluster_missed_go_by_catch_up(catch_up: str, runs: int) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join()
        await harness.submit(cron_job(catch_up=catch_up))
        harness.crash()
        await harness.settle(63 * 60)  # until 01:08: 00:10 to 01:00 were missed
        await harness.restart_manager()
        ended = await harness.end_all()
        assert len(ended) == runs and sorted(ended) == ended
        await harness.settle(3 * 60)
        assert len(await harness.end_all()) == 1
        skips = [event.reason or "" for event in await harness.events() if event.type == "template.skipped"]
        assert [text.split("; ")[1] for text in skips] == (
            [f"{6 - runs} missed while the cluster was stopped (catch_up {catch_up})"] if runs < 6 else []
        )

    run_scenario_from("2026-03-01 00:05", scenario)


def test_catching_up_is_bounded_and_a_firing_that_is_barely_late_is_not_missed() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join()
        await harness.submit(cron_job("* * * * *", catch_up="all"), cron_job("0 0 * * *", "daily"))
        harness.crash()
        await harness.settle(24 * 3600)  # until 00:00:30 of the next day
        await harness.restart_manager()
        assert len(harness.engine.state.unfinished_runs("default", "tick")) == CATCH_UP_MAX + 1
        assert len(harness.engine.state.unfinished_runs("default", "daily")) == 1

    run_scenario_from("2026-03-01 00:00:30", scenario)


def test_no_firing_is_lost_or_made_twice_however_often_the_manager_dies() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join()
        await harness.submit(cron_job("* * * * *", overlap="queue"))
        for number in range(30):
            await harness.settle(37.0)
            if number % 7 == 0:
                await harness.engine._snapshots.save(harness.engine.epoch)
            await harness.restart_manager()
            await harness.end_all()
        await harness.end_all()
        minutes = (30 * 37 + 30) // 60
        assert harness.engine.state.ended_runs.newest("default", "tick").run == minutes
        due = [event.reason for event in await harness.events() if event.type == "template.fired"]
        assert len(due) == len(set(due)) == minutes

    run_scenario_from("2026-03-01 00:00:30", scenario)


def test_a_paused_schedule_fires_nothing_and_makes_nothing_up() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join()
        await harness.submit(cron_job(catch_up="all"))
        await harness.engine.pause_template("default", "tick", True)
        await harness.settle(3600)
        assert harness.orders() == []
        run = await harness.engine.dispatch(Dispatch("default", "tick", "me", {}))
        assert run.run == 1
        await harness.settle()
        assert await harness.end_all() == [run.job_id]
        await harness.engine.pause_template("default", "tick", False)
        await harness.settle(10 * 60)
        assert len(harness.orders()) == 1
        types = [event.type for event in await harness.events()]
        assert types.count("template.paused") == types.count("template.resumed") == 1

    run_scenario_from("2026-03-01 00:05", scenario)


def test_the_same_template_again_changes_nothing_and_another_holds_for_later_runs() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join()
        [first] = await harness.submit(cron_job())
        version = harness.engine.state.version
        [again] = await harness.submit(cron_job())
        assert (again.created, again.job_id, harness.engine.state.version) == (False, first.job_id, version)
        [other] = await harness.submit(cron_job("*/5 * * * *"))
        assert other.job_id == first.job_id
        await run_for(harness, 11 * 60)
        assert await firing_times(harness) == ["03-01 00:10", "03-01 00:15"]

    run_scenario_from("2026-03-01 00:05", scenario)


def test_a_deleted_template_fires_no_more_and_its_runs_go_on() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join()
        await harness.submit(cron_job())
        await harness.settle(6 * 60)
        await harness.engine.drop_template("default", "tick")
        assert len(harness.engine.state.jobs) == 1
        await harness.settle(3600)
        assert len(harness.orders()) == 1
        assert "template.deleted" in [event.type for event in await harness.events()]
        with pytest.raises(NotFound, match="template 'tick' does not exist"):
            await harness.engine.drop_template("default", "tick")

    run_scenario_from("2026-03-01 00:05", scenario)


def test_a_plain_job_cannot_take_the_name_of_a_template() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.submit(cron_job())
        with pytest.raises(Conflict, match="is the name of a template"):
            await harness.submit(spec("tick"))

    run_scenario(scenario)


@pytest.mark.parametrize("is_there", [True, False])
def test_nothing_waits_for_a_template_that_has_no_run_yet(is_there: bool) -> None:
    async def scenario(harness: Harness) -> None:
        later = spec("later", options=JobOptions(after=(After("tick"),)))
        file = [later] if is_there else [cron_job(), later]
        if is_there:
            await harness.submit(cron_job())
        with pytest.raises(Invalid, match=r"template 'tick' has no run yet; submit this job after its"):
            await harness.submit(*file)

    run_scenario(scenario)


def test_a_firing_that_cannot_be_carried_out_is_skipped_with_the_reason() -> None:
    async def scenario(harness: Harness) -> None:
        options = JobOptions(schedule=Schedule("*/10 * * * *"), after=(After("gone"),))
        await harness.submit(spec("gone"))
        await harness.submit(spec("tick", options=options))
        job = harness.engine.state.find_job("default", "gone")
        assert job is not None
        await harness.engine.stop_tasks(job.id, None, True)
        await harness.store.purge(harness.engine.epoch, Retention(finished_max=0), 0.0)
        await harness.settle(6 * 60)
        [skipped] = [event for event in await harness.events() if event.type == "template.skipped"]
        assert "does not exist in namespace" in (skipped.reason or "")

    run_scenario_from("2026-03-01 00:05", scenario)
