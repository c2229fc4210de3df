"""Submits jobs and templates: names, runs, client keys. Called by the engine's rounds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePath
from random import Random

import msgspec
from msgspec.structs import replace

from shunter.engine import changes as c
from shunter.engine.identity.quota_checks import check_tenant_quotas
from shunter.engine.jobs.dependencies import resolve_run, settle_ended_dependencies, topological_order
from shunter.engine.jobs.job_timers import set_job_timers
from shunter.engine.jobs.queue_admin import check_queue_limits
from shunter.engine.jobs.stop import arm_queue_timeout
from shunter.engine.round import Round
from shunter.engine.secrets.secrets import check_references
from shunter.engine.services.update import check_update_allowed, is_limited_to_node, on_update
from shunter.engine.state.records import Job
from shunter.engine.state.registries.templates import Template
from shunter.engine.timers import TimerKind, Timers
from shunter.model.errors import Busy, Conflict, Invalid, Problem
from shunter.model.job.spec import BATCH, DEFAULT_OPTIONS, After, JobOptions, JobSpec
from shunter.model.lifecycles import JobState
from shunter.testbeds.applications import PREFIX

SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, so no words; no characters that look alike
SUFFIX_LENGTH = 5
SUFFIX_LENGTH_LONG = 9  # of names that are drawn again: with very many jobs of one command, short ones are often taken


@dataclass(frozen=True, slots=True)
class SubmitResult:
    """The result for one job of a submit. Not created: an unfinished run with the same spec, or the key's job. Updated:
    a long-running job that has a new spec. A run of 0 means that it was stored as a template."""

    job_id: int
    created: bool
    namespace: str = ""
    name: str = ""
    run: int = 0
    updated: bool = False


class GeneratedNameTaken(Conflict):
    """Other jobs have the names that were drawn for the specs at these positions: draw those again."""

    def __init__(self, positions: frozenset[int]) -> None:
        super().__init__(f"{len(positions)} generated names are taken; try again")
        self.positions = positions


def on_submit(
    round: Round, specs: list[JobSpec], user: str, key: str | None, generated: Collection[int] = ()
) -> list[SubmitResult]:
    """Submit all jobs or none. A repeated key returns the jobs of the first submit. `generated` has the positions of
    specs with a name that was drawn for them. Raises GeneratedNameTaken."""
    if (existing := results_by_key(round, key)) is not None:
        return existing
    check_cluster_limits(round, specs)
    round.state.format.check(specs)  # before the first of them is recorded
    check_references(round.state.secrets, specs)
    _check_generated_names(round, specs, generated)
    _check_names(round, specs)
    results = {position: _submit_one(round, specs[position], user) for position in topological_order(round, specs)}
    return record_key(round, key, [results[position] for position in range(len(specs))])


def results_by_key(round: Round, key: str | None) -> list[SubmitResult] | None:
    """The jobs that were created when a client's key was first used."""
    existing = round.state.idempotency_keys.get(key) if key else None
    return [_result_of(round, job_id) for job_id in existing] if existing is not None else None


def record_key(round: Round, key: str | None, results: list[SubmitResult]) -> list[SubmitResult]:
    if key:
        round.record(c.IdempotencyKeyUsed(key, [result.job_id for result in results], round.now_ms))
    return results


def _submit_one(round: Round, spec: JobSpec, user: str) -> SubmitResult:
    state = round.state
    if spec.is_template:
        return _store_template(round, spec, user)
    unfinished = state.find_job(spec.namespace, spec.name)
    if unfinished is not None:
        is_same_spec = _is_same_spec(round, unfinished, spec) and not is_limited_to_node(round, unfinished)
        is_update = unfinished.is_long_running and not is_same_spec
        if is_update:
            on_update(round, unfinished, spec, user)
        return SubmitResult(unfinished.id, False, unfinished.namespace, unfinished.name, unfinished.run, is_update)
    return start_run(round, spec, user)


def start_run(round: Round, spec: JobSpec, user: str, after_job: int = 0) -> SubmitResult:
    """Start a new run of the spec's name, next to existing runs. With `after_job`, it waits until all of them have
    ended. Raises Invalid, with nothing recorded, if an edge has no target."""
    state, options, name = round.state, spec.options, spec.name
    targets = [_require_target(round, spec, edge) for edge in options.after]
    targets += [(after_job, None)] if after_job else []
    job_id, run = state.next_job, state.next_run(spec.namespace, name)
    is_delayed = options.start_in_s > 0 or options.start_at_ms > round.now_ms
    change = c.JobSubmitted(
        job_id, spec.namespace, name, run, spec.type, spec.priority, spec.labels, user, round.now_ms,
        msgspec.Raw(state.encode_groups(spec.groups)), encode_options(options), bool(targets) or is_delayed,
        [target for target, _ in targets],
        round.trace if round.trace and state.format.allows((c.JobSubmitted, "trace")) else "",
    )  # fmt: skip
    round.record(change)
    if options is not DEFAULT_OPTIONS:
        set_job_timers(round.timers, state, state.jobs[job_id])
    if targets:
        settle_ended_dependencies(round, state.jobs[job_id], targets)
    if spec.type != BATCH:
        round.dirty.jobs[job_id, 0] = None
    for task_set in state.jobs[job_id].task_sets:
        arm_queue_timeout(round, task_set)
    return SubmitResult(job_id, True, spec.namespace, name, run)


def _require_target(round: Round, spec: JobSpec, edge: After) -> tuple[int, JobState | None]:
    found = resolve_run(round.state, spec.namespace, edge.job)
    if found is None:
        raise Invalid(
            [
                Problem(
                    "spec.after",
                    f"job '{edge.job}' does not exist in namespace '{spec.namespace}'",
                    None,
                    "submit it first",
                )
            ]
        )
    return found


def _store_template(round: Round, spec: JobSpec, user: str) -> SubmitResult:
    """Store a template. An identical one changes nothing."""
    existing = round.state.templates.get(spec.namespace, spec.name)
    if existing is not None and existing.spec == spec:
        return SubmitResult(existing.id, False, spec.namespace, spec.name)
    id = existing.id if existing is not None else round.state.next_job
    body = msgspec.Raw(msgspec.msgpack.encode(spec))
    round.record(c.TemplateSet(spec.namespace, spec.name, body, user, round.now_ms, id))
    arm_timer(round.timers, round.state.templates.by_id[id])
    return SubmitResult(id, True, spec.namespace, spec.name)


def arm_timer(timers: Timers, template: Template) -> None:
    """Arm the timer of a template's next firing."""
    if template.next_ms is not None:
        timers.add_for(template.next_ms, TimerKind.TEMPLATE, template.id)


def encode_options(options: JobOptions) -> msgspec.Raw:
    return (
        c.NO_OPTIONS
        if options is DEFAULT_OPTIONS or options == DEFAULT_OPTIONS
        else msgspec.Raw(msgspec.msgpack.encode(options))
    )


def _result_of(round: Round, job_id: int) -> SubmitResult:
    job, template = round.state.jobs.get(job_id), round.state.templates.by_id.get(job_id)
    if template is not None:
        return SubmitResult(job_id, False, template.namespace, template.name)
    return SubmitResult(job_id, False, job.namespace, job.name, job.run) if job else SubmitResult(job_id, False)


def check_cluster_limits(round: Round, specs: list[JobSpec]) -> None:
    state, settings = round.state, round.settings
    if len(state.jobs) + len(specs) > settings.jobs_max:
        raise Busy(f"the cluster holds {len(state.jobs)} unfinished jobs; at most {settings.jobs_max} are allowed", 5.0)
    tasks = sum(state.task_counts) + sum(spec.count for spec in specs)
    if tasks > settings.tasks_max:
        raise Busy(f"the cluster would hold {tasks} unfinished tasks; at most {settings.tasks_max} are allowed", 5.0)
    if len(state.templates.by_id) + len(specs) > settings.templates_max:
        added = sum(spec.is_template for spec in specs)
        if added and len(state.templates.by_id) + added > settings.templates_max:
            raise Busy(f"the cluster has the maximum of {settings.templates_max} templates", 5.0)
    payload_bytes = sum(len(group.task.payload or b"") for spec in specs for group in spec.groups)
    if payload_bytes and state.payload_bytes + payload_bytes > settings.payload_bytes_max:
        raise Busy(
            f"payloads of unfinished jobs use {state.payload_bytes:,} of {settings.payload_bytes_max:,} bytes", 5.0
        )
    check_queue_limits(round, specs)
    check_tenant_quotas(round, specs)


def _check_names(round: Round, specs: list[JobSpec]) -> None:
    """An unfinished name may be submitted again only with the same type."""
    seen: dict[tuple[str, str], JobSpec] = {}
    for spec in specs:
        first_spec = seen.setdefault((spec.namespace, spec.name), spec)
        if first_spec is not spec and first_spec != spec:
            raise _name_taken(
                f"{spec.name} appears twice in this submit with different specs", "give each job a unique name"
            )
        if spec.name.startswith(PREFIX):
            raise _name_taken(
                f"{spec.name} starts with {PREFIX}, which is reserved for jobs of BatchJobs", "choose another name"
            )
        if spec.is_template:
            continue  # it may be replaced at any time; existing runs continue
        if round.state.templates.get(spec.namespace, spec.name) is not None:
            raise _name_taken(
                f"{spec.name} is the name of a template, whose runs start on a schedule or by dispatch",
                f"choose another name, or delete it with `shunter cron delete {spec.name}`",
            )  # fmt: skip
        job = round.state.find_job(spec.namespace, spec.name)
        if job is not None and not _is_same_spec(round, job, spec):
            if job.is_long_running:
                check_update_allowed(job, spec)
                continue
            raise _name_taken(
                f"a different job named {job.name} is still {job.state.wire_name} (run {job.run})",
                f"wait for it, stop it with `shunter stop {job.name}`, or choose another name",
            )  # fmt: skip


def _name_taken(message: str, fix: str) -> Conflict:
    problem = Problem("metadata.name", message, None, fix)
    return Conflict(str(problem), (problem,))


def _is_same_spec(round: Round, job: Job, spec: JobSpec) -> bool:
    return (
        (job.spec_version.body == round.state.encode_groups(spec.groups) or job.spec_version.groups == spec.groups)
        and (job.type, job.priority, job.labels, job.options)
        == (spec.type, spec.priority, spec.labels, spec.options)
    )  # fmt: skip


def _check_generated_names(round: Round, specs: list[JobSpec], generated: Collection[int]) -> None:
    if taken := frozenset(position for position in generated if _is_known(round, specs[position])):
        raise GeneratedNameTaken(taken)


def _is_known(round: Round, spec: JobSpec) -> bool:
    state, namespace, name = round.state, spec.namespace, spec.name
    return state.next_run(namespace, name) > 1 or state.templates.get(namespace, name) is not None


def with_names(
    specs: list[JobSpec], random: Random, suffix_length: int = SUFFIX_LENGTH
) -> tuple[list[JobSpec], frozenset[int]]:
    """The specs with names for those that have none, and the positions of these. No two of them get the same name."""
    generated = frozenset(position for position, spec in enumerate(specs) if not spec.name)
    if not generated:
        return specs, generated
    used = {(spec.namespace, spec.name) for spec in specs}
    return [spec if spec.name else _with_name(spec, random, suffix_length, used) for spec in specs], generated


def with_other_names(specs: list[JobSpec], positions: Collection[int], random: Random) -> list[JobSpec]:
    """The specs with new and longer names at these positions."""
    unnamed = [replace(spec, name="") if position in positions else spec for position, spec in enumerate(specs)]
    return with_names(unnamed, random, SUFFIX_LENGTH_LONG)[0]


def _with_name(spec: JobSpec, random: Random, suffix_length: int, used: set[tuple[str, str]]) -> JobSpec:
    while True:
        name = _generate_name(spec, random, suffix_length)
        if (spec.namespace, name) not in used:
            used.add((spec.namespace, name))
            return replace(spec, name=name)


def _generate_name(spec: JobSpec, random: Random, suffix_length: int) -> str:
    """`render-x7k2p`: derived from the command or the image, so that people recognise it."""
    task = spec.groups[0].task
    if task.command:
        program = PurePath(task.command[0]).name
    else:  # the image has one: registry:5000/team/app:1.2 is app
        program = "" if task.container is None else PurePath(task.container.image).name.partition(":")[0]
    stem = "".join(letter if letter.isalnum() else "-" for letter in program.lower() if letter.isascii())
    stem = stem.strip("-")[:40] or "job"
    return f"{stem}-{''.join(random.choice(SUFFIX_ALPHABET) for _ in range(suffix_length))}"


def expire_idempotency_keys(round: Round) -> None:
    """Drop client keys after a day, or when there are too many."""
    order, settings = round.state.idempotency_key_order, round.settings
    oldest_ms = round.now_ms - int(settings.keys_age_s * 1000)
    count = max(len(order) - settings.keys_max, 0)
    while count < len(order) and order[count][0] < oldest_ms:
        count += 1
    if count:
        round.record(c.IdempotencyKeysDropped(count))
