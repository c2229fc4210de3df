"""What users do in a simulated world: random jobs, repeated submits, stops and labels. Driven by `simulation.world`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from shunter.engine.settings import EngineSettings
from shunter.model.jobs import GroupSpec, JobSpec, Restart, TaskSpec
from shunter.model.messages import PROTOCOL_VERSION, Hello
from shunter.model.resources import CPU, MEMORY
from shunter.planning.planner import POLICIES
from shunter.ports.store import Retention

GI = 2**30
DURATIONS_SHORT = ("0", "0", "0.003", "0.02", "0.1")
DURATIONS = (*DURATIONS_SHORT, "0.5", "1.5", "4", "12")
NAMES = ("fetch", "render", "train", "report", "index")
NAMESPACES = ("default", "default", "film")
CONSTRAINTS = ("node.labels.disk == 'ssd'", "node.labels.rack == 'a'")  # racks are labels set by hand
FOREVER_S = 1e6


@dataclass(frozen=True, slots=True)
class Submit:
    """One request of a user. `key` may be one that was used before, then `specs` are the same as well."""

    at_s: float
    user: str
    key: str | None
    specs: list[JobSpec]


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that is decided before a simulation starts."""

    policy: str
    settings: EngineSettings
    trouble_s: float  # faults happen until then
    hellos: list[Hello]
    submits: list[Submit]
    stops: int
    labels: int
    fault_rate: float  # a second
    extra: list[Hello] = field(default_factory=list)  # nodes that join and may leave for good


def draw_scenario(chance: random.Random) -> Scenario:
    trouble_s = chance.choice((10.0, 30.0, 60.0))
    nodes = chance.choice((1, 1, 2, 2, 3, 4, 8))
    submits = sorted(_draw_submits(chance, trouble_s), key=lambda submit: submit.at_s)
    return Scenario(
        policy=chance.choice(sorted(POLICIES)),
        settings=_draw_settings(chance),
        trouble_s=trouble_s,
        hellos=[_draw_hello(chance, f"node-{number}", number) for number in range(nodes)],
        submits=submits,
        stops=chance.randint(0, 8),
        labels=chance.randint(0, 4),
        fault_rate=chance.choice((0.0, 0.1, 0.3, 0.3, 1.0, 1.0, 2.0, 4.0)),
        extra=[_draw_hello(chance, f"extra-{number}", number) for number in range(chance.randint(0, 3))],
    )


def can_fail(spec: GroupSpec) -> bool:
    """Whether a task of this group may end badly through nobody's fault but its own."""
    return bool(
        "SHUNTER_SIM_EXIT" in spec.task.env
        or "SHUNTER_SIM_FAIL_RATE" in spec.task.env
        or spec.task.run_timeout_s
        or spec.queue_timeout_s
    )


def never_ends(spec: GroupSpec) -> bool:
    return spec.task.env.get("SHUNTER_SIM_DURATION") == str(FOREVER_S) or never_fits(spec)


def never_fits(spec: GroupSpec) -> bool:
    return "unicorns" in spec.needs


def _draw_settings(chance: random.Random) -> EngineSettings:
    """Limits small enough to be met, or the usual ones."""
    short = Retention(finished_age_s=20.0, finished_max=10, rounds_age_s=10.0, rounds_max=50)
    return EngineSettings(
        inbox_max=chance.choice((3, 200)),
        round_commands_max=chance.choice((1, 20, 2_000)),
        round_placements_max=chance.choice((1, 10, 20_000)),
        depth_max=chance.choice((1, 4, 1_024)),
        snapshot_rounds=chance.choice((5, 40, 20_000)),
        housekeeping_s=20.0,
        quarantine_jobs=0,  # failures are drawn without regard to nodes, and nobody is there to release one
        keys_max=chance.choice((2, 100_000)),
        retention=chance.choice((short, Retention())),
    )


def _draw_hello(chance: random.Random, name: str, number: int) -> Hello:
    """The first node can take anything that fits at all, so that every job can end."""
    cpus = 8 if number == 0 else chance.choice((1, 2, 4, 8))
    capacity = {CPU: cpus * 1000, MEMORY: 16 * GI}
    if number == 0 or chance.random() < 0.3:
        capacity["gpu"] = 2
    labels = {"disk": "ssd"} if number == 0 or chance.random() < 0.5 else {"disk": "hdd"}
    datacenter = "dc1" if number == 0 else chance.choice(("dc1", "dc2"))
    return Hello(PROTOCOL_VERSION, name, f"{name}-1", capacity, labels, datacenter)


def _draw_submits(chance: random.Random, trouble_s: float) -> Iterator[Submit]:
    for number in range(chance.randint(1, 12)):
        specs = [_draw_job(chance) for _ in range(chance.choice((1, 1, 1, 2, 15)))]
        key = f"key-{number}" if chance.random() < 0.8 else None
        submit = Submit(chance.uniform(0, 0.6 * trouble_s), chance.choice(("ada", "bob")), key, specs)
        yield submit
        if key is not None and chance.random() < 0.4:
            yield Submit(submit.at_s + chance.uniform(0, 10), submit.user, key, specs)


def _draw_job(chance: random.Random) -> JobSpec:
    groups = tuple(_draw_group(chance, name) for name in (("main",) if chance.random() < 0.85 else ("map", "reduce")))
    name = chance.choice(NAMES) if chance.random() < 0.3 else f"job-{chance.randrange(10**9)}"
    return JobSpec(
        chance.choice(NAMESPACES),
        "" if chance.random() < 0.1 else name,
        groups,
        priority=chance.choice((10, 50, 50, 90)),
    )


def _draw_group(chance: random.Random, name: str) -> GroupSpec:
    needs = {CPU: chance.choice((250, 500, 1000, 1000, 2000))}
    if chance.random() < 0.2:
        needs[MEMORY] = chance.choice((GI, 5 * GI))
    if chance.random() < 0.1:
        needs["gpu"] = chance.choice((1, 2))
    if chance.random() < 0.02:
        needs["unicorns"] = 1
    task = _draw_task(chance, needs[CPU])
    is_short = task.env.get("SHUNTER_SIM_DURATION", "1") in DURATIONS_SHORT
    return GroupSpec(
        name,
        chance.choice((1, 1, 2, 5, 20, 60, 200) if is_short else (1, 1, 2, 5, 20)),
        task,
        needs,
        _draw_restart(chance),
        datacenters=("dc1",) if chance.random() < 0.1 else (),
        constraints=(chance.choice(CONSTRAINTS),) if chance.random() < 0.15 else (),
        queue_timeout_s=chance.choice((0.5, 5.0)) if chance.random() < 0.05 else 0.0,
    )


def _draw_task(chance: random.Random, cpu_milli: int) -> TaskSpec:
    env: dict[str, str] = {}
    if chance.random() < 0.85:
        env["SHUNTER_SIM_DURATION"] = chance.choice(DURATIONS)
    elif chance.random() < 0.2:
        env["SHUNTER_SIM_DURATION"] = str(FOREVER_S)
    if chance.random() < 0.1:
        env["SHUNTER_SIM_EXIT"] = "3"
    elif chance.random() < 0.15:
        env["SHUNTER_SIM_FAIL_RATE"] = chance.choice(("0.1", "0.5"))
    return TaskSpec(
        ("work",),
        env,
        cpu_milli=cpu_milli,
        run_timeout_s=chance.choice((0.3, 2.0)) if chance.random() < 0.1 else 0.0,
        stop_grace_s=chance.choice((0.0, 0.5, 5.0)),
    )


def _draw_restart(chance: random.Random) -> Restart:
    if chance.random() < 0.6:
        return Restart()
    return Restart(
        policy=chance.choice(("on-failure", "on-failure", "always", "unless-stopped")),
        max=chance.choice((0, 1, 2, 3)),
        delay_s=chance.choice((0.05, 0.5, 2.0)),
        delay_max_s=3.0,
    )
