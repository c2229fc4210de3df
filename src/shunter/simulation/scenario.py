"""Draws everything that a seed decides before its world starts: nodes, limits, submits and the users' activity. Used by
`simulation.world`; `simulation.workload.job_draws` draws the jobs."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from shunter.engine.settings import EngineSettings
from shunter.model.job.spec import GroupSpec
from shunter.model.protocol.worker_messages import PROTOCOL_VERSION, Hello
from shunter.model.resources import CPU, MEMORY
from shunter.planning.planner import POLICIES
from shunter.ports.store import Retention
from shunter.simulation.workload.job_draws import FOREVER_S, Submit, draw_submits

GI = 2**30


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that is decided before a simulation starts."""

    policy: str
    settings: EngineSettings
    fault_period_s: float  # faults happen until then
    hellos: list[Hello]
    submits: list[Submit]
    stops: int
    labels: int
    actions: int  # of other kinds: see `simulation.workload.actions`
    fault_rate: float  # a second
    is_background: bool = False  # the policy decides outside of rounds
    lies_seed: int | None = None  # of `simulation.runtime.lies`; None: nobody lies
    cuts_seed: int | None = None  # of `simulation.runtime.link_cuts`; None: no long cuts
    dates_seed: int | None = None  # of `simulation.runtime.wrong_dates`; None: all machines have the same date
    managers: int = 0  # that share the store and elect a leader; 0: there is one, which is replaced when it is gone
    managers_seed: int = 0  # of their faults and of the clients that read
    is_upgraded: bool = False  # the managers, one after the other: see `simulation.runtime.upgrades`
    has_objects: bool = False  # see `simulation.workload.objects`
    secrets_seed: int | None = None  # of `simulation.workload.secrets`; None: no job refers to secrets
    tenants_seed: int | None = None  # of `simulation.workload.tenants`; None: there are none
    has_neighbour: bool = False  # see `simulation.workload.neighbours`
    extra: list[Hello] = field(default_factory=list)  # nodes that join and may leave for good


def draw_scenario(rng: random.Random) -> Scenario:
    fault_period_s = rng.choice((10.0, 30.0, 60.0))
    nodes = rng.choice((1, 1, 2, 2, 3, 4, 8))
    submits = sorted(draw_submits(rng, fault_period_s, nodes), key=lambda submit: submit.at_s)
    return Scenario(
        policy=rng.choice(sorted(POLICIES)),
        settings=_draw_settings(rng),
        fault_period_s=fault_period_s,
        hellos=[_draw_hello(rng, f"node-{number}", number) for number in range(nodes)],
        submits=submits,
        stops=rng.randint(0, 8),
        labels=rng.randint(0, 4),
        actions=rng.choice((0, 5, 15)),
        fault_rate=rng.choice((0.0, 0.1, 0.3, 0.3, 1.0, 1.0, 2.0, 4.0)),
        extra=[_draw_hello(rng, f"extra-{number}", number) for number in range(rng.randint(0, 3))],
    )


def can_fail(spec: GroupSpec) -> bool:
    """Whether a task of this group may fail by itself."""
    return bool(
        "SHUNTER_SIM_EXIT" in spec.task.env
        or "SHUNTER_SIM_FAIL_RATE" in spec.task.env
        or spec.task.env.get("SHUNTER_SIM_HEALTH") == "bad"
        or spec.task.run_timeout_s
        or spec.queue_timeout_s
    )


def never_ends(spec: GroupSpec) -> bool:
    return spec.task.env.get("SHUNTER_SIM_DURATION") == str(FOREVER_S) or never_fits(spec)


def never_fits(spec: GroupSpec) -> bool:
    return "unicorns" in spec.needs


def _draw_settings(rng: random.Random) -> EngineSettings:
    """Limits small enough to be met, or the usual ones."""
    short = Retention(finished_age_s=20.0, finished_max=10, rounds_age_s=10.0, rounds_max=50)
    return EngineSettings(
        inbox_max=rng.choice((3, 200)),
        round_commands_max=rng.choice((1, 20, 2_000)),
        round_placements_max=rng.choice((1, 10, 20_000)),
        depth_max=rng.choice((1, 4, 1_024)),
        snapshot_rounds=rng.choice((5, 40, 20_000)),
        snapshot_slice_jobs=1,  # so that rounds change what is being written
        housekeeping_s=20.0,
        quarantine_jobs=rng.choice((0, 3)),
        keys_max=rng.choice((2, 100_000)),
        retention=rng.choice((short, Retention())),
    )


def _draw_hello(rng: random.Random, name: str, number: int) -> Hello:
    """The first node can take anything that fits at all, so that every job can end."""
    cpus = 8 if number == 0 else rng.choice((1, 2, 4, 8))
    capacity = {CPU: cpus * 1000, MEMORY: 16 * GI}
    if number == 0 or rng.random() < 0.3:
        capacity["gpu"] = 2
    labels = {"disk": "ssd"} if number == 0 or rng.random() < 0.5 else {"disk": "hdd"}
    datacenter = "dc1" if number == 0 else rng.choice(("dc1", "dc2"))
    return Hello(PROTOCOL_VERSION, name, f"{name}-1", capacity, labels, datacenter, {"runtime.spark": "simulated"})
