"""Refuses jobs beyond the quotas of their tenant: too many waiting tasks, or tasks that could never start. Called by
submits and updates of jobs and services, and when an application is to start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from shunter.engine.round import Round
from shunter.engine.state.registries.tenants import Tenant
from shunter.engine.state.state import State
from shunter.model.errors import Busy, Conflict
from shunter.model.identity.quotas import PLACED, QUEUED, placed_needs
from shunter.model.job.spec import GroupSpec, JobSpec
from shunter.model.resources import format_amount


def check_tenant_quotas(round: Round, specs: Sequence[JobSpec]) -> None:
    """Refuse the whole submit or update if a tenant would have more tasks waiting than its quota, or if a task could
    never start because of one."""
    state, added = round.state, Counter[str]()
    for spec in specs:
        owner = state.tenants.owner_of(spec.namespace)
        if owner and not spec.is_template:
            added[spec.namespace] += _added_tasks(state, spec)
            for problem in quota_problems(state.tenants.tenants[owner], spec):
                raise Conflict(problem)
    check_queued_quotas(state, added)


def check_queued_quotas(state: State, added: Mapping[str, int]) -> None:
    """`added`: how many tasks would wait in addition, by namespace. Raises Conflict if that can never be accepted, and
    Busy if it cannot be now."""
    added_by_owner: Counter[str] = Counter()
    for namespace, count in added.items():
        added_by_owner[state.tenants.owner_of(namespace)] += count
    for name, count in added_by_owner.items():
        tenant = state.tenants.tenants.get(name)
        limit = None if tenant is None else tenant.quotas.get(QUEUED)
        if tenant is None or limit is None or count <= 0:
            continue
        if count > limit:
            fix = "ask for fewer, or ask an administrator of the cluster to raise it"
            raise Conflict(f"tenant '{name}' has a quota of {limit} queued tasks, but this adds {count}; {fix}")
        queued = sum(state.pending_tasks[namespace] for namespace in tenant.namespaces)
        if queued + count > limit:
            raise Busy(f"tenant '{name}' has {queued} of {limit} queued tasks, and this adds {count}", 5.0)


def _added_tasks(state: State, spec: JobSpec) -> int:
    """An unfinished job of that name is updated, or is the same one."""
    job = state.find_job(spec.namespace, spec.name)
    return spec.count if job is None else max(0, spec.count - sum(group.count for group in job.spec_version.groups))


def quota_problems(tenant: Tenant, spec: JobSpec, *, start_together: bool = False) -> Iterator[str]:
    """Why some of its tasks could never start: one of them, or those that start together, need more than a quota.
    `start_together`: all of its tasks do, though the spec does not say so."""
    fix = ", or ask an administrator of the cluster to raise it"
    for group in spec.groups:
        for name, most, needed in _exceeded(tenant, [(group, 1)]):
            yield f"tenant '{tenant.name}' has a quota of {most} {name}, but a task needs {needed}; request less{fix}"
    gangs = [[(group, group.count)] for group in spec.groups if group.gang]
    if spec.options.gang or start_together:
        gangs = [[(group, group.count) for group in spec.groups]]
    for gang in gangs:
        for name, most, needed in _exceeded(tenant, gang):
            who, smaller = ("it", "ask for fewer tasks") if start_together else ("its gang", "use a smaller gang")
            quota = f"tenant '{tenant.name}' has a quota of {most} {name}"
            yield f"{quota}, but {who} needs {needed} together; {smaller}{fix}"


def _exceeded(tenant: Tenant, groups: list[tuple[GroupSpec, int]]) -> Iterator[tuple[str, str, str]]:
    """The quotas of PLACED that so many tasks exceed: name, limit, need."""
    columns = zip(*([need * count for need in placed_needs(group.needs)] for group, count in groups), strict=True)
    for name, needs in zip(PLACED, columns, strict=True):
        limit, needed = tenant.quotas.get(name), sum(needs)
        if limit is not None and needed > limit:
            yield name, format_amount(name, limit), format_amount(name, needed)
