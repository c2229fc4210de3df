"""Writes docs/reference/events.md: the engine's inputs, their handlers, and the events that users see.

Called by `make docs`; a test compares.
"""

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
from shunter.engine.state.state import State
from shunter.engine.timers import TimerKind
from shunter.model.lifecycles import NodeEvent

EVENTS = Path(__file__).parent.parent / "docs" / "reference" / "events.md"

INTRODUCTION = """\
# Events

`make docs` generates this page from the code; a test fails if they differ.

An event reports one change of cluster state. `shunter events`, `GET /api/v1/events` and its stream show them.

- Arrays do not flood the stream: one event covers a range of tasks that changed together.
- The id of an event is `VERSION-N`: the version of the commit, and the event's number within it (`42-3`). A stream can
  resume after any id that the history still has.
- The history keeps events for 7 days by default ([`history.events_age`](configuration.md#defaults)).
- Heartbeats and statistics are not events. `shunter node show` has the latest sample of a node.

## Event types

| type | caused by | meaning |
|---|---|---|
"""

HANDLERS = """
## Inputs of the engine

For developers: these inputs cause the events. All of them go through one inbox, and the engine handles them in order of
arrival. Each kind has one handler. The watcher logs and ignores messages of an unknown kind. Answers, orders and events
leave the engine only after the round that produced them is committed.

| input | from | handler |
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
    return INTRODUCTION + "\n".join(given) + "\n" + HANDLERS + "\n".join(taken) + "\n"


def _name(handler: Callable[..., Any]) -> str:
    return f"{handler.__module__.removeprefix('shunter.')}.{handler.__qualname__}"


if __name__ == "__main__":
    main()
