"""Messages keep their meaning through protobuf, and both descriptions of the protocol agree."""

from __future__ import annotations

import types
import typing
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shunter.adapters.grpc.codec import (
    Malformed,
    decode_manager,
    decode_worker,
    encode_manager,
    encode_worker,
    manager_envelope,
    snake_case,
    worker_envelope,
)
from shunter.model.job.spec import Container, HealthCheck, Mount, Port, TaskSpec
from shunter.model.protocol import worker_messages
from shunter.model.protocol.message_limits import PARTS_MAX
from shunter.model.protocol.worker_messages import Ack, Hello, ManagerMessage, WorkerMessage
from shunter.proto.worker.v1 import worker_pb2 as pb

MANAGER_KINDS = typing.get_args(ManagerMessage)
WORKER_KINDS = typing.get_args(WorkerMessage)
STRUCTS = {name: kind for name, kind in vars(worker_messages).items()
           if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind is not msgspec.Struct}  # fmt: skip


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of that type that the protocol can carry."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return st.builds(hint, **{name: values_of(inner) for name, inner in typing.get_type_hints(hint).items()})
    if origin is list:
        return st.lists(values_of(arguments[0]), max_size=3)
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(values_of(arguments[0]), values_of(arguments[1]), max_size=3)
    if origin is types.UnionType:
        return st.one_of(*(values_of(inner) for inner in arguments))
    return {
        int: st.integers(-(2**63), 2**63 - 1),
        float: st.floats(allow_nan=False),
        bool: st.booleans(),
        str: st.text(max_size=8),
        bytes: st.binary(max_size=8),
        type(None): st.none(),
    }[hint]


@pytest.mark.parametrize("kind", MANAGER_KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=40)
@given(data=st.data())
def test_what_a_manager_says_arrives_as_it_was_said(kind: type, data: st.DataObject) -> None:
    message = data.draw(values_of(kind))
    assert decode_manager(encode_manager(message)) == message


@pytest.mark.parametrize("kind", WORKER_KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=40)
@given(data=st.data())
def test_what_a_worker_says_arrives_as_it_was_said(kind: type, data: st.DataObject) -> None:
    message = data.draw(values_of(kind))
    assert decode_worker(encode_worker(message)) == message


@pytest.mark.parametrize(
    "struct", [*STRUCTS.values(), Mount, Port, HealthCheck, Container], ids=lambda struct: struct.__name__
)
def test_a_struct_and_its_protobuf_message_have_the_same_fields(struct: type[msgspec.Struct]) -> None:
    fields = getattr(pb, struct.__name__).DESCRIPTOR.fields_by_name
    assert list(struct.__struct_fields__) == list(fields)
    optional = {name for name, field in fields.items() if field.has_presence and field.message_type is None}
    assert optional == {field.name for field in msgspec.structs.fields(struct) if not has_zero_default(struct, field)}


def has_zero_default(struct: type[msgspec.Struct], field: msgspec.structs.FieldInfo) -> bool:
    """Whether an absent field and a zero mean the same: it has no default, or one that is empty, zero or false."""
    hint = typing.get_type_hints(struct)[field.name]
    if field.required or typing.get_origin(hint) in (list, dict, tuple):
        return True
    if any(isinstance(each, type) and issubclass(each, msgspec.Struct) for each in typing.get_args(hint)):
        return True  # protobuf tells an absent message from an empty one by itself
    return field.default is not None and not field.default


@pytest.mark.parametrize(
    ("side", "envelope", "kinds"),
    [(manager_envelope, pb.ManagerMessage, MANAGER_KINDS), (worker_envelope, pb.WorkerMessage, WORKER_KINDS)],
    ids=["manager", "worker"],
)
def test_each_message_has_one_entry_in_its_envelope(side: Any, envelope: Any, kinds: tuple[type, ...]) -> None:
    entries = [field.name for field in envelope.DESCRIPTOR.oneofs_by_name["message"].fields]
    assert entries == [snake_case(kind.__name__) for kind in kinds] == list(side().entries)


def test_columns_are_packed() -> None:
    for name in ("exits", "started_ms", "ended_ms"):
        assert pb.Ended.DESCRIPTOR.fields_by_name[name].is_packed
    assert pb.Recall.DESCRIPTOR.fields_by_name["reservations"].is_packed


def test_what_a_client_of_another_language_leaves_out_gets_our_defaults() -> None:
    sparse = pb.WorkerMessage(hello=pb.Hello(protocol=1, name="n", boot="b")).SerializeToString()
    assert decode_worker(sparse) == Hello(1, "n", "b", {})
    order = pb.ManagerMessage(orders=pb.Orders(specs={7: pb.TaskSpec(command=["true"])})).SerializeToString()
    orders = decode_manager(order)
    assert getattr(orders, "specs", None) == {7: TaskSpec(("true",))}


def test_an_absent_container_is_none_and_an_empty_one_is_not() -> None:
    specs = {1: pb.TaskSpec(command=["true"]), 2: pb.TaskSpec(container=pb.Container(), health=[pb.HealthCheck()])}
    orders = decode_manager(pb.ManagerMessage(orders=pb.Orders(specs=specs)).SerializeToString())
    assert getattr(orders, "specs", None) == {
        1: TaskSpec(("true",)),
        2: TaskSpec((), container=Container(""), health=(HealthCheck(""),)),
    }


def test_an_entry_that_this_version_does_not_know_is_none_and_no_error() -> None:
    newer = b"\xfa\x3e\x03abc"  # field 1007, three bytes
    assert decode_worker(newer) is None
    assert decode_manager(newer) is None


def test_a_field_that_this_version_does_not_know_is_ignored() -> None:
    known = pb.Ack(seq=5).SerializeToString() + b"\xfa\x3e\x03abc"
    assert decode_manager(b"\x32" + bytes([len(known)]) + known) == Ack(5)


@pytest.mark.parametrize("data", [b"\xff\xff\xff", b"\x0a\x7f", b"\x0a\x03\x12\x01\xff"])
def test_bytes_that_are_no_message_are_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        decode_worker(data)


@pytest.mark.parametrize("seq", [2**63, -(2**63) - 1])
def test_a_number_that_the_protocol_cannot_carry_is_malformed(seq: int) -> None:
    with pytest.raises(Malformed, match="ack"):
        encode_manager(Ack(seq))


@pytest.mark.parametrize(
    "message",
    [
        pb.WorkerMessage(inventory=pb.Inventory(held=[pb.Held()] * PARTS_MAX, health=[pb.Health()])),
        pb.WorkerMessage(report=pb.Report(lost=[pb.Lost()] * (PARTS_MAX + 1))),
        pb.WorkerMessage(heartbeat=pb.Heartbeat(samples=[pb.MachineSample(tasks=[pb.TaskStats()] * PARTS_MAX)])),
        pb.WorkerMessage(stats_data=pb.StatsData(tasks=[pb.TaskStats()] * (PARTS_MAX + 1))),
    ],
    ids=["inventory", "report", "heartbeat", "stats"],
)
def test_a_message_of_a_worker_with_too_many_entries_is_malformed(message: Any) -> None:
    """Each entry costs microseconds to read, while nobody else is served."""
    with pytest.raises(Malformed, match=r"has 250,001 entries, more than 250,000"):
        decode_worker(message.SerializeToString())
