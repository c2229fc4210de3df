"""A simulated worker, driven by hand: it speaks the protocol as a real one does."""

from __future__ import annotations

import random

import pytest

from shunter.model.job.spec import HealthCheck, Port, TaskSpec
from shunter.model.protocol.worker_messages import Ended, Hello, Order, Orders, Report, Returned, StopRange
from shunter.simulation.fleet.machine import Machine, RunningRange
from shunter.simulation.fleet.node import SimulatedNode
from shunter.simulation.fleet.outcomes import Outcomes, parse_outcome

NOW = 1000.0
INSTANT = TaskSpec(("work",), {"SHUNTER_SIM_DURATION": "0"})
ONE_SECOND = TaskSpec(("sleep", "1"))


class ManualTimers:
    """Timers that go off when the test says so."""

    def __init__(self) -> None:
        self.outcomes = Outcomes()
        self.ends: list[tuple[float, Machine, RunningRange]] = []
        self.dirty_nodes: list[SimulatedNode] = []

    def schedule_end(self, when: float, machine: Machine, running_range: RunningRange) -> None:
        self.ends.append((when, machine, running_range))

    def mark_dirty(self, node: SimulatedNode) -> None:
        self.dirty_nodes.append(node)

    def run_until(self, now: float) -> None:
        while due := sorted((end for end in self.ends if end[0] <= now), key=lambda end: end[0]):
            self.ends.remove(due[0])
            due[0][1].finish(due[0][2], due[0][0])


@pytest.fixture
def timers() -> ManualTimers:
    return ManualTimers()


@pytest.fixture
def node(timers: ManualTimers) -> SimulatedNode:
    hello = Hello(protocol=1, name="n1", boot="b1", capacity={"cpu": 4000})
    return SimulatedNode(hello, timers, random.Random(1))


def orders(spec: TaskSpec, *ranges: tuple[int, int], width: int = 2, attempt: int = 1, epoch: int = 1) -> Orders:
    return Orders(
        epoch,
        [Order(7, 0, first, last, attempt, 1, 3, width, "default", "j", "main", 100) for first, last in ranges],
        {1: spec},
    )


def ended_indexes(report: Report) -> list[int]:
    return [index for run in report.ended for index in range(run.first, run.first + len(run.ended_ms))]


def test_instant_tasks_end_as_one_run(node: SimulatedNode) -> None:
    node.order(orders(INSTANT, (0, 99)), NOW)
    report = node.take_report()
    assert [(run.first, len(run.ended_ms), run.exits) for run in report.ended] == [(0, 100, [])]
    assert report.started == []


def test_no_more_than_width_run_at_once_and_the_rest_follows(node: SimulatedNode, timers: ManualTimers) -> None:
    node.order(orders(ONE_SECOND, (0, 4)), NOW)
    assert node.machine.running_count() == 2
    assert [started.index for started in node.take_report().started] == [0, 1]
    timers.run_until(NOW + 1)
    assert ended_indexes(node.take_report()) == [0, 1]
    assert node.machine.running_count() == 2
    timers.run_until(NOW + 3)
    assert ended_indexes(node.take_report()) == [2, 3, 4]
    assert not node.machine.lanes


def test_an_order_that_is_repeated_is_acted_on_once(node: SimulatedNode, timers: ManualTimers) -> None:
    node.order(orders(ONE_SECOND, (0, 3)), NOW)
    node.order(orders(ONE_SECOND, (0, 3)), NOW)
    timers.run_until(NOW + 1)
    node.order(orders(ONE_SECOND, (0, 5)), NOW + 1)  # 0 and 1 are results that nobody acknowledged
    timers.run_until(NOW + 9)
    assert ended_indexes(node.take_report()) == [0, 1, 2, 3, 4, 5]


def test_the_next_attempt_is_another_matter(node: SimulatedNode) -> None:
    node.order(orders(INSTANT, (0, 0)), NOW)
    node.order(orders(INSTANT, (0, 0), attempt=2), NOW)
    assert [run.attempt for run in node.take_report().ended] == [1, 2]


def test_a_newer_attempt_ends_the_older_one_and_then_starts(node: SimulatedNode, timers: ManualTimers) -> None:
    node.order(orders(ONE_SECOND, (0, 9)), NOW)
    node.order(orders(ONE_SECOND, (1, 2), attempt=2), NOW + 0.1)  # 1 runs as attempt 1, 2 has not started
    timers.run_until(NOW + 0.5)
    report = node.take_report()
    assert [(run.first, run.attempt, run.how) for run in report.ended] == [(1, 1, "stopped")]
    assert [(started.index, started.attempt) for started in report.started] == [(0, 1), (1, 1), (3, 1)]
    timers.run_until(NOW + 9)
    attempts = {(run.first, run.attempt) for run in node.take_report().ended}
    assert {(1, 2), (2, 2)} <= attempts
    assert (2, 1) not in attempts


def test_an_older_attempt_than_the_one_at_hand_is_ignored(node: SimulatedNode) -> None:
    node.order(orders(ONE_SECOND, (0, 0), attempt=2), NOW)
    node.order(orders(ONE_SECOND, (0, 0), attempt=1), NOW)
    assert [(held.first, held.attempt) for held in node.take_inventory().held] == [(0, 2)]


def test_reports_of_a_connection_are_numbered_from_its_inventory_on(node: SimulatedNode) -> None:
    node.order(orders(INSTANT, (0, 0)), NOW)
    node.take_report()
    assert node.take_inventory().seq == 1
    node.order(orders(INSTANT, (1, 1)), NOW)
    assert node.take_report().seq == 2


def test_results_are_kept_until_they_are_acknowledged(node: SimulatedNode) -> None:
    node.order(orders(INSTANT, (0, 0)), NOW)
    first = node.take_report()
    node.order(orders(INSTANT, (1, 1)), NOW)
    second = node.take_report()
    assert second.seq == first.seq + 1
    node.acknowledge(first.seq)
    inventory = node.take_inventory()
    assert [run.first for run in inventory.ended] == [1]
    node.acknowledge(inventory.seq)
    assert node.take_inventory().ended == []


def test_an_inventory_has_what_runs_what_waits_and_what_ended(node: SimulatedNode, timers: ManualTimers) -> None:
    node.order(orders(INSTANT, (0, 1)), NOW)
    node.order(orders(ONE_SECOND, (2, 9)), NOW)
    inventory = node.take_inventory()
    assert [(held.first, held.last, held.running) for held in inventory.held] == [
        (4, 9, False), (2, 2, True), (3, 3, True),
    ]  # fmt: skip
    assert [run.first for run in inventory.ended] == [0]
    timers.run_until(NOW + 1)
    assert ended_indexes(node.take_report()) == [2, 3]


def test_a_recall_gives_back_only_what_has_not_started(node: SimulatedNode) -> None:
    node.order(orders(ONE_SECOND, (0, 9)), NOW)
    node.recall(1, [3])
    assert node.take_report().returned == [Returned(7, 0, 1, 2, 9)]
    assert node.machine.running_count() == 2


def test_a_stop_ends_what_runs_and_returns_the_rest(node: SimulatedNode, timers: ManualTimers) -> None:
    node.order(orders(ONE_SECOND, (0, 9)), NOW)
    node.take_report()
    node.stop(1, [StopRange(7, 0, 1, 5, 0.5)], NOW)
    timers.run_until(NOW + 0.9)
    report = node.take_report()
    assert report.returned == [Returned(7, 0, 1, 2, 5)]
    assert [(run.first, run.how) for run in report.ended] == [(1, "stopped")]
    assert [started.index for started in report.started] == [6]  # the lane went on with what was not stopped
    timers.run_until(NOW + 1)
    assert (0, "") in [(run.first, run.how) for run in node.take_report().ended]


def test_a_stop_of_an_older_attempt_leaves_the_newer_one_alone(node: SimulatedNode, timers: ManualTimers) -> None:
    node.order(orders(ONE_SECOND, (0, 0)), NOW)
    node.order(orders(ONE_SECOND, (0, 0), attempt=2), NOW + 0.1)  # it waits for the older one to end
    node.stop(1, [StopRange(7, 0, 0, 0, 0.0, attempt=1)], NOW + 0.1)
    assert node.take_report().returned == []
    timers.run_until(NOW + 9)
    assert [(run.attempt, run.how) for run in node.take_report().ended] == [(1, "stopped"), (2, "")]
    node.order(orders(ONE_SECOND, (0, 0), attempt=4), NOW + 9)
    node.stop(1, [StopRange(7, 0, 0, 0, 0.0, attempt=3)], NOW + 9)
    timers.run_until(NOW + 11)
    assert [(run.attempt, run.how) for run in node.take_report().ended][-1] == (4, "")


def test_a_task_that_ends_before_the_signal_keeps_its_result(node: SimulatedNode, timers: ManualTimers) -> None:
    node.order(orders(ONE_SECOND, (0, 0)), NOW)
    node.stop(1, [StopRange(7, 0, 0, 0, 5.0)], NOW + 0.99)
    timers.run_until(NOW + 9)
    assert [(run.how, run.exits) for run in node.take_report().ended] == [("", [])]


def test_an_older_epoch_is_refused(node: SimulatedNode) -> None:
    node.order(orders(ONE_SECOND, (0, 1), epoch=5), NOW)
    node.order(orders(ONE_SECOND, (2, 3), epoch=4), NOW)
    node.stop(4, [StopRange(7, 0, 0, 1, 0.0)], NOW)
    node.recall(4, [3])
    report = node.take_report()
    assert [started.index for started in report.started] == [0, 1]
    assert not report.returned
    assert not report.ended


def test_a_lost_keeper_takes_its_exit_code_with_it(node: SimulatedNode, timers: ManualTimers) -> None:
    node.order(orders(ONE_SECOND, (0, 0), (1, 1)), NOW)
    node.machine.mark_lost(next(iter(node.machine.running)), "keeper gone", NOW)
    timers.run_until(NOW + 1)
    inventory = node.take_inventory()
    assert [(lost.first, lost.reason) for lost in inventory.lost] == [(0, "keeper gone")]
    assert [run.first for run in inventory.ended] == [1]


def test_a_lost_machine_forgets_everything(node: SimulatedNode, timers: ManualTimers) -> None:
    node.order(orders(INSTANT, (0, 0)), NOW)
    node.order(orders(ONE_SECOND, (1, 9)), NOW)
    node.machine.wipe()
    timers.run_until(NOW + 9)
    inventory = node.take_inventory()
    assert not inventory.held
    assert not inventory.ended
    assert not inventory.lost


def test_a_paused_machine_ends_its_tasks_when_it_wakes(node: SimulatedNode, timers: ManualTimers) -> None:
    node.order(orders(ONE_SECOND, (0, 0)), NOW)
    node.machine.freeze()
    timers.run_until(NOW + 1)
    assert not node.take_report().ended
    node.machine.thaw(NOW + 60)
    assert [run.ended_ms for run in node.take_report().ended] == [[int((NOW + 60) * 1000)]]


def test_a_task_that_runs_too_long_ends_by_its_timeout(node: SimulatedNode, timers: ManualTimers) -> None:
    node.order(orders(TaskSpec(("sleep", "9"), run_timeout_s=2.0), (0, 1)), NOW)
    timers.run_until(NOW + 2)
    ended: list[Ended] = node.take_report().ended
    assert [(run.first, run.how, run.exits) for run in ended] == [(0, "timeout", [137]), (1, "timeout", [137])]


@pytest.mark.parametrize(
    ("spec", "duration_s", "exit_code"),
    [
        (TaskSpec(("sleep", "2.5")), 2.5, 0),
        (TaskSpec(("/bin/sleep", "1m")), 60.0, 0),
        (TaskSpec(("work",), {"SHUNTER_SIM_DURATION": "250ms", "SHUNTER_SIM_EXIT": "3"}), 0.25, 3),
        (TaskSpec(("/bin/false",)), None, 1),
        (TaskSpec(("work",)), None, 0),
        (TaskSpec(("sleep", "forever")), None, 0),
    ],
)
def test_a_command_says_how_long_and_how(spec: TaskSpec, duration_s: float | None, exit_code: int) -> None:
    outcome = parse_outcome(spec)
    assert (outcome.duration_s, outcome.exit_code) == (duration_s, exit_code)


def test_a_fail_rate_fails_that_share() -> None:
    outcome = parse_outcome(TaskSpec(("work",), {"SHUNTER_SIM_FAIL_RATE": "0.25"}))
    exits = outcome.draw_exits(10_000, random.Random(3))
    assert 2_300 < sum(exits) < 2_700


SERVED = TaskSpec(("serve",), ports=(Port("http", 80),), health=(HealthCheck("tcp", port="http", interval_s=2.0),))


def test_what_serves_runs_until_it_is_stopped_and_is_healthy_after_one_interval(
    node: SimulatedNode, timers: ManualTimers
) -> None:
    node.order(orders(SERVED, (0, 0)), NOW)
    [started] = node.take_report().started
    assert list(started.ports) == ["http"]
    timers.run_until(NOW + 1_000_000)
    [health] = node.take_report().health
    assert (health.index, health.is_healthy, health.at_ms) == (0, True, int((NOW + 2) * 1000))
    inventory = node.take_inventory()
    assert [each.is_healthy for each in inventory.health] == [True]
    assert [each.ports for each in inventory.held] == [started.ports]


def test_bad_health_ends_a_task_as_unhealthy(node: SimulatedNode, timers: ManualTimers) -> None:
    bad = TaskSpec(("serve",), {"SHUNTER_SIM_HEALTH": "bad"}, health=(HealthCheck("tcp", port="80", interval_s=1.0),))
    node.order(orders(bad, (0, 0)), NOW)
    timers.run_until(NOW + 10)
    report = node.take_report()
    assert [(ended.how, ended.ended_ms) for ended in report.ended] == [("unhealthy", [int((NOW + 3) * 1000)])]
    assert report.health == []
