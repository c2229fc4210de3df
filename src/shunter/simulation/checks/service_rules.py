"""Rules for service and system jobs, read from the reference model: a healthy instance is stopped only while enough
others are healthy, and once nothing changes, every wanted instance runs. Called by `simulation.checks.checkers` and
`simulation.workload.service_actions`."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from shunter.model.job.spec import SERVICE, SYSTEM, GroupSpec, Update
from shunter.model.lifecycles import NodeState, TaskState
from shunter.simulation.checks.reference_model import ReferenceModel
from shunter.simulation.checks.reference_records import LIVE, ModelJob, ModelTask, ModelTaskSet, is_healthy, require


def check_ended(model: ReferenceModel) -> None:
    """After a round that stopped healthy tasks of services: enough healthy ones were left. The same round may have
    preempted some of those afterwards."""
    for job_id, group_name, visible_index, healthy in model.healthy_stopped_in_round:
        job = model.unfinished.get(job_id)
        spec = _spec(job, group_name) if job is not None else None
        if (
            job is None
            or spec is None
            or job.stop_was_asked
            or visible_index >= spec.count
            or (group_name, visible_index) in job.down
        ):
            continue
        wanted = [index for index in range(spec.count) if (group_name, index) not in job.down]
        available_min = len(wanted) - spec.update.unavailable_max
        is_available = visible_index in healthy or (spec.update.unavailable_max > 0 and len(healthy) >= available_min)
        claim = f"{len(healthy)} of {len(wanted)} are well, unavailable_max is {spec.update.unavailable_max}"
        require(
            is_available,
            f"task {group_name}/{visible_index} of service {job.name} was ended while it was needed: {claim}",
        )


def _spec(job: ModelJob, name: str) -> GroupSpec | None:
    return next((spec for spec in job.specs if spec.name == name), None)


def unconverged(model: ReferenceModel) -> list[str]:
    """What long-running jobs lack, without reasons that do not pass by themselves."""
    shortfalls: list[str] = []
    for job in model.unfinished.values():
        if job.stop_was_asked or job.is_held or job.has_stalled:
            continue
        for spec in job.specs:
            if job.type == SERVICE:
                shortfalls += _service_lacks(model, job, spec)
            elif job.type == SYSTEM:
                shortfalls += _system_lacks(model, job, spec)
    return shortfalls


def _service_lacks(model: ReferenceModel, job: ModelJob, spec: GroupSpec) -> list[str]:
    """Each instance runs by the present spec, once, or has given up."""
    wanted = [index for index in range(spec.count) if (spec.name, index) not in job.down]
    lacks = [
        f"{job.name}/{spec.name}/{index} (job {job.id}) {lack}"
        for index in wanted
        if (lack := _instance_lack(model, job, spec, index))
    ]
    surplus = [index for index in _live_indexes(job, spec.name) if index >= spec.count]
    return lacks + [f"{job.name}/{spec.name}/{index} is one too many" for index in surplus]


def _instance_lack(model: ReferenceModel, job: ModelJob, spec: GroupSpec, index: int) -> str:
    instances = _instances(job, spec.name, index)
    live = [(task_set, task) for task_set, task in instances if task.state in LIVE]
    if not live and _has_given_up(instances):
        return ""
    if len(live) != 1:
        return f"has {len(live)} live tasks: {[task.state.wire_name for _, task in instances]}"
    [(task_set, task)] = live
    if not job.is_partial and not _is_same_spec(task_set.spec, spec):
        return "runs an older spec"
    is_up = is_healthy(task_set, task, model.now_ms) or task.state is TaskState.RUNNING
    return "" if is_up else f"is {task.state.wire_name}"


def _system_lacks(model: ReferenceModel, job: ModelJob, spec: GroupSpec) -> list[str]:
    """A task on every node that takes work and is large enough, unless it has given up there."""
    return [
        f"{job.name}/{spec.name} (job {job.id}) has no task on node {node.name}"
        for number, node in model.nodes.items()
        if _has_room(model, number, spec) and _lacks_task(job, spec, number)
    ]


def _has_room(model: ReferenceModel, number: int, spec: GroupSpec) -> bool:
    """Whether the node takes a task now. Nothing is claimed about nodes that constraints may rule out."""
    node = model.nodes[number]
    if node.state is not NodeState.READY or node.cordoned_by or spec.constraints:
        return False
    used = Counter[str]()
    for _, group, _, _ in model.live_on(number):
        used.update(group.spec.needs)
    return all(node.free(name, used[name]) >= need for name, need in spec.needs.items())


def _lacks_task(job: ModelJob, spec: GroupSpec, node: int) -> bool:
    task_sets = [task_set for task_set in job.task_sets(spec.name) if task_set.node == node]
    instances = [(task_set, task) for task_set in task_sets for task in task_set.tasks]
    has_one = any(task.state in LIVE for _, task in instances) or _has_given_up(instances)
    indexes = {node - 1, *(task_set.visible_index_of(0) for task_set, _ in instances)}
    return not has_one and not any((spec.name, index) in job.down for index in indexes)


def _instances(job: ModelJob, name: str, visible_index: int) -> list[tuple[ModelTaskSet, ModelTask]]:
    return [
        (task_set, task)
        for task_set in job.task_sets(name)
        for index, task in enumerate(task_set.tasks)
        if task_set.visible_index_of(index) == visible_index
    ]


def _live_indexes(job: ModelJob, name: str) -> list[int]:
    return [
        task_set.visible_index_of(index)
        for task_set in job.task_sets(name)
        for index, task in enumerate(task_set.tasks)
        if task.state in LIVE
    ]


def _has_given_up(instances: list[tuple[ModelTaskSet, ModelTask]]) -> bool:
    return bool(instances) and instances[-1][1].state in (TaskState.FAILED, TaskState.SUCCEEDED)


def _is_same_spec(one: GroupSpec, other: GroupSpec) -> bool:
    plain = [replace(spec, count=0, update=Update(), estimate_s=0.0, estimate_bits=0) for spec in (one, other)]
    return plain[0] == plain[1]
