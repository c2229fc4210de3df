"""Updates, scales, restarts and rolls back long-running jobs at a user's request, and ends rollouts. Called by the
engine's rounds, by submits, and by `engine.services.reconcile`. `engine.services.rollout` decides the steps in
between."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from shunter.engine import changes as c
from shunter.engine.identity.quota_checks import check_queued_quotas, check_tenant_quotas
from shunter.engine.jobs.dependencies import unblock_if_ready
from shunter.engine.jobs.job_timers import set_job_timers
from shunter.engine.round import Round
from shunter.engine.secrets.secrets import check_references
from shunter.engine.state.apply_services import GROUPS_DECODER, is_same_but_for_counts, version_of
from shunter.engine.state.records import Job
from shunter.engine.state.registries.services import JobVersion, ServiceState
from shunter.model.errors import Conflict, Invalid, NotFound, Problem
from shunter.model.job.spec import DEFAULT_OPTIONS, SERVICE, SERVICE_COUNT_MAX, JobOptions, JobSpec
from shunter.model.lifecycles import ROLLOUT, JobState, RolloutEvent, RolloutStatus


@dataclass(slots=True)
class RolloutProgress:
    """The combined result of the plans of a job's groups."""

    is_pending: bool = False  # something is not yet as it should be
    failure: str = ""  # the first one
    may_roll_back: bool = False
    wake_at_ms: int | None = None  # when to reconcile again if nothing happens


def on_update_request(round: Round, job_id: int, spec: JobSpec, user: str, node: str | None) -> None:
    """Like a submit, for a job that must exist."""
    job = _require_long_running_job(round, job_id)
    check_references(round.state.secrets, [spec])
    check_tenant_quotas(round, [spec])
    on_update(round, job, spec, user, node)


def on_update(round: Round, job: Job, spec: JobSpec, user: str, node: str | None = None) -> None:
    """Give an unfinished long-running job a new spec, on one node or on all. A new count alone is not a new version."""
    check_update_allowed(job, spec)
    node_id = 0
    if node is not None:
        record = round.state.nodes.by_name.get(node)
        if record is None:
            raise NotFound(f"node '{node}' does not exist")
        node_id = record.id
    is_same, is_limited = _is_same_but_for_counts(job, spec), is_limited_to_node(round, job)
    is_scaling = is_same and not node_id and not is_limited
    version = job.version + (not is_same or bool(node_id))
    counts = ", ".join(f"{group.name} {group.count}" for group in spec.groups)
    reason = f"scaled by {user}: {counts}" if is_scaling else f"version {version} by {user}"
    if node is not None:
        reason += f", on node {node} only"
    change = c.JobUpdated(
        job.id, version, spec.priority, spec.labels, msgspec.Raw(round.state.encode_groups(spec.groups)),
        _encode_options(spec.options), round.now_ms, reason, job.ref, "scale" if is_scaling else "update", node_id,
    )  # fmt: skip
    _record_update(round, change)


def is_limited_to_node(round: Round, job: Job) -> bool:
    """Whether the current spec was requested for one node only. The same spec for all nodes is then an update."""
    return job.is_long_running and round.state.services.jobs[job.id].node != 0


def check_update_allowed(job: Job, spec: JobSpec) -> None:
    if job.type != spec.type:
        raise _conflict(job, f"is a {job.type} job and cannot become a {spec.type} job", "stop it first")
    if job.state is JobState.STOPPING:
        raise _conflict(job, "is stopping", "wait until it has ended, then submit it")


def on_scale(round: Round, job_id: int, counts: dict[str, int], user: str) -> None:
    """Set new counts, by the name of the group; "" is the only group."""
    job = _require_long_running_job(round, job_id)
    if job.type != SERVICE:
        raise _conflict(
            job, "has one task on each matching node", "change its constraints or the nodes' labels instead"
        )
    groups = {spec.name: spec for spec in job.spec_version.groups}
    for name, count in counts.items():
        name = _group_name(job, name)
        if not 0 <= count <= SERVICE_COUNT_MAX:
            raise Invalid([Problem("count", f"must be 0 to {SERVICE_COUNT_MAX:,}", count)])
        if groups[name].entries or groups[name].array:
            raise _conflict(job, "has one task per array index or entry", "change the manifest instead")
        groups[name] = replace(groups[name], count=count)
    if (total := sum(spec.count for spec in groups.values())) > SERVICE_COUNT_MAX:
        raise Invalid([Problem("count", f"a service has at most {SERVICE_COUNT_MAX:,} tasks in all its groups", total)])
    if all(spec is groups[spec.name] or spec == groups[spec.name] for spec in job.spec_version.groups):
        return
    added = total - sum(spec.count for spec in job.spec_version.groups)
    check_queued_quotas(round.state, {job.namespace: added})
    counts_text = ", ".join(f"{name} {spec.count}" for name, spec in groups.items())
    body = round.state.encode_groups(tuple(groups.values()))
    _change_spec(round, job, body, "scale", f"scaled by {user}: {counts_text}")


def on_rollback(round: Round, job_id: int, user: str) -> None:
    """Roll back to the last stable version, or from a stable one to the one before. Counts stay."""
    job = _require_long_running_job(round, job_id)
    service_state = round.state.services.jobs[job.id]
    if service_state.status is RolloutStatus.ROLLING_BACK:
        raise _conflict(job, "is rolling back already", "wait until it has finished")
    target = rollback_target(job, service_state)
    if target is None:
        raise _conflict(job, "has no earlier stable version", "submit the manifest of the version that you want")
    _roll_back(round, job, target, f"rolled back to version {target.number} by {user}")


def rollback_target(job: Job, service_state: ServiceState) -> JobVersion | None:
    """The version that a rollback returns to; None if there is none, or if one is going on. A restart that stalled left
    the version stable."""
    if service_state.status is RolloutStatus.ROLLING_BACK:
        return None
    target, stable = service_state.previous_version, service_state.stable_version
    is_stable = stable is not None and is_same_but_for_counts(stable.groups, job.spec_version.body)
    is_stalled = service_state.status is RolloutStatus.STALLED
    if service_state.status is RolloutStatus.UPDATING or (is_stalled and not is_stable):
        target = stable
    return None if target is None or is_same_but_for_counts(target.groups, job.spec_version.body) else target


def on_restart(round: Round, job_id: int, task: tuple[str, int] | None, user: str) -> None:
    """Replace all instances, or one, by new ones of the same spec. An instance that was stopped or has failed starts
    again."""
    job = _require_long_running_job(round, job_id)
    if task is None:
        _change_spec(round, job, job.spec_version.body, "restart", f"restarted by {user}")
        return
    name, index = _group_name(job, task[0]), task[1]
    _require_instance(round, job, name, index)
    round.record(c.InstanceRestartRequested(job.id, name, index, round.now_ms, job.ref))
    round.dirty.jobs[job.id, 0] = None


def conclude_rollout(round: Round, job: Job, progress: RolloutProgress) -> None:
    """Conclude a rollout: it has converged, or failed and is rolled back, or failed and stays as it is."""
    service_state = round.state.services.jobs[job.id]
    status, stable_version = service_state.status, service_state.stable_version
    if progress.failure and ROLLOUT.allows(status, RolloutEvent.FAILED):
        may_roll_back = status is RolloutStatus.UPDATING and progress.may_roll_back
        if (
            may_roll_back
            and stable_version is not None
            and not is_same_but_for_counts(stable_version.groups, job.spec_version.body)
        ):
            reason = f"rolled back to version {stable_version.number}: {progress.failure}"
            _roll_back(round, job, stable_version, reason)
        else:
            _settle_rollout(round, job, False, progress.failure)
    elif not progress.is_pending and ROLLOUT.allows(status, RolloutEvent.CONVERGED):
        _settle_rollout(round, job, True, "")


def _roll_back(round: Round, job: Job, target: JobVersion, reason: str) -> None:
    """Go back to an earlier spec; the counts stay as last requested."""
    counts = {spec.name: spec.count for spec in job.spec_version.groups}
    groups = tuple(
        replace(spec, count=counts.get(spec.name, spec.count)) for spec in GROUPS_DECODER.decode(target.groups)
    )
    change = c.JobUpdated(
        job.id, job.version + 1, target.priority, target.labels, msgspec.Raw(round.state.encode_groups(groups)),
        msgspec.Raw(target.options), round.now_ms, reason, job.ref, "rollback",
    )  # fmt: skip
    _record_update(round, change)


def _change_spec(round: Round, job: Job, body: bytes, how: str, reason: str) -> None:
    """Keep the version, with other counts or restarted."""
    change = c.JobUpdated(
        job.id, job.version, job.priority, job.labels, msgspec.Raw(body), msgspec.Raw(version_of(job).options),
        round.now_ms, reason, job.ref, how,
    )  # fmt: skip
    _record_update(round, change)


def _settle_rollout(round: Round, job: Job, is_stable: bool, reason: str) -> None:
    round.record(c.RolloutSettled(job.id, job.version, is_stable, round.now_ms, reason, job.ref))


def _record_update(round: Round, change: c.JobUpdated) -> None:
    round.record(change)
    job = round.state.jobs[change.job]
    if change.cause in ("update", "rollback"):  # its times may have changed
        set_job_timers(round.timers, round.state, job)
        unblock_if_ready(round, job)
    round.dirty.jobs[job.id, 0] = None


def _is_same_but_for_counts(job: Job, spec: JobSpec) -> bool:
    if (job.priority, job.labels, job.options) != (spec.priority, spec.labels, spec.options):
        return False
    return [replace(group, count=0) for group in job.spec_version.groups] == [
        replace(group, count=0) for group in spec.groups
    ]


def _encode_options(options: JobOptions) -> msgspec.Raw:
    return c.NO_OPTIONS if options == DEFAULT_OPTIONS else msgspec.Raw(msgspec.msgpack.encode(options))


def _require_long_running_job(round: Round, job_id: int) -> Job:
    job = round.state.jobs.get(job_id)
    if job is None:
        raise Conflict("the job has ended")
    if not job.is_long_running:
        fix = f"run it again after it has ended: shunter retry {job.name}"
        if job.options.application:
            fix = "its Scheduling runs it: delete the Scheduling and create another one"
        raise _conflict(job, f"is a {job.type} job, which cannot be changed after the submit", fix)
    if job.state is JobState.STOPPING:
        raise _conflict(job, "is stopping", "wait until it has ended, then submit it")
    return job


def _group_name(job: Job, name: str) -> str:
    names = [spec.name for spec in job.spec_version.groups]
    if not name and len(names) == 1:
        return names[0]
    if not name:
        fix = f"name the group: {names[0]}=..."
        raise Invalid([Problem("group", f"is missing: job '{job.name}' has groups {', '.join(names)}", None, fix)])
    if name not in names:
        raise NotFound(f"job '{job.name}' has no group '{name}': its groups are {', '.join(names)}")
    return name


def _require_instance(round: Round, job: Job, name: str, index: int) -> None:
    if job.type == SERVICE:
        count = next(spec.count for spec in job.spec_version.groups if spec.name == name)
        if not 0 <= index < count:
            raise NotFound(f"job '{job.name}' has no task {index}: its tasks are 0 to {count - 1}")
    elif (name, index + 1) not in round.state.services.task_sets_by_node.get(job.id, {}):
        raise NotFound(f"job '{job.name}' has no task {index} now")


def _conflict(job: Job, fault: str, fix: str) -> Conflict:
    return Conflict(f"job '{job.name}' {fault}; {fix}", (Problem("job", fault, job.name, fix),))
