"""The lifecycles of slots, testbeds, batch jobs and schedulings, as tables like those of `model.lifecycles`.

The reconcile functions of `testbeds/` change states only by these tables. State names on the wire are those of the
reference implementation."""

from __future__ import annotations

from typing import Any

from shunter.model.lifecycles import Machine, State
from shunter.model.objects.batch_jobs import BatchJobState
from shunter.model.objects.schedulings import SchedulingState
from shunter.model.objects.testbeds import SlotState, TestbedState


class SlotEvent(State):
    RESERVED = 0
    STARTED = 1  # its executor runs
    INTERRUPTED = 2  # its executor was lost, and shall start again
    FREED = 3
    NODE_LOST = 4
    NODE_BACK = 5


class TestbedEvent(State):
    """What is true of its slots and nodes now."""

    IDLE = 0
    RESERVED = 1
    OCCUPIED = 2
    BROKEN = 3


class BatchJobEvent(State):
    ENQUEUED = 0
    SUBMITTED = 1
    SCHEDULED = 2
    STARTED = 3
    COMPLETED = 4
    RELEASED = 5
    GONE = 6  # neither application nor processes are left
    VANISHED = 7  # the application is no more, and nobody asked for it
    FAILED = 8
    RESET = 9
    NODE_LOST = 10  # a part of the application was lost, and it restarts as a whole


class SchedulingEvent(State):
    ACQUIRED = 0
    UNCLAIMED = 1  # a job or the testbed is not its own: lost, or added to the spec
    CONFIRMED = 2
    SUBMITTED = 3
    DRAINED = 4  # every job was submitted
    EXTENDED = 5
    COMPLETED = 6
    FAILED = 7
    RELEASED = 8


_S, _SE = SlotState, SlotEvent
SLOT: Machine[SlotState, SlotEvent] = Machine(
    name="slot",
    initial=_S.FREE,
    moves={
        (_S.FREE, _SE.RESERVED): _S.RESERVED,
        (_S.FREE, _SE.NODE_LOST): _S.ERROR,
        (_S.RESERVED, _SE.STARTED): _S.OCCUPIED,
        (_S.RESERVED, _SE.FREED): _S.FREE,  # whoever it was reserved for is not coming
        (_S.OCCUPIED, _SE.INTERRUPTED): _S.RESERVED,
        (_S.OCCUPIED, _SE.FREED): _S.FREE,
        (_S.ERROR, _SE.NODE_BACK): _S.FREE,
    },
)

_T, _TE = TestbedState, TestbedEvent
_STATE_BY_EVENT = {
    _TE.IDLE: _T.SUCCESS,
    _TE.RESERVED: _T.IN_PROGRESS,
    _TE.OCCUPIED: _T.RUNNING,
    _TE.BROKEN: _T.ERROR,
}
TESTBED: Machine[TestbedState, TestbedEvent] = Machine(
    name="testbed",
    initial=_T.INITIAL,
    # Its state says what its slots are, so it goes from any to any other.
    moves={(before, event): after for before in _T for event, after in _STATE_BY_EVENT.items() if before is not after},
)

_B, _BE = BatchJobState, BatchJobEvent
BATCH_JOB: Machine[BatchJobState, BatchJobEvent] = Machine(
    name="batch job",
    initial=_B.READY,
    moves={
        (_B.READY, _BE.ENQUEUED): _B.IN_QUEUE,
        (_B.IN_QUEUE, _BE.SUBMITTED): _B.SUBMITTED,
        (_B.IN_QUEUE, _BE.RELEASED): _B.PENDING_DELETION,
        (_B.IN_QUEUE, _BE.FAILED): _B.FAILED,  # what was asked for cannot be: it waits for a reset
        (_B.SUBMITTED, _BE.SCHEDULED): _B.SCHEDULED,
        (_B.SUBMITTED, _BE.COMPLETED): _B.COMPLETED,  # a short application may end before its start is seen
        (_B.SUBMITTED, _BE.RELEASED): _B.PENDING_DELETION,
        (_B.SUBMITTED, _BE.VANISHED): _B.READY,
        (_B.SUBMITTED, _BE.NODE_LOST): _B.PENDING_DELETION,
        (_B.SUBMITTED, _BE.FAILED): _B.FAILED_SUBMISSION,
        (_B.SCHEDULED, _BE.STARTED): _B.RUNNING,
        (_B.SCHEDULED, _BE.COMPLETED): _B.COMPLETED,
        (_B.SCHEDULED, _BE.RELEASED): _B.PENDING_DELETION,
        (_B.SCHEDULED, _BE.VANISHED): _B.READY,
        (_B.SCHEDULED, _BE.NODE_LOST): _B.PENDING_DELETION,
        (_B.SCHEDULED, _BE.FAILED): _B.FAILED_SUBMISSION,
        (_B.RUNNING, _BE.COMPLETED): _B.COMPLETED,
        (_B.RUNNING, _BE.RELEASED): _B.PENDING_DELETION,
        (_B.RUNNING, _BE.VANISHED): _B.READY,
        (_B.RUNNING, _BE.NODE_LOST): _B.PENDING_DELETION,
        (_B.RUNNING, _BE.FAILED): _B.FAILED_SUBMISSION,
        (_B.COMPLETED, _BE.RELEASED): _B.PENDING_DELETION,
        (_B.PENDING_DELETION, _BE.GONE): _B.READY,
        (_B.FAILED_SUBMISSION, _BE.GONE): _B.READY,  # after its release
        (_B.FAILED, _BE.RESET): _B.READY,
    },
)

_G, _GE = SchedulingState, SchedulingEvent
SCHEDULING: Machine[SchedulingState, SchedulingEvent] = Machine(
    name="scheduling",
    initial=_G.ACQUIRE,
    terminal_states=frozenset({_G.FINISHED}),
    moves={
        (_G.ACQUIRE, _GE.ACQUIRED): _G.CONFIRMATION,
        (_G.ACQUIRE, _GE.FAILED): _G.FAILED,
        (_G.ACQUIRE, _GE.RELEASED): _G.FINISHED,
        (_G.CONFIRMATION, _GE.CONFIRMED): _G.SUBMISSION,
        (_G.CONFIRMATION, _GE.UNCLAIMED): _G.ACQUIRE,
        (_G.CONFIRMATION, _GE.COMPLETED): _G.COMPLETED,
        (_G.CONFIRMATION, _GE.FAILED): _G.FAILED,
        (_G.CONFIRMATION, _GE.RELEASED): _G.FINISHED,
        (_G.SUBMISSION, _GE.SUBMITTED): _G.CONFIRMATION,
        (_G.SUBMISSION, _GE.DRAINED): _G.AWAITING_COMPLETION,
        (_G.SUBMISSION, _GE.UNCLAIMED): _G.ACQUIRE,
        (_G.SUBMISSION, _GE.COMPLETED): _G.COMPLETED,
        (_G.SUBMISSION, _GE.FAILED): _G.FAILED,
        (_G.SUBMISSION, _GE.RELEASED): _G.FINISHED,
        (_G.AWAITING_COMPLETION, _GE.EXTENDED): _G.CONFIRMATION,
        (_G.AWAITING_COMPLETION, _GE.UNCLAIMED): _G.ACQUIRE,
        (_G.AWAITING_COMPLETION, _GE.COMPLETED): _G.COMPLETED,
        (_G.AWAITING_COMPLETION, _GE.FAILED): _G.FAILED,
        (_G.AWAITING_COMPLETION, _GE.RELEASED): _G.FINISHED,
        (_G.COMPLETED, _GE.UNCLAIMED): _G.ACQUIRE,  # its spec was extended after all had completed
        (_G.COMPLETED, _GE.RELEASED): _G.FINISHED,
        (_G.FAILED, _GE.RELEASED): _G.FINISHED,
    },
)

OBJECT_MACHINES: tuple[Machine[Any, Any], ...] = (SLOT, TESTBED, BATCH_JOB, SCHEDULING)
