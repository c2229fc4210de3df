"""How a keeper's results become reports."""

from __future__ import annotations

import json

from shunter.model.protocol.worker_messages import Ended
from shunter.worker.keeper.results import EndedRange, Results
from shunter.worker.keeper.work_queue import TaskRange
from shunter.worker.process.protocol import KeeperReport, decode
from tests.unit.worker.keeper.test_work_queue import SPEC, order


def report_of(results: Results) -> KeeperReport:
    message = decode(results.close_report(4))
    assert isinstance(message, KeeperReport)
    return message


def test_plain_exits_in_a_row_are_one_run() -> None:
    results, task_range = Results(), TaskRange(order(7, 0, 9), SPEC)
    for index in range(3):
        results.add_ended(task_range, index, 0, (10 + index, 11 + index), (4, 20 + index))
    assert report_of(results).ended == [Ended(7, 0, 1, 0, [], [10, 11, 12], [11, 12, 13], 4, 20)]


def test_one_failure_makes_the_run_list_every_exit_code() -> None:
    results, task_range = Results(), TaskRange(order(7, 0, 9), SPEC)
    for index, code in enumerate((0, 3, 0)):
        results.add_ended(task_range, index, code, (1, 2), (4, index))
    assert report_of(results).ended[0].exits == [0, 3, 0]


def test_a_gap_another_range_or_another_segment_begins_a_new_run() -> None:
    results, task_range, other = Results(), TaskRange(order(7, 0, 9), SPEC), TaskRange(order(8, 0, 9), SPEC)
    for task, index, segment in ((task_range, 0, 1), (task_range, 2, 1), (other, 3, 1), (other, 4, 2)):
        results.add_ended(task, index, 0, (1, 2), (segment, index))
    assert [(ended.job, ended.first, ended.segment) for ended in report_of(results).ended] == [
        (7, 0, 1), (7, 2, 1), (8, 3, 1), (8, 4, 2),
    ]  # fmt: skip


def test_what_did_not_simply_exit_is_a_run_of_its_own() -> None:
    results, task_range = Results(), TaskRange(order(7, 0, 9), SPEC)
    results.add_ended(task_range, 0, 0, (1, 2), (1, 0))
    results.add_abnormal(EndedRange(task_range, 1, 1, 1, "timeout", 'ran "long"\n'), 143, (1, 2))
    results.add_ended(task_range, 2, 0, (1, 2), (1, 2))
    found = report_of(results).ended
    assert [(ended.first, ended.exits, ended.how, ended.detail) for ended in found] == [
        (0, [], "", ""), (1, [143], "timeout", 'ran "long"\n'), (2, [], "", ""),
    ]  # fmt: skip


def test_reports_are_kept_until_acknowledged() -> None:
    results, task_range = Results(), TaskRange(order(7, 0, 9), SPEC)
    for index in range(3):
        results.add_ended(task_range, index, 0, (1, 2), (1, index))
        results.close_report(1)
    assert [json.loads(line)[1] for line in results.unacknowledged().splitlines()] == [1, 2, 3]
    results.acknowledge(2)
    assert [json.loads(line)[1] for line in results.unacknowledged().splitlines()] == [3]
    results.acknowledge(3)
    assert results.unacknowledged() == b""
    assert not results
