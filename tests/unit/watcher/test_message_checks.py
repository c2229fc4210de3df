"""A worker's message is checked before the engine sees it: ranges, lengths, magnitudes."""

from __future__ import annotations

import math

import pytest

from shunter.model.errors import Rejected
from shunter.model.protocol.message_limits import TEXT_MAX
from shunter.model.protocol.worker_messages import (
    Ended,
    Goodbye,
    Health,
    Heartbeat,
    Held,
    Inventory,
    LogData,
    Lost,
    MachineSample,
    MachineStats,
    Refused,
    Report,
    Returned,
    Started,
    StatsData,
    TaskStats,
    WorkerMessage,
)
from shunter.model.usage import AttemptsUsage
from shunter.watcher.message_checks import TASKS_MAX, message_problem
from tests.unit.watcher.harness import Harness, virtual

NOW = 1_700_000_000_000


def ended(**fields: object) -> Ended:
    values: dict[str, object] = {
        "job": 1, "group": 0, "attempt": 1, "first": 0, "exits": [], "started_ms": [NOW], "ended_ms": [NOW],
        "segment": 1, "record": 0, **fields,
    }  # fmt: skip
    return Ended(**values)  # type: ignore[arg-type]


def sample(**fields: object) -> MachineSample:
    values: dict[str, object] = {
        "at_ms": NOW, "cpu_s": 1.0, "memory_bytes": 1, "read_bytes": 1, "written_bytes": 1, "received_bytes": 1,
        "sent_bytes": 1, **fields,
    }  # fmt: skip
    return MachineSample(**values)  # type: ignore[arg-type]


GOOD: list[WorkerMessage] = [
    Report(1),
    Report(1, [ended(), ended(exits=[-1], how="error", detail="no such file"), ended(started_ms=[0])]),
    Report(1, [ended(usage=AttemptsUsage(1, 2, 3, 4, 5, [64]))]),
    Report(1, [], [Started(1, 0, 1, 0, NOW, 1, 0, {"http": 8080})], [Returned(1, 0, 1, 0, 999_999)]),
    Report(1, lost=[Lost(1, 0, 1, 3, 3, "the keeper died")], health=[Health(1, 0, 1, 0, True, NOW)]),
    Inventory(1, [Held(1, 0, 1, 0, 5, False), Held(1, 0, 1, 6, 6, True, NOW, 1, 7)], [ended()]),
    Heartbeat(MachineStats(NOW, 0.5, 1.5), [sample(tasks=[TaskStats(1, 0, 0, 1, 0.1, 1, 1)])]),
    LogData(1, b"text", True, next=4),
    StatsData(1, MachineStats(NOW), [TaskStats(1, 0, 0, 1, 0.1, 1, 1)]),
    Goodbye("it is time"),
]

BAD: list[tuple[WorkerMessage, str]] = [
    (Report(1, returned=[Returned(1, 0, 1, 0, 2_000_000_000)]), "Report.tasks"),
    (Report(1, lost=[Lost(1, 0, 1, 0, 2**40, "")]), "Report.lost[0].last"),
    (Report(1, lost=[Lost(1, 0, 1, 0, 0, ""), Lost(1, 0, 1, 5, 4, "")]), "Report.lost[1].last"),
    (Report(1, returned=[Returned(1, 0, 1, -1, 4)]), "Report.returned[0].first"),
    (Report(-1), "Report.seq"),
    (Report(1, [ended(started_ms=[], ended_ms=[])]), "Report.ended[0].ended_ms"),
    (Report(1, [ended(started_ms=[])]), "Report.ended[0].started_ms"),
    (Report(1, [ended(exits=[0, 0])]), "Report.ended[0].exits"),
    (Report(1, [ended(usage=AttemptsUsage(1, 1, 1, 1, 1, []))]), "Report.ended[0].usage.memory_classes"),
    (Report(1, [ended(usage=AttemptsUsage(1, 1, 1, 1, 1, [256]))]), "Report.ended[0].usage.memory_classes"),
    (Report(1, [ended(usage=AttemptsUsage(-1, 1, 1, 1, 1, [64]))]), "Report.ended[0].usage.cpu_ms"),
    (Report(1, [ended(usage=AttemptsUsage(1, 1, 1, 1, 2**53 + 1, [64]))]), "Report.ended[0].usage.memory_max_bytes"),
    (Report(1, [ended(exits=[2**31])]), "Report.ended[0].exits"),
    (Report(1, [ended(exits=[-2])]), "Report.ended[0].exits"),
    (Report(1, [ended(started_ms=[2**63 - 1])]), "Report.ended[0].started_ms"),
    (Report(1, [ended(ended_ms=[-1])]), "Report.ended[0].ended_ms"),
    (Report(1, [ended(attempt=2**31)]), "Report.ended[0].attempt"),
    (Report(1, [ended(first=2**31 - 1, started_ms=[1, 1], ended_ms=[1, 1])]), "Report.ended[0].last"),
    (Report(1, [ended(segment=2**31)]), "Report.ended[0].segment"),
    (Report(1, [ended(record=2**32)]), "Report.ended[0].record"),
    (Report(1, [ended(how="bored")]), "Report.ended[0].how"),
    (Report(1, [ended(detail="x" * (TEXT_MAX + 1))]), "Report.ended[0].detail"),
    (Report(1, started=[Started(1, 0, 1, 0, 2**63 - 1, 1, 0)]), "Report.started[0].started_ms"),
    (Report(1, started=[Started(1, 0, 1, 0, NOW, 1, 0, {"http": 65_536})]), "Report.started[0].ports.http"),
    (Report(1, started=[Started(1, 0, 1, 0, NOW, 1, 0, {str(n): 1 for n in range(300)})]), "Report.started[0].ports"),
    (Report(1, health=[Health(1, 0, 1, 0, True, 2**62)]), "Report.health[0].at_ms"),
    (Inventory(1, [Held(1, 0, 1, 0, 200_000_000, False)], []), "Inventory.tasks"),
    (Inventory(1, [Held(1, number, 1, 0, TASKS_MAX // 2, False) for number in range(3)], []), "Inventory.tasks"),
    (Heartbeat(MachineStats(NOW, math.nan)), "Heartbeat.stats.cpu_busy"),
    (Heartbeat(MachineStats(NOW), [sample(cpu_s=math.inf)]), "Heartbeat.samples[0].cpu_s"),
    (
        Heartbeat(MachineStats(NOW), [sample(tasks=[TaskStats(1, 0, -1, 1, 0.1, 1, 1)])]),
        "Heartbeat.samples[0].tasks[0].index",
    ),
    (Heartbeat(MachineStats(NOW, memory_total_bytes=-1)), "Heartbeat.stats.memory_total_bytes"),
    (LogData(1, b"", False, next=-1), "LogData.next"),
    (StatsData(1, MachineStats(2**60), []), "StatsData.machine.at_ms"),
    (Goodbye("x" * (TEXT_MAX + 1)), "Goodbye.reason"),
]


@pytest.mark.parametrize("message", GOOD, ids=lambda message: type(message).__name__)
def test_what_workers_say_passes(message: WorkerMessage) -> None:
    assert message_problem(message) is None


@pytest.mark.parametrize(("message", "field"), BAD, ids=[field for _, field in BAD])
def test_a_message_that_cannot_be_true_is_named_by_its_field(message: WorkerMessage, field: str) -> None:
    problem = message_problem(message)
    assert problem is not None
    assert problem.startswith(f"{field}: ")


@virtual
async def test_a_bad_message_ends_the_session_and_the_engine_never_sees_it() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    await worker.send(Report(1, returned=[Returned(1, 0, 1, 0, 2_000_000_000)]))
    refused = worker.link.refused
    assert refused is not None
    assert refused.code == "invalid"
    assert "Report.tasks: 2000000001 is not within" in refused.reason
    assert "report" not in harness.engine.call_kinds()


@virtual
async def test_what_the_engine_rejects_ends_the_session_as_invalid() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    harness.watcher.reject(worker.node, Rejected("attempt 7 has not begun"))
    assert worker.link.refused == Refused("invalid", "attempt 7 has not begun", retry=False)
    harness.watcher.reject(worker.node, Rejected("again"))  # nobody is there any more
