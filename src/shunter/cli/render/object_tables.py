"""Testbeds, BatchJobs and Schedulings in one line each: rows of `get`, lines of `watch`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from shunter.cli.render.tables import Column, age, print_table
from shunter.model.rest.object_views import ObjectView, PastRunView, PastSchedulingView

TITLES = {
    "Testbed": ["STATE", "SLOTS", "FREE", "RESERVED", "OCCUPIED", "NODES", "CLAIMED BY", "AGE"],
    "BatchJob": ["STATE", "ENGINE", "SCHEDULING", "SLOTS", "RUNS", "AGE"],
    "Scheduling": ["STATE", "TESTBED", "STRATEGY", "JOBS", "AGE", "WAITS FOR"],
}
DROP = {
    "Testbed": {"NODES": 3, "RESERVED": 2, "AGE": 1},
    "BatchJob": {"ENGINE": 3, "RUNS": 2, "AGE": 1},
    "Scheduling": {"STRATEGY": 3, "AGE": 2, "TESTBED": 1},
}  # on a narrow terminal, the highest first
DROP_PAST = {"STRATEGY": 3, "RUNS": 2, "TESTBED": 1}
NUMBERS = frozenset({"SLOTS", "FREE", "RESERVED", "OCCUPIED", "NODES", "RUNS"})
ENGINES = {"sparkSpec": "spark", "flinkSpec": "flink", "commandSpec": "command"}
PROGRESS = ("Acquiring", "InQueue", "Submitted", "Scheduled", "Completed")
RESULTS_SHOWN = 6  # of the runs of one Scheduling


def print_objects(kind: str, found: Sequence[ObjectView], *, show_namespace: bool) -> None:
    """Print objects of one kind as a table."""
    first = ["NAMESPACE", "NAME"] if show_namespace else ["NAME"]
    titles, drop = [*first, *TITLES[kind]], DROP[kind]
    columns = [Column(title, title in NUMBERS and kind == "Testbed", drop.get(title, 0)) for title in titles]
    names = ([each.namespace, each.name] if show_namespace else [each.name] for each in found)
    rows = ([*name, *row_of(each)] for name, each in zip(names, found, strict=True))
    print_table(columns, rows, state_column=len(first))


def row_of(each: ObjectView) -> list[str]:
    age_text = age(each.metadata.get("creationTimestamp"))
    state = state_of(each)
    if each.kind == "Testbed":
        slots = each.status.get("slots", [])
        states = Counter(slot["state"] for slot in slots)
        counts = [f"{states[word]:,}" for word in ("FREE", "RESERVED", "OCCUPIED")]
        nodes = len({slot["nodeName"] for slot in slots})
        claims = ", ".join(name_of(claim, each) for claim in each.status.get("claims", [])) or "-"
        return [state, f"{len(slots):,}", *counts, f"{nodes:,}", claims, age_text]
    if each.kind == "BatchJob":
        claim = each.spec.get("activeScheduling")
        slots = format_slot_numbers(each.status.get("slotIds", []))
        return [
            state,
            engine_of(each),
            name_of(claim, each) if claim else "-",
            slots,
            str(each.status["runs"]),
            age_text,
        ]
    testbed = name_of(each.spec["testbed"], each)
    return [state, testbed, strategy_of(each), format_job_states(each), age_text, each.status.get("waitsFor", "")]


def summary_line(each: ObjectView) -> str:
    """The details of an object in `watch`."""
    if each.kind == "Testbed":
        states = Counter(slot["state"].lower() for slot in each.status.get("slots", []))
        return ", ".join(f"{count} {word}" for word, count in sorted(states.items())) or "no slots"
    if each.kind == "BatchJob":
        claim = each.spec.get("activeScheduling")
        numbers = each.status.get("slotIds", [])
        by = f"by {name_of(claim, each)}" if claim else ""
        at = format_slots(numbers) if numbers else ""
        return ", ".join(filter(None, [by, at, *each.status.get("problems", [])]))
    awaited = each.status.get("waitsFor", "")
    waits = f"waits for {awaited}" if awaited else ""
    return ", ".join(filter(None, [format_job_states(each), waits, *each.status.get("problems", [])]))


def state_of(each: ObjectView) -> str:
    return str(each.status.get("state", "-"))


def engine_of(each: ObjectView) -> str:
    return next((word for field, word in ENGINES.items() if field in each.spec), "-")


def strategy_of(each: ObjectView) -> str:
    return "queue" if "queueBased" in each.spec else f"slots, {each.spec['slotBased']['mode']}"


def format_job_states(each: ObjectView) -> str:
    """`2 Completed, 1 Submitted`, most advanced first."""
    states = Counter(job["state"] for job in each.status.get("jobStates", []))
    return ", ".join(f"{states[word]} {word}" for word in reversed(PROGRESS) if states[word]) or "-"


def name_of(reference: dict[str, Any], relative_to: ObjectView) -> str:
    """The name, with its namespace if that differs."""
    is_here = reference.get("namespace", relative_to.namespace) == relative_to.namespace
    return str(reference["name"]) if is_here else f"{reference['namespace']}/{reference['name']}"


def format_slot_numbers(numbers: Iterable[int]) -> str:
    """`0-3, 7`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs) or "-"


def format_slots(numbers: Sequence[int]) -> str:
    """`slot 3`, or `slots 0-3, 7`."""
    return f"slot{'' if len(numbers) == 1 else 's'} {format_slot_numbers(numbers)}"


def print_past(found: Iterable[PastSchedulingView]) -> None:
    titles = ["UID", "NAME", "STATE", "TESTBED", "STRATEGY", "RUNS", "DELETED", "RESULTS"]
    rows = (
        [
            each.uid,
            each.name,
            each.state,
            each.testbed.name,
            each.mode,
            str(len(each.runs)),
            age(each.deleted_at),
            results_of(each.runs),
        ]
        for each in found
    )
    columns = [Column(title, title in ("UID", "RUNS"), DROP_PAST.get(title, 0)) for title in titles]
    print_table(columns, rows, state_column=2)


def results_of(runs: Sequence[PastRunView]) -> str:
    """The result of each run; of many runs, the counts and the first run that did not succeed."""
    if len(runs) <= RESULTS_SHOWN:
        return ", ".join(f"{run.name} {_result(run.successful)}" for run in runs) or "-"
    counts = Counter(_result(run.successful) for run in runs)
    bad = next((f"; first that did not succeed: {run.name}" for run in runs if not run.successful), "")
    return ", ".join(f"{count:,} {word}" for word, count in counts.most_common()) + bad


def _result(successful: bool | None) -> str:
    return "stopped" if successful is None else "succeeded" if successful else "failed"
