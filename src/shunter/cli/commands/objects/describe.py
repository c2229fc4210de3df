"""The command `describe`: one Testbed, BatchJob or Scheduling in detail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from shunter.cli.commands.objects.blockers import ENDED_STATES, claimed_jobs, ended_holders, release_hint
from shunter.cli.commands.objects.last_output import last_output
from shunter.cli.commands.objects.object_options import Kind, Name, kind_of
from shunter.cli.connection import open_client
from shunter.cli.options import Namespace
from shunter.cli.render.object_tables import (
    PROGRESS,
    engine_of,
    format_slot_numbers,
    format_slots,
    name_of,
    state_of,
    strategy_of,
)
from shunter.cli.render.tables import Column, age, elapsed_s, format_counts, plural, print_facts, print_table
from shunter.model.errors import NotFound
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.objects.object_fields import CLAIM_LABELS
from shunter.model.resources import format_duration
from shunter.model.rest.object_views import ObjectView
from shunter.sdk.client import Client

GRID_COLUMNS_MAX = 6  # with more slots per node, each slot gets a row
RUNS_SHOWN = 10
JOBS_SHOWN = 20  # of a Scheduling, in each state
ROWS_SHOWN = 10  # of the notes of an external scheduler
ROW_SHOWN_MAX = 200
STARTED_STATES = ("SubmittedState", "ScheduledState", "RunningState")
Facts = list[tuple[str, str]]


def describe(kind: Kind, name: Name, namespace: Namespace = NAMESPACE_DEFAULT) -> None:
    """Describe one Testbed, BatchJob or Scheduling in detail.

    For a Testbed: its slots by node, and who holds each slot since when. For a Scheduling: the progress of each job,
    and what it waits for. For a BatchJob: its state, slots, runs, and the fields of its manifest that have no effect.

    \b
    shunter describe testbed profiler-testbed
    shunter describe bj spark-crawler
    """
    with open_client(namespace) as client:
        found = client.get(kind_of(kind, "show", name), name)
        if found.kind == "Testbed":
            _testbed(found)
        elif found.kind == "BatchJob":
            _batch_job(found, _waiting_tasks(client, found), last_output(client, found))
        else:
            is_failed = state_of(found) == "FailedState"
            outputs = [last_output(client, job) for job in claimed_jobs(client, found)] if is_failed else []
            _scheduling(found, ended_holders(client, found), outputs)


def _head(each: ObjectView) -> Facts:
    metadata = each.metadata
    user_labels = {key: value for key, value in metadata.get("labels", {}).items() if key not in CLAIM_LABELS}
    labels = ", ".join(f"{key}={value}" for key, value in user_labels.items())
    deletion_time = metadata.get("deletionTimestamp")
    return [
        ("state", state_of(each)),
        ("deleted", f"requested {age(deletion_time)} ago; waiting until nothing uses it" if deletion_time else ""),
        ("age", age(metadata.get("creationTimestamp"))),
        ("labels", labels),
    ]


def _title(each: ObjectView) -> str:
    return f"{each.kind} {each.namespace}/{each.name}"


def _print_list(title: str, lines: Iterable[str]) -> None:
    found = list(lines)
    if found:
        print(f"\n{title}")
        for line in found:
            print(f"  {line}")


def _print_last_output(last: list[str]) -> None:
    _print_list(f"Last output of the failed task ({last[0]})", last[1:] or ["(no output)"])


# ---- testbeds ----


def _testbed(each: ObjectView) -> None:
    slots = each.status.get("slots", [])
    nodes = {slot["nodeName"]: slot["nodeId"] for slot in slots}
    states = Counter(slot["state"].lower() for slot in slots)
    size = ", ".join(f"{name} {amount}" for name, amount in each.spec["resourcesPerSlot"].items())
    claims = ", ".join(name_of(claim, each) for claim in each.status.get("claims", []))
    facts = [
        *_head(each),
        ("slots", f"{len(slots)} on {plural(len(nodes), 'node')}: {format_counts(dict(sorted(states.items())))}"),
        ("size", size),
        ("node label", each.spec["nodeLabel"]),
        ("sharing", each.spec.get("sharing", "exclusive")),
        ("claimed by", claims or "nobody"),
    ]
    print_facts(_title(each), facts)
    if slots:
        print()
        _print_slots(each, slots, nodes)
    _print_list("Problems", each.status.get("problems", []))
    by_node = each.status.get("nodeProblems", {})
    _print_list("Problems of nodes", (f"{node}: {text}" for node, texts in by_node.items() for text in texts))


def _print_slots(each: ObjectView, slots: list[dict[str, Any]], nodes: dict[str, int]) -> None:
    """A grid: one row per node in the order of the testbed, one column per slot of the node."""
    slots_per_node = max(slot["slotPositionOnNode"] for slot in slots) + 1
    if slots_per_node > GRID_COLUMNS_MAX:
        columns = [Column("SLOT", right=True), Column("STATE"), Column("NODE"), Column("HELD BY"), Column("SINCE")]
        rows = ([str(s["position"]), s["state"], s["nodeName"], _holder(s, each), age(s["since"])] for s in slots)
        print_table(columns, rows, state_column=1)
        return
    cells = {(slot["nodeName"], slot["slotPositionOnNode"]): _cell(slot, each) for slot in slots}
    by_id = sorted(nodes, key=lambda node: (nodes[node], node))
    columns = [Column("NODE"), *(Column(f"SLOT {position + 1}") for position in range(slots_per_node))]
    print_table(
        columns, ([node, *(cells.get((node, position), "-") for position in range(slots_per_node))] for node in by_id)
    )


def _cell(slot: dict[str, Any], each: ObjectView) -> str:
    holder = f" {_holder(slot, each)}" if "heldBy" in slot else ""
    leaving = ", leaving" if slot.get("leaving") else ""
    return f"#{slot['position']} {slot['state']}{holder} {age(slot['since'])}{leaving}"


def _holder(slot: dict[str, Any], each: ObjectView) -> str:
    """`spark-pi[0] by first`: the executor, and its Scheduling."""
    held = slot.get("heldBy")
    if held is None:
        return "-"
    return f"{name_of(held['job'], each)}[{held['executor']}] by {name_of(held['scheduling'], each)}"


# ---- schedulings ----


def _scheduling(each: ObjectView, ended: list[ObjectView], outputs: list[list[str]]) -> None:
    facts = [
        *_head(each),
        ("since", age(each.status.get("since"))),
        ("testbed", name_of(each.spec["testbed"], each)),
        ("strategy", _strategy(each)),
        ("waits for", each.status.get("waitsFor", "")),
        ("note", release_hint(each) if state_of(each) in ENDED_STATES else ""),
    ]
    print_facts(_title(each), facts)
    _print_list("Problems", each.status.get("problems", []))
    for last in filter(None, outputs):
        _print_last_output(last)
    _print_list("Blocked by Schedulings that have ended", (f"{other.name} {release_hint(other)}" for other in ended))
    states = each.status.get("jobStates", [])
    for word in PROGRESS:
        found = [job for job in states if job["state"] == word]
        left = f"and {len(found) - JOBS_SHOWN:,} more" if len(found) > JOBS_SHOWN else ""
        _print_list(word, [*(_progress(job, each) for job in found[:JOBS_SHOWN]), *filter(None, [left])])
    _print_list("Leaving after they end", (name_of(name, each) for name in each.status.get("leaving", [])))


def _strategy(each: ObjectView) -> str:
    if "queueBased" in each.spec:
        entries = each.spec["queueBased"]
        jobs = {(entry["namespace"], entry["name"]) for entry in entries}
        return f"queue of {plural(len(entries), 'executor')} of {plural(len(jobs), 'job')}"
    return f"{strategy_of(each)}, {plural(len(each.spec['slotBased']['jobs']), 'job')}"


def _progress(job: dict[str, Any], each: ObjectView) -> str:
    slots = job.get("slotIds", [])
    return name_of(job["name"], each) + (f", {format_slots(slots)}" if slots else "")


# ---- batch jobs ----


def _waiting_tasks(client: Client, each: ObjectView) -> str:
    """Why its driver or an executor is pending, if one is."""
    if state_of(each) not in STARTED_STATES:
        return ""
    try:
        found = client.job(f"bj.{each.name}", each.namespace).why()
    except NotFound:  # it has ended in the meantime
        return ""
    return found.sentence if any(found.counts.get(state) for state in ("waiting", "queued")) else ""


def _batch_job(each: ObjectView, waiting: str, last: list[str]) -> None:
    status = each.status
    claim = each.spec.get("activeScheduling")
    runs = status.get("runs", 0)
    facts = [
        *_head(each),
        ("engine", engine_of(each)),
        ("claimed by", name_of(claim, each) if claim else "nobody"),
        ("testbed", name_of(status["slots"], each) if "slots" in status else ""),
        ("slots", _format_slot_nodes(status)),
        ("pending", f"{waiting} See: shunter why bj.{each.name}" if waiting else ""),
        ("runs", f"{runs:,}" + (f"; output: shunter logs {_output_task(each)}" if runs else "")),
    ]
    print_facts(_title(each), facts)
    _print_list("Problems", status.get("problems", []))
    if last:
        _print_last_output(last)
    _print_list("Fields without effect", status.get("unusedFields", []))
    for scheduler, rows in each.spec.get("externalScheduler", {}).items():
        _print_list(f"Notes of {scheduler}", (_row(row) for row in rows[:ROWS_SHOWN]))
    events = status.get("scheduledEvents", [])
    if events:
        print("\nRuns, newest first")
        columns = [Column("START"), Column("ELAPSED", right=True)]
        drop = {"SLOTS": 2, "TESTBED": 1}
        columns += [Column(title, drop=drop.get(title, 0)) for title in ("RESULT", "SCHEDULING", "TESTBED", "SLOTS")]
        shown = events[: -RUNS_SHOWN - 1 : -1]
        has_reasons = any("reason" in event for event in shown)
        rows = ([*_run(event, each), *([event.get("reason", "-")] if has_reasons else [])] for event in shown)
        print_table([*columns, *([Column("REASON")] if has_reasons else [])], rows, state_column=2)


def _output_task(each: ObjectView) -> str:
    """The task whose output is the output of the program."""
    return f"bj.{each.name}/executor/0" if "commandSpec" in each.spec else f"bj.{each.name}/driver/0"


def _format_slot_nodes(status: dict[str, Any]) -> str:
    numbers = status.get("slotIds", [])
    nodes = list(dict.fromkeys(position["nodeName"] for position in status.get("places", [])))
    return f"{format_slot_numbers(numbers)} on {', '.join(nodes)}" if numbers else ""


def _row(row: dict[str, str]) -> str:
    text = ", ".join(f"{key}: {value}" for key, value in row.items())
    return text if len(text) <= ROW_SHOWN_MAX else f"{text[: ROW_SHOWN_MAX - 1]}…"


def _run(event: dict[str, Any], each: ObjectView) -> list[str]:
    took = elapsed_s(event["start"], event["stop"])
    result = {None: "running" if event["stop"] is None else "stopped", True: "succeeded", False: "failed"}
    return [
        event["start"] or "-",
        "-" if took is None else format_duration(took),
        result[event["successful"]],
        name_of(event["scheduling"], each),
        name_of(event["slots"], each),
        format_slot_numbers(event["slotIds"]),
    ]
