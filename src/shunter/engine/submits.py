"""Taking in jobs: names, runs, client keys. Called by the engine's rounds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

import msgspec

from shunter.engine import changes as c
from shunter.engine.records import Job
from shunter.engine.round import Round, TimerKind
from shunter.model.errors import Busy, Conflict, Problem
from shunter.model.jobs import PLAIN, JobOptions, JobSpec

SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, so no words; nothing that looks like something else
SUFFIX_LENGTH = 5


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of one job of a submit. Not created: an unfinished run with the same spec, or the key's job."""

    job_id: int
    created: bool
    namespace: str = ""
    name: str = ""
    run: int = 0


def on_submit(round: Round, specs: list[JobSpec], user: str, key: str | None) -> list[Submitted]:
    """All jobs or none. Repeating a key returns the jobs of the first time."""
    state = round.state
    known = state.keys.get(key) if key else None
    if known is not None:
        return [_known(round, job_id) for job_id in known]
    _refuse_too_many(round, specs)
    _refuse_other_specs(round, specs)
    results = [_submit_one(round, spec, user) for spec in specs]
    if key:
        round.record(c.KeyUsed(key, [result.job_id for result in results], round.now_ms))
    return results


def _submit_one(round: Round, spec: JobSpec, user: str) -> Submitted:
    state = round.state
    unfinished = state.find_job(spec.namespace, spec.name) if spec.name else None
    if unfinished is not None:
        return Submitted(unfinished.id, False, unfinished.namespace, unfinished.name, unfinished.run)
    name = spec.name or _new_name(round, spec)
    job_id, run = state.next_job, state.next_run(spec.namespace, name)
    change = c.JobSubmitted(
        job_id, spec.namespace, name, run, spec.type, spec.priority, spec.labels, user, round.now_ms,
        msgspec.Raw(state.blueprint(spec.groups)), options_body(spec.options),
    )  # fmt: skip
    round.record(change)
    for group in state.jobs[job_id].groups:
        if group.spec.queue_timeout_s:
            due_ms = round.now_ms + int(group.spec.queue_timeout_s * 1000)
            round.timers.add(due_ms, TimerKind.QUEUE_TIMEOUT, group)
    return Submitted(job_id, True, spec.namespace, name, run)


def options_body(options: JobOptions) -> msgspec.Raw:
    return c.NO_OPTIONS if options == PLAIN else msgspec.Raw(msgspec.msgpack.encode(options))


def _known(round: Round, job_id: int) -> Submitted:
    job = round.state.jobs.get(job_id)
    return Submitted(job_id, False, job.namespace, job.name, job.run) if job else Submitted(job_id, False)


def _refuse_too_many(round: Round, specs: list[JobSpec]) -> None:
    state, settings = round.state, round.settings
    if len(state.jobs) + len(specs) > settings.jobs_max:
        raise Busy(f"the cluster holds {len(state.jobs)} unfinished jobs; at most {settings.jobs_max} are allowed", 5.0)
    tasks = sum(state.task_counts) + sum(spec.count for spec in specs)
    if tasks > settings.tasks_max:
        raise Busy(f"the cluster would hold {tasks} unfinished tasks; at most {settings.tasks_max} are allowed", 5.0)


def _refuse_other_specs(round: Round, specs: list[JobSpec]) -> None:
    """An unfinished name may be submitted again only as what it is."""
    seen: dict[tuple[str, str], JobSpec] = {}
    for spec in specs:
        if not spec.name:
            continue
        twin = seen.setdefault((spec.namespace, spec.name), spec)
        if twin is not spec and twin != spec:
            raise _name_taken(
                spec, "is given twice in this submit, with different specs", "give each job a name of its own"
            )
        job = round.state.find_job(spec.namespace, spec.name)
        if job is not None and not _is_same(round, job, spec):
            raise _name_taken(
                spec, f"is an unfinished job with another spec (run {job.run}, {job.state.word})",
                f"wait for it, stop it with `shunter stop {job.name}`, or choose another name",
            )  # fmt: skip


def _name_taken(spec: JobSpec, message: str, fix: str) -> Conflict:
    problem = Problem("metadata.name", message, spec.name, fix)
    return Conflict(str(problem), (problem,))


def _is_same(round: Round, job: Job, spec: JobSpec) -> bool:
    return (
        job.blueprint.body == round.state.blueprint(spec.groups)
        and (job.type, job.priority, job.labels, job.options)
        == (spec.type, spec.priority, spec.labels, spec.options)
    )  # fmt: skip


def _new_name(round: Round, spec: JobSpec) -> str:
    """`render-x7k2p`: from the command, so that people recognise it."""
    command = spec.groups[0].task.command
    stem = "".join(
        letter if letter.isalnum() else "-" for letter in PurePath(command[0]).name.lower() if letter.isascii()
    )
    stem = stem.strip("-")[:40] or "job"
    while True:
        suffix = "".join(round.random.choice(SUFFIX_ALPHABET) for _ in range(SUFFIX_LENGTH))
        name = f"{stem}-{suffix}"
        namespace = spec.namespace
        if not round.state.find_job(namespace, name) and name not in round.state.last_runs.get(namespace, {}):
            return name
