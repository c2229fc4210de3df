"""Tasks of long-running jobs that an update, a move or a restart has replaced. `JOB/INDEX~TASK_SET` names one. Called
by `gateway.jobs.task_reader`.
"""

from __future__ import annotations

from collections.abc import Sequence

from shunter.engine.state.registries.services import ReplacedTask
from shunter.model.errors import NotFound
from shunter.model.lifecycles import TaskState
from shunter.model.rest.job_views import TaskView
from shunter.model.timestamps import iso


def is_over(task: ReplacedTask) -> bool:
    return task.state >= TaskState.SUCCEEDED


def find_replaced(tasks: Sequence[ReplacedTask], group: str, index: int, task_set_number: int) -> ReplacedTask:
    task_set_numbers = [task.task_set_number for task in tasks if (task.group, task.index) == (group, index)]
    for task in tasks:
        if (task.group, task.index, task.task_set_number) == (group, index, task_set_number):
            return task
    known = (
        f"known tasks: {', '.join(f'{index}~{each}' for each in task_set_numbers)}"
        if task_set_numbers
        else "no earlier tasks are known"
    )
    raise NotFound(f"earlier task {index}~{task_set_number} does not exist; {known}")


def replaced_view(task: ReplacedTask, job: str, is_only: bool, node_names: Sequence[str]) -> TaskView:
    inner = "" if is_only else f"{task.group}/"
    return TaskView(
        name=f"{job}/{inner}{task.index}~{task.task_set_number}",
        index=task.index,
        group=task.group,
        state=TaskState(task.state).wire_name,
        attempt=task.attempt,
        node=node_names[task.node] or None,
        exit_code=task.exit_code if task.exit_code >= 0 and is_over(task) else None,
        started_at=iso(task.started_ms / 1000),
        ended_at=iso(task.ended_ms / 1000) if is_over(task) else None,
        reason=task.reason or None,
        current=False,
    )
