"""Writes docs/reference/lifecycles.md from the tables in `shunter.model`. Called by `make docs`; a test compares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shunter.model.lifecycles import MACHINES, Machine, State
from shunter.model.objects.object_lifecycles import OBJECT_MACHINES

LIFECYCLES = Path(__file__).parent.parent / "docs" / "reference" / "lifecycles.md"

INTRODUCTION = """\
# Lifecycles

`make docs` generates this page from `src/shunter/model/lifecycles.py` and
`src/shunter/model/objects/object_lifecycles.py`; a test fails if they differ.

Each kind of thing changes its state only by its table. An event that the table does not list for a state raises an
error, because it would be a bug in Shunter. States have the same names in the code, the store, REST and the command
line.
"""

ABOUT = {
    "job": "A finished job is failed if any task failed, cancelled if it was stopped, and succeeded otherwise.",
    "task": "An attempt that ends without an exit code is *lost*, not failed: the task is queued again with the next "
    "attempt number. A stopping task keeps its resources reserved until its worker confirms the end. If it is lost "
    "instead, it gets the state that was requested: `stopped` after a cancel, `requeued` after a preemption.",
    "attempt": "One numbered try of a task. A short attempt may end before the worker reports its start.",
    "node": "A machine as the planner sees it. Only ready nodes get new tasks. No state is final: a node may always "
    "come back.",
    "rollout": "How far a long-running job is with its present spec; see [services](../guides/services.md). A per-node "
    "job is steady from the start, because it may never have all its nodes. A failed update rolls back if it may, and "
    "stalls otherwise. New counts change no status.",
    "slot": "One slot of a [testbed](../concepts/testbeds.md). No state is skipped: if an executor is already running "
    "when it is first seen, its slot becomes reserved and then occupied.",
    "testbed": "The state summarizes the slots and nodes, so any state can follow any other: occupied if an executor "
    "runs, else reserved, else idle; broken if the slots do not fit or one of the nodes takes no work.",
    "batch job": "A Scheduling claims it, requests slots for it, and releases it. If it fails after its submission, it "
    "becomes ready again once it is released and its processes are gone. If it could not be submitted at all, it waits "
    "for a reset. If its application disappears and nobody asked for that, it starts again.",
    "scheduling": "It claims its testbed and all its BatchJobs at once, submits those whose slots are free, and "
    "confirms that they have started before it submits the next. It keeps its claims until it is deleted.",
}


def main() -> None:
    LIFECYCLES.write_text(lifecycles_page(), encoding="utf-8")


def lifecycles_page() -> str:
    return "\n".join([INTRODUCTION, *(section(machine) for machine in (*MACHINES, *OBJECT_MACHINES))])


def section(machine: Machine[Any, Any]) -> str:
    return f"## {machine.name.capitalize()}\n\n{ABOUT[machine.name]}\n\n{diagram(machine)}\n\n{table(machine)}\n"


def diagram(machine: Machine[Any, Any]) -> str:
    """A mermaid state diagram with one arrow for each pair of states, labelled with all events between them."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for (before, event), after in machine.moves.items():
        arrows.setdefault((_node(before), _node(after)), []).append(event.wire_name)
    lines = [f"    [*] --> {_node(machine.initial)}"]
    lines += [f"    {before} --> {after}: {', '.join(events)}" for (before, after), events in arrows.items()]
    lines += [f"    {_node(end)} --> [*]" for end in sorted(machine.terminal_states)]
    return "\n".join(["```mermaid", "stateDiagram-v2", *lines, "```"])


def _node(state: State) -> str:
    """Names in a diagram have no spaces."""
    return state.wire_name.replace(" ", "_")


def table(machine: Machine[Any, Any]) -> str:
    """Events down, states across; a dash is a move that does not exist. Ends have no column: they have no way out."""
    states = [state for state in type(machine.initial) if state not in machine.terminal_states]
    rows = [["event", *(f"in {state.wire_name}" for state in states)], ["---"] * (len(states) + 1)]
    for event in type(next(event for _, event in machine.moves)):
        following = (machine.moves.get((state, event)) for state in states)
        rows.append([f"**{event.wire_name}**", *("–" if after is None else after.wire_name for after in following)])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


if __name__ == "__main__":
    main()
