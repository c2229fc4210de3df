"""A group of a service in a few lines: its tasks start, become healthy and stop, and plans of `engine.services.rollout`
are carried out on it. An instance is spelt as a word with a letter for each of its tasks."""

from __future__ import annotations

from dataclasses import dataclass, field

from shunter.engine.services.rollout import InstanceView, RolloutPlan, RolloutView, StartInstances, StopTask, TaskView
from shunter.model.job.spec import Update
from shunter.model.lifecycles import RolloutStatus, TaskState

NOW_MS = 1_000_000
HEALTHY_AFTER_MS = 2_000
S = TaskState

# letter: (state, whether it follows the present spec, whether it is healthy)
LETTERS = {
    "o": (S.RUNNING, False, True),
    "d": (S.RUNNING, False, True),  # on a draining node
    "u": (S.RUNNING, False, False),
    "q": (S.QUEUED, False, False),
    "s": (S.STOPPING, False, False),
    "f": (S.FAILED, False, False),
    "x": (S.CANCELLED, False, False),
    "H": (S.RUNNING, True, True),
    "D": (S.RUNNING, True, True),  # on a draining node
    "R": (S.RUNNING, True, False),
    "L": (S.RUNNING, True, False),  # late: it was to be healthy by now
    "Q": (S.QUEUED, True, False),
    "S": (S.STOPPING, True, False),
    "F": (S.FAILED, True, False),
    "E": (S.SUCCEEDED, True, False),
}


@dataclass(slots=True)
class WorldTask:
    task_set: int
    index: int
    state: TaskState
    is_current: bool
    is_healthy: bool
    is_on_draining_node: bool = False
    is_late: bool = False

    @property
    def is_active(self) -> bool:
        return self.state < S.STOPPING


@dataclass(slots=True)
class RolloutWorld:
    words: tuple[str, ...]
    update: Update
    status: RolloutStatus = RolloutStatus.UPDATING
    instances: list[list[WorldTask]] = field(default_factory=list)
    next_task_set: int = 1

    def __post_init__(self) -> None:
        self.instances = [[self._task(letter) for letter in word] for word in self.words]

    def _task(self, letter: str) -> WorldTask:
        self.next_task_set += 1
        return WorldTask(self.next_task_set - 1, 0, *LETTERS[letter], letter in "dD", letter == "L")

    # ---- what is seen ----

    def view(self, *, counts_settled: bool = True) -> RolloutView:
        views = [
            InstanceView(index, tuple(self._view_task(index, task) for task in _relevant(tasks)))
            for index, tasks in enumerate(self.instances)
        ]
        unsettled = tuple(view for view in views if not (counts_settled and is_settled(view)))
        return RolloutView(
            self.status, self.update, NOW_MS, len(views), len(views) - len(unsettled), unsettled, is_per_node=False
        )

    def _view_task(self, instance: int, task: WorldTask) -> TaskView:
        return TaskView(
            instance,
            task.task_set,
            task.index,
            int(task.state),
            task.is_current,
            task.is_healthy,
            healthy_at_ms=NOW_MS if task.is_healthy else 0,
            due_ms=NOW_MS if task.is_late else NOW_MS + 60_000,
            workload=int(task.is_current),
            is_of_rollout=task.is_current,
            retains_version=self.status is RolloutStatus.STALLED,
            is_on_draining_node=task.is_on_draining_node,
        )

    @property
    def available(self) -> int:
        return sum(any(task.is_healthy for task in tasks) for tasks in self.instances)

    @property
    def is_converged(self) -> bool:
        """Whether each instance has one task, which follows the present spec and is healthy or came to its end."""
        return all(
            len(tasks) == 1
            and tasks[0].is_current
            and (tasks[0].is_healthy or tasks[0].state is S.SUCCEEDED)
            and not tasks[0].is_on_draining_node
            for tasks in self.instances
        )

    # ---- what happens ----

    def carry_out(self, plan: RolloutPlan) -> None:
        for command in plan.commands:
            if isinstance(command, StopTask):
                self._stop(command)
            elif isinstance(command, StartInstances):
                for index, instance in enumerate(command.instances):
                    task = WorldTask(self.next_task_set, index, S.QUEUED, command.copy_of < 0, False)
                    self.instances[instance].append(task)
                self.next_task_set += 1
        self._forget_ended()

    def _stop(self, command: StopTask) -> None:
        [task] = [
            task
            for tasks in self.instances
            for task in tasks
            if (task.task_set, task.index) == (command.task_set, command.index)
        ]
        assert task.is_active, "a task is stopped once"
        task.state, task.is_healthy = S.CANCELLED if task.state is S.QUEUED else S.STOPPING, False

    def advance(self) -> None:
        """Time passes: what is queued starts, what has started becomes healthy, and what stops has stopped."""
        for tasks in self.instances:
            for task in tasks:
                if task.state is S.QUEUED:
                    task.state = S.RUNNING
                elif task.state is S.RUNNING:
                    task.is_healthy = True
                elif task.state is S.STOPPING:
                    task.state = S.CANCELLED
        self._forget_ended()

    def _forget_ended(self) -> None:
        """As the engine does: what has ended leaves, but for the one task that people see."""
        for index, tasks in enumerate(self.instances):
            alive = [task for task in tasks if task.state < S.SUCCEEDED]
            self.instances[index] = alive or tasks[-1:]


def _relevant(tasks: list[WorldTask]) -> list[WorldTask]:
    return [task for task in tasks[:-1] if task.state < S.SUCCEEDED] + tasks[-1:]


def is_settled(instance: InstanceView) -> bool:
    if len(instance.tasks) != 1:
        return False
    [task] = instance.tasks
    return task.is_current and task.is_active and task.is_healthy and not task.is_on_draining_node
