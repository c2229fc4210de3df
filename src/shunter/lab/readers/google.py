"""Reads `instance_events` of the Google cluster traces of 2019, exported from BigQuery as JSON lines or as CSV.

A job is one instance: submitted at its first SUBMIT, running from its first SCHEDULE until it finished, failed, was
killed or evicted. Amounts are normalised there: 1.0 is the largest machine. It counts here as 1,000 cpus and 1 TiB."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from shunter.lab.readers.columns import UNKNOWN, Rows, csv_rows, number_of
from shunter.lab.readers.lines import Lines, TraceError
from shunter.lab.trace import JOBS_MAX, Trace

SUBMIT, SCHEDULE = 0, 3
ENDS = frozenset({4, 5, 6, 7, 8})  # EVICT, FAIL, FINISH, KILL, LOST
CPU_MILLI, MEMORY_BYTES = 1_000_000, 2**40  # of a machine of size 1.0
TIME_MAX_US = 2.0**62  # later: after the end of the trace

_NAMES = ("submit_s", "run_s", "estimate_s", "cpu_milli", "memory_bytes")


@dataclass(slots=True)
class _Instance:
    submit_us: float = math.inf
    start_us: float = math.inf
    end_us: float = UNKNOWN
    cpus: float = 0.0
    memory: float = 0.0
    priority: str = ""


def read_google(path: Path, lines: Lines) -> Trace:
    instances: dict[tuple[str, str], _Instance] = {}
    for line, event in _events(path, lines):
        try:
            _apply(instances, event)
        except (ValueError, KeyError, TypeError) as error:
            fault = f"lacks the field {error}" if isinstance(error, KeyError) else str(error)
            raise TraceError(path, fault, line) from error
        if len(instances) > JOBS_MAX:
            raise TraceError(path, f"has more than {JOBS_MAX:,} instances", line)
    rows = Rows(path, _NAMES)
    for (collection, _), each in instances.items():
        submit_us = min(each.submit_us, each.start_us)
        if submit_us < math.inf:
            run_s = (each.end_us - each.start_us) / 1e6 if each.end_us >= each.start_us else UNKNOWN
            amounts = round(each.cpus * CPU_MILLI), round(each.memory * MEMORY_BYTES)
            rows.add((submit_us / 1e6, run_s, 0.0, *amounts), collection, each.priority)
    return rows.trace({})


def _events(path: Path, lines: Lines) -> Iterator[tuple[int, Mapping[str, Any]]]:
    first = next(lines)
    lines = chain([first], lines)
    if not first[1].startswith("{"):
        yield from csv_rows(path, lines)
        return
    decoder = msgspec.json.Decoder(dict[str, Any])
    for number, text in lines:
        try:
            yield number, decoder.decode(text)
        except msgspec.DecodeError as error:
            raise TraceError(path, f"is not a JSON object: {error}", number) from error


def _apply(instances: dict[tuple[str, str], _Instance], event: Mapping[str, Any]) -> None:
    kind, at_us = int(number_of(str(event["type"]))), min(float(str(event["time"])), TIME_MAX_US)
    if not at_us >= 0:
        raise ValueError(f"{event['time']!r} is not a time")
    instance = instances.setdefault((str(event["collection_id"]), str(event["instance_index"])), _Instance())
    request = event.get("resource_request") or {}
    cpus = request.get("cpus") if request else event.get("resource_request.cpus", event.get("cpus"))
    memory = request.get("memory") if request else event.get("resource_request.memory", event.get("memory"))
    instance.cpus = number_of(str(cpus)) if cpus not in (None, "") else instance.cpus
    instance.memory = number_of(str(memory)) if memory not in (None, "") else instance.memory
    if event.get("priority") not in (None, ""):
        instance.priority = str(event["priority"])
    if kind == SUBMIT:
        instance.submit_us = min(instance.submit_us, at_us)
    elif kind == SCHEDULE:
        instance.start_us = min(instance.start_us, at_us)
    elif kind in ENDS and at_us < TIME_MAX_US:
        instance.end_us = max(instance.end_us, at_us)
