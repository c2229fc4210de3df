"""A round takes few reports with many entries, so that none holds up the callers."""

from __future__ import annotations

from shunter.engine.inbox import Command, Inbox
from shunter.model.protocol.worker_messages import Held, Inventory, Report, Started
from tests.unit.engine.harness import Harness, run_scenario, spec

CPUS = 8


def inbox(*entries: int) -> Inbox:
    inbox = Inbox()
    for each in entries:
        inbox.put(Command(lambda _: None, entries=each))
    return inbox


def test_a_round_takes_commands_up_to_both_limits_and_at_least_one() -> None:
    assert inbox(1, 1, 1).count_for_round(2, 100) == 2
    assert inbox(60, 40, 1).count_for_round(10, 100) == 2
    assert inbox(500, 1).count_for_round(10, 100) == 1
    assert inbox().count_for_round(10, 100) == 0


def test_a_report_in_parts_is_decided_in_as_many_rounds() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=CPUS)
        await harness.submit(spec("array", CPUS))
        [(_, first), *_] = harness.orders()
        before = harness.engine.state.version
        for index in range(CPUS):
            started = [Started(first.job, first.group, 1, index, 1, 1, index)]
            await harness.engine.report(node, Report(index + 2, started=started))
        await harness.settle()
        assert harness.counts(first.job)["running"] == CPUS
        assert harness.engine.state.version - before == CPUS / 2

    run_scenario(scenario, round_entries_max=2)


def test_after_the_parts_of_an_inventory_only_what_the_worker_lacks_is_ordered_again() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=CPUS)
        await harness.submit(spec("array", CPUS))
        [(_, order), *_] = harness.orders()
        held = [Held(order.job, order.group, 1, index, index, True, 1, 1, index) for index in range(CPUS - 1)]
        started = [Started(order.job, order.group, 1, index, 1, 1, index) for index in range(CPUS - 1)]
        harness.workers.sent.clear()
        await harness.engine.inventory_part(node, Report(8, started=started))
        await harness.engine.inventory(node, Inventory(9, held, []))
        await harness.settle()
        assert harness.counts(order.job) == {"running": CPUS - 1, "assigned": 1}
        assert [(each.first, each.last) for _, each in harness.orders()] == [(CPUS - 1, CPUS - 1)]

    run_scenario(scenario)
