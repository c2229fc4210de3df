"""Writes docs/reference/events.md: the events that users see. Called by `make docs`; a test compares."""

from __future__ import annotations

from pathlib import Path

from shunter.engine.read.events import CATALOGUE

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

INPUTS = """
## Inputs of the engine

For developers: `engine/commands.py` lists every input and its handler. Heartbeats are samples and bypass the inbox.
"""


def main() -> None:
    EVENTS.write_text(events_page(), encoding="utf-8")


def events_page() -> str:
    given = [f"| `{type_}` | {source} | {meaning} |" for type_, (source, meaning) in CATALOGUE.items()]
    return INTRODUCTION + "\n".join(given) + "\n" + INPUTS


if __name__ == "__main__":
    main()
