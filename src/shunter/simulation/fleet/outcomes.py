"""Decides how long a simulated task runs and how it ends, from its command and environment. Called by
`simulation.fleet.node`.

`sleep N` takes N seconds; `false` exits with 1. SHUNTER_SIM_DURATION, SHUNTER_SIM_EXIT and SHUNTER_SIM_FAIL_RATE set
the outcome directly. A task with ports or health checks runs until it is stopped; its checks pass at once, unless
SHUNTER_SIM_HEALTH is bad. Any other task takes a lognormal time around one second."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import PurePath

from shunter.model.job.spec import Port, TaskSpec
from shunter.model.resources import parse_duration_s

DURATION_MEDIAN_S = 1.0
DURATION_SIGMA = 0.5
OUTCOMES_CACHED_MAX = 10_000
FOREVER_S = 1e9
PORT_FIRST, PORT_COUNT = 20_000, 10_000  # host ports that a simulated node chooses


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happens when tasks of one spec run. A `duration_s` of None means that it differs from task to task."""

    duration_s: float | None
    exit_code: int
    fail_rate: float
    timeout_s: float
    healthy_after_s: float | None = None  # until its health checks have passed; None: it has none, or they never do
    unhealthy_after_s: float = 0.0  # until its health checks have failed too often; 0 means never
    ports: tuple[Port, ...] = ()

    def ports_of(self, job: int, index: int) -> dict[str, int]:
        """The host ports of one task: those it asks for, or some."""
        return {
            port.name: port.host_port or PORT_FIRST + (job * 101 + index * 7 + position) % PORT_COUNT
            for position, port in enumerate(self.ports)
        }

    def draw_duration_s(self, rng: random.Random) -> float:
        if self.duration_s is not None:
            return self.duration_s
        return DURATION_MEDIAN_S * rng.lognormvariate(0.0, DURATION_SIGMA)

    def draw_exits(self, count: int, rng: random.Random) -> list[int]:
        """Exit codes of `count` tasks; empty where all are 0."""
        if self.fail_rate:
            failed = self.exit_code or 1
            exits = [failed if rng.random() < self.fail_rate else 0 for _ in range(count)]
            return exits if any(exits) else []
        return [self.exit_code] * count if self.exit_code else []


class Outcomes:
    """Outcomes by spec. Specs arrive again and again as the same objects, so they are read once."""

    def __init__(self) -> None:
        self._cache: dict[int, tuple[TaskSpec, Outcome]] = {}

    def for_spec(self, spec: TaskSpec) -> Outcome:
        cached = self._cache.get(id(spec))
        if cached is None:
            if len(self._cache) >= OUTCOMES_CACHED_MAX:
                self._cache.clear()
            cached = self._cache[id(spec)] = (spec, parse_outcome(spec))  # holding the spec keeps its id its own
        return cached[1]


def parse_outcome(spec: TaskSpec) -> Outcome:
    command = spec.command or (spec.container.args if spec.container is not None else ())
    program = PurePath(command[0]).name if command else ""
    duration_s = _number(spec.env.get("SHUNTER_SIM_DURATION"))
    if duration_s is None and program == "sleep" and len(command) == 2:
        duration_s = _number(command[1])
    if duration_s is None and (spec.health or spec.ports):
        duration_s = FOREVER_S
    exit_code = _number(spec.env.get("SHUNTER_SIM_EXIT"))
    if exit_code is None:
        exit_code = 1 if program == "false" else 0
    fail_rate = _number(spec.env.get("SHUNTER_SIM_FAIL_RATE")) or 0.0
    return Outcome(duration_s, int(exit_code), min(fail_rate, 1.0), spec.run_timeout_s, *_health(spec), spec.ports)


def _health(spec: TaskSpec) -> tuple[float | None, float]:
    """When its checks pass, and when they have failed too often."""
    if not spec.health:
        return None, 0.0
    if spec.env.get("SHUNTER_SIM_HEALTH") == "bad":
        return None, min(check.start_grace_s + check.interval_s * check.failures for check in spec.health)
    return max(check.interval_s for check in spec.health), 0.0


def _number(text: str | None) -> float | None:
    """Durations and plain numbers alike; None for what is neither, as a real shell would not know it either."""
    if text is None:
        return None
    if text in ("infinity", "inf"):
        return FOREVER_S
    try:
        return parse_duration_s(float(text)) if text.replace(".", "", 1).isdigit() else parse_duration_s(text)
    except ValueError:
        return None
