"""An agent in the policy lab: `python agent.py TRACE.swf`. It needs `pip install shunter[gym]`.

In each step it starts the pending job with the shortest estimate that fits. A learning agent would choose by what it
has learnt from rewards."""

import sys

import numpy as np

from shunter.lab.gym_env import SchedulingEnv

EPISODES = 3
ESTIMATE, CAN_START = 1, 3  # columns of an observation: wait, estimate, cpus, can start


def choose(observation: np.ndarray) -> int:
    estimates = np.where(observation[:, CAN_START] > 0, observation[:, ESTIMATE], np.inf)
    return int(estimates.argmin())


env = SchedulingEnv(sys.argv[1], jobs=100)
for episode in range(EPISODES):
    observation, _ = env.reset(seed=episode)
    total, is_over = 0.0, False
    while not is_over:
        observation, reward, is_over, _, info = env.step(np.int64(choose(observation)))
        total += reward
    print(f"episode {episode}: reward {total:.3f}, mean bounded slowdown {info['slowdown_mean']:.2f}")
env.close()
