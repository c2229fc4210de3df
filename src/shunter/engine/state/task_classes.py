"""The classes of the state: tasks that are alike to the planner share one, which lives while a group or a lane has it.

Called by the appliers of `engine.state.state` and by `engine.state.snapshots`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shunter.engine.state.records import Blueprint, ClassKey, ClassRecord, Holder, Job
from shunter.model.job.spec import LICENCE_PREFIX, PLAIN, GroupSpec
from shunter.planning.view import Rules, TaskClass

if TYPE_CHECKING:
    from shunter.engine.state.state import State

PARTS_MAX = 256  # groups of one job


def class_of(state: State, job: Job, part: int, node: int, blueprint: Blueprint | None = None) -> ClassRecord:
    spec, options = (blueprint or job.blueprint).groups[part], job.options
    key = ClassKey(
        job.namespace, job.user, job.priority, tuple(sorted(spec.needs.items())), spec.datacenters,
        spec.constraints, options.queue, spec.task.runtime, job.deadline_ms if options is not PLAIN else 0,
        (job.id, part) if spec.parallel_max else None, node, _rules_of(job, part, spec),
        spec.estimate_bits,
    )  # fmt: skip
    class_id = state.class_ids.get(key)
    if class_id is not None:
        return state.classes[class_id]
    return add_class(state, state.next_class, key)


def add_class(state: State, class_id: int, key: ClassKey) -> ClassRecord:
    task_class = TaskClass(
        class_id, dict(key.needs), key.namespace, key.user, key.priority, key.datacenters, key.constraints,
        key.queue, key.runtime, key.deadline_ms, key.rules,
    )  # fmt: skip
    holder = state.holders.get((key.namespace, key.user)) or Holder()
    state.holders[key.namespace, key.user] = holder
    holder.classes += 1
    vector = state.nodes.vector(task_class.needs)
    amounts = tuple((column, amount) for column, amount in enumerate(vector.tolist()) if amount)
    record = ClassRecord(key, task_class, vector, amounts, state.touched_classes, holder, _licences_of(key))
    state.classes[class_id] = record
    state.class_ids[key] = class_id
    state.next_class = max(state.next_class, class_id + 1)
    return record


def drop_if_unused(state: State, record: ClassRecord) -> None:
    if not record.members and not record.lanes:
        del state.classes[record.id]
        del state.class_ids[record.key]
        record.touch()
        record.holder.classes -= 1
        if not record.holder.classes:
            del state.holders[record.key.namespace, record.key.user]


def _licences_of(key: ClassKey) -> tuple[tuple[str, int], ...]:
    return tuple(each for each in key.needs if each[0].startswith(LICENCE_PREFIX))


def _rules_of(job: Job, part: int, spec: GroupSpec) -> Rules | None:
    is_gang = job.options.gang or spec.gang
    if not (is_gang or spec.exclusive or spec.distinct or spec.spread or spec.affinity):
        return None
    gang = 0 if not is_gang else job.id * PARTS_MAX + (0 if job.options.gang else part + 1)
    group = part + 1 if spec.distinct or spec.spread else 0  # groups that are alike must not keep one another apart
    return Rules(job.id, gang, spec.exclusive, spec.distinct, spec.spread, spec.affinity, group)
