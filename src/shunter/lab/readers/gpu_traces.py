"""Readers of traces of GPU clusters: Alibaba openb (2023), Alibaba PAI (2020) and Microsoft Philly (2017).

They know no estimates. What a trace does not know of a job, such as the end of one that still ran, is -1, and the
filter `run` drops the job."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from shunter.lab.readers.columns import UNKNOWN, Rows, csv_rows, number_of
from shunter.lab.readers.lines import Lines, TraceError
from shunter.lab.trace import Trace

OPENB_HEADER = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
PHILLY_HEADER = ("timestamp", "duration", "num_gpus")
PAI_NAMES = (
    "job_name", "task_name", "inst_num", "status", "start_time", "end_time", "plan_cpu", "plan_mem", "plan_gpu",
    "gpu_type",
)  # fmt: skip
PAI_STATUS = frozenset({"Running", "Terminated", "Failed", "Waiting", "Interrupted"})
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_GPU_NAMES = ("submit_s", "run_s", "estimate_s", "tasks", "cpu_milli", "memory_bytes", "gpu_milli")


def read_openb(path: Path, lines: Lines) -> Trace:
    """One pod per line. A pod is one task; its queue is its class of service."""
    rows = Rows(path, _GPU_NAMES)
    for line, row in csv_rows(path, lines):
        try:
            created_s = number_of(row["creation_time"])
            started_s = number_of(row.get("scheduled_time", ""), unknown=created_s)
            deleted_s = number_of(row["deletion_time"], unknown=UNKNOWN)
            gpu_milli = number_of(row["num_gpu"], unknown=0.0) * number_of(row["gpu_milli"], unknown=0.0)
            numbers = (
                created_s,
                deleted_s - started_s if deleted_s >= started_s else UNKNOWN,
                0.0,
                1.0,
                number_of(row["cpu_milli"]),
                number_of(row["memory_mib"]) * 2**20,
                gpu_milli,
            )
        except (ValueError, KeyError) as error:
            raise _bad_row(path, line, error) from error
        rows.add(numbers, "", row.get("qos", ""))
    return rows.trace({})


def read_pai(path: Path, lines: Lines) -> Trace:
    """`pai_task_table.csv`, which has no header. A job is one line: `inst_num` instances that start together. It is
    submitted when it was launched, because the table does not know how long it waited. Plans are per instance: cpu and
    gpu in percent, memory in gigabytes."""
    rows = Rows(path, _GPU_NAMES)
    for line, row in csv_rows(path, lines, PAI_NAMES):
        if row["job_name"] == "job_name":
            continue
        try:
            count = number_of(row["inst_num"], unknown=1.0)
            started_s = number_of(row["start_time"], unknown=UNKNOWN)
            ended_s = number_of(row["end_time"], unknown=UNKNOWN)
            is_complete = row["status"] == "Terminated" and ended_s >= started_s >= 0
            numbers = (
                max(started_s, 0.0),
                ended_s - started_s if is_complete else UNKNOWN,
                0.0,
                count,
                count * number_of(row["plan_cpu"], unknown=0.0) * 10,
                count * number_of(row["plan_mem"], unknown=0.0) * 2**30,
                count * number_of(row["plan_gpu"], unknown=0.0) * 10,
            )
        except ValueError as error:
            raise _bad_row(path, line, error) from error
        rows.add(numbers, "", row["gpu_type"])
    return rows.trace({})


def read_philly(path: Path, lines: Lines) -> Trace:
    """Arrival, length and number of GPUs; the queue is the virtual cluster. A job is a gang of one task per GPU."""
    rows = Rows(path, _GPU_NAMES)
    for line, row in csv_rows(path, lines):
        try:
            gpus = number_of(row["num_gpus"])
            numbers = _seconds(row["timestamp"]), number_of(row["duration"]), 0.0, gpus, 0.0, 0.0, gpus * 1000
        except (ValueError, KeyError) as error:
            raise _bad_row(path, line, error) from error
        rows.add(numbers, "", row.get("cluster", ""))
    return rows.trace({})


def _seconds(text: str) -> float:
    if not _TIME.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a time like 2017-10-09 07:01:55")
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def _bad_row(path: Path, line: int, error: Exception) -> TraceError:
    return TraceError(path, f"lacks the column {error}" if isinstance(error, KeyError) else str(error), line)
