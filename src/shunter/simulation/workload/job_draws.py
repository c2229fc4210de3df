"""Draws random jobs for a simulated world: arrays, graphs, gangs, rules, limits, times and templates.

Called by `simulation.scenario`. Every job can finish on the first node alone, except jobs drawn to wait or run
forever; those are stopped at the end."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from shunter.model.job.spec import (
    DEFAULT_OPTIONS,
    SERVICE,
    SYSBATCH,
    SYSTEM,
    Affinity,
    After,
    ExitRule,
    GroupAfter,
    GroupSpec,
    HealthCheck,
    JobOptions,
    JobSpec,
    Parameters,
    Restart,
    Schedule,
    Spread,
    TaskSpec,
    Update,
    estimate_bucket,
)
from shunter.model.resources import CPU, MEMORY

GI = 2**30
DURATIONS_SHORT = ("0", "0", "0.003", "0.02", "0.1")
DURATIONS = (*DURATIONS_SHORT, "0.5", "1.5", "4", "12")
NAMES = ("fetch", "render", "train", "report", "index")
TEMPLATES = ("nightly", "sync")
NAMESPACES = ("default", "default", "film")
QUEUES = ("slow", "fast")
LICENCES = ("licence/matlab",)
CONSTRAINTS = ("node.labels.disk == 'ssd'", "node.labels.rack == 'a'")  # racks are labels set by hand
CRONS = ("*/2 * * * * *", "*/5 * * * * *", "*/20 * * * * *")
FOREVER_S = 1e6
ESTIMATES_S = (0.1, 1.0, 4.0, 30.0)
SERVICES = ("web", "cache")
SSD = Affinity("node", "node.labels.disk == 'ssd'", weight=2.0)
AVOIDED_JOBS = tuple(Affinity("job", f"job.name == '{name}'", require=True, anti=True) for name in NAMES[:3])


@dataclass(frozen=True, slots=True)
class Submit:
    """One request of a user. `key` may be one that was used before, then `specs` are the same as well."""

    at_s: float
    user: str
    key: str | None
    specs: list[JobSpec]


def draw_submits(rng: random.Random, fault_period_s: float, nodes: int) -> Iterator[Submit]:
    for number in range(rng.randint(1, 12)):
        specs = _draw_specs(rng, nodes)
        key = f"key-{number}" if rng.random() < 0.8 else None
        submit = Submit(rng.uniform(0, 0.6 * fault_period_s), rng.choice(("ada", "bob")), key, specs)
        yield submit
        if key is not None and rng.random() < 0.4:
            yield Submit(submit.at_s + rng.uniform(0, 10), submit.user, key, specs)


def _draw_specs(rng: random.Random, nodes: int) -> list[JobSpec]:
    """Single jobs, bulks, graphs of jobs that wait for one another, and templates."""
    if rng.random() < 0.12:
        return [_draw_template(rng, nodes)]
    if rng.random() < 0.2:
        return [draw_long_running(rng)]
    specs = [draw_job(rng, nodes) for _ in range(rng.choice((1, 1, 1, 2, 4, 15)))]
    if 1 < len(specs) < 15 and rng.random() < 0.7:
        return _draw_graph(rng, specs)
    if rng.random() < 0.1:
        return [_with_edges(rng, specs[0], [rng.choice(NAMES)]), *specs[1:]]
    return specs


def draw_long_running(rng: random.Random) -> JobSpec:
    """A service, or a job with a task on each node. Small, so that twice of it has room on the first node."""
    type = rng.choice((SERVICE, SERVICE, SERVICE, SYSTEM, SYSBATCH))
    env = {"SHUNTER_SIM_DURATION": str(FOREVER_S) if type != SYSBATCH else "0.5"}
    if rng.random() < 0.15:
        env = {"SHUNTER_SIM_DURATION": "1.5", "SHUNTER_SIM_EXIT": "3"}
    health = (HealthCheck("tcp", port="8080", interval_s=0.3),) if type == SERVICE and rng.random() < 0.5 else ()
    if health and rng.random() < 0.2:
        env["SHUNTER_SIM_HEALTH"] = "bad"
    update = Update(
        parallel=rng.choice((1, 2)),
        unavailable_max=rng.choice((0, 0, 1)),
        healthy_for_s=rng.choice((0.2, 1.0)),
        deadline_s=rng.choice((3.0, 20.0)),
        rollback=rng.random() < 0.7,
    )
    task = TaskSpec(("serve", f"v{rng.randrange(3)}"), env, cpu_milli=100, health=health, stop_grace_s=0.5)
    policy = "never" if type == SYSBATCH else "always"
    restart = Restart(policy, max=rng.choice((1, 3)), delay_s=0.1, delay_max_s=1.0)
    count = rng.choice((1, 2, 3)) if type == SERVICE else 1
    group = GroupSpec("main", count, task, {CPU: rng.choice((100, 200))}, restart, update=update)
    name = {SERVICE: rng.choice(SERVICES), SYSTEM: "agent", SYSBATCH: "sweep"}[type]
    return JobSpec("default", name, (group,), type, priority=rng.choice((50, 90)))


def _draw_graph(rng: random.Random, specs: list[JobSpec]) -> list[JobSpec]:
    """A chain, or a first job with several behind it, or a diamond; in any order."""
    namespace, stem = specs[0].namespace, f"graph-{rng.randrange(10**9)}"
    named = [replace(spec, namespace=namespace, name=f"{stem}-{position}") for position, spec in enumerate(specs)]
    shape = rng.choice(("chain", "fan", "diamond"))
    for position in range(1, len(named)):
        if shape == "chain":
            dependencies = [position - 1]
        elif shape == "diamond" and position == len(named) - 1:
            dependencies = list(range(1, position)) or [0]
        else:
            dependencies = [0]
        named[position] = _with_edges(rng, named[position], [named[each].name for each in dependencies])
    rng.shuffle(named)
    return named


def _with_edges(rng: random.Random, spec: JobSpec, jobs: list[str]) -> JobSpec:
    after = tuple(After(job, *_draw_policy(rng)) for job in jobs)
    return replace(spec, options=replace(spec.options, after=after))


def _draw_policy(rng: random.Random) -> tuple[str, str]:
    when = rng.choice(("succeeded", "succeeded", "finished", "failed"))
    return when, rng.choice(("cancel", "cancel", "run"))


def _draw_template(rng: random.Random, nodes: int) -> JobSpec:
    """Fired by a schedule or a dispatch; each run ends by itself."""
    job = draw_job(rng, nodes)
    task = TaskSpec(("work",), {"SHUNTER_SIM_DURATION": rng.choice(("0", "0.5", "3"))})
    group = GroupSpec("main", rng.choice((1, 1, 3)), task, {CPU: 500})
    options = replace(job.options, held=False, start_in_s=0.0, after=())
    if rng.random() < 0.7:
        overlap, catch_up = rng.choice(("skip", "queue", "replace")), rng.choice(("none", "last", "all"))
        options = replace(options, schedule=Schedule(rng.choice(CRONS), overlap=overlap, catch_up=catch_up))
    else:
        options = replace(options, parameters=Parameters())
    return replace(job, name=rng.choice(TEMPLATES), groups=(group,), options=options)


def draw_job(rng: random.Random, nodes: int) -> JobSpec:
    groups = tuple(_draw_group(rng, name) for name in (("main",) if rng.random() < 0.85 else ("map", "reduce")))
    options = _draw_options(rng) if rng.random() < 0.35 else DEFAULT_OPTIONS
    if len(groups) > 1 and rng.random() < 0.6:
        groups = (groups[0], replace(groups[1], after=(GroupAfter("map", *_draw_policy(rng)),)))
    elif rng.random() < 0.15:
        groups = tuple(_draw_gang(rng, group, nodes) for group in groups)
        options = replace(options, gang=len(groups) > 1)
    name = rng.choice(NAMES) if rng.random() < 0.3 else f"job-{rng.randrange(10**9)}"
    return JobSpec(
        rng.choice(NAMESPACES),
        "" if rng.random() < 0.1 else name,
        groups,
        priority=rng.choice((10, 50, 50, 90)),
        options=options,
    )


def _draw_options(rng: random.Random) -> JobOptions:
    return JobOptions(
        start_in_s=rng.choice((0.0, 0.0, 0.4, 3.0)),
        deadline_s=rng.choice((0.0, 0.0, 5.0)),
        queue=rng.choice(("default", *QUEUES)),
        timeout_s=rng.choice((0.0, 0.0, 0.0, 10.0)),
        failures_max=rng.choice((0, 0, 1, 3)),
        held=rng.random() < 0.1,
    )


def _draw_gang(rng: random.Random, group: GroupSpec, nodes: int) -> GroupSpec:
    """Small enough to start together even when all other nodes have shrunk."""
    is_distinct = rng.random() < 0.3
    task = group.task if group.task.env.get("SHUNTER_SIM_DURATION") != str(FOREVER_S) else TaskSpec(("work",))
    return replace(
        group,
        count=rng.randint(1, nodes) if is_distinct else rng.randint(2, 4),
        task=task,
        needs={CPU: rng.choice((250, 500))},
        gang=True,
        distinct="host" if is_distinct else "",
        datacenters=(),
        constraints=(),
        parallel_max=0,
        exclusive=False,
        affinity=tuple(rule for rule in group.affinity if rule.to == "node"),  # it might avoid its own
    )


def _draw_group(rng: random.Random, name: str) -> GroupSpec:
    needs = {CPU: rng.choice((250, 500, 1000, 1000, 2000))}
    if rng.random() < 0.2:
        needs[MEMORY] = rng.choice((GI, 5 * GI))
    if rng.random() < 0.1:
        needs["gpu"] = rng.choice((1, 2))
    if rng.random() < 0.02:
        needs["unicorns"] = 1
    task = _draw_task(rng, needs[CPU])
    is_short = task.env.get("SHUNTER_SIM_DURATION", "1") in DURATIONS_SHORT
    group = GroupSpec(
        name,
        rng.choice((1, 1, 2, 5, 20, 60, 200) if is_short else (1, 1, 2, 5, 20)),
        task,
        needs,
        _draw_restart(rng),
        datacenters=("dc1",) if rng.random() < 0.1 else (),
        constraints=(rng.choice(CONSTRAINTS),) if rng.random() < 0.15 else (),
        queue_timeout_s=rng.choice((0.5, 5.0)) if rng.random() < 0.05 else 0.0,
    )
    if rng.random() < 0.2:  # it need not be true
        estimate_s = rng.choice(ESTIMATES_S)
        group = replace(group, estimate_s=estimate_s, estimate_bits=estimate_bucket(estimate_s))
    return _draw_rules(rng, group) if rng.random() < 0.25 else group


def _draw_rules(rng: random.Random, group: GroupSpec) -> GroupSpec:
    """One of the things that couple tasks to one another. Few of them at a time, because some take turns."""
    small_group = replace(group, count=min(group.count, 5))
    match rng.choice(("parallel", "parallel", "exclusive", "distinct", "label", "licence", "port", "spread")):
        case "parallel":
            return replace(group, parallel_max=rng.choice((1, 2, 5)))
        case "exclusive":
            return replace(small_group, exclusive=True)
        case "distinct":
            return replace(small_group, distinct="host")
        case "label":
            return replace(small_group, distinct="disk")
        case "licence":
            return replace(small_group, needs={**group.needs, LICENCES[0]: rng.choice((1, 2))})
        case "port":
            return replace(small_group, needs={**group.needs, "port/8080": 1})
        case _:
            return replace(small_group, spread=(Spread("disk"),), affinity=(SSD, *AVOIDED_JOBS))


def _draw_task(rng: random.Random, cpu_milli: int) -> TaskSpec:
    env: dict[str, str] = {}
    if rng.random() < 0.85:
        env["SHUNTER_SIM_DURATION"] = rng.choice(DURATIONS)
    elif rng.random() < 0.2:
        env["SHUNTER_SIM_DURATION"] = str(FOREVER_S)
    if rng.random() < 0.1:
        env["SHUNTER_SIM_EXIT"] = "3"
    elif rng.random() < 0.15:
        env["SHUNTER_SIM_FAIL_RATE"] = rng.choice(("0.1", "0.5"))
    return TaskSpec(
        ("work",),
        env,
        cpu_milli=cpu_milli,
        run_timeout_s=rng.choice((0.3, 2.0)) if rng.random() < 0.1 else 0.0,
        stop_grace_s=rng.choice((0.0, 0.5, 5.0)),
    )


def _draw_restart(rng: random.Random) -> Restart:
    if rng.random() < 0.6:
        return Restart()
    rules = (ExitRule((rng.choice((1, 3)),), rng.choice(("fail", "restart", "succeed"))),)
    return Restart(
        policy=rng.choice(("on-failure", "on-failure", "always", "unless-stopped")),
        max=rng.choice((0, 1, 2, 3)),
        delay_s=rng.choice((0.05, 0.5, 2.0)),
        delay_max_s=3.0,
        on_exit=rules if rng.random() < 0.3 else (),
        elsewhere=rng.random() < 0.15,
    )
