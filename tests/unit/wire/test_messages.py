"""Situations and decisions over the wire of `shunter.v1`: what arrives is what was sent."""

from __future__ import annotations

import random
import typing

import msgspec
import pytest
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from shunter.model.errors import Invalid
from shunter.model.objects import testbeds as tb
from shunter.model.objects.batch_jobs import (
    BatchJob,
    BatchJobSpec,
    BatchJobState,
    BatchJobStatus,
    Claim,
    CreationRequest,
    ScheduledEvent,
)
from shunter.model.objects.object_meta import Meta, ObjectName
from shunter.model.objects.schedulings import (
    JobProgress,
    JobRecord,
    Scheduling,
    SchedulingSpec,
    SchedulingState,
    SchedulingStatus,
    SlotJob,
)
from shunter.model.protocol.scheduler_messages import (
    WANTS,
    DecisionAnswer,
    DecisionRow,
    ItemRefusal,
    PlacementRow,
    Preemption,
    SchedulingDraft,
    Situation,
    ViewDelta,
)
from shunter.planning.remote.view_reader import ViewReader
from shunter.planning.remote.view_scope import limit_view
from shunter.planning.remote.view_writer import ViewWriter
from shunter.proto.v1 import external_scheduler_pb2 as pb
from shunter.wire.situations import (
    answer_message,
    decision_message,
    read_answer,
    read_decision,
    read_situation,
    situation_message,
)
from shunter.wire.struct_codec import from_message, to_message
from tests.unit.planning.remote.test_view_deltas import ROUNDS, ChangingCluster, same_answers
from tests.unit.planning.remote.view_hash import view_hash

ONE, TWO = ObjectName("default", "one"), ObjectName("team", "two")
META = Meta(7, "default", "one", 5, "anna", 3, 99, {"a": "b"}, {"c": "d"}, 11)
PLACE = tb.SlotPlace("n1", 2)
SLOT = tb.Slot(PLACE, 4, {"cpu": 1000}, tb.SlotState.OCCUPIED, 17, tb.SlotHolder(ONE, 1, TWO), True)
TESTBED = tb.Testbed(
    META,
    tb.TestbedSpec(2, "slots", {"cpu": 1000, "memory": 5}, tb.DISJOINT),
    tb.TestbedStatus(tb.TestbedState.IN_PROGRESS, (SLOT,), {"n2": ["too small", "down"]}, ["odd"], 3, (TWO,)),
)
EVENT = ScheduledEvent(1, ONE, TWO, (3, 4), 12, 9, False, "node n1 is down")
JOB = BatchJob(
    META,
    BatchJobSpec({"mainClass": "X", "n": 3, "deep": [1, {"x": None}]}, {}, {"command": ["a"]},
                 {"profiler": [{"sort": "24 (16)"}, {}]}, {"cpu": "500m"}, "restart"),
    Claim(TWO, CreationRequest(ONE, (0, 2))),
    BatchJobStatus(BatchJobState.RUNNING, (EVENT,), ONE, TWO, (1,), (PLACE,), 12, ["odd"], 3, 5, 6, 2),
)  # fmt: skip
SCHEDULING = Scheduling(
    META,
    SchedulingSpec(ONE, (ONE, TWO), (SlotJob(TWO, (1, 2)),), "strict", 33.0),
    SchedulingStatus(
        SchedulingState.AWAITING_COMPLETION, 5, (JobRecord(JobProgress.SUBMITTED, (1,), 12),), "two", ["odd"], 3, (ONE,)
    ),
)
OBJECTS = (TESTBED, JOB, SCHEDULING)


@pytest.mark.parametrize("object", OBJECTS, ids=lambda object: type(object).__name__)
def test_objects_arrive_as_they_were_sent(object: tb.Testbed | BatchJob | Scheduling) -> None:
    kind: type[Message] = getattr(pb, type(object).__name__)
    message = kind.FromString(to_message(object, kind).SerializeToString())
    assert from_message(type(object), message) == object


def test_the_examples_have_no_field_that_is_as_by_default() -> None:
    for object in (*OBJECTS, SLOT, EVENT):
        for struct in parts(object):
            for field in msgspec.structs.fields(type(struct)):
                default = field.default if field.default is not msgspec.NODEFAULT else None
                assert getattr(struct, field.name) != default, f"{type(struct).__name__}.{field.name}"


def parts(struct: msgspec.Struct) -> typing.Iterator[msgspec.Struct]:
    yield struct
    for value in msgspec.structs.astuple(struct):
        if isinstance(value, msgspec.Struct):
            yield from parts(value)


def test_absent_fields_of_a_message_are_the_defaults() -> None:
    spec = from_message(SchedulingSpec, pb.SchedulingSpec(testbed=pb.ObjectName(namespace="default", name="one")))
    assert spec == SchedulingSpec(ONE)
    assert from_message(BatchJobSpec, pb.BatchJobSpec(spark_json="{}")) == BatchJobSpec(spark={})
    assert (
        from_message(ScheduledEvent, to_message(ScheduledEvent(1, ONE, TWO, (), 2), pb.ScheduledEvent)).successful
        is None
    )


def test_words_that_are_no_state_and_texts_that_are_no_document_are_refused() -> None:
    with pytest.raises(Invalid, match="is not a SchedulingState"):
        from_message(SchedulingStatus, pb.SchedulingStatus(state="Odd"))
    with pytest.raises(Invalid, match="is not a JSON object"):
        from_message(BatchJobSpec, pb.BatchJobSpec(spark_json="[1"))


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32))
def test_situations_arrive_as_they_were_sent(seed: int) -> None:
    changing_cluster = ChangingCluster(random.Random(seed))
    writer, reader = ViewWriter(WANTS), ViewReader(WANTS)
    for number in range(ROUNDS):
        view = limit_view(changing_cluster.view(), WANTS)
        situation = Situation(1.5, 10, writer.write(view), DecisionRow(3) if number % 2 else None)
        arrived = read_situation(pb.Situation.FromString(situation_message(situation).SerializeToString()))
        assert (arrived.now, arrived.budget, arrived.active) == (1.5, 10, situation.active)
        assert msgspec.structs.asdict(arrived.delta) == msgspec.structs.asdict(situation.delta)
        made = reader.read(arrived.delta)
        assert view_hash(made) == view_hash(view)
        assert same_answers(view, made, WANTS)
        changing_cluster.change()


def test_objects_in_situations_arrive() -> None:
    delta = ViewDelta(
        1, 2, testbeds=[TESTBED], batch_jobs=[JOB], schedulings=[SCHEDULING], testbeds_gone=[ONE],
        batch_jobs_gone=[TWO], schedulings_gone=[ONE, TWO],
    )  # fmt: skip
    assert read_situation(situation_message(Situation(0.0, 1, delta))).delta == delta


def test_decisions_and_answers_arrive_as_they_were_sent() -> None:
    row = DecisionRow(
        5, 4, [PlacementRow(1, [2, 3], [1, 1])], [Preemption(1, 2, 3, 4)],
        [SchedulingDraft(ONE, SchedulingSpec(TWO, queue=(ONE,)))], [TWO], 7, {1: "waits for n1"}, True, True, 250,
    )  # fmt: skip
    message = decision_message(row, "token")
    assert message.token == "token"
    assert read_decision(pb.Decision.FromString(message.SerializeToString())) == row
    assert read_decision(decision_message(DecisionRow(1))) == DecisionRow(1)
    for answer in (
        DecisionAnswer(3, 2, [ItemRefusal("placements[0]", "full", "n1", 2)]),
        DecisionAnswer(1, agrees=False),
    ):
        assert read_answer(answer_message(answer)) == answer
