"""What couples tasks when they are placed: gangs start and stay whole, distinct hosts differ, exclusive nodes have one
owner, nobody is beside whom it avoids, and limits of groups, queues and licences hold. Called by
`simulation.checks.checkers` with every durable round."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.engine.state.records import ClassKey
from shunter.model.job.spec import LICENCE_PREFIX, GroupSpec
from shunter.model.lifecycles import TaskState
from shunter.simulation.checks.model import Ledger
from shunter.simulation.checks.model_records import LIVE, LedgerGroup, LedgerJob, LedgerTask, require

HOST = "host"
_BEFORE = (TaskState.WAITING, TaskState.QUEUED)
_GOING_ON = (TaskState.ASSIGNED, TaskState.RUNNING)


def check_placed(ledger: Ledger) -> None:
    """After a round: what it placed, beside all that there is."""
    nodes: dict[int, None] = {}
    seen: set[tuple[int, int]] = set()
    for placed in ledger.placed_now:
        nodes[placed.node] = None
        job = ledger.jobs[placed.job]
        group = job.groups[placed.group]
        if group.spec.gang or job.options.gang:
            _check_gang(job, group)
        if group.spec.distinct and (placed.job, placed.group) not in seen:
            seen.add((placed.job, placed.group))
            _check_distinct(ledger, job, group)
    if any(spec.exclusive for job in ledger.unfinished.values() for spec in job.specs):
        for node in nodes:
            _check_owner(ledger, node)
    if any(_avoided(spec) for job in ledger.unfinished.values() for spec in job.specs):
        for node in nodes:
            _check_apart(ledger, node)


def _check_gang(job: LedgerJob, group: LedgerGroup) -> None:
    """Tasks of a gang were placed, for the first time or again: none that has not ended is left behind."""
    tasks = _members(job, group)
    left = [task for task in tasks if task.state in _BEFORE or task.is_coming_back]
    require(not left, f"a gang of job {job.id} started in part: {len(left)} tasks were left behind")


def check_gangs(ledger: Ledger) -> None:
    """After any round: while a task of a gang has to run again, none of the gang goes on without it."""
    for job in ledger.unfinished.values():
        for group in job.groups.values() if job.options.gang or any(spec.gang for spec in job.specs) else ():
            if not (group.spec.gang or job.options.gang):
                continue
            tasks = _members(job, group)
            missing = [task for task in tasks if task.is_coming_back or (task.attempt and task.state in _BEFORE)]
            going_on = [task for task in tasks if task.state in _GOING_ON]
            torn = f"{len(missing)} tasks have to run again, and {len(going_on)} go on without them"
            require(not missing or not going_on, f"a gang of job {job.id} was torn apart: {torn}")


def _members(job: LedgerJob, group: LedgerGroup) -> list[LedgerTask]:
    return list(job.tasks()) if job.options.gang else group.tasks


def _check_distinct(ledger: Ledger, job: LedgerJob, group: LedgerGroup) -> None:
    """No two live tasks share a host; values of labels are compared for what was placed just now."""
    label, fresh = group.spec.distinct, {each.node for each in ledger.placed_now if each.job == job.id}
    taken: dict[int | str, int] = {}
    for piece in job.pieces(group.spec.name):
        for index, task in enumerate(piece.tasks):
            if task.state not in LIVE or (label != HOST and task.node not in fresh):
                continue
            value = task.node if label == HOST else ledger.nodes[task.node].label(label)
            require(value not in taken, f"tasks {taken.get(value)} and {index} of job {job.id} share {label} {value}")
            taken[value] = index


def _check_owner(ledger: Ledger, node: int) -> None:
    """Whoever has a node for itself shares it with nobody."""
    tenants: dict[int, bool] = {}
    for job, group, _, _ in ledger.live_on(node):
        tenants[job.id] = tenants.get(job.id, False) or group.spec.exclusive
    is_shared = len(tenants) > 1 and any(tenants.values())
    require(not is_shared, f"node {node} is exclusive to one of jobs {sorted(tenants)}")


def _check_apart(ledger: Ledger, node: int) -> None:
    """Nobody was placed beside a job that it avoids, or that avoids it."""
    came = {placed.job for placed in ledger.placed_now if placed.node == node}
    live = list(ledger.live_on(node))
    there = {job.id: job.name for job, _, _, _ in live}
    for job, group, _, _ in live:
        for other, name in there.items():
            if other != job.id and name in _avoided(group.spec):
                is_new = other in came or job.id in came
                require(not is_new, f"job {job.id} avoids job {other} ({name}), and is beside it on node {node}")


def _avoided(spec: GroupSpec) -> list[str]:
    """The names of jobs that must not be beside it; other matches are not drawn."""
    rules = [rule for rule in spec.affinity if rule.to == "job" and rule.anti and rule.require]
    return [rule.match.removeprefix("job.name == '").removesuffix("'") for rule in rules]


def check_lanes(ledger: Ledger, classes: dict[int, ClassKey], class_id: int) -> None:
    """After lanes were added to a class: what all lanes together may be. Lowering a limit ends nothing."""
    key = classes[class_id]
    if key.dedicated_to is not None:
        job_id, group_index = key.dedicated_to
        most, width = (
            ledger.jobs[job_id].specs[group_index].parallel_max,
            _width(ledger, classes, dedicated_to=key.dedicated_to),
        )
        require(width <= most, f"{width} tasks of job {job_id} run at once, parallel_max is {most}")
    most = ledger.queue(key.queue).running_max
    if most:
        width = _width(ledger, classes, queue=key.queue)
        require(width <= most, f"{width} tasks of queue {key.queue} run at once, running_max is {most}")
    for resource, need in key.needs:
        if resource.startswith(LICENCE_PREFIX):
            used = sum(width * dict(each.needs).get(resource, 0) for each, width in _lanes(ledger, classes))
            most = ledger.licences.get(resource, 0)
            require(need > 0 and used <= most, f"{used} of {most} {resource} are in use")


def _width(
    ledger: Ledger, classes: dict[int, ClassKey], dedicated_to: tuple[int, int] | None = None, queue: str | None = None
) -> int:
    return sum(
        width
        for key, width in _lanes(ledger, classes)
        if (queue is None or key.queue == queue) and (dedicated_to is None or key.dedicated_to == dedicated_to)
    )


def _lanes(ledger: Ledger, classes: dict[int, ClassKey]) -> Iterator[tuple[ClassKey, int]]:
    for node in ledger.nodes.values():
        for class_id, width in node.widths.items():
            yield classes[class_id], width
