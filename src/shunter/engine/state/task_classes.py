"""The task classes of the state. Tasks that look the same to the planner share a class, which exists while a group or a
lane uses it. Called by the appliers of `engine.state.state` and by `engine.state.snapshots`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shunter.engine.state.records import ClassKey, ClassRecord, Job, SpecVersion, UserUsage
from shunter.model.identity.quotas import NOTHING_PLACED, placed_needs
from shunter.model.job.spec import DEFAULT_OPTIONS, LICENCE_PREFIX, GroupSpec
from shunter.model.secrets import required_constraints
from shunter.planning.view import Rules, TaskClass

if TYPE_CHECKING:
    from shunter.engine.state.state import State

GROUPS_MAX = 256  # groups of one job


def class_of(
    state: State, job: Job, group_index: int, node: int, spec_version: SpecVersion | None = None
) -> ClassRecord:
    spec_version, options = spec_version or job.spec_version, job.options
    is_plain = options is DEFAULT_OPTIONS and not node
    facts = (job.namespace, job.user, job.priority, group_index)
    if is_plain and spec_version.last_class is not None and spec_version.last_class[0] == facts:
        record = spec_version.last_class[1]
        if state.classes.get(record.task_class.id) is record:
            return record
    spec = spec_version.groups[group_index]
    constraints = required_constraints(spec.constraints, spec.task.secrets)
    key = ClassKey(
        job.namespace, job.user, job.priority, tuple(sorted(spec.needs.items())), spec.datacenters, constraints,
        options.queue, spec.task.runtime, job.deadline_ms if options is not DEFAULT_OPTIONS else 0,
        (job.id, group_index) if spec.parallel_max else None, node, _rules_of(job, group_index, spec),
        spec.estimate_bits, *_secrets_of(spec),
    )  # fmt: skip
    class_id = state.class_ids.get(key)
    record = add_class(state, state.next_class, key) if class_id is None else state.classes[class_id]
    if is_plain and key.rules is None and key.dedicated_to is None:
        spec_version.last_class = facts, record
    return record


def add_class(state: State, class_id: int, key: ClassKey) -> ClassRecord:
    task_class = TaskClass(
        class_id, dict(key.needs), key.namespace, key.user, key.priority, key.datacenters, key.constraints,
        key.queue, key.runtime, key.deadline_ms, key.rules,
    )  # fmt: skip
    user_usage = state.usage_by_user.get((key.namespace, key.user)) or UserUsage()
    state.usage_by_user[key.namespace, key.user] = user_usage
    user_usage.classes += 1
    vector = state.nodes.vector(task_class.needs)
    amounts = tuple((column, amount) for column, amount in enumerate(vector.tolist()) if amount)
    record = ClassRecord(key, task_class, vector, amounts, state.dirty_classes, user_usage, _licences_of(key))
    record.tenant = state.tenants.owner_of(key.namespace)
    record.quota_needs = placed_needs(task_class.needs) if record.tenant else NOTHING_PLACED
    state.classes[class_id] = record
    state.class_ids[key] = class_id
    state.next_class = max(state.next_class, class_id + 1)
    return record


def drop_class_if_unused(state: State, record: ClassRecord) -> None:
    if not record.task_set_count and not record.lanes:
        del state.classes[record.id]
        del state.class_ids[record.key]
        record.touch()
        record.user_usage.classes -= 1
        if not record.user_usage.classes:
            del state.usage_by_user[record.key.namespace, record.key.user]


def _secrets_of(spec: GroupSpec) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """All, and those that are variables."""
    refs = spec.task.secrets
    if not refs:
        return (), ()
    return tuple(sorted({each.name for each in refs})), tuple(sorted({each.name for each in refs if each.env}))


def _licences_of(key: ClassKey) -> tuple[tuple[str, int], ...]:
    return tuple(each for each in key.needs if each[0].startswith(LICENCE_PREFIX))


def _rules_of(job: Job, group_index: int, spec: GroupSpec) -> Rules | None:
    is_gang = job.options.gang or spec.gang
    if not (is_gang or spec.exclusive or spec.distinct or spec.spread or spec.affinity):
        return None
    gang = 0 if not is_gang else job.id * GROUPS_MAX + (0 if job.options.gang else group_index + 1)
    group = group_index + 1 if spec.distinct or spec.spread else 0  # groups of the same class must not repel each other
    return Rules(job.id, gang, spec.exclusive, spec.distinct, spec.spread, spec.affinity, group)
