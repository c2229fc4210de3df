"""A worker that lies or is broken: sends messages that cannot be true. Runs alongside the faults.

Each message must end that worker's session and have no other effect. Errors that the manager logs fail the world, and
so does a task that is lost or started twice. The draws have a random source of their own, so that worlds without lies
stay as they are.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from shunter.model.protocol.worker_messages import (
    Ended,
    Health,
    Heartbeat,
    Lost,
    MachineStats,
    Report,
    Returned,
    Started,
    WorkerMessage,
)

if TYPE_CHECKING:
    from shunter.simulation.world import World

EVERY_S = (1.0, 6.0)
SEQ = 0  # if it is acknowledged, the worker that did not send it drops nothing
FAR_FUTURE_MS = 2**63 - 1

Task = tuple[int, int, int]  # job, task set, attempt


class Liar:
    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._rng = random.Random(seed)

    async def run(self) -> None:
        """Lies at random moments until the scenario's faults are over."""
        clock = self._world.clock
        deadline_s = clock.now() + self._world.scenario.fault_period_s
        while clock.now() < deadline_s:
            await clock.sleep(self._rng.uniform(*EVERY_S))
            connections = [each for each in self._world.network.connections if each.manager.is_leading]
            if connections:
                connection = self._rng.choice(connections)
                lie = self._rng.choice(LIES)
                self._world.trace.record("fault.lie", f"{connection.worker.name} {lie.__name__}")
                connection.send_up(lie(self._pick_task(), self._rng))

    def _pick_task(self) -> Task:
        """A task set that is there, more often than not, with the newest attempt of its first task."""
        leading = [manager for manager in self._world.managers if manager.is_leading]
        state = leading[-1].engine.state if leading else None
        task_sets = [task_set for job in state.jobs.values() for task_set in job.task_sets] if state else []
        if state is None or not task_sets or self._rng.random() < 0.2:
            return self._rng.randint(1, 2**40), 0, 1
        task_set = self._rng.choice(task_sets)
        return task_set.job.id, task_set.number, int(state.table.attempt[task_set.base])


def _huge_return(task: Task, _rng: random.Random) -> WorkerMessage:
    return Report(SEQ, returned=[Returned(*task, 0, 2_000_000_000)])


def _huge_loss(task: Task, rng: random.Random) -> WorkerMessage:
    return Report(SEQ, lost=[Lost(*task, 0, rng.choice((2**31, 2**62)), "lost")])


def _ended_without_times(task: Task, _rng: random.Random) -> WorkerMessage:
    return Report(SEQ, [Ended(*task, 0, [], [], [], 1, 0)])


def _lists_of_unequal_length(task: Task, _rng: random.Random) -> WorkerMessage:
    return Report(SEQ, [Ended(*task, 0, [1], [1], [2, 3], 1, 0)])


def _number_beyond_its_column(task: Task, rng: random.Random) -> WorkerMessage:
    job, number, attempt = task
    return rng.choice(
        (
            Report(SEQ, [Ended(job, number, 2**40, 0, [], [1], [2], 1, 0)]),
            Report(SEQ, [Ended(job, number, attempt, 0, [2**31], [1], [2], 1, 0)]),
            Report(SEQ, started=[Started(job, number, attempt, 0, 1, 2**40, 0)]),
        )
    )


def _time_in_the_far_future(task: Task, _rng: random.Random) -> WorkerMessage:
    return Report(SEQ, started=[Started(*task, 0, FAR_FUTURE_MS, 1, 0)])


def _attempt_that_has_not_begun(task: Task, _rng: random.Random) -> WorkerMessage:
    job, number, attempt = task
    return Report(SEQ, [Ended(job, number, attempt + 1_000, 0, [], [1], [2], 1, 0)])


def _task_that_there_is_not(task: Task, _rng: random.Random) -> WorkerMessage:
    return Report(SEQ, health=[Health(*task, 50_000_000, True, 1)])


def _not_a_number(_task: Task, _rng: random.Random) -> WorkerMessage:
    return Heartbeat(MachineStats(1, float("nan")))


LIES: tuple[Callable[[Task, random.Random], WorkerMessage], ...] = (
    _huge_return,
    _huge_loss,
    _ended_without_times,
    _lists_of_unequal_length,
    _number_beyond_its_column,
    _time_in_the_far_future,
    _attempt_that_has_not_begun,
    _task_that_there_is_not,
    _not_a_number,
)
