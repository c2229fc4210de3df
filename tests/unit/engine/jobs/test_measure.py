"""What attempts used is added up by job and group, and is not lost."""

from __future__ import annotations

import pytest

from shunter.engine import changes as c
from shunter.engine.engine import Engine
from shunter.engine.jobs.finish import decode_summary
from shunter.engine.recovery import load_state
from shunter.model.job.spec import Restart
from shunter.model.protocol.worker_messages import Ended, Order
from shunter.model.usage import AttemptsUsage, Usage
from tests.unit.engine.harness import Harness, run_scenario, spec

MIB = 2**20
ONE = Usage(1, 2_000, 2_000, 500, 900, 4_096, 8_192, 64 * MIB, {64: 1})


async def end(harness: Harness, node: int, order: Order, exit_code: int = 0) -> Ended:
    """Each attempt ran for 2 s, and used the same."""
    count = order.last - order.first + 1
    usage = AttemptsUsage(500 * count, 900, 4_096 * count, 8_192 * count, 64 * MIB, [64] * count)
    ended = Ended(
        order.job, order.group, order.attempt, order.first, [exit_code] * count if exit_code else [],
        [1_000] * count, [3_000] * count, 1, 0, usage=usage,
    )  # fmt: skip
    await harness.report(node, ended=[ended])
    return ended


async def usage_in_history(harness: Harness, job: int) -> dict[str, Usage]:
    finished = await harness.store.finished_job(job)
    assert finished is not None
    return decode_summary(finished.summary).usage


def test_the_usage_of_a_job_that_ends_is_in_history() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        [result] = await harness.submit(spec())
        [(_, order)] = harness.orders()
        await end(harness, node, order)
        assert await usage_in_history(harness, result.job_id) == {"main": ONE}
        assert harness.engine.state.job_usage.of_job(result.job_id) == {}
        assert not await _recorded(harness)

    run_scenario(scenario)


async def _recorded(harness: Harness) -> list[c.UsageAdded]:
    rounds = await harness.store.rounds_after(0, 1_000)
    return [change for each in rounds for change in c.decode_round(each.body) if isinstance(change, c.UsageAdded)]


@pytest.mark.parametrize("has_snapshot", [False, True])
def test_the_usage_of_a_job_that_goes_on_survives_a_restart(has_snapshot: bool) -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=1)
        [result] = await harness.submit(spec(count=2, restart=Restart()))
        while orders := harness.orders():
            for _, order in orders:
                await end(harness, node, order)
                if has_snapshot:
                    await harness.engine.snapshots.save(harness.engine.epoch)
                found = (await load_state(harness.store)).job_usage.of_job(result.job_id)
                if order.first == 0 == order.last:
                    assert found == {"main": ONE}
        assert (await usage_in_history(harness, result.job_id))["main"].attempts == 2

    run_scenario(scenario)


def test_attempts_that_are_tried_again_count_and_repeated_reports_do_not() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        [result] = await harness.submit(spec(restart=Restart("on-failure", 2, 1.0)))
        [(_, first)] = harness.orders()
        ended = await end(harness, node, first, exit_code=3)
        await harness.report(node, ended=[ended])
        assert harness.engine.state.job_usage.of_job(result.job_id)["main"].attempts == 1
        await harness.settle(60.0)
        [(_, second)] = harness.orders()
        await end(harness, node, second)
        total = (await usage_in_history(harness, result.job_id))["main"]
        assert (total.attempts, total.cpu_ms, total.memory_max_bytes) == (2, 1_000, 64 * MIB)

    run_scenario(scenario)


def test_nothing_is_stored_that_an_older_manager_cannot_read() -> None:
    async def scenario(harness: Harness) -> None:
        engine: Engine = harness.engine
        node = await harness.join(cpu=1)
        engine.state.format.active = 1
        engine.allow_format(1)
        [result] = await harness.submit(spec(count=2, restart=Restart("on-failure", 2, 1.0)))
        for _, order in harness.orders():
            await end(harness, node, order, exit_code=3)
        assert engine.state.job_usage.of_job(result.job_id) == {}
        assert not await _recorded(harness)
        engine.state.format.active = 2

    run_scenario(scenario)
