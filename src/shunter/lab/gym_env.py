"""A Gymnasium environment over the lab: an agent chooses which pending job starts next, and the real engine runs it in
virtual time. For users, with `pip install shunter[gym]`; nothing else in Shunter imports it.

The engine runs in a thread of its own. Whenever a pending job could start, its policy hands the queue to the agent and
waits for an action."""

from __future__ import annotations

import math
import queue
import threading
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from shunter.lab.filters import DEFAULT_FILTERS, apply_filters
from shunter.lab.metrics import bounded_slowdowns
from shunter.lab.nodes import NodeModel, build_nodes
from shunter.lab.readers.detect import read_trace
from shunter.lab.run import RunFailed, RunResult, run_policy
from shunter.lab.trace import Trace
from shunter.model.resources import CPU
from shunter.planning.policy_toolkit import Room
from shunter.planning.view import ClusterView, Decision, Queued

FEATURES = 4  # wait, estimate, cpus, and whether it could start now; all from 0 to 1
LONGEST_S = 30 * 86_400.0  # counts as 1
ANSWER_MAX_S = 3600.0

Observation = NDArray[np.float32]


class SchedulingEnv(gymnasium.Env[Observation, np.int64]):
    """An episode is a random part of the trace. The action is the place of a pending job in the queue, the oldest
    first; a place without a job that could start lets time pass. The reward is minus the time that jobs waited since
    the last step, in hours per job of the episode."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, trace: str | Trace, nodes: str | None = None, jobs: int = 256, places: int = 32) -> None:
        found = read_trace(Path(trace)) if isinstance(trace, str) else trace
        self._nodes: NodeModel = build_nodes(nodes, found, Path(trace) if isinstance(trace, str) else None)
        self._trace, _ = apply_filters(found, DEFAULT_FILTERS.split(","), self._nodes)
        self._jobs, self._places = min(jobs, len(self._trace)), places
        self.observation_space = spaces.Box(0.0, 1.0, (places, FEATURES), np.float32)
        self.action_space = spaces.Discrete(places)
        self._run: _Episode | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.close()
        first = int(self.np_random.integers(0, len(self._trace) - self._jobs + 1))
        self._run = _Episode(self._trace.select(np.arange(first, first + self._jobs)), self._nodes, self._places)
        observation, _, _, info = self._run.advance()
        return observation, info

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        assert self._run is not None, "call reset first"
        self._run.answer(int(action))
        observation, waited_s, is_over, info = self._run.advance()
        return observation, -waited_s / 3600 / self._jobs, is_over, False, info

    def close(self) -> None:
        if self._run is not None:
            self._run.close()
            self._run = None


class _Closed(Exception):
    """The agent ended the episode."""


class _Episode:
    """A run of the engine, and the policy in it that asks the agent."""

    name, fast = "agent", True

    def __init__(self, trace: Trace, nodes: NodeModel, places: int) -> None:
        self._trace, self._nodes, self._places = trace, nodes, places
        self._cpus = max(nodes.total(CPU), 1)
        self._asked: queue.Queue[tuple[Observation, float] | RunResult | Exception] = queue.Queue()
        self._actions: queue.Queue[int | None] = queue.Queue()
        self._waited_s = self._last_s = 0.0
        self._pending = 0
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._thread.start()

    # ---- the side of the agent ----

    def answer(self, action: int) -> None:
        self._actions.put(action)

    def advance(self) -> tuple[Observation, float, bool, dict[str, Any]]:
        """What the agent sees next, how long jobs have waited since the last time, and whether it is over."""
        found = self._asked.get(timeout=ANSWER_MAX_S)
        if isinstance(found, Exception):
            raise found
        if isinstance(found, RunResult):
            slowdown = float(bounded_slowdowns(self._trace, found).mean())
            return np.zeros((self._places, FEATURES), np.float32), 0.0, True, {"slowdown_mean": slowdown}
        observation, waited_s = found
        return observation, waited_s, False, {}

    def close(self) -> None:
        self._actions.put(None)
        self._thread.join()

    # ---- the side of the engine ----

    def _play(self) -> None:
        trace = self._trace
        try:
            self._asked.put(run_policy(trace, self, self._nodes.hellos, is_divided=self._nodes.is_divided))
        except RunFailed as error:
            self._asked.put(error)

    def decide(self, view: ClusterView, now: float, budget: int) -> Decision:
        self._waited_s += self._pending * (now - self._last_s) if self._last_s else 0.0
        decision, room = Decision(view.version), Room(view)
        waiting = sorted(view.queued, key=lambda each: each.since)
        while waiting and budget > 0:
            can_start = [bool(self._fits(room, each)) for each in waiting[: self._places]]
            if not any(can_start):
                break
            chosen = self._ask(waiting, can_start, now)
            if chosen >= len(can_start) or not can_start[chosen]:
                if view.nodes.tasks[: view.nodes.count].any() or decision.placements:
                    break
                chosen = can_start.index(True)  # nothing runs, so no time would pass
            each = waiting.pop(chosen)
            budget -= room.fill(decision, each, np.arange(1, view.nodes.count), budget)
        self._pending, self._last_s = len(waiting), now
        return decision

    def _fits(self, room: Room, queued: Queued) -> bool:
        rules = queued.task_class.rules
        needed = queued.count if rules is not None and rules.gang else 1
        return int(np.minimum(room.of(queued.task_class), needed).sum()) >= needed

    def _ask(self, waiting: list[Queued], can_start: list[bool], now: float) -> int:
        observation = np.zeros((self._places, FEATURES), np.float32)
        for place, (each, is_free) in enumerate(zip(waiting, can_start, strict=False)):
            cpus = each.task_class.needs.get(CPU, 0) * each.count / self._cpus
            waited_s = max(now - each.since_ms / 1000, 0.0)
            observation[place] = _scaled(waited_s), _scaled(each.estimate_s), min(cpus, 1.0), is_free
        self._asked.put((observation, self._waited_s))
        self._waited_s = 0.0
        action = self._actions.get(timeout=ANSWER_MAX_S)
        if action is None:
            raise _Closed
        return action


def _scaled(seconds: float) -> float:
    """Logarithmic, from 0 to 1."""
    return min(math.log1p(seconds) / math.log1p(LONGEST_S), 1.0)
