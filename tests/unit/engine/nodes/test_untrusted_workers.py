"""A lying or broken worker harms only itself: its report is refused as a whole, and everything else continues."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shunter.engine.read.views import job_view
from shunter.engine.round import Round
from shunter.model.errors import Failed
from shunter.model.protocol.worker_messages import Ended, Health, Held, Inventory, Lost, Report, Returned, Started
from shunter.watcher.message_checks import message_problem
from tests.unit.engine.harness import Harness, run_scenario, spec


def test_a_task_that_the_job_never_had_refuses_the_whole_report() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        [job] = await harness.submit(spec(count=2))
        orders = harness.orders()
        version = harness.engine.state.version
        good = [Ended(order.job, order.group, 1, order.first, [], [1], [2], 1, 0) for _, order in orders]
        await harness.report(node, ended=good, lost=[Lost(job.job_id, orders[0][1].group, 1, 0, 2, "")])
        assert harness.counts(job.job_id) == {"assigned": 2}
        assert harness.engine.state.version == version
        [(rejected_node, error)] = harness.workers.rejected
        assert rejected_node == node
        assert "has 2 tasks, but no task 2" in error.detail

    run_scenario(scenario)


def test_an_attempt_that_has_not_begun_refuses_the_whole_report() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        [job] = await harness.submit(spec())
        [(_, order)] = harness.orders()
        await harness.report(node, returned=[Returned(order.job, order.group, 2, 0, 0)])
        assert harness.counts(job.job_id) == {"assigned": 1}
        [(_, error)] = harness.workers.rejected
        assert "attempt 2 of task 0" in error.detail

    run_scenario(scenario)


def test_an_outdated_attempt_is_no_lie() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        await harness.submit(spec())
        [(_, order)] = harness.orders()
        await harness.report_lost(node, order)
        [(_, second)] = harness.orders()
        assert second.attempt == 2
        await harness.end(node, order)
        assert not harness.workers.rejected
        await harness.end(node, second)
        assert not harness.engine.state.jobs

    run_scenario(scenario)


def test_an_inventory_of_another_cluster_is_stopped_in_ranges() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        [job] = await harness.submit(spec(count=2))
        [(_, order)] = harness.orders()
        held = [Held(77, 0, 1, 0, 5_000_000, False), Held(job.job_id, order.group, 1, 0, 9, False)]
        await harness.engine.inventory(node, Inventory(9, held, []))
        await harness.settle()
        ranges = [(stop.job, stop.first, stop.last) for stop in harness.stops()]
        assert ranges == [(77, 0, 5_000_000), (job.job_id, 2, 9)]
        assert harness.counts(job.job_id) == {"assigned": 2}
        assert not harness.workers.rejected
        await harness.end(node, order)

    run_scenario(scenario)


def test_a_handler_that_fails_is_refused_and_the_round_goes_on() -> None:
    async def scenario(harness: Harness) -> None:
        def broken(_round: Round) -> None:
            raise ZeroDivisionError("a mistake")

        with pytest.raises(Failed, match="a mistake"):
            await harness.engine.ask(broken)
        assert harness.workers.resets == 0
        await harness.submit(spec())

    run_scenario(scenario)


def test_a_handler_that_fails_half_way_costs_no_other_request() -> None:
    async def scenario(harness: Harness) -> None:
        def broken(round: Round) -> None:
            harness.engine.state.version += 7  # whatever it has changed is forgotten
            round.changes.append(None)  # type: ignore[arg-type]
            raise ZeroDivisionError("a mistake")

        before = harness.submit(spec("before"))
        failing = harness.engine.ask(broken)
        after = harness.submit(spec("after"))
        results = await asyncio.gather(before, failing, after, return_exceptions=True)
        assert isinstance(results[1], Failed)
        assert {job.name for job in harness.engine.state.jobs.values()} == {"before", "after"}
        assert harness.workers.resets == 1

    run_scenario(scenario)


NUMBERS = st.sampled_from([-1, 0, 1, 2, 3, 7, 2**15, 2**31 - 1, 2**31, 2**32, 2**63 - 1]) | st.integers(-3, 9)
TIMES = st.lists(st.sampled_from([-1, 0, 1, 1_700_000_000_000, 2**62, 2**63 - 1]), max_size=3)
TEXT = st.sampled_from(["", "memory", "error", "stopped", "nonsense"])
JOBS = st.sampled_from([0, 1, 2, 2, 2, 3, 2**62])
SMALL = st.sampled_from([0, 1, 1, 1, 2]) | NUMBERS
REPORTS = st.builds(
    Report,
    st.just(5),
    st.lists(st.builds(Ended, JOBS, SMALL, SMALL, SMALL, TIMES, TIMES, TIMES, SMALL, SMALL, TEXT, TEXT), max_size=3),
    st.lists(st.builds(Started, JOBS, SMALL, SMALL, SMALL, NUMBERS, SMALL, SMALL), max_size=3),
    st.lists(st.builds(Returned, JOBS, SMALL, SMALL, SMALL, NUMBERS), max_size=3),
    st.lists(st.builds(Lost, JOBS, SMALL, SMALL, SMALL, NUMBERS, TEXT), max_size=3),
    st.lists(st.builds(Health, JOBS, SMALL, SMALL, SMALL, st.booleans(), NUMBERS, TEXT), max_size=3),
)
INVENTORIES = st.builds(
    Inventory,
    st.just(5),
    st.lists(st.builds(Held, JOBS, SMALL, SMALL, SMALL, NUMBERS, st.booleans(), NUMBERS, SMALL, SMALL), max_size=3),
    st.lists(st.builds(Ended, JOBS, SMALL, SMALL, SMALL, TIMES, TIMES, TIMES, SMALL, SMALL, TEXT, TEXT), max_size=3),
    st.lists(st.builds(Lost, JOBS, SMALL, SMALL, SMALL, NUMBERS, TEXT), max_size=3),
    st.lists(st.builds(Health, JOBS, SMALL, SMALL, SMALL, st.booleans(), NUMBERS, TEXT), max_size=3),
)


@given(st.lists(REPORTS | INVENTORIES, max_size=6))
@settings(max_examples=150)
def test_random_messages_harm_nobody_else(messages: list[Report | Inventory]) -> None:
    """The rogue node may end its own tasks as it likes; the job on the other node stays as it is, the engine is never
    reset, and everything can be shown."""

    async def scenario(harness: Harness) -> None:
        honest = await harness.join("honest", cpu=1)
        [safe] = await harness.submit(spec("safe"))
        [(_, safe_order)] = harness.orders()
        rogue = await harness.join("rogue", cpu=2)
        [job] = await harness.submit(spec("shaky", count=3))
        harness.orders()
        for message in messages:
            if message_problem(message) is not None:
                continue
            if isinstance(message, Report):
                await harness.engine.report(rogue, message)
            else:
                await harness.engine.inventory(rogue, message)
            await harness.settle()
        assert harness.workers.resets == 0
        assert harness.engine.epoch == 1
        assert harness.counts(safe.job_id) == {"assigned": 1}
        if job.job_id in harness.engine.state.jobs:
            job_view(harness.engine.state.jobs[job.job_id], harness.engine.state)
        await harness.end(honest, safe_order)
        assert safe.job_id not in harness.engine.state.jobs
        await harness.submit(spec("later"))

    run_scenario(scenario)
