"""All co-location checks agree on which nodes a task may start: the planner, the validation of decisions, moves,
alternative nodes and refills. All are compared with the rules as the manual states them."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from shunter.engine.placement.cluster_view import build_view
from shunter.engine.placement.colocation import _excluded_rows, colocation_allows
from shunter.engine.state.records import Job, TaskSet
from shunter.engine.state.state import State
from shunter.model.job.spec import Affinity, JobSpec
from shunter.model.lifecycles import TaskState
from shunter.model.protocol.scheduler_messages import PlacementRow
from shunter.planning.filter.colocation import HOST, may_follow
from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.filter.rules import RuleSet
from tests.unit.engine.external_policies import decide, open_leading_session
from tests.unit.engine.harness import Harness, run_scenario, spec

SEEDS = range(40)
NODES, JOBS, TASKS, TRIES = 5, 4, 4, 12
LIVE = range(TaskState.ASSIGNED, TaskState.STOPPING + 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_everybody_agrees_on_where_a_task_may_start(seed: int) -> None:
    async def scenario(harness: Harness) -> None:
        rng = random.Random(seed)
        session = await open_leading_session(harness)
        for number in range(NODES):
            await harness.join(f"n{number}", cpu=50)
            await harness.engine.label_node(f"n{number}", {"rack": rng.choice(["a", "b", "c", ""])})
        await harness.submit(*(draw_job(rng, number) for number in range(JOBS)))
        state = harness.engine.state
        for _ in range(TRIES):
            task_set = rng.choice([task_set for task_set, _ in queued_tasks(state)])
            await decide(harness, session, PlacementRow(task_set.task_class.id, [rng.randint(1, NODES)], [1]))
            await harness.settle(1.0)
        session.refusals.fruitless = 0
        for task_set, index in queued_tasks(state):
            expected = [is_allowed(state, task_set, row) for row in range(1, NODES + 1)]
            assert planner_allows(state, task_set) == expected
            assert [colocation_allows(state, task_set, [index], row) for row in range(1, NODES + 1)] == expected
            assert (~_excluded_rows(state, task_set.task_class))[1:].tolist() == expected
            for row in range(1, NODES + 1):
                impossible = PlacementRow(99, [1], [1])  # so that nothing of the decision applies
                placement = PlacementRow(task_set.task_class.id, [row], [1])
                answer = await decide(harness, session, placement, impossible, atomic=True)
                session.refusals.fruitless = 0  # it is not to be overruled
                is_admitted = [each.item for each in answer.refusals] == ["placements[1]"]
                assert is_admitted == expected[row - 1], answer.refusals
                await harness.settle(1.0)
            for row in task_set.task_class.lanes if may_follow(task_set.task_class.key.rules) else ():
                assert expected[row - 1], "a lane is refilled without asking anybody"

    run_scenario(scenario)


def draw_job(rng: random.Random, number: int) -> JobSpec:
    """Its rules are about others: what a job has to do with itself is a matter of the planner alone. Jobs differ in
    what they need, so that each has a class of its own."""
    other = f"job.name == 'job{rng.choice([each for each in range(JOBS) if each != number])}'"
    affinity = rng.choice([(), (), (Affinity("job", other, True, anti=True),), (Affinity("job", other, True),)])
    distinct = rng.choice(["", HOST, "rack"])
    return spec(f"job{number}", TASKS, needs={"cpu": 100 + number}, distinct=distinct, affinity=affinity)


def queued_tasks(state: State) -> list[tuple[TaskSet, int]]:
    """One of each task set that has any."""
    task_sets = (task_set for job in state.jobs.values() for task_set in job.task_sets)
    return [(task_set, task_set.ready[-1][0]) for task_set in task_sets if task_set.ready]


def planner_allows(state: State, task_set: TaskSet) -> list[bool]:
    view, ledger = build_view(state), NodeLedger()
    ledger.sync(view.nodes)
    allowed = RuleSet(view, ledger).rules_for(task_set.task_class.task_class).allowed
    return [bool(each) for each in allowed[1:]]


def is_allowed(state: State, task_set: TaskSet, row: int) -> bool:
    """By the rules themselves, task by task."""
    nodes, others = state.nodes.records, [job for job, node in live_tasks(state) if node == row]
    if task_set.spec.distinct:
        key = "name" if task_set.spec.distinct == HOST else task_set.spec.distinct
        values = {"name": nodes[row].name, **nodes[row].labels}
        own = [nodes[node] for job, node in live_tasks(state) if job is task_set.job]
        taken = [{"name": node.name, **node.labels}.get(key) for node in own]
        if key not in values or values[key] in taken:
            return False
    for rule in task_set.spec.affinity:
        if any(rule.match == f"job.name == '{job.name}'" for job in others) == rule.anti:
            return False
    return not any(
        rule.anti and rule.match == f"job.name == '{task_set.job.name}'"
        for job in others
        for rule in job.spec_version.groups[0].affinity
    )


def live_tasks(state: State) -> Iterator[tuple[Job, int]]:
    """The job and the node of each task that is on a node."""
    for job in state.jobs.values():
        for task_set in job.task_sets:
            for row in range(task_set.base, task_set.base + task_set.count):
                if state.table.state[row] in LIVE:
                    yield job, int(state.table.node[row])
