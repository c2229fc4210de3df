"""Builds specs that run finished tasks again, from the history of their run. Called by `jobs` for retries and by
`dead_letters` for replays."""

from __future__ import annotations

import asyncio

import msgspec
import numpy as np
from numpy.typing import NDArray

from shunter.engine.jobs.finish import Summary
from shunter.engine.jobs.rerun import TaskSelection, rerun_spec
from shunter.engine.jobs.submit import SubmitResult
from shunter.engine.state.records import Job
from shunter.engine.state.task_table import unpack_columns
from shunter.gateway.jobs.task_refs import AnyRun, FinishedRun
from shunter.model.errors import Conflict, NotFound
from shunter.model.job.spec import DEFAULT_OPTIONS, PER_NODE, GroupSpec, JobOptions, JobSpec
from shunter.model.lifecycles import TaskState
from shunter.model.rest.job_views import SubmittedJob
from shunter.ports.store import Store

_groups_decoder = msgspec.msgpack.Decoder(tuple[GroupSpec, ...])
_options_decoder = msgspec.msgpack.Decoder(JobOptions)


async def retry_spec(store: Store, run: AnyRun, only_failed: bool) -> JobSpec:
    """The spec of a new run of a finished one: all tasks, or those that did not succeed. Raises Conflict."""
    if isinstance(run, Job):
        raise Conflict(
            f"run {run.run} of job '{run.name}' has not ended (it is {run.state.wire_name}); wait for it, or stop it"
        )
    if not run.view.run:
        raise Conflict(f"'{run.view.name}' is a template; start a run with `shunter dispatch {run.view.name}`")
    spec = spec_of(run.summary)
    if only_failed and spec.type in PER_NODE:
        raise Conflict(f"job '{spec.name}' runs once on every node; retry the whole job, without --failed")
    selected = await _unsuccessful_tasks(store, run) if only_failed else None
    if selected is not None and not selected:
        raise Conflict(f"all tasks of {run.view.name}@{run.view.run} succeeded; no task can be retried")
    return rerun_spec(spec, selected)


def spec_of(summary: Summary) -> JobSpec:
    view = summary.view
    if not summary.groups:
        raise NotFound(f"{view.name}@{view.run} ended under an older version of Shunter, which did not store its spec")
    options = _options_decoder.decode(summary.options) if summary.options else DEFAULT_OPTIONS
    groups = _groups_decoder.decode(summary.groups)
    return JobSpec(view.namespace, view.name, groups, view.type, view.priority, view.labels, options)


def submitted_job(result: SubmitResult) -> SubmittedJob:
    return SubmittedJob(
        name=result.name,
        namespace=result.namespace,
        id=result.job_id,
        run=result.run,
        created=result.created,
        updated=result.updated,
    )


async def _unsuccessful_tasks(store: Store, run: FinishedRun) -> TaskSelection:
    """A chunk at a time: unpacking the columns of one takes some milliseconds."""
    found: dict[str, list[NDArray[np.int32]]] = {}
    for task_set in run.summary.pieces:
        for chunk in await store.finished_tasks(run.id, task_set.number, 0, task_set.count - 1):
            states = unpack_columns(chunk.count, chunk.body)["state"]
            indexes = np.flatnonzero(states != TaskState.SUCCEEDED) + chunk.first
            if task_set.visible_index is not None:
                indexes = np.asarray(task_set.visible_index, np.int64)[indexes]
            if len(indexes):
                found.setdefault(task_set.name, []).append(indexes.astype(np.int32))
            await asyncio.sleep(0)
    is_service = any(task_set.visible_index is not None for task_set in run.summary.pieces)  # its task sets overlap
    return {name: (np.unique if is_service else np.asarray)(np.concatenate(parts)) for name, parts in found.items()}
