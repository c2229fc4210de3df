"""Every struct of every format round-trips with every field set.

Structs are found by reflection: a new struct or field is tested too, and fails here until its codec knows it.
`tests/unit/engine/state/test_snapshot_round_trips.py` does the same for snapshots."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import msgspec
import pytest

from shunter.adapters.grpc import codec
from shunter.engine import changes
from shunter.engine.changes import change_struct, cluster, jobs, nodes, objects, services, tasks, templates
from shunter.engine.state import snapshot_records
from shunter.model.objects import batch_jobs, schedulings, testbeds
from shunter.model.protocol import flight_records, scheduler_messages, worker_messages
from shunter.model.protocol.scheduler_messages import (
    Answers,
    CapacityRows,
    DecisionAnswer,
    DecisionRow,
    NodeRows,
    RunningRows,
    ViewDelta,
)
from shunter.proto.v1 import external_scheduler_pb2 as pb
from shunter.wire import situations as wire
from shunter.worker.keeper import json_lines as keeper_wire
from shunter.worker.process import protocol
from tests.unit.wire.filled_structs import Field, Filler, default_of, differences, records_in, structs_of, variants

Carry = Callable[[Any], Any]


@dataclass(frozen=True)
class Format:
    """What travels, and how. All structs of the `modules` must be parts of some root, but for those that stay `apart`;
    `unsent` are fields that are not sent on purpose, `settled` those that cannot be emptied on their own."""

    name: str
    modules: tuple[ModuleType, ...]
    roots: Mapping[Any, Carry]
    apart: tuple[type, ...] = ()
    unsent: tuple[Field, ...] = ()
    settled: tuple[Field, ...] = ()
    put: dict[Field, Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "put", {each: default_of(*each) for each in self.unsent})

    def __str__(self) -> str:
        return self.name


def over_proto(write: Callable[[Any], Any], read: Callable[[Any], Any]) -> Carry:
    def carry(value: Any) -> Any:
        message = write(value)
        return read(type(message).FromString(message.SerializeToString()))

    return carry


def over_msgpack(value: Any) -> Any:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(value), type=type(value))


def in_a_round(change: Any) -> Any:
    [arrived] = changes.decode_round(changes.encode_round([change]))
    return arrived


def from_keeper(message: Any) -> Any:
    return protocol.decode(keeper_wire.encode(msgspec.to_builtins(message)).encode() + b"\n")


def each_of(union: Any, carry: Carry) -> dict[Any, Carry]:
    return dict.fromkeys(typing.get_args(union), carry)


def columns(*structs: type) -> tuple[Field, ...]:
    """Columns of one table: as long as one another, so none is emptied alone."""
    return tuple((kind, name) for kind in structs for name in typing.get_type_hints(kind))


WORKER = Format(
    "worker protocol",
    (worker_messages,),
    {
        **each_of(worker_messages.ManagerMessage, lambda it: codec.decode_manager(codec.encode_manager(it))),
        **each_of(worker_messages.WorkerMessage, lambda it: codec.decode_worker(codec.encode_worker(it))),
        worker_messages.Leader: lambda it: codec.decode_leader(codec.encode_leader(it)),
    },
)
SCHEDULER = Format(
    "external scheduler",
    (scheduler_messages, testbeds, batch_jobs, schedulings),
    {
        scheduler_messages.Situation: over_proto(wire.situation_message, wire.read_situation),
        DecisionRow: over_proto(wire.decision_message, wire.read_decision),
        DecisionAnswer: over_proto(wire.answer_message, wire.read_answer),
    },
    unsent=((Answers, "called"),),  # for policies in the manager: `names` cannot be asked for from outside
    settled=(
        *columns(CapacityRows, RunningRows),
        (NodeRows, "rows"),
        (NodeRows, "tasks"),
        (ViewDelta, "nodes"),  # nodes with a name or a capacity have rows
        (ViewDelta, "resources"),  # none at all means unchanged
    ),
)
FLIGHT = Format(
    "flight records",
    (flight_records,),
    each_of(flight_records.FlightRecord, lambda it: flight_records.decode_record(flight_records.encode_record(it))),
    # answers about records, which are not stored
    apart=(
        flight_records.Replayed,
        flight_records.FlightSegment,
        flight_records.FlightPage,
    ),
)
CHANGES = Format(
    "committed changes",
    (changes, cluster, jobs, services, nodes, objects, change_struct, tasks, templates),
    each_of(changes.Change, in_a_round),
    apart=(change_struct.ChangeStruct,),
)
SNAPSHOT = Format("snapshots", (snapshot_records,), {snapshot_records.Dump: over_msgpack})
KEEPER = Format("keeper's socket", (protocol,), each_of(protocol.KeeperMessage, from_keeper))
FORMATS = (WORKER, SCHEDULER, FLIGHT, CHANGES, SNAPSHOT, KEEPER)
ROOTS = [pytest.param(each, root, id=f"{each}: {root.__name__}") for each in FORMATS for root in each.roots]


@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_every_struct_belongs_to_what_travels(format: Format) -> None:
    reached = set[type]().union(*map(records_in, format.roots))
    there = set[type]().union(*map(structs_of, format.modules))
    assert there - reached == set(format.apart)
    assert {kind for kind, _ in (*format.unsent, *format.settled)} <= reached


@pytest.mark.parametrize(("format", "root"), ROOTS)
def test_every_field_arrives(format: Format, root: type) -> None:
    sent = Filler(format.put).fill(root)
    assert list(differences(sent, format.roots[root](sent))) == []


@pytest.mark.parametrize(("format", "root"), ROOTS)
def test_fields_that_are_zero_or_none_or_as_by_default_arrive(format: Format, root: type) -> None:
    for changed, value in variants(root):
        if changed not in format.settled and changed not in format.unsent:
            sent = Filler({**format.put, changed: value}).fill(root)
            differing_fields = list(differences(sent, format.roots[root](sent)))
            assert differing_fields == [], f"where {changed[0].__name__}.{changed[1]} is {value!r}"


def test_no_field_of_a_situation_is_there_that_nobody_sends() -> None:
    sent = wire.situation_message(Filler(SCHEDULER.put).fill(scheduler_messages.Situation), pb.Lease(token="text"))
    assert {each.name for each in pb.Situation.DESCRIPTOR.fields} == {each.name for each, _ in sent.ListFields()}
