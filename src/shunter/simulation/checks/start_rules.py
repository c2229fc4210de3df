"""Rules for starts, waits and ends of jobs, as the manifest defines them, checked on the reference model.

Called by `simulation.checks.reference_model` when tasks are queued, placed or stopped, and by
`simulation.checks.audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shunter.engine import changes as c
from shunter.model.job.spec import BATCH, LICENCE_PREFIX, PORT_PREFIX, SERVICE, After, GroupAfter, GroupSpec
from shunter.model.lifecycles import JOB, JobEvent, NodeState, TaskState
from shunter.simulation.checks.reference_records import ModelJob, ModelNode, ModelTaskSet, require
from shunter.testbeds.application_parts import DRIVER, EXECUTOR

if TYPE_CHECKING:
    from shunter.simulation.checks.reference_model import ReferenceModel

FAIL_FLAGS = ("timeout", "failures", "lost")  # flags of jobs that end as failed
_AFTER_EARLIER_RUN = After("", "finished", "run")  # the earlier runs of the same template


def blocking_reason(model: ReferenceModel, job: ModelJob, group: ModelTaskSet, is_queueing: bool = False) -> str:
    """Why no task of the group may start now; empty if it may. A held job's tasks may only be queued."""
    if not is_queueing:
        if job.is_held:
            return "it is held"
        if model.queue(job.options.queue).is_paused:
            return f"queue {job.options.queue} is paused"
    return temporary_block(model, job, group) or _permanent_block(model, job, group)


def temporary_block(model: ReferenceModel, job: ModelJob, group: ModelTaskSet) -> str:
    """What a group waits for that will happen: a time, the end of a job, the end of another group."""
    if job.start_ms > model.now_ms:
        return f"its start is {job.start_ms - model.now_ms} ms away"
    for _, target in edges(model, job):
        if target.state not in JOB.terminal_states:
            return f"it waits for job {target.id}, which is {target.state.wire_name}"
    if len(job.targets) > len(job.options.after) and (earlier := _runs_before(model, job)):
        return f"it is queued behind run {earlier[0].run} of its name, which has not ended"
    pending = (
        edge.group for edge in group.spec.after for task_set in job.task_sets(edge.group) if not task_set.is_finished
    )
    return next((f"group {name} is not over" for name in pending), "")


def _permanent_block(model: ReferenceModel, job: ModelJob, group: ModelTaskSet) -> str:
    """An end that came otherwise than the group wants it: then it never starts."""
    for edge, target in edges(model, job):
        if _is_unmet(edge, target.state.wire_name):
            return f"job {target.id} has {target.state.wire_name} and was to have {edge.when}"
    for wanted in group.spec.after:
        outcome = outcome_of(job, wanted.group)
        if _is_unmet(wanted, outcome):
            return f"group {wanted.group} has {outcome} and was to have {wanted.when}"
    return ""


def outcome_of(job: ModelJob, name: str) -> str:
    """How a group ended, all its task sets together."""
    outcomes = {task_set.outcome() for task_set in job.task_sets(name)}
    return next((word for word in ("failed", "cancelled") if word in outcomes), "succeeded")


def edges(model: ReferenceModel, job: ModelJob) -> list[tuple[After, ModelJob]]:
    after = job.options.after
    return [
        (after[place] if place < len(after) else _AFTER_EARLIER_RUN, model.jobs[target])
        for place, target in enumerate(job.targets)
    ]


def edge_settled(model: ReferenceModel, change: c.EdgeSettled) -> None:
    job = model.unfinished[change.job]
    edge, target = edges(model, job)[change.edge]
    require(
        target.state in JOB.terminal_states,
        f"job {job.id}: edge {change.edge} settled while job {target.id} has not ended",
    )
    is_met = edge.when in ("finished", target.state.wire_name)
    require(change.is_met == is_met, f"job {job.id}: edge {change.edge} settled as {change.is_met}")


def edge_moved(model: ReferenceModel, change: c.EdgeRetargeted) -> None:
    job, target = model.unfinished[change.job], model.unfinished.get(change.target)
    older = model.jobs[job.targets[change.edge]]
    where = f"job {job.id}: edge {change.edge} moved"
    require(change.edge >= len(job.options.after), f"{where}, which is one of its manifest")
    require(older.state in JOB.terminal_states, f"{where} while job {older.id} has not ended")
    require(target in _runs_before(model, job), f"{where} to job {change.target}, which is no earlier run that goes on")
    job.targets[change.edge] = change.target


def _runs_before(model: ReferenceModel, job: ModelJob) -> list[ModelJob]:
    return [other for other in model.runs_of(job.namespace, job.name) if other.run < job.run]


def has_another_node(model: ReferenceModel, group: ModelTaskSet, node: int) -> bool:
    """Whether another node is feasible. False where constraints or the tasks of others may rule nodes out."""
    if group.node or _restricts_nodes(group.spec):
        return False
    if any(_excludes_others(other.spec) for job in model.unfinished.values() for other in job.groups.values()):
        return False
    return any(number != node and _could_run(other, group.spec) for number, other in model.nodes.items())


def _restricts_nodes(spec: GroupSpec) -> bool:
    return bool(spec.constraints or spec.datacenters or spec.distinct or spec.exclusive or spec.affinity)


def _could_run(node: ModelNode, spec: GroupSpec) -> bool:
    """Whether the node takes work and is large enough for a task, once it is empty."""
    needs = ((name, need) for name, need in spec.needs.items() if not name.startswith((LICENCE_PREFIX, PORT_PREFIX)))
    is_open = node.state is NodeState.READY and not node.cordoned_by
    return is_open and all(node.capacity.get(name, 0) >= need for name, need in needs)


def _excludes_others(spec: GroupSpec) -> bool:
    """Whether its tasks may exclude others from their nodes."""
    return spec.exclusive or any(rule.to == "job" and rule.anti and rule.require for rule in spec.affinity)


def stop_cause(model: ReferenceModel, job: ModelJob) -> str:
    """Whose stop of a job this must be, if not a user's."""
    if job.must_fail:
        return "doomed"
    if job.options.application:
        return "application"
    if any(
        target.state in JOB.terminal_states and _is_unmet(edge, target.state.wire_name)
        for edge, target in edges(model, job)
    ):
        return "edge"
    template = model.templates.by_name.get((job.namespace, job.name))
    runs = model.runs_of(job.namespace, job.name)
    if template is not None and template.overlap == "replace" and runs[-1].id in model.submitted_in_round:
        return "replaced"
    return "user"


def must_fail(job: ModelJob, flag: str, at_ms: int) -> bool:
    if flag == "timeout":
        limit_s = job.options.timeout_s
        return limit_s > 0 and at_ms >= job.submitted_ms + int(limit_s * 1000)
    if flag == "lost":
        return _has_lost_part(job)
    failed = sum(task.state is TaskState.FAILED for task in job.tasks())
    return 0 < job.options.failures_max <= failed


def _has_lost_part(job: ModelJob) -> bool:
    """Whether an application would run one of its tasks again without the others. A driver without executors may."""
    if not job.options.application or not job.task_sets(EXECUTOR):
        return False
    return any(task.will_requeue or (task.is_repeated and task.state is TaskState.QUEUED) for task in job.tasks())


def expected_end(job: ModelJob, states: set[TaskState]) -> JobEvent:
    """A group that was left out because of what it waited for does not make its job a cancelled one."""
    if job.must_fail or TaskState.FAILED in (_visible_states(job) if job.type != BATCH else states):
        return JobEvent.FAILED
    if job.options.application and any(
        task.state is TaskState.SUCCEEDED for task_set in job.task_sets(DRIVER) for task in task_set.tasks
    ):
        return JobEvent.SUCCEEDED  # its executors are stopped when the driver has ended
    if job.stop_was_asked or any(
        TaskState.CANCELLED in {task.state for task in group.tasks} and not was_skipped(job, group)
        for group in job.groups.values()
    ):
        return JobEvent.CANCELLED
    return JobEvent.SUCCEEDED


def _visible_states(job: ModelJob) -> set[TaskState]:
    """The states of the newest task of each instance that a service or per-node job should have: a failed one may be
    replaced."""
    counts = {spec.name: spec.count for spec in job.specs}
    newest = {
        (group.spec.name, group.visible_index_of(index)): task.state
        for _, group in sorted(job.groups.items())
        for index, task in enumerate(group.tasks)
    }
    return {
        state
        for (name, index), state in newest.items()
        if name in counts and (job.type != SERVICE or index < counts[name])
    }


def was_skipped(job: ModelJob, group: ModelTaskSet) -> bool:
    """Whether a group never ran because a group that it waits for ended otherwise."""
    never_ran = all(task.state is TaskState.CANCELLED and not task.attempt for task in group.tasks)
    return never_ran and any(_is_unmet(edge, outcome_of(job, edge.group)) for edge in group.spec.after)


def _is_unmet(edge: After | GroupAfter, outcome: str) -> bool:
    """Whether the edge can no longer be met, so that the task set never runs."""
    return edge.when not in ("finished", outcome) and edge.otherwise == "cancel"
