"""The hand-written messages between worker and keeper have every field of their structs."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import msgspec

from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.worker_messages import Ended, Order
from shunter.worker.keeper import json_lines, work_queue
from shunter.worker.keeper.lane import Lane
from shunter.worker.keeper.results import EndedRange, Results
from shunter.worker.keeper.runner import Runner
from shunter.worker.keeper.work_queue import Queue, Spec, TaskRange
from shunter.worker.process import protocol
from shunter.worker.process.protocol import (
    KeeperReport,
    KeeperRunning,
    KeeperStarted,
    KeeperState,
    TaskPorts,
    Termination,
)
from shunter.worker.secret_values import secret_files, secret_variables
from tests.unit.wire.filled_structs import Filler, differences, hints_of

TASKS = 2  # of a filled order: as many as it has entries and shown indexes


def same(sent: Any, arrived: Any) -> bool:
    """Whether an array or object as it came over the socket has just the fields of the struct, as they were."""
    assert len(arrived) == len(hints_of(type(sent)))
    assert list(differences(sent, msgspec.convert(arrived, type(sent)))) == []
    return True


def filled_order() -> Order:
    order: Order = Filler().fill(Order)
    order.last = order.first + TASKS - 1
    return order


def queued_work() -> TaskRange:
    return TaskRange(msgspec.to_builtins(filled_order()), Spec(msgspec.to_builtins(Filler().fill(TaskSpec)), {}))


def test_a_keeper_gets_every_field_of_a_spec() -> None:
    task = Filler().fill(TaskSpec)
    verb, id, fields = json_lines.decode(protocol.spec(5, task))
    assert (verb, id) == ("spec", 5)
    with_secrets = msgspec.structs.replace(task, env={**task.env, **secret_variables(task)}, secrets=())
    assert same(with_secrets, fields)
    assert fields["secret_files"].keys() == secret_files(task).keys()
    assert msgspec.convert(Spec(fields, {}).fields, TaskSpec) == with_secrets, "the next worker gets it back"
    assert len(json_lines.decode(protocol.spec(5, TaskSpec(("true",))))[2]) == len(fields), "defaults too"


def test_a_keeper_gets_every_field_of_an_order_and_gives_it_back() -> None:
    order = filled_order()
    _, [fields] = json_lines.decode(protocol.run([order]))
    assert same(order, fields)
    queue = Queue()
    queue.add(TaskRange(fields, queued_work().spec))
    assert same(order, json_lines.decode(json_lines.encode(queue.orders()[0]).encode()))
    places = {name: getattr(work_queue, name.upper()) for name in hints_of(Order)}
    assert list(places.values()) == list(range(len(places)))


def test_a_keeper_gets_every_field_of_ports_and_endings() -> None:
    ports, ending = Filler().fill(TaskPorts), Filler().fill(Termination)
    assert same(ports, json_lines.decode(protocol.ports(ports))[1:])
    assert json_lines.decode(protocol.stop((1, 2, 3, 4), 5, ending))[3:] == list(dataclasses.astuple(ending))


def test_reports_have_every_field_of_what_ended_and_started() -> None:
    results, kept, started = Results(), queued_work(), Filler().fill(KeeperStarted)
    results.add_abnormal(EndedRange(kept, 11, 12, 13, "timeout", "too long"), 14, (15, 16))
    results.add_started(msgspec.to_builtins(started))
    line = results.close_report(17)
    ended = Ended(kept.job, kept.group, kept.attempt, 11, [14], [15], [16], 12, 13, "timeout", "too long")
    assert list(differences(KeeperReport(1, [ended], [started], 17), protocol.decode(line))) == []
    assert same(ended, json_lines.decode(line)[2][0])


def test_a_keeper_says_every_field_of_its_state_and_of_what_runs() -> None:
    """`Lane` and `Runner` themselves need a keeper's process; what they say needs only what they have."""
    kept, sent, ports = queued_work(), list[bytes](), Filler().fill(TaskPorts)
    queue, results = Queue(), Results()
    queue.add(kept)
    task = SimpleNamespace(
        task_range=kept,
        index=kept.last,
        started_ms=21,
        pid=22,
        ports={"web": 23},
        is_reported=False,
        start_by_date=lambda *_: 21,
    )
    segments = SimpleNamespace(number=24, records=25, record_running=lambda *_: None)
    lane_context = SimpleNamespace(results=results, flush=lambda: None)
    runner: Any = SimpleNamespace(_segments=segments, _lane_context=lane_context, task=task)
    Runner.record_running(runner, task)  # type: ignore[arg-type]
    started = json_lines.decode(results.close_report(24))[3][0]
    assert same(KeeperStarted(kept.job, kept.group, kept.attempt, kept.last, 21, 24, 25, 22, {"web": 23}), started)
    results.acknowledge(1)
    lane: Any = SimpleNamespace(
        _runner=runner, _segments=segments, _results=results, _number=26, _queue=queue, _devices={"gpu": ["a"]},
        _setup=SimpleNamespace(ports={(ports.job, ports.group, ports.index, ports.attempt): ports.ports}),
        _link=SimpleNamespace(send=sent.append),
    )  # fmt: skip
    Lane._send_state(lane)
    state = protocol.decode(sent[0])
    assert isinstance(state, KeeperState)
    assert len(json_lines.decode(sent[0])) == 1 + len(hints_of(KeeperState))
    assert (state.number, state.segment, state.devices, state.ports) == (26, 24, {"gpu": ["a"]}, [ports])
    spec = msgspec.convert(kept.spec.fields, TaskSpec)
    order = msgspec.convert(kept.suborder(kept.last, kept.last), Order)
    running = KeeperRunning(order, kept.last, 21, 24, 25, 22, spec, {"web": 23})
    assert state.running == running
    assert same(running, json_lines.decode(sent[0])[5])
