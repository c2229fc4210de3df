"""Reads a trace of any known format, which its first line tells. Called by `lab.experiment`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path

from shunter.lab.readers.google import read_google
from shunter.lab.readers.gpu_traces import (
    OPENB_HEADER,
    PAI_NAMES,
    PAI_STATUS,
    PHILLY_HEADER,
    read_openb,
    read_pai,
    read_philly,
)
from shunter.lab.readers.lines import Lines, TraceError, hash_file, read_lines
from shunter.lab.readers.swf import looks_like_swf, read_swf
from shunter.lab.trace import Trace

NODE_LIST = "node_list"  # in the name of an archive's member that lists nodes
KNOWN = "SWF, Alibaba openb (2023), Alibaba PAI (2020, pai_task_table), Philly CSV, Google 2019 (instance_events)"

Reader = Callable[[Path, Lines], Trace]


def read_trace(path: Path) -> Trace:
    """Raises TraceError, which names the bad line."""
    sha256 = hash_file(path)
    lines = read_lines(path, lambda name: NODE_LIST not in name)
    first = next(lines, None)
    if first is None:
        raise TraceError(path, "is empty")
    reader = _reader_of(first[1])
    if reader is None:
        raise TraceError(path, "is in no known format", first[0], f"known formats: {KNOWN}")
    return replace(reader(path, chain([first], lines)), source=path.name, sha256=sha256)


def _reader_of(first: str) -> Reader | None:
    fields = tuple(field.strip() for field in first.split(","))
    if looks_like_swf(first):
        return read_swf
    if fields[: len(OPENB_HEADER)] == OPENB_HEADER:
        return read_openb
    if fields[: len(PHILLY_HEADER)] == PHILLY_HEADER:
        return read_philly
    if fields[: len(PAI_NAMES)] == PAI_NAMES or (len(fields) == len(PAI_NAMES) and fields[3] in PAI_STATUS):
        return read_pai
    if "collection_id" in first and "instance_index" in first:
        return read_google
    return None
