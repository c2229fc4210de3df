"""Taking in jobs and templates: names, runs, client keys. Called by the engine's rounds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

import msgspec
from msgspec.structs import replace

from shunter.engine import changes as c
from shunter.engine.jobs.dependencies import NO_PAST, Past, find_target, order_by_edges, settle_past
from shunter.engine.jobs.job_timers import set_job_timers
from shunter.engine.jobs.queue_admin import refuse_full_queues
from shunter.engine.jobs.stop import watch_queueing
from shunter.engine.round import Round, TimerKind, Timers
from shunter.engine.services.update import is_on_one_node, on_update, refuse_update
from shunter.engine.state.records import Job
from shunter.engine.state.registries.templates import Template
from shunter.model.errors import Busy, Conflict, Invalid, Problem
from shunter.model.job.spec import BATCH, PLAIN, After, JobOptions, JobSpec
from shunter.model.lifecycles import JobState
from shunter.testbeds.applications import PREFIX

SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, so no words; nothing that looks like something else
SUFFIX_LENGTH = 5


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of one job of a submit. Not created: an unfinished run with the same spec, or the key's job; or, if
    updated, a lasting job that has another spec now. A run of 0 means that it was kept as a template."""

    job_id: int
    created: bool
    namespace: str = ""
    name: str = ""
    run: int = 0
    updated: bool = False


def on_submit(round: Round, specs: list[JobSpec], user: str, key: str | None, past: Past = NO_PAST) -> list[Submitted]:
    """All jobs or none. Repeating a key returns the jobs of the first time. `past` knows ended runs that edges name."""
    if (known := known_by_key(round, key)) is not None:
        return known
    refuse_too_many(round, specs)
    _refuse_other_specs(round, specs)
    places = order_by_edges(round, specs, past)
    results = {place: _submit_one(round, specs[place], user, past) for place in places}
    return use_key(round, key, [results[place] for place in range(len(specs))])


def known_by_key(round: Round, key: str | None) -> list[Submitted] | None:
    """The jobs that were made when a client's key was first used."""
    known = round.state.idempotency_keys.get(key) if key else None
    return [_known(round, job_id) for job_id in known] if known is not None else None


def use_key(round: Round, key: str | None, results: list[Submitted]) -> list[Submitted]:
    if key:
        round.record(c.IdempotencyKeyUsed(key, [result.job_id for result in results], round.now_ms))
    return results


def _submit_one(round: Round, spec: JobSpec, user: str, past: Past) -> Submitted:
    state = round.state
    if spec.is_template:
        return _keep(round, spec, user)
    unfinished = state.find_job(spec.namespace, spec.name) if spec.name else None
    if unfinished is not None:
        is_same = _is_same(round, unfinished, spec) and not is_on_one_node(round, unfinished)
        is_other = unfinished.is_long_running and not is_same
        if is_other:
            on_update(round, unfinished, spec, user)
        return Submitted(unfinished.id, False, unfinished.namespace, unfinished.name, unfinished.run, is_other)
    return start_run(round, spec, user, past)


def start_run(round: Round, spec: JobSpec, user: str, past: Past = NO_PAST, behind: int = 0) -> Submitted:
    """A new run of the spec's name, whatever runs of it there are. Queued `behind` the newest of them, it waits for all
    of them to end. Raises Invalid, with nothing recorded, if an edge leads nowhere."""
    state, options = round.state, spec.options
    name = spec.name or _new_name(round, spec)
    targets = [_target(round, spec, edge, past) for edge in options.after]
    targets += [(behind, None)] if behind else []
    job_id, run = state.next_job, state.next_run(spec.namespace, name)
    is_early = options.start_in_s > 0 or options.start_at_ms > round.now_ms
    change = c.JobSubmitted(
        job_id, spec.namespace, name, run, spec.type, spec.priority, spec.labels, user, round.now_ms,
        msgspec.Raw(state.encode_groups(spec.groups)), options_body(options), bool(targets) or is_early,
        [target for target, _ in targets],
    )  # fmt: skip
    round.record(change)
    if options is not PLAIN:
        set_job_timers(round.timers, state, state.jobs[job_id])
    if targets:
        settle_past(round, state.jobs[job_id], targets)
    if spec.type != BATCH:
        round.dirty_jobs[job_id, 0] = None
    for group in state.jobs[job_id].task_sets:
        watch_queueing(round, group)
    return Submitted(job_id, True, spec.namespace, name, run)


def _target(round: Round, spec: JobSpec, edge: After, past: Past) -> tuple[int, JobState | None]:
    found = find_target(round.state, spec.namespace, edge.job, past)
    if found is None:
        raise Invalid([Problem("spec.after", "is a job that there is not", edge.job, "submit it before")])
    return found


def _keep(round: Round, spec: JobSpec, user: str) -> Submitted:
    """A template is kept as it is; the same one again changes nothing."""
    if not spec.name:
        spec = replace(spec, name=_new_name(round, spec))
    known = round.state.templates.get(spec.namespace, spec.name)
    if known is not None and known.spec == spec:
        return Submitted(known.id, False, spec.namespace, spec.name)
    id = known.id if known is not None else round.state.next_job
    body = msgspec.Raw(msgspec.msgpack.encode(spec))
    round.record(c.TemplateSet(spec.namespace, spec.name, body, user, round.now_ms, id))
    wind(round.timers, round.state.templates.by_id[id])
    return Submitted(id, True, spec.namespace, spec.name)


def wind(timers: Timers, template: Template) -> None:
    """Look at a template again when it is to fire."""
    if template.next_ms is not None:
        timers.add_job(template.next_ms, TimerKind.TEMPLATE, template.id)


def options_body(options: JobOptions) -> msgspec.Raw:
    return c.NO_OPTIONS if options is PLAIN or options == PLAIN else msgspec.Raw(msgspec.msgpack.encode(options))


def _known(round: Round, job_id: int) -> Submitted:
    job, template = round.state.jobs.get(job_id), round.state.templates.by_id.get(job_id)
    if template is not None:
        return Submitted(job_id, False, template.namespace, template.name)
    return Submitted(job_id, False, job.namespace, job.name, job.run) if job else Submitted(job_id, False)


def refuse_too_many(round: Round, specs: list[JobSpec]) -> None:
    state, settings = round.state, round.settings
    if len(state.jobs) + len(specs) > settings.jobs_max:
        raise Busy(f"the cluster holds {len(state.jobs)} unfinished jobs; at most {settings.jobs_max} are allowed", 5.0)
    tasks = sum(state.task_counts) + sum(spec.count for spec in specs)
    if tasks > settings.tasks_max:
        raise Busy(f"the cluster would hold {tasks} unfinished tasks; at most {settings.tasks_max} are allowed", 5.0)
    if len(state.templates.by_id) + len(specs) > settings.templates_max:
        added = sum(spec.is_template for spec in specs)
        if added and len(state.templates.by_id) + added > settings.templates_max:
            raise Busy(f"the cluster keeps at most {settings.templates_max} templates", 5.0)
    refuse_full_queues(round, specs)


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
        if spec.name.startswith(PREFIX):
            raise _name_taken(spec, f"begins with {PREFIX}, as only the jobs of BatchJobs do", "choose another name")
        if spec.is_template:
            continue  # it may be replaced at any time; runs that there are go on
        if round.state.templates.get(spec.namespace, spec.name) is not None:
            raise _name_taken(
                spec, "is a template, whose runs a clock or a dispatch starts",
                f"choose another name, or delete it with `shunter cron delete {spec.name}`",
            )  # fmt: skip
        job = round.state.find_job(spec.namespace, spec.name)
        if job is not None and not _is_same(round, job, spec):
            if job.is_long_running:
                refuse_update(job, spec)
                continue
            raise _name_taken(
                spec, f"is an unfinished job with another spec (run {job.run}, {job.state.word})",
                f"wait for it, stop it with `shunter stop {job.name}`, or choose another name",
            )  # fmt: skip


def _name_taken(spec: JobSpec, message: str, fix: str) -> Conflict:
    problem = Problem("metadata.name", message, spec.name, fix)
    return Conflict(str(problem), (problem,))


def _is_same(round: Round, job: Job, spec: JobSpec) -> bool:
    return (
        (job.spec_version.body == round.state.encode_groups(spec.groups) or job.spec_version.groups == spec.groups)
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
