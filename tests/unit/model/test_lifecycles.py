"""Every state and event of every lifecycle, against tables written a second time, by hand, in the words users see.

A row says what each event does in one state; events that a row does not name must be refused."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.model.errors import InvalidMove
from shunter.model.lifecycles import ATTEMPT, JOB, MACHINES, NODE, ROLLOUT, TASK, Machine, State
from shunter.model.objects.object_lifecycles import BATCH_JOB, OBJECT_MACHINES, SCHEDULING, SLOT, TESTBED
from tests.unit.model.objects import object_lifecycle_tables

ALL_MACHINES = (*MACHINES, *OBJECT_MACHINES)

EXPECTED: dict[str, dict[str, dict[str, str]]] = {
    "job": {
        "pending": {
            "started": "running",
            "stop_asked": "stopping",
            "succeeded": "succeeded",
            "failed": "failed",
            "cancelled": "cancelled",
        },
        "running": {
            "stop_asked": "stopping",
            "succeeded": "succeeded",
            "failed": "failed",
            "cancelled": "cancelled",
        },
        "stopping": {"succeeded": "succeeded", "failed": "failed", "cancelled": "cancelled"},
        "succeeded": {},
        "failed": {},
        "cancelled": {},
    },
    "task": {
        "waiting": {"unblocked": "queued", "cancelled": "cancelled"},
        "queued": {"placed": "assigned", "cancelled": "cancelled", "gave_up": "failed"},
        "assigned": {
            "started": "running",
            "finished": "succeeded",
            "retried": "queued",
            "lost": "queued",
            "gave_up": "failed",
            "cancel_asked": "stopping",
            "preempted": "stopping",
            "returned": "queued",
        },
        "running": {
            "finished": "succeeded",
            "retried": "queued",
            "lost": "queued",
            "gave_up": "failed",
            "cancel_asked": "stopping",
            "preempted": "stopping",
        },
        "stopping": {"cancel_asked": "stopping", "stopped": "cancelled", "requeued": "queued", "finished": "succeeded"},
        "succeeded": {},
        "failed": {},
        "cancelled": {},
    },
    "attempt": {
        "ordered": {
            "started": "running",
            "exited_zero": "succeeded",
            "exited_nonzero": "failed",
            "stopped": "stopped",
            "lost": "lost",
            "returned": "returned",
        },
        "running": {
            "exited_zero": "succeeded",
            "exited_nonzero": "failed",
            "stopped": "stopped",
            "lost": "lost",
        },
        "succeeded": {},
        "failed": {},
        "stopped": {},
        "lost": {},
        "returned": {},
    },
    "node": {
        "ready": {"silent": "suspect", "timed_out": "down", "left": "down", "drain_asked": "draining"},
        "suspect": {"heard": "ready", "timed_out": "down", "left": "down", "drain_asked": "draining"},
        "down": {"heard": "ready"},
        "draining": {"emptied": "drained", "timed_out": "down", "left": "down", "drain_ended": "ready"},
        "drained": {"drain_ended": "ready", "timed_out": "down", "left": "down"},
    },
    "rollout": {
        "starting": {
            "update_asked": "updating",
            "restart_asked": "restarting",
            "instance_restart_asked": "starting",
            "converged": "steady",
            "failed": "stalled",
        },
        "steady": {
            "update_asked": "updating",
            "rollback_begun": "rolling back",
            "restart_asked": "restarting",
            "instance_restart_asked": "restarting",
        },
        "updating": {
            "update_asked": "updating",
            "rollback_begun": "rolling back",
            "restart_asked": "updating",
            "instance_restart_asked": "updating",
            "converged": "steady",
            "failed": "stalled",
        },
        "rolling back": {
            "update_asked": "updating",
            "rollback_begun": "rolling back",
            "restart_asked": "rolling back",
            "instance_restart_asked": "rolling back",
            "converged": "steady",
            "failed": "stalled",
        },
        "restarting": {
            "update_asked": "updating",
            "rollback_begun": "rolling back",
            "restart_asked": "restarting",
            "instance_restart_asked": "restarting",
            "converged": "steady",
            "failed": "stalled",
        },
        "stalled": {
            "update_asked": "updating",
            "rollback_begun": "rolling back",
            "restart_asked": "restarting",
            "instance_restart_asked": "stalled",
            "failed": "stalled",
        },
    },
    **object_lifecycle_tables.EXPECTED,
}
ENDS = {
    "job": {"succeeded", "failed", "cancelled"},
    "task": {"succeeded", "failed", "cancelled"},
    "attempt": {"succeeded", "failed", "stopped", "lost", "returned"},
    "node": set(),
    "rollout": set(),
    **object_lifecycle_tables.ENDS,
}
INITIAL = {
    "job": "pending",
    "task": "waiting",
    "attempt": "ordered",
    "node": "ready",
    "rollout": "starting",
    **object_lifecycle_tables.INITIAL,
}


def states_of(machine: Machine[Any, Any]) -> list[State]:
    kind: type[State] = type(machine.initial)
    return list(kind)


def events_of(machine: Machine[Any, Any]) -> list[State]:
    kind: type[State] = type(next(event for _, event in machine.moves))
    return list(kind)


PAIRS = [
    pytest.param(machine, state, event, id=f"{machine.name}-{state.wire_name}-{event.wire_name}")
    for machine in ALL_MACHINES
    for state in states_of(machine)
    for event in events_of(machine)
]
each_machine = pytest.mark.parametrize("machine", ALL_MACHINES, ids=lambda machine: machine.name)


@pytest.mark.parametrize(("machine", "state", "event"), PAIRS)
def test_an_event_moves_a_state_exactly_as_expected_or_is_refused(
    machine: Machine[Any, Any], state: Any, event: Any
) -> None:
    expected = EXPECTED[machine.name][state.wire_name].get(event.wire_name)
    assert machine.allows(state, event) is (expected is not None)
    if expected is None:
        with pytest.raises(InvalidMove, match=f"{machine.name}: no move from {state.wire_name} on {event.wire_name}"):
            machine.move(state, event)
    else:
        assert machine.move(state, event).wire_name == expected


def test_the_nine_machines_are_all_there_is() -> None:
    assert MACHINES == (JOB, TASK, ATTEMPT, NODE, ROLLOUT)
    assert OBJECT_MACHINES == (SLOT, TESTBED, BATCH_JOB, SCHEDULING)
    assert {machine.name for machine in ALL_MACHINES} == set(EXPECTED)


@each_machine
def test_the_expected_table_knows_every_state_and_no_other_words(machine: Machine[Any, Any]) -> None:
    rows = EXPECTED[machine.name]
    assert set(rows) == {state.wire_name for state in states_of(machine)}
    events = {event.wire_name for event in events_of(machine)}
    assert {event for row in rows.values() for event in row} == events, "an event that nothing uses, or a wrong word"


@each_machine
def test_ends_have_no_way_out_and_everything_else_has_one(machine: Machine[Any, Any]) -> None:
    assert {state.wire_name for state in machine.terminal_states} == ENDS[machine.name]
    has_way_out = {state for state, _ in machine.moves}
    assert has_way_out == set(states_of(machine)) - machine.terminal_states


@each_machine
def test_every_state_is_reached_from_the_initial_one(machine: Machine[Any, Any]) -> None:
    assert machine.initial.wire_name == INITIAL[machine.name]
    assert reachable(machine, machine.initial) == set(states_of(machine))


@each_machine
def test_an_end_is_reached_from_every_state_where_there_are_ends(machine: Machine[Any, Any]) -> None:
    for state in states_of(machine) if machine.terminal_states else []:
        assert reachable(machine, state) & machine.terminal_states, f"{state.wire_name} never ends"


def test_a_task_that_has_ended_is_never_queued_again() -> None:
    for end in TASK.terminal_states:
        assert reachable(TASK, end) == {end}


@each_machine
def test_codes_are_dense_from_zero_because_columns_hold_them(machine: Machine[Any, Any]) -> None:
    assert [int(state) for state in states_of(machine)] == list(range(len(states_of(machine))))
    assert [int(event) for event in events_of(machine)] == list(range(len(events_of(machine))))


def reachable(machine: Machine[Any, Any], start: Any) -> set[Any]:
    found, ahead = {start}, [start]
    while ahead:
        state = ahead.pop()
        following = {after for (before, _), after in machine.moves.items() if before == state} - found
        found |= following
        ahead += following
    return found
