"""Homes that earlier versions wrote, kept as SQL text by `scripts/dump_home.py`."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import msgspec

from shunter.engine import changes as c
from shunter.engine.jobs.finish import Summary
from shunter.engine.state.records import Job, TaskSet
from shunter.engine.state.state import State
from shunter.model.job.spec import PORT_PREFIX
from shunter.model.lifecycles import TaskState
from shunter.ports.store import FinishedQuery, PastQuery, Store

FOLDER = Path(__file__).parent


def restore(version: str, store: Path) -> None:
    """Make the store of that version's home, as a file."""
    connection = sqlite3.connect(store)
    try:
        connection.executescript((FOLDER / f"home-{version}.sql").read_text("utf-8"))
    finally:
        connection.close()


async def logged_changes(store: Store) -> dict[int, list[c.Change]]:
    """Every round of the log, decoded, by version."""
    rounds = await store.rounds_after(0, await store.last_version())
    return {logged.version: c.decode_round(logged.body) for logged in rounds}


def by_field(change: c.Change) -> dict[str, Any]:
    """What a change says, field by field, in values that JSON has."""
    fields = {
        name: msgspec.msgpack.decode(value) if isinstance(value, msgspec.Raw) else value
        for name, value in msgspec.structs.asdict(change).items()
    }
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(fields))
    return found


def longest_of_each_kind(rounds: dict[int, list[c.Change]]) -> dict[str, c.Change]:
    found: dict[str, c.Change] = {}
    for change in (change for changes in rounds.values() for change in changes):
        kind = type(change).__name__
        if kind not in found or len(c.encode_round([change])) > len(c.encode_round([found[kind]])):
            found[kind] = change
    return dict(sorted(found.items()))


async def describe(store: Store, state: State) -> dict[str, Any]:
    """What users would find in the home, in values that JSON has: the same for every version that reads it."""
    finished = [
        (f"{job.name}@{job.run}", job.state, msgspec.msgpack.decode(job.summary, type=Summary).view.reason)
        for job in await store.finished_jobs(FinishedQuery())
    ]
    past = [record.name for record in await store.past_schedulings(PastQuery())]
    return {
        "jobs": {job.name: _describe_job(state, job) for job in state.jobs.values()},
        "services": {
            state.jobs[id].name: [service.status.wire_name, service.reason]
            for id, service in state.services.jobs.items()
        },
        "templates": {
            template.name: [template.is_paused, template.next_ms, template.last_job]
            for template in state.templates.by_id.values()
        },
        "nodes": {
            node.name: [node.state.wire_name, dict(sorted(node.labels.items())), node.cordoned_by, _reserved(state, id)]
            for id, node in state.nodes.records.items()
        },
        "settings": dict(sorted(state.cluster.values.items())),
        "queues": {name: [queue.is_paused, queue.running_max] for name, queue in state.queues.queues.items()},
        "objects": {
            f"{kind} {name.name}": object.status.state.value
            for kind in ("testbeds", "batch_jobs", "schedulings")
            for name, object in getattr(state.objects, kind).items()
        },
        "finished": [list(job) for job in finished],
        "past_schedulings": past,
    }


def _describe_job(state: State, job: Job) -> list[Any]:
    task_sets = [
        [task_set.spec.name, list(task_set.spec.task.command), _tasks(state, task_set)] for task_set in job.task_sets
    ]
    return [job.type, job.priority, job.state.wire_name, job.version, job.is_held, task_sets]


def _tasks(state: State, task_set: TaskSet) -> list[list[Any]]:
    """State, attempt, node and exit code of each task."""
    table, rows = state.table, range(task_set.base, task_set.base + task_set.count)
    columns = (table.attempt, table.node, table.exit_code)
    return [[TaskState(int(table.state[row])).wire_name, *(int(column[row]) for column in columns)] for row in rows]


def _reserved(state: State, node: int) -> dict[str, int]:
    amounts = zip(state.nodes.view.resources, state.nodes.view.reserved[node].tolist(), strict=True)
    return {name: amount for name, amount in amounts if amount and not name.startswith(PORT_PREFIX)}
