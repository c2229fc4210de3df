"""Doing again what has ended: retries of runs and replays of dead letters, from the specs that history keeps. Called by
the gateway."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np

from shunter.engine.engine import Engine
from shunter.engine.jobs.finish import Summary
from shunter.engine.jobs.rerun import TaskSelection, indexes_by_group, rerun_spec
from shunter.engine.jobs.submit import SubmitResult
from shunter.engine.state.records import Job
from shunter.engine.state.registries.dead_letters import DeadLetter
from shunter.engine.state.task_table import unpack_columns
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.task_refs import FinishedRun
from shunter.model.errors import Conflict, NotFound
from shunter.model.job.spec import DEFAULT_OPTIONS, LONG_RUNNING, PER_NODE, GroupSpec, JobOptions, JobSpec
from shunter.model.lifecycles import TaskState
from shunter.model.rest.admin_views import DeadPage, DeadView, Replayed
from shunter.model.rest.views import SubmittedJob
from shunter.model.timestamps import iso
from shunter.ports.gateway import DeadLetterSelector, JobReference
from shunter.ports.store import Store

_groups_decoder = msgspec.msgpack.Decoder(tuple[GroupSpec, ...])
_options_decoder = msgspec.msgpack.Decoder(JobOptions)
_summary_decoder = msgspec.msgpack.Decoder(Summary)


class Reruns:
    def __init__(self, engine: Engine, store: Store, runs: Runs) -> None:
        self._engine, self._store, self._runs = engine, store, runs

    async def retry(self, reference: JobReference, only_failed: bool, user: str, key: str | None) -> SubmitResult:
        """A new run of a finished one: all of it, or the tasks that did not succeed."""
        run = await self._runs.find(reference)
        known = self._engine.state.idempotency_keys.get(key) if key else None
        if known:  # the name may mean the run that the first request with this key made
            return SubmitResult(known[0], False)
        if isinstance(run, Job):
            raise Conflict(
                f"run {run.run} of {run.name} has not ended (it is {run.state.wire_name}): wait for it, or stop it"
            )
        if not run.view.run:
            raise Conflict(f"{run.view.name} is a template: start a run of it with `shunter dispatch {run.view.name}`")
        spec = _spec_of(run.summary)
        if only_failed and spec.type in PER_NODE:
            raise Conflict(f"{spec.name} runs once on every node: retry all of it, without --failed")
        selected = await self._unsuccessful_tasks(run) if only_failed else None
        if selected is not None and not selected:
            raise Conflict(f"all tasks of {run.view.name}@{run.view.run} succeeded: there is nothing to retry")
        return await self._engine.start_run(rerun_spec(spec, selected), user, key)

    async def page(self, namespace: str | None, job: str | None, limit: int, after: str | None) -> DeadPage:
        """Oldest first; the cursor is the last one's number."""
        await self._engine.wait_committed()
        letters = [
            letter
            for letter in self._engine.state.dead_letters.letters.values()
            if namespace in (None, letter.namespace) and job in (None, letter.name)
        ]
        remaining = [letter for letter in letters if after is None or letter.number > int(after)]
        items = [_dead_view(letter) for letter in remaining[:limit]]
        return DeadPage(items, str(items[-1].number) if len(remaining) > limit else None, len(letters))

    async def replay(self, choice: DeadLetterSelector, user: str) -> Replayed:
        """One run for each job of which letters are chosen. Jobs that have not ended are left, unless one is named."""
        letters = await self._select_letters(choice)
        is_explicit = bool(choice.numbers) or choice.job is not None
        specs: list[JobSpec] = []
        numbers: list[int] = []
        skipped = 0
        for job_id in dict.fromkeys(letter.job for letter in letters):
            job_letters = [letter for letter in letters if letter.job == job_id]
            spec = await self._rerunnable_spec(job_letters[0], is_explicit)
            is_duplicate = (
                any((spec.namespace, spec.name) == (each.namespace, each.name) for each in specs) if spec else False
            )
            if spec is None or is_duplicate:  # the other run goes first; these can be replayed when it has ended
                skipped += len(job_letters)
                continue
            specs.append(rerun_spec(spec, indexes_by_group((letter.group, letter.index) for letter in job_letters)))
            numbers += [letter.number for letter in job_letters]
        runs = await self._engine.replay(numbers, specs, user) if specs else []
        return Replayed([_submitted(run) for run in runs], skipped)

    async def purge(self, choice: DeadLetterSelector, user: str) -> int:
        numbers = [letter.number for letter in await self._select_letters(choice)]
        await self._engine.purge_dead(numbers, user)
        return len(numbers)

    async def _select_letters(self, choice: DeadLetterSelector) -> list[DeadLetter]:
        await self._engine.wait_committed()
        letters = self._engine.state.dead_letters.letters
        for number in choice.numbers:
            if number not in letters:
                raise NotFound(f"there is no dead letter {number}; `shunter dead` shows all")
        found = [letters[number] for number in sorted(set(choice.numbers))] if choice.numbers else letters.values()
        return [
            letter
            for letter in found
            if choice.namespace in (None, letter.namespace) and choice.job in (None, letter.name)
        ]

    async def _rerunnable_spec(self, letter: DeadLetter, is_explicit: bool) -> JobSpec | None:
        """The spec of a letter's run, if it may run again now. None, or a refusal for what was named: it may not."""
        state = self._engine.state
        refusal: Conflict | NotFound | None = None
        spec: JobSpec | None = None
        unfinished = state.find_job(letter.namespace, letter.name)
        if unfinished is not None and state.templates.get(letter.namespace, letter.name) is None:
            refusal = Conflict(f"run {unfinished.run} of {letter.name} has not ended: wait for it, or stop it")
        else:
            finished = await self._store.finished_job(letter.job)
            if finished is None:
                refusal = NotFound(
                    f"history does not keep {letter.name}@{letter.run} any more; purge letter {letter.number}"
                )
            else:
                spec = _spec_of(_summary_decoder.decode(finished.summary))
                if spec.type in LONG_RUNNING or spec.type in PER_NODE:
                    refusal = Conflict(f"{letter.name} is a {spec.type} job: submit or retry all of it instead")
        if refusal is not None and is_explicit:
            raise refusal
        return spec if refusal is None else None

    async def _unsuccessful_tasks(self, run: FinishedRun) -> TaskSelection:
        tasks: list[tuple[str, int]] = []
        for task_set in run.summary.pieces:
            for chunk in await self._store.finished_tasks(run.id, task_set.number, 0, task_set.count - 1):
                states = unpack_columns(chunk.count, chunk.body)["state"]
                indexes: Iterable[int] = (np.flatnonzero(states != TaskState.SUCCEEDED) + chunk.first).tolist()
                tasks += [
                    (task_set.name, index if task_set.visible_index is None else task_set.visible_index[index])
                    for index in indexes
                ]
        return indexes_by_group(tasks)


def _spec_of(summary: Summary) -> JobSpec:
    view = summary.view
    if not summary.groups:
        raise NotFound(f"{view.name}@{view.run} ended under an older version, which did not keep its spec")
    options = _options_decoder.decode(summary.options) if summary.options else DEFAULT_OPTIONS
    groups = _groups_decoder.decode(summary.groups)
    return JobSpec(view.namespace, view.name, groups, view.type, view.priority, view.labels, options)


def _dead_view(letter: DeadLetter) -> DeadView:
    inner = "" if letter.group == "main" else f"{letter.group}/"
    return DeadView(
        name=f"{letter.name}@{letter.run}/{inner}{letter.index}",
        number=letter.number,
        namespace=letter.namespace,
        job=letter.name,
        run=letter.run,
        group=letter.group,
        index=letter.index,
        exit_code=letter.exit_code if letter.exit_code >= 0 else None,
        reason=letter.reason,
        at=iso(letter.at_ms / 1000) or "",
    )


def _submitted(run: SubmitResult) -> SubmittedJob:
    return SubmittedJob(name=run.name, namespace=run.namespace, id=run.job_id, run=run.run, created=run.created)
