"""Rules between tasks at placement: gangs start and stay whole, distinct hosts differ, an exclusive node has one owner,
anti-affinity holds, and so do the limits of groups, queues and licences. Called by `simulation.checks.checkers` with
every durable round."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.engine.state.records import ClassKey
from shunter.model.identity.quotas import QUEUED, RUNNING
from shunter.model.job.spec import LICENCE_PREFIX, GroupSpec
from shunter.model.lifecycles import TaskState
from shunter.simulation.checks.reference_model import ReferenceModel
from shunter.simulation.checks.reference_records import LIVE, ModelJob, ModelTask, ModelTaskSet, require

HOST = "host"
_NOT_STARTED = (TaskState.WAITING, TaskState.QUEUED)
_ACTIVE = (TaskState.ASSIGNED, TaskState.RUNNING)


def check_placed(model: ReferenceModel) -> None:
    """After a round: check what it placed against everything on the same nodes."""
    nodes: dict[int, None] = {}
    seen: set[tuple[int, int]] = set()
    for placed in model.placed_in_round:
        nodes[placed.node] = None
        job = model.jobs[placed.job]
        group = job.groups[placed.group]
        if group.spec.gang or job.options.gang:
            _check_gang(job, group)
        if group.spec.distinct and (placed.job, placed.group) not in seen:
            seen.add((placed.job, placed.group))
            _check_distinct(model, job, group)
    if any(spec.exclusive for job in model.unfinished.values() for spec in job.specs):
        for node in nodes:
            _check_exclusive(model, node)
    if any(_avoided_jobs(spec) for job in model.unfinished.values() for spec in job.specs):
        for node in nodes:
            _check_anti_affinity(model, node)


def _check_gang(job: ModelJob, group: ModelTaskSet) -> None:
    """Tasks of a gang were placed, for the first time or again: none that has not ended is left behind."""
    tasks = _members(job, group)
    left = [task for task in tasks if task.state in _NOT_STARTED or task.will_requeue]
    require(not left, f"a gang of job {job.id} started in part: {len(left)} tasks were left behind")


def check_gangs(model: ReferenceModel) -> None:
    """After any round: while a task of a gang must run again, no other task of the gang continues."""
    for job in model.unfinished.values():
        if job.options.gang or any(spec.gang for spec in job.specs):
            for group in job.groups.values():
                if group.spec.gang or job.options.gang:
                    _check_gang_is_whole(job, group)


def _check_gang_is_whole(job: ModelJob, group: ModelTaskSet) -> None:
    tasks = _members(job, group)
    missing = [task for task in tasks if task.will_requeue or (task.attempt and task.state in _NOT_STARTED)]
    active = [task for task in tasks if task.state in _ACTIVE]
    detail = f"{len(missing)} tasks have to run again, and {len(active)} go on without them"
    require(not missing or not active, f"a gang of job {job.id} was torn apart: {detail}")


def _members(job: ModelJob, group: ModelTaskSet) -> list[ModelTask]:
    return list(job.tasks()) if job.options.gang else group.tasks


def _check_distinct(model: ReferenceModel, job: ModelJob, group: ModelTaskSet) -> None:
    """No two live tasks share a host; values of labels are compared for what was placed just now."""
    label, new_nodes = group.spec.distinct, {each.node for each in model.placed_in_round if each.job == job.id}
    taken: dict[int | str, int] = {}
    for task_set in job.task_sets(group.spec.name):
        for index, task in enumerate(task_set.tasks):
            if task.state not in LIVE or (label != HOST and task.node not in new_nodes):
                continue
            value = task.node if label == HOST else model.nodes[task.node].label(label)
            require(value not in taken, f"tasks {taken.get(value)} and {index} of job {job.id} share {label} {value}")
            taken[value] = index


def _check_exclusive(model: ReferenceModel, node: int) -> None:
    """A job with an exclusive node shares it with no other job."""
    jobs_on_node: dict[int, bool] = {}
    for job, group, _, _ in model.live_on(node):
        jobs_on_node[job.id] = jobs_on_node.get(job.id, False) or group.spec.exclusive
    is_shared = len(jobs_on_node) > 1 and any(jobs_on_node.values())
    require(not is_shared, f"node {node} is exclusive to one of jobs {sorted(jobs_on_node)}")


def _check_anti_affinity(model: ReferenceModel, node: int) -> None:
    """No task was placed on a node with a job that it avoids, or that avoids it."""
    placed_jobs = {placed.job for placed in model.placed_in_round if placed.node == node}
    live = list(model.live_on(node))
    present_jobs = {job.id: job.name for job, _, _, _ in live}
    for job, group, _, _ in live:
        for other, name in present_jobs.items():
            if other != job.id and name in _avoided_jobs(group.spec):
                is_new = other in placed_jobs or job.id in placed_jobs
                require(not is_new, f"job {job.id} avoids job {other} ({name}), and both are on node {node}")


def _avoided_jobs(spec: GroupSpec) -> list[str]:
    """The names of jobs that it must not share a node with; simulated users write no other matches."""
    rules = [rule for rule in spec.affinity if rule.to == "job" and rule.anti and rule.require]
    return [rule.match.removeprefix("job.name == '").removesuffix("'") for rule in rules]


def check_lanes(model: ReferenceModel, classes: dict[int, ClassKey], class_id: int) -> None:
    """After lanes were added to a class: what all lanes together may be. Lowering a limit ends nothing."""
    key = classes[class_id]
    if key.dedicated_to is not None:
        job_id, group_index = key.dedicated_to
        limit, width = (
            model.jobs[job_id].specs[group_index].parallel_max,
            _width(model, classes, dedicated_to=key.dedicated_to),
        )
        require(width <= limit, f"{width} tasks of job {job_id} run at once, parallel_max is {limit}")
    limit = model.queue(key.queue).running_max
    if limit:
        width = _width(model, classes, queue=key.queue)
        require(width <= limit, f"{width} tasks of queue {key.queue} run at once, running_max is {limit}")
    for resource, need in key.needs:
        if resource.startswith(LICENCE_PREFIX):
            used = sum(width * dict(each.needs).get(resource, 0) for each, width in _lanes(model, classes))
            limit = model.licences.get(resource, 0)
            require(need > 0 and used <= limit, f"{used} of {limit} {resource} are in use")

    _check_quotas(model, classes, key)


def _check_quotas(model: ReferenceModel, classes: dict[int, ClassKey], added: ClassKey) -> None:
    """No commit exceeds a quota. What runs already may exceed one that was lowered, but nothing is added then."""
    for name, (namespaces, quotas) in model.tenants.items():
        lanes = [(key, width) for key, width in _lanes(model, classes) if key.namespace in namespaces]
        for quota, limit in quotas.items() if added.namespace in namespaces else ():
            need = 1 if quota == RUNNING else dict(added.needs).get(quota, 0)
            used = sum(width * (1 if quota == RUNNING else dict(key.needs).get(quota, 0)) for key, width in lanes)
            require(not need or quota == QUEUED or used <= limit, f"tenant {name} uses {used} of {limit} {quota}")


def _width(
    model: ReferenceModel,
    classes: dict[int, ClassKey],
    dedicated_to: tuple[int, int] | None = None,
    queue: str | None = None,
) -> int:
    return sum(
        width
        for key, width in _lanes(model, classes)
        if (queue is None or key.queue == queue) and (dedicated_to is None or key.dedicated_to == dedicated_to)
    )


def _lanes(model: ReferenceModel, classes: dict[int, ClassKey]) -> Iterator[tuple[ClassKey, int]]:
    for node in model.nodes.values():
        for class_id, width in node.widths.items():
            yield classes[class_id], width
