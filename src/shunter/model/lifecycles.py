"""The lifecycles of jobs, tasks, attempts, nodes and rollouts. Read these tables first; all other code obeys them.

A table maps (state, event) to the next state. Nothing else assigns a state. The engine stores states as small integer
codes in columns; the store, REST, the CLI and documents use the words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, Generic, TypeVar

from shunter.model.errors import InvalidMove


class State(IntEnum):
    """Base of all state and event enumerations: `wire_name` is the spelling used outside the code."""

    @cached_property
    def wire_name(self) -> str:
        return self.name.lower()


class TaskState(State):
    WAITING = 0
    QUEUED = 1
    ASSIGNED = 2
    RUNNING = 3
    STOPPING = 4
    SUCCEEDED = 5
    FAILED = 6
    CANCELLED = 7


class TaskEvent(State):
    UNBLOCKED = 0
    PLACED = 1
    STARTED = 2
    FINISHED = 3
    RETRIED = 4
    LOST = 5
    GAVE_UP = 6
    CANCEL_ASKED = 7
    PREEMPTED = 8
    RETURNED = 9
    STOPPED = 10
    REQUEUED = 11
    CANCELLED = 12


class JobState(State):
    PENDING = 0
    RUNNING = 1
    STOPPING = 2
    SUCCEEDED = 3
    FAILED = 4
    CANCELLED = 5


class JobEvent(State):
    STARTED = 0
    STOP_ASKED = 1
    SUCCEEDED = 2
    FAILED = 3
    CANCELLED = 4


class AttemptState(State):
    ORDERED = 0
    RUNNING = 1
    SUCCEEDED = 2
    FAILED = 3
    STOPPED = 4
    LOST = 5
    RETURNED = 6


class AttemptEvent(State):
    STARTED = 0
    EXITED_ZERO = 1
    EXITED_NONZERO = 2
    STOPPED = 3
    LOST = 4
    RETURNED = 5


class NodeState(State):
    READY = 0
    SUSPECT = 1
    DOWN = 2
    DRAINING = 3
    DRAINED = 4


class NodeEvent(State):
    HEARD = 0
    SILENT = 1
    TIMED_OUT = 2
    LEFT = 3
    DRAIN_ASKED = 4
    EMPTIED = 5
    DRAIN_ENDED = 6


class RolloutStatus(State):
    """How far a long-running job is with its present spec."""

    STARTING = 0
    STEADY = 1
    UPDATING = 2
    ROLLING_BACK = 3
    RESTARTING = 4
    STALLED = 5

    @cached_property
    def wire_name(self) -> str:
        return self.name.lower().replace("_", " ")


class RolloutEvent(State):
    UPDATE_ASKED = 0
    ROLLBACK_BEGUN = 1  # by a user, or because the update failed
    RESTART_ASKED = 2
    INSTANCE_RESTART_ASKED = 3
    CONVERGED = 4  # every instance is healthy and follows the present spec
    FAILED = 5


S = TypeVar("S", bound=State)
E = TypeVar("E", bound=State)


@dataclass(frozen=True)
class Machine(Generic[S, E]):
    """One lifecycle: its table is the only way to move."""

    name: str
    initial: S
    moves: dict[tuple[S, E], S]
    terminal_states: frozenset[S] = frozenset()

    def move(self, state: S, event: E) -> S:
        """The next state. A move that is not in the table is a bug and raises."""
        try:
            return self.moves[state, event]
        except KeyError:
            raise InvalidMove(f"{self.name}: no move from {state.wire_name} on {event.wire_name}") from None

    def allows(self, state: S, event: E) -> bool:
        return (state, event) in self.moves


_T, _TE = TaskState, TaskEvent
TASK: Machine[TaskState, TaskEvent] = Machine(
    name="task",
    initial=_T.WAITING,
    terminal_states=frozenset({_T.SUCCEEDED, _T.FAILED, _T.CANCELLED}),
    moves={
        (_T.WAITING, _TE.UNBLOCKED): _T.QUEUED,
        (_T.WAITING, _TE.CANCELLED): _T.CANCELLED,
        (_T.QUEUED, _TE.PLACED): _T.ASSIGNED,
        (_T.QUEUED, _TE.CANCELLED): _T.CANCELLED,
        (_T.QUEUED, _TE.GAVE_UP): _T.FAILED,  # its queueing time-out passed, or its job asks for it
        (_T.ASSIGNED, _TE.STARTED): _T.RUNNING,
        (_T.ASSIGNED, _TE.FINISHED): _T.SUCCEEDED,  # a short task may end before its start is reported
        (_T.ASSIGNED, _TE.RETRIED): _T.QUEUED,
        (_T.ASSIGNED, _TE.LOST): _T.QUEUED,
        (_T.ASSIGNED, _TE.GAVE_UP): _T.FAILED,
        (_T.ASSIGNED, _TE.CANCEL_ASKED): _T.STOPPING,
        (_T.ASSIGNED, _TE.PREEMPTED): _T.STOPPING,
        (_T.ASSIGNED, _TE.RETURNED): _T.QUEUED,  # recalled before it started
        (_T.RUNNING, _TE.FINISHED): _T.SUCCEEDED,
        (_T.RUNNING, _TE.RETRIED): _T.QUEUED,
        (_T.RUNNING, _TE.LOST): _T.QUEUED,
        (_T.RUNNING, _TE.GAVE_UP): _T.FAILED,
        (_T.RUNNING, _TE.CANCEL_ASKED): _T.STOPPING,  # its resources stay reserved until the worker confirms
        (_T.RUNNING, _TE.PREEMPTED): _T.STOPPING,
        (_T.STOPPING, _TE.STOPPED): _T.CANCELLED,
        (_T.STOPPING, _TE.CANCEL_ASKED): _T.STOPPING,  # it was to come back, and now shall end
        (_T.STOPPING, _TE.REQUEUED): _T.QUEUED,  # preempted, drained, or the cluster was stopped
        (_T.STOPPING, _TE.FINISHED): _T.SUCCEEDED,  # it won the race: keep the result
    },
)
# A stopping task that is lost ends as what was asked of it: a cancel is STOPPED, a preemption REQUEUED.

_J, _JE = JobState, JobEvent
JOB: Machine[JobState, JobEvent] = Machine(
    name="job",
    initial=_J.PENDING,
    terminal_states=frozenset({_J.SUCCEEDED, _J.FAILED, _J.CANCELLED}),
    moves={
        (_J.PENDING, _JE.STARTED): _J.RUNNING,
        (_J.PENDING, _JE.STOP_ASKED): _J.STOPPING,
        (_J.PENDING, _JE.SUCCEEDED): _J.SUCCEEDED,
        (_J.PENDING, _JE.FAILED): _J.FAILED,
        (_J.PENDING, _JE.CANCELLED): _J.CANCELLED,
        (_J.RUNNING, _JE.STOP_ASKED): _J.STOPPING,
        (_J.RUNNING, _JE.SUCCEEDED): _J.SUCCEEDED,
        (_J.RUNNING, _JE.FAILED): _J.FAILED,
        (_J.RUNNING, _JE.CANCELLED): _J.CANCELLED,
        (_J.STOPPING, _JE.SUCCEEDED): _J.SUCCEEDED,
        (_J.STOPPING, _JE.FAILED): _J.FAILED,
        (_J.STOPPING, _JE.CANCELLED): _J.CANCELLED,
    },
)

_A, _AE = AttemptState, AttemptEvent
ATTEMPT: Machine[AttemptState, AttemptEvent] = Machine(
    name="attempt",
    initial=_A.ORDERED,
    terminal_states=frozenset({_A.SUCCEEDED, _A.FAILED, _A.STOPPED, _A.LOST, _A.RETURNED}),
    moves={
        (_A.ORDERED, _AE.STARTED): _A.RUNNING,
        (_A.ORDERED, _AE.EXITED_ZERO): _A.SUCCEEDED,
        (_A.ORDERED, _AE.EXITED_NONZERO): _A.FAILED,
        (_A.ORDERED, _AE.STOPPED): _A.STOPPED,
        (_A.ORDERED, _AE.LOST): _A.LOST,
        (_A.ORDERED, _AE.RETURNED): _A.RETURNED,
        (_A.RUNNING, _AE.EXITED_ZERO): _A.SUCCEEDED,
        (_A.RUNNING, _AE.EXITED_NONZERO): _A.FAILED,
        (_A.RUNNING, _AE.STOPPED): _A.STOPPED,
        (_A.RUNNING, _AE.LOST): _A.LOST,
    },
)

_N, _NE = NodeState, NodeEvent
NODE: Machine[NodeState, NodeEvent] = Machine(
    name="node",
    initial=_N.READY,
    moves={
        (_N.READY, _NE.SILENT): _N.SUSPECT,
        (_N.READY, _NE.TIMED_OUT): _N.DOWN,
        (_N.READY, _NE.LEFT): _N.DOWN,
        (_N.READY, _NE.DRAIN_ASKED): _N.DRAINING,
        (_N.SUSPECT, _NE.HEARD): _N.READY,
        (_N.SUSPECT, _NE.TIMED_OUT): _N.DOWN,
        (_N.SUSPECT, _NE.LEFT): _N.DOWN,
        (_N.SUSPECT, _NE.DRAIN_ASKED): _N.DRAINING,
        (_N.DOWN, _NE.HEARD): _N.READY,
        (_N.DRAINING, _NE.EMPTIED): _N.DRAINED,
        (_N.DRAINING, _NE.TIMED_OUT): _N.DOWN,
        (_N.DRAINING, _NE.LEFT): _N.DOWN,
        (_N.DRAINING, _NE.DRAIN_ENDED): _N.READY,
        (_N.DRAINED, _NE.DRAIN_ENDED): _N.READY,
        (_N.DRAINED, _NE.TIMED_OUT): _N.DOWN,
        (_N.DRAINED, _NE.LEFT): _N.DOWN,
    },
)

_R, _RE = RolloutStatus, RolloutEvent
ROLLOUT: Machine[RolloutStatus, RolloutEvent] = Machine(
    name="rollout",
    initial=_R.STARTING,
    moves={
        (_R.STARTING, _RE.UPDATE_ASKED): _R.UPDATING,
        (_R.STARTING, _RE.RESTART_ASKED): _R.RESTARTING,
        (_R.STARTING, _RE.INSTANCE_RESTART_ASKED): _R.STARTING,
        (_R.STARTING, _RE.CONVERGED): _R.STEADY,
        (_R.STARTING, _RE.FAILED): _R.STALLED,  # an instance that was restarted by itself
        (_R.STEADY, _RE.UPDATE_ASKED): _R.UPDATING,
        (_R.STEADY, _RE.ROLLBACK_BEGUN): _R.ROLLING_BACK,
        (_R.STEADY, _RE.RESTART_ASKED): _R.RESTARTING,
        (_R.STEADY, _RE.INSTANCE_RESTART_ASKED): _R.RESTARTING,
        (_R.UPDATING, _RE.UPDATE_ASKED): _R.UPDATING,  # the newer update overtakes
        (_R.UPDATING, _RE.ROLLBACK_BEGUN): _R.ROLLING_BACK,
        (_R.UPDATING, _RE.RESTART_ASKED): _R.UPDATING,  # what is replaced anyway is restarted
        (_R.UPDATING, _RE.INSTANCE_RESTART_ASKED): _R.UPDATING,
        (_R.UPDATING, _RE.CONVERGED): _R.STEADY,
        (_R.UPDATING, _RE.FAILED): _R.STALLED,
        (_R.ROLLING_BACK, _RE.UPDATE_ASKED): _R.UPDATING,
        (_R.ROLLING_BACK, _RE.ROLLBACK_BEGUN): _R.ROLLING_BACK,
        (_R.ROLLING_BACK, _RE.RESTART_ASKED): _R.ROLLING_BACK,
        (_R.ROLLING_BACK, _RE.INSTANCE_RESTART_ASKED): _R.ROLLING_BACK,
        (_R.ROLLING_BACK, _RE.CONVERGED): _R.STEADY,
        (_R.ROLLING_BACK, _RE.FAILED): _R.STALLED,
        (_R.RESTARTING, _RE.UPDATE_ASKED): _R.UPDATING,
        (_R.RESTARTING, _RE.ROLLBACK_BEGUN): _R.ROLLING_BACK,
        (_R.RESTARTING, _RE.RESTART_ASKED): _R.RESTARTING,
        (_R.RESTARTING, _RE.INSTANCE_RESTART_ASKED): _R.RESTARTING,
        (_R.RESTARTING, _RE.CONVERGED): _R.STEADY,
        (_R.RESTARTING, _RE.FAILED): _R.STALLED,
        (_R.STALLED, _RE.UPDATE_ASKED): _R.UPDATING,
        (_R.STALLED, _RE.ROLLBACK_BEGUN): _R.ROLLING_BACK,
        (_R.STALLED, _RE.RESTART_ASKED): _R.RESTARTING,
        (_R.STALLED, _RE.INSTANCE_RESTART_ASKED): _R.STALLED,
        (_R.STALLED, _RE.FAILED): _R.STALLED,  # an instance that was restarted by itself
    },
)
# A service that starts has no earlier version, so it cannot roll back. New counts (a scale) change no status.
ROLLOUT_IN_PROGRESS = frozenset({_R.UPDATING, _R.ROLLING_BACK, _R.RESTARTING})

MACHINES: tuple[Machine[Any, Any], ...] = (JOB, TASK, ATTEMPT, NODE, ROLLOUT)
