"""Reads and writes the Standard Workload Format, version 2.2, of the Parallel Workloads Archive. A job has 18 numbers;
-1 means unknown. Lines that begin with a semicolon are the header or comments.

A job's size is what its user asked for (field 8) or, where that is unknown, what it got (field 5). One processor is one
cpu. Memory is in kilobytes per processor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from shunter.lab.readers.columns import UNKNOWN, Rows, number_of, parse_lines
from shunter.lab.readers.lines import Lines
from shunter.lab.trace import FloatColumn, Trace

FIELDS = 18
HEADER = re.compile(r";\s*([A-Za-z]+):\s*(.*)")
FACTS_MAX = 200
QUEUE_PREFIX = "queue-"  # the trace numbers its queues

_NAMES = ("number", "submit_s", "run_s", "estimate_s", "tasks", "cpu_milli", "memory_bytes")


def looks_like_swf(text: str) -> bool:
    fields = text.split()
    return text.startswith(";") or (len(fields) == FIELDS and fields[0].isdigit())


def read_swf(path: Path, lines: Lines) -> Trace:
    rows = Rows(path, _NAMES)
    facts: dict[str, str] = {}

    def parse(text: str) -> None:
        if text.startswith(";"):
            found = HEADER.match(text)
            if found is not None and len(facts) < FACTS_MAX:
                facts.setdefault(found[1], found[2].strip())
            return
        fields = text.split()
        if len(fields) != FIELDS:
            raise ValueError(f"has {len(fields)} fields instead of {FIELDS}")
        numbers = [number_of(field) for field in fields]
        size = numbers[7] if numbers[7] > 0 else numbers[4]
        memory_kib = numbers[9] if numbers[9] > 0 else 0.0
        rows.add(
            (numbers[0], numbers[1], numbers[3], numbers[8], size, size * 1000, max(size, 0) * memory_kib * 1024),
            fields[11] if numbers[11] != UNKNOWN else "",
            f"{QUEUE_PREFIX}{fields[14]}" if numbers[14] != UNKNOWN else "",
        )

    parse_lines(path, lines, parse)
    return rows.trace(facts)


def write_swf(trace: Trace, wait_s: FloatColumn | None = None) -> Iterator[str]:
    """The trace as lines, with the waits of its jobs, if they are known. `read_swf` reads them back equal, except that
    users and queues become numbers, and GPUs are left out."""
    yield "; Version: 2.2"
    for name, value in trace.facts.items():
        if name != "Version":
            yield f"; {name}: {value}"
    users, queues = _numbers(trace.user, ""), _numbers(trace.queue, QUEUE_PREFIX)
    for row in range(len(trace)):
        tasks = int(trace.tasks[row])
        memory_kib = int(trace.memory_bytes[row]) // 1024 // max(tasks, 1)
        submit, wait = _format(trace.submit_s[row] + trace.origin_s), "-1" if wait_s is None else _format(wait_s[row])
        yield " ".join(
            (
                str(int(trace.number[row])), submit, wait, _format(trace.run_s[row]), str(tasks), "-1", "-1",
                str(tasks), _format(trace.estimate_s[row]), str(memory_kib or -1), "-1", users[trace.user[row]], "-1",
                "-1", queues[trace.queue[row]], "-1", "-1", "-1",
            )
        )  # fmt: skip


def _numbers(names: list[str], prefix: str) -> dict[str, str]:
    """A number for each name: its own if all are numbers, else its position; -1 for none."""
    known = dict.fromkeys(name for name in names if name)
    own = {name: name.removeprefix(prefix) for name in known}
    if not all(number.isdigit() for number in own.values()):
        own = {name: str(position) for position, name in enumerate(known, start=1)}
    return {"": "-1", **own}


def _format(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
