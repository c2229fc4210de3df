"""Writes docs/lifecycles.md from the tables in `shunter.model`. Called by `make docs`; a test compares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shunter.model.lifecycles import MACHINES, Machine
from shunter.model.objects.object_lifecycles import OBJECT_MACHINES

LIFECYCLES = Path(__file__).parent.parent / "docs" / "lifecycles.md"

INTRODUCTION = """\
# Lifecycles

Made by `make docs` from `src/shunter/model/lifecycles.py` and `src/shunter/model/objects/object_lifecycles.py`; a test
fails when they differ. A table is the only way to move: an event that a state does not name here is refused, and
raises, because it would be our own mistake. States are spelt alike in the code, the store, REST and the command line.
"""

ABOUT = {
    "job": "Failed if any task failed, else cancelled if it was stopped, else succeeded.",
    "task": "An attempt that ends without an exit code is *lost*, not failed: its task is queued again with the next "
    "attempt. A stopping task keeps its resources reserved until its worker confirms; when it is lost instead, it ends "
    "as what was asked of it: `stopped` after a cancel, `requeued` after a preemption.",
    "attempt": "One numbered try of a task. A short attempt may end before its start is reported.",
    "node": "A machine as the planner sees it. Only ready ones get new tasks. A node has no end: it may always return.",
    "slot": "One slot of a testbed ([testbeds](testbeds.md)). Whoever skips a state passes through it all the same: an "
    "executor that was already running when it was first seen has its slot reserved, and then occupied.",
    "testbed": "A testbed's state says what its slots and nodes are now, so it goes from each to any other: occupied "
    "if an executor runs, else reserved, else idle; broken where it does not fit or a node of it takes no work.",
    "batch job": "A claim by a Scheduling enqueues it; its request submits it; a release takes it back. What fails "
    "after its submission is ready again once it is released and nothing of it is left; what could not even be "
    "submitted waits for a reset. An application that vanishes without anyone asking for it starts anew.",
    "scheduling": "It claims its testbed and all its jobs at once, submits those whose slots are free, and confirms "
    "that they have started before it submits the next. It holds its claims until it is deleted.",
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
        arrows.setdefault((before.wire_name, after.wire_name), []).append(event.wire_name)
    lines = [f"    [*] --> {machine.initial.wire_name}"]
    lines += [f"    {before} --> {after}: {', '.join(events)}" for (before, after), events in arrows.items()]
    lines += [f"    {end.wire_name} --> [*]" for end in sorted(machine.terminal_states)]
    return "\n".join(["```mermaid", "stateDiagram-v2", *lines, "```"])


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
