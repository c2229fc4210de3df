"""Writes docs/events.md: what the engine takes in, who handles it, and the events that come out. Called by `make docs`;
a test compares."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from shunter.engine.engine import Engine
from shunter.engine.jobs.stop import on_queue_timeout, on_stop
from shunter.engine.jobs.submit import on_submit
from shunter.engine.nodes.inventory import on_inventory
from shunter.engine.nodes.registration import on_hello, on_label, on_node_event
from shunter.engine.nodes.reports import on_ended, on_lost, on_returned, on_started
from shunter.engine.read.events import CATALOGUE
from shunter.engine.round import TimerKind
from shunter.engine.state.state import State
from shunter.model.lifecycles import NodeEvent

EVENTS = Path(__file__).parent.parent / "docs" / "events.md"

INTRODUCTION = """\
# Events

Made by `make docs` from the code; a test fails when the two differ.

## What the engine takes in

Everything goes through one inbox and is handled in the order in which it came, one handler for each kind. A message of
a kind that the watcher does not know is logged and ignored. An answer, an order or an event leaves only after the
commit of the round that handled it.

| what | from | handler |
|---|---|---|
"""

OUTCOMES = """
## What comes out

`shunter events`, `GET /api/v1/events` and its stream show these: one for each range of tasks and move, never one for
each task. An event's id is the version of its round and its number in it (`42-3`); a stream resumes behind any id that
history still keeps. Committed changes are kept for 7 days, and so are their events. Heartbeats and statistics are not
events: the latest sample of each node is part of `shunter node show`.

| type | caused by | means |
|---|---|---|
"""

INPUTS: list[tuple[str, str, Callable[..., Any]]] = [
    ("submit", "api", on_submit),
    ("stop a job or a task", "api", on_stop),
    ("label a node", "api", on_label),
    ("Hello", "worker", on_hello),
    ("Inventory", "worker", on_inventory),
    ("Report: started", "worker", on_started),
    ("Report: ended", "worker", on_ended),
    ("Report: returned", "worker", on_returned),
    ("Report: lost", "worker", on_lost),
    ("Heartbeat", "worker", Engine.heartbeat),
    *[(f"node {event.wire_name}", "watcher", on_node_event) for event in (NodeEvent.SILENT, NodeEvent.TIMED_OUT)],
    ("Goodbye (node left)", "worker", on_node_event),
    (f"timer: {TimerKind.BACK_OFF.name.lower()}", "clock", State.make_ready),
    (f"timer: {TimerKind.QUEUE_TIMEOUT.name.lower()}", "clock", on_queue_timeout),
]


def main() -> None:
    EVENTS.write_text(events_page(), encoding="utf-8")


def events_page() -> str:
    taken = [f"| {what} | {source} | `{_name(handler)}` |" for what, source, handler in INPUTS]
    given = [f"| `{type_}` | {source} | {meaning} |" for type_, (source, meaning) in CATALOGUE.items()]
    return INTRODUCTION + "\n".join(taken) + "\n" + OUTCOMES + "\n".join(given) + "\n"


def _name(handler: Callable[..., Any]) -> str:
    return f"{handler.__module__.removeprefix('shunter.')}.{handler.__qualname__}"


if __name__ == "__main__":
    main()
