"""Many queued jobs, blocked queues and equal nodes: what a dequeue costs, whom a queue delays, how load spreads."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest

from shunter.engine import changes as c
from shunter.engine.placement.place import place
from shunter.engine.round import Round
from shunter.engine.settings import EngineSettings
from shunter.engine.state.state import State
from shunter.engine.timers import Timers
from shunter.model.job.spec import BATCH, GroupSpec, JobOptions, TaskSpec
from shunter.model.lifecycles import TaskState
from shunter.planning.planner import build_policy
from shunter.planning.view import Policy
from shunter.ports.admin import QueueChange
from tests.unit.engine.harness import Harness, run_scenario, spec

FEW, MANY = 1_000, 50_000  # `benchmarks.million` compares a thousand with a million
BLOCKS: dict[str, tuple[QueueChange, dict[str, int]]] = {
    "paused": (QueueChange(paused=True), {"cpu": 1000}),
    "at its limit": (QueueChange(running_max=1), {"cpu": 1000}),
    "strict, and its first job fits nowhere": (QueueChange(strict=True), {"unicorns": 1}),
    "all of its jobs fit nowhere": (QueueChange(), {"unicorns": 1}),
}


def queued_state(jobs: int) -> State:
    """A node with four free lanes, and this many queued jobs of one task."""
    state = State()
    state.apply(c.NodeJoined(1, "n1", "boot", {"cpu": 4000}, {}, "dc1", {}, "address", 1))
    state.nodes.records[1].is_synced = True
    state.nodes.refresh_eligible(state.nodes.records[1])
    body = msgspec.Raw(state.encode_groups((GroupSpec("main", 1, TaskSpec(("true",)), {"cpu": 1000}),)))
    for job_id in range(1, jobs + 1):
        state.apply(c.JobSubmitted(job_id, "default", f"job-{job_id}", 1, BATCH, 50, {}, "ada", 1, body))
    return state


def count_calls(call: Callable[[], Any]) -> int:
    """How many functions are called, of Python and of C: unlike seconds, the same on every machine."""
    calls = 0

    def on_event(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(on_event)
    try:
        call()
    finally:
        sys.setprofile(before)
    return calls


def dequeue(state: State, policy: Policy) -> None:
    """A round that has room for four tasks."""
    round = Round(state, 1, 10, EngineSettings(), random.Random(1), Timers())
    place(round, policy)
    assert sum(isinstance(change, c.TasksPlaced) for change in round.changes) == 4


def test_a_dequeue_among_many_jobs_costs_no_more_than_among_few() -> None:
    """D-47."""
    few, many = queued_state(FEW), queued_state(MANY)
    calls = [count_calls(partial(dequeue, state, build_policy("e-pvm"))) for state in (few, many)]
    assert calls[1] <= 2 * calls[0], calls


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_blocked_queue_delays_no_other(block: str) -> None:
    """D-38: whatever blocks one queue, and however much waits in it, the others start in the next round."""
    change, needs = BLOCKS[block]

    async def scenario(harness: Harness) -> None:
        await harness.join(cpu=4)
        await harness.engine.patch_queue("film", change)
        blocked = [spec(f"film-{n}", needs=needs, priority=90, options=JobOptions(queue="film")) for n in range(50)]
        await harness.submit(*blocked)
        harness.orders()
        await harness.submit(*(spec(f"sound-{number}", options=JobOptions(queue="sound")) for number in range(3)))
        state = harness.engine.state
        started = {state.jobs[order.job].name for _, order in harness.orders()}
        assert started == {"sound-0", "sound-1", "sound-2"}
        assert state.task_counts[TaskState.QUEUED] >= 49

    run_scenario(scenario)


def assert_spread(loads: list[int]) -> None:
    mean = sum(loads) / len(loads)
    assert max(abs(load - mean) for load in loads) <= 0.2 * mean, loads


@pytest.mark.parametrize("policy", ["e-pvm", "spread", "round-robin"])
@pytest.mark.parametrize("seed", range(3))
def test_load_spreads_over_equal_nodes(seed: int, policy: str) -> None:
    """D-39: within 20 %, when jobs arrive and while others end."""

    async def scenario(harness: Harness) -> None:
        rng = random.Random(seed)
        harness.engine.use_policy(build_policy(policy))
        nodes = [await harness.join(f"n{number}", cpu=64) for number in range(8)]
        running: list[tuple[int, Any]] = []
        for number in range(40):
            await harness.submit(spec(f"job-{number}", rng.randrange(1, 13), needs={"cpu": rng.choice([500, 1000])}))
            running += harness.orders()
        assert_spread([harness.reserved_cpu(node) for node in nodes])
        for number in range(40, 60):
            node, order = running.pop(rng.randrange(len(running)))
            await harness.end(node, order)
            await harness.submit(spec(f"job-{number}", rng.randrange(1, 13)))
            running += harness.orders()
        assert_spread([harness.reserved_cpu(node) for node in nodes])

    run_scenario(scenario)
