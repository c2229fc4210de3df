"""The command `describe`: all that a person wants to know of one Testbed, BatchJob or Scheduling."""

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
from shunter.cli.render.tables import Column, age, elapsed_s, format_counts, print_facts, print_table
from shunter.model.errors import NotFound
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.objects.object_fields import CLAIM_LABELS
from shunter.model.resources import format_duration
from shunter.model.rest.object_views import ObjectView
from shunter.sdk.client import Client

GRID_COLUMNS_MAX = 6  # with more slots on a node, each slot gets a line
RUNS_SHOWN = 10
JOBS_SHOWN = 20  # of a Scheduling, in each state
ROWS_SHOWN = 10  # of what a scheduler noted
ROW_SHOWN_MAX = 200
STARTED_STATES = ("SubmittedState", "ScheduledState", "RunningState")
Facts = list[tuple[str, str]]


def describe(kind: Kind, name: Name, namespace: Namespace = NAMESPACE_DEFAULT) -> None:
    """Describe one Testbed, BatchJob or Scheduling for a person.

    Of a Testbed its slots by node, who has each and since when; of a Scheduling how far it is with each job and what
    it waits for; of a BatchJob its state, its slots, its runs, and what of its manifest is not used here.

    \b
    shunter describe testbed profiler-testbed
    shunter describe bj spark-crawler
    """
    with open_client(namespace) as client:
        found = client.get(kind_of(kind), name)
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
        ("deleted", f"asked {age(deletion_time)} ago; it goes when nothing needs it any more" if deletion_time else ""),
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
    _print_list(f"Last words of what failed: {last[0]}", last[1:] or ["it wrote nothing"])


# ---- testbeds ----


def _testbed(each: ObjectView) -> None:
    slots = each.status.get("slots", [])
    nodes = {slot["nodeName"]: slot["nodeId"] for slot in slots}
    states = Counter(slot["state"].lower() for slot in slots)
    size = ", ".join(f"{name} {amount}" for name, amount in each.spec["resourcesPerSlot"].items())
    claims = ", ".join(name_of(claim, each) for claim in each.status.get("claims", []))
    facts = [
        *_head(each),
        ("slots", f"{len(slots)} on {_plural(len(nodes), 'node')}: {format_counts(dict(sorted(states.items())))}"),
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
    """A grid: a row for each node in the order of the testbed, a column for each place on it."""
    slots_per_node = max(slot["slotPositionOnNode"] for slot in slots) + 1
    if slots_per_node > GRID_COLUMNS_MAX:
        columns = [Column("SLOT", right=True), Column("STATE"), Column("NODE"), Column("WHO"), Column("SINCE")]
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
    leaving = ", leaves" if slot.get("leaving") else ""
    return f"#{slot['position']} {slot['state']}{holder} {age(slot['since'])}{leaving}"


def _holder(slot: dict[str, Any], each: ObjectView) -> str:
    """`spark-pi[0] by first`: the executor, and the Scheduling that put it there."""
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
        ("next", release_hint(each) if state_of(each) in ENDED_STATES else ""),
    ]
    print_facts(_title(each), facts)
    _print_list("Problems", each.status.get("problems", []))
    for last in filter(None, outputs):
        _print_last_output(last)
    _print_list("In its way, though it has ended", (f"{other.name}: {release_hint(other)}" for other in ended))
    states = each.status.get("jobStates", [])
    for word in PROGRESS:
        found = [job for job in states if job["state"] == word]
        left = f"and {len(found) - JOBS_SHOWN:,} more" if len(found) > JOBS_SHOWN else ""
        _print_list(word, [*(_progress(job, each) for job in found[:JOBS_SHOWN]), *filter(None, [left])])
    _print_list("Leaving, when they have ended", (name_of(name, each) for name in each.status.get("leaving", [])))


def _strategy(each: ObjectView) -> str:
    if "queueBased" in each.spec:
        entries = each.spec["queueBased"]
        jobs = {(entry["namespace"], entry["name"]) for entry in entries}
        return f"queue of {_plural(len(entries), 'executor')} of {_plural(len(jobs), 'job')}"
    return f"{strategy_of(each)}, {_plural(len(each.spec['slotBased']['jobs']), 'job')}"


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _progress(job: dict[str, Any], each: ObjectView) -> str:
    slots = job.get("slotIds", [])
    return name_of(job["name"], each) + (f", {format_slots(slots)}" if slots else "")


# ---- batch jobs ----


def _waiting_tasks(client: Client, each: ObjectView) -> str:
    """What keeps its driver or an executor from running, if they do not."""
    if state_of(each) not in STARTED_STATES:
        return ""
    try:
        found = client.job(f"bj.{each.name}", each.namespace).why()
    except NotFound:  # it has ended meanwhile
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
        ("waits", f"{waiting} See: shunter why bj.{each.name}" if waiting else ""),
        ("runs", f"{runs:,}" + (f"; output: shunter logs {_output_task(each)}" if runs else "")),
    ]
    print_facts(_title(each), facts)
    _print_list("Problems", status.get("problems", []))
    if last:
        _print_last_output(last)
    _print_list("Not used here", status.get("unusedFields", []))
    for scheduler, rows in each.spec.get("externalScheduler", {}).items():
        _print_list(f"Noted by {scheduler}", (_row(row) for row in rows[:ROWS_SHOWN]))
    events = status.get("scheduledEvents", [])
    if events:
        print("\nRuns, newest first")
        columns = [Column("START"), Column("TOOK", right=True)]
        columns += [Column(title) for title in ("RESULT", "SCHEDULING", "TESTBED", "SLOTS")]
        print_table(columns, (_run(event, each) for event in events[: -RUNS_SHOWN - 1 : -1]), state_column=2)


def _output_task(each: ObjectView) -> str:
    """The task that prints what the program prints."""
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
