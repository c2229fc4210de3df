"""The Gymnasium environment passes Gymnasium's own checks, and every episode ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from shunter.lab.gym_env import SchedulingEnv
from shunter.lab.readers.swf import write_swf
from tests.unit.lab.sample_traces import draw_trace

EXAMPLE = Path(__file__).parents[3] / "examples/lab/agent.py"


@pytest.fixture
def env() -> Iterator[SchedulingEnv]:
    env = SchedulingEnv(draw_trace(seed=3, jobs=60, cpus=10), jobs=30, places=8)
    yield env
    env.close()


def test_it_passes_the_checks_of_gymnasium(env: SchedulingEnv) -> None:
    check_env(env, skip_render_check=True)


def play(env: SchedulingEnv, seed: int) -> tuple[float, float, int]:
    """The agent starts the first job that can start."""
    observation, _ = env.reset(seed=seed)
    total, steps, is_over, info = 0.0, 0, False, dict[str, float]()
    while not is_over:
        observation, reward, is_over, _, info = env.step(np.int64(observation[:, 3].argmax()))
        total, steps = total + reward, steps + 1
    return total, info["slowdown_mean"], steps


def test_an_episode_ends_when_all_jobs_have_ended_and_is_the_same_again(env: SchedulingEnv) -> None:
    first = play(env, seed=1)
    assert first[0] < 0
    assert first[1] >= 1
    assert first[2] >= 30
    assert play(env, seed=1) == first


def test_an_agent_that_never_starts_a_job_ends_the_episode_too(env: SchedulingEnv) -> None:
    """Where nothing runs, the oldest job that fits starts by itself."""
    env.reset(seed=2)
    is_over = False
    while not is_over:
        *_, is_over, _, _info = env.step(np.int64(7))


def test_the_example_plays_three_episodes(tmp_path: Path) -> None:
    trace = tmp_path / "jobs.swf"
    trace.write_text("\n".join(write_swf(draw_trace(seed=5, jobs=120, cpus=10))))
    command = [sys.executable, str(EXAMPLE), str(trace)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.count("mean bounded slowdown") == 3
