"""Start time, hold, timeout, deadline and failure limit of whole jobs."""

from __future__ import annotations

import asyncio

import pytest

from shunter.engine.state.fingerprints.fingerprint import fingerprint
from shunter.model.errors import Conflict
from shunter.model.job.spec import JobOptions, Restart
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.engine.harness import Harness, run_scenario, spec


def now_ms() -> int:
    return int(VirtualClock().now() * 1000)


async def finished_run(harness: Harness, name: str) -> tuple[str, bytes]:
    job = await harness.store.finished_run("default", name, None)
    assert job is not None
    return job.state, job.summary


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_job_starts_at_its_time_and_not_before(is_killed: bool) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join(cpu=4)
        [at] = await harness.submit(spec("at", options=JobOptions(start_at_ms=now_ms() + 60_000)))
        [later] = await harness.submit(spec("in", options=JobOptions(start_in_s=90.0)))
        [past] = await harness.submit(spec("past", options=JobOptions(start_at_ms=now_ms() - 60_000)))
        assert [order.job for _, order in harness.orders()] == [past.job_id]
        if is_killed:
            await harness.restart_manager()
            harness.orders()
        await harness.settle(59.9)
        assert harness.orders() == []
        await harness.settle(0.2)
        assert [order.job for _, order in harness.orders()] == [at.job_id]
        await harness.settle(30)
        assert [order.job for _, order in harness.orders()] == [later.job_id]

    run_scenario(scenario)


def test_a_queueing_time_out_counts_from_when_a_delayed_or_held_job_is_queued() -> None:
    async def scenario(harness: Harness) -> None:
        [job] = await harness.submit(spec("late", options=JobOptions(start_in_s=100.0), queue_timeout_s=30.0))
        [held] = await harness.submit(spec("held", options=JobOptions(held=True), queue_timeout_s=30.0))
        await harness.settle(110)
        assert harness.counts(job.job_id) == {"queued": 1}
        await harness.engine.hold(held.job_id, False)
        await harness.settle(10)
        assert harness.counts(held.job_id) == {"queued": 1}
        await harness.settle(15)
        assert (await finished_run(harness, "late"))[0] == "failed"
        assert held.job_id in harness.engine.state.jobs
        await harness.settle(10)
        assert (await finished_run(harness, "held"))[0] == "failed"

    run_scenario(scenario)


def test_a_job_that_is_held_past_its_queueing_time_out_leaves_the_engine_in_peace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rounds: list[float | None] = []
    wait = VirtualClock.wait

    async def counting_wait(clock: VirtualClock, event: asyncio.Event, timeout_s: float | None) -> bool:
        rounds.append(timeout_s)
        return await wait(clock, event, timeout_s)

    async def scenario(harness: Harness) -> None:
        await harness.submit(spec("held", options=JobOptions(held=True), queue_timeout_s=1.0))
        monkeypatch.setattr(VirtualClock, "wait", counting_wait)
        await harness.settle(60)
        assert len(rounds) < 200, "one look each second, not one each millisecond"

    run_scenario(scenario)


def test_a_held_job_starts_nothing_more_until_it_is_released() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=1)
        [job] = await harness.submit(spec("work", 3))
        [(_, order)] = harness.orders()
        await harness.engine.hold(job.job_id, True)
        await harness.end(node, order)
        assert harness.orders() == []
        assert harness.counts(job.job_id) == {"queued": 2, "succeeded": 1}
        await harness.engine.hold(job.job_id, False)
        await harness.settle()
        assert len(harness.orders()) == 1
        types = [event.type for event in await harness.events()]
        assert types.count("job.held") == types.count("job.released") == 1

    run_scenario(scenario)


def test_a_job_submitted_as_held_waits_for_its_release_over_a_restart() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join()
        [job] = await harness.submit(spec("work", options=JobOptions(held=True)))
        assert harness.orders() == []
        await harness.restart_manager()
        assert harness.orders() == []
        await harness.engine.hold(job.job_id, False)
        await harness.settle()
        assert [order.job for _, order in harness.orders()] == [job.job_id]

    run_scenario(scenario)


def test_a_back_off_that_passed_while_the_job_was_held_is_over_at_its_release() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        [job] = await harness.submit(spec("work", restart=Restart("on-failure", delay_s=5.0, jitter=0.0)))
        [(_, order)] = harness.orders()
        await harness.end(node, order, exit_code=1)
        await harness.engine.hold(job.job_id, True)
        await harness.settle(60)
        assert harness.orders() == []
        await harness.engine.hold(job.job_id, False)
        await harness.settle()
        [(_, again)] = harness.orders()
        assert again.attempt == 2

    run_scenario(scenario)


def test_a_stopping_job_cannot_be_held() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join()
        [job] = await harness.submit(spec("work"))
        await harness.engine.stop_tasks(job.job_id, None, False)
        with pytest.raises(Conflict, match="is stopping"):
            await harness.engine.hold(job.job_id, True)

    run_scenario(scenario)


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_job_that_takes_too_long_is_stopped_and_fails_for_that_reason(is_killed: bool) -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=1)
        [job] = await harness.submit(spec("slow", 3, options=JobOptions(timeout_s=60.0)))
        [(_, order)] = harness.orders()
        await harness.started(node, order)
        if is_killed:
            await harness.restart_manager()
            [(_, order)] = harness.orders()
        await harness.settle(61)
        assert harness.counts(job.job_id) == {"cancelled": 2, "stopping": 1}
        await harness.end(node, order, exit_code=143, how="stopped")
        state, summary = await finished_run(harness, "slow")
        assert state == "failed" and b"exceeded timeout.job of 1m00s" in summary
        assert [event.type for event in await harness.events()].count("job.overrun") == 1

    run_scenario(scenario)


def test_a_job_that_only_waits_fails_too_when_its_time_is_over() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.submit(spec("a"))
        await harness.submit(spec("waits", options=JobOptions(start_in_s=3600.0, timeout_s=60.0)))
        await harness.settle(61)
        assert (await finished_run(harness, "waits"))[0] == "failed"

    run_scenario(scenario)


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_missed_deadline_is_told_once_and_the_job_goes_on(is_killed: bool) -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        [job] = await harness.submit(spec("slow", options=JobOptions(deadline_s=60.0)))
        await harness.submit(spec("quick", options=JobOptions(deadline_s=60.0)))
        [(_, slow), (_, quick)] = harness.orders()
        await harness.end(node, quick)
        await harness.settle(61)
        if is_killed:
            await harness.restart_manager()
            await harness.settle(100)
        late = [event for event in await harness.events() if event.type == "job.late"]
        assert [event.name for event in late] == ["slow"]
        assert harness.engine.state.flags.has(job.job_id, "deadline")
        if not is_killed:
            await harness.end(node, slow)
            state, summary = await finished_run(harness, "slow")
            assert state == "succeeded" and b"deadline_missed\xc3" in summary

    run_scenario(scenario)


def test_so_many_failed_tasks_end_the_job() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=1)
        [job] = await harness.submit(spec("many", 10, options=JobOptions(failures_max=2)))
        for exit_code in (1, 0, 1):
            [(_, order)] = harness.orders()
            await harness.end(node, order, exit_code)
        assert job.job_id not in harness.engine.state.jobs
        state, summary = await finished_run(harness, "many")
        assert state == "failed" and b"tasks failed, which reaches failures_max of 2" in summary
        assert harness.orders() == []

    run_scenario(scenario)


def test_a_failure_in_the_last_task_needs_no_limit_to_end_the_job() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=1)
        await harness.submit(spec("one", options=JobOptions(failures_max=1)))
        [(_, order)] = harness.orders()
        await harness.end(node, order, 7)
        state, summary = await finished_run(harness, "one")
        assert state == "failed" and b"exit code 7" in summary

    run_scenario(scenario)


def test_a_hold_after_a_back_off_is_over_is_remembered_alike_by_whoever_takes_over() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=1)
        [job] = await harness.submit(spec("again", restart=Restart("on-failure", delay_s=0.5)))
        [(_, order)] = harness.orders()
        await harness.end(node, order, exit_code=1)
        await harness.submit(spec("other"))  # takes the room meanwhile
        await harness.settle(2.0)
        await harness.engine.hold(job.job_id, True)
        assert await harness.recovered_fingerprint() == fingerprint(harness.engine.state)
        await harness.engine.hold(job.job_id, False)
        await harness.settle(1.0)
        assert harness.counts(job.job_id) == {"queued": 1}

    run_scenario(scenario)
