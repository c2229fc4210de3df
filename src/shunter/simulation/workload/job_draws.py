"""Random jobs: arrays, graphs, gangs, rules, limits, times and templates, as users of a simulated world submit them.

Called by `simulation.scenario`. Whatever is drawn can end on the first node alone, unless it is made to wait or run for
ever; those are stopped in the end.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from shunter.model.job.spec import (
    PLAIN,
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
    bits_of_estimate,
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
AWAY = tuple(Affinity("job", f"job.name == '{name}'", require=True, anti=True) for name in NAMES[:3])


@dataclass(frozen=True, slots=True)
class Submit:
    """One request of a user. `key` may be one that was used before, then `specs` are the same as well."""

    at_s: float
    user: str
    key: str | None
    specs: list[JobSpec]


def draw_submits(chance: random.Random, trouble_s: float, nodes: int) -> Iterator[Submit]:
    for number in range(chance.randint(1, 12)):
        specs = _draw_specs(chance, nodes)
        key = f"key-{number}" if chance.random() < 0.8 else None
        submit = Submit(chance.uniform(0, 0.6 * trouble_s), chance.choice(("ada", "bob")), key, specs)
        yield submit
        if key is not None and chance.random() < 0.4:
            yield Submit(submit.at_s + chance.uniform(0, 10), submit.user, key, specs)


def _draw_specs(chance: random.Random, nodes: int) -> list[JobSpec]:
    """Single jobs, bulks, graphs of jobs that wait for one another, and templates."""
    if chance.random() < 0.12:
        return [_draw_template(chance, nodes)]
    if chance.random() < 0.2:
        return [draw_lasting(chance)]
    specs = [draw_job(chance, nodes) for _ in range(chance.choice((1, 1, 1, 2, 4, 15)))]
    if 1 < len(specs) < 15 and chance.random() < 0.7:
        return _draw_graph(chance, specs)
    if chance.random() < 0.1:
        return [_with_edges(chance, specs[0], [chance.choice(NAMES)]), *specs[1:]]
    return specs


def draw_lasting(chance: random.Random) -> JobSpec:
    """A service, or a job with a task on each node. Small, so that twice of it has room on the first node."""
    type = chance.choice((SERVICE, SERVICE, SERVICE, SYSTEM, SYSBATCH))
    env = {"SHUNTER_SIM_DURATION": str(FOREVER_S) if type != SYSBATCH else "0.5"}
    if chance.random() < 0.15:
        env = {"SHUNTER_SIM_DURATION": "1.5", "SHUNTER_SIM_EXIT": "3"}
    health = (HealthCheck("tcp", port="8080", interval_s=0.3),) if type == SERVICE and chance.random() < 0.5 else ()
    if health and chance.random() < 0.2:
        env["SHUNTER_SIM_HEALTH"] = "bad"
    update = Update(
        parallel=chance.choice((1, 2)),
        unavailable_max=chance.choice((0, 0, 1)),
        healthy_for_s=chance.choice((0.2, 1.0)),
        deadline_s=chance.choice((3.0, 20.0)),
        rollback=chance.random() < 0.7,
    )
    task = TaskSpec(("serve", f"v{chance.randrange(3)}"), env, cpu_milli=100, health=health, stop_grace_s=0.5)
    policy = "never" if type == SYSBATCH else "always"
    restart = Restart(policy, max=chance.choice((1, 3)), delay_s=0.1, delay_max_s=1.0)
    count = chance.choice((1, 2, 3)) if type == SERVICE else 1
    group = GroupSpec("main", count, task, {CPU: chance.choice((100, 200))}, restart, update=update)
    name = {SERVICE: chance.choice(SERVICES), SYSTEM: "agent", SYSBATCH: "sweep"}[type]
    return JobSpec("default", name, (group,), type, priority=chance.choice((50, 90)))


def _draw_graph(chance: random.Random, specs: list[JobSpec]) -> list[JobSpec]:
    """A chain, or a first job with several behind it, or a diamond; told in any order."""
    namespace, stem = specs[0].namespace, f"graph-{chance.randrange(10**9)}"
    named = [replace(spec, namespace=namespace, name=f"{stem}-{place}") for place, spec in enumerate(specs)]
    shape = chance.choice(("chain", "fan", "diamond"))
    for place in range(1, len(named)):
        if shape == "chain":
            behind = [place - 1]
        elif shape == "diamond" and place == len(named) - 1:
            behind = list(range(1, place)) or [0]
        else:
            behind = [0]
        named[place] = _with_edges(chance, named[place], [named[each].name for each in behind])
    chance.shuffle(named)
    return named


def _with_edges(chance: random.Random, spec: JobSpec, jobs: list[str]) -> JobSpec:
    after = tuple(After(job, *_draw_policy(chance)) for job in jobs)
    return replace(spec, options=replace(spec.options, after=after))


def _draw_policy(chance: random.Random) -> tuple[str, str]:
    when = chance.choice(("succeeded", "succeeded", "finished", "failed"))
    return when, chance.choice(("cancel", "cancel", "run"))


def _draw_template(chance: random.Random, nodes: int) -> JobSpec:
    """Fired by the clock, or by whoever dispatches it; each run ends by itself."""
    job = draw_job(chance, nodes)
    task = TaskSpec(("work",), {"SHUNTER_SIM_DURATION": chance.choice(("0", "0.5", "3"))})
    group = GroupSpec("main", chance.choice((1, 1, 3)), task, {CPU: 500})
    options = replace(job.options, held=False, start_in_s=0.0, after=())
    if chance.random() < 0.7:
        overlap, catch_up = chance.choice(("skip", "queue", "replace")), chance.choice(("none", "last", "all"))
        options = replace(options, schedule=Schedule(chance.choice(CRONS), overlap=overlap, catch_up=catch_up))
    else:
        options = replace(options, parameters=Parameters())
    return replace(job, name=chance.choice(TEMPLATES), groups=(group,), options=options)


def draw_job(chance: random.Random, nodes: int) -> JobSpec:
    groups = tuple(_draw_group(chance, name) for name in (("main",) if chance.random() < 0.85 else ("map", "reduce")))
    options = _draw_options(chance) if chance.random() < 0.35 else PLAIN
    if len(groups) > 1 and chance.random() < 0.6:
        groups = (groups[0], replace(groups[1], after=(GroupAfter("map", *_draw_policy(chance)),)))
    elif chance.random() < 0.15:
        groups = tuple(_draw_gang(chance, group, nodes) for group in groups)
        options = replace(options, gang=len(groups) > 1)
    name = chance.choice(NAMES) if chance.random() < 0.3 else f"job-{chance.randrange(10**9)}"
    return JobSpec(
        chance.choice(NAMESPACES),
        "" if chance.random() < 0.1 else name,
        groups,
        priority=chance.choice((10, 50, 50, 90)),
        options=options,
    )


def _draw_options(chance: random.Random) -> JobOptions:
    return JobOptions(
        start_in_s=chance.choice((0.0, 0.0, 0.4, 3.0)),
        deadline_s=chance.choice((0.0, 0.0, 5.0)),
        queue=chance.choice(("default", *QUEUES)),
        timeout_s=chance.choice((0.0, 0.0, 0.0, 10.0)),
        failures_max=chance.choice((0, 0, 1, 3)),
        held=chance.random() < 0.1,
    )


def _draw_gang(chance: random.Random, group: GroupSpec, nodes: int) -> GroupSpec:
    """Small enough to start together even when all other nodes have shrunk."""
    is_apart = chance.random() < 0.3
    task = group.task if group.task.env.get("SHUNTER_SIM_DURATION") != str(FOREVER_S) else TaskSpec(("work",))
    return replace(
        group,
        count=chance.randint(1, nodes) if is_apart else chance.randint(2, 4),
        task=task,
        needs={CPU: chance.choice((250, 500))},
        gang=True,
        distinct="host" if is_apart else "",
        datacenters=(),
        constraints=(),
        parallel_max=0,
        exclusive=False,
        affinity=tuple(rule for rule in group.affinity if rule.to == "node"),  # it might avoid its own
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
    group = GroupSpec(
        name,
        chance.choice((1, 1, 2, 5, 20, 60, 200) if is_short else (1, 1, 2, 5, 20)),
        task,
        needs,
        _draw_restart(chance),
        datacenters=("dc1",) if chance.random() < 0.1 else (),
        constraints=(chance.choice(CONSTRAINTS),) if chance.random() < 0.15 else (),
        queue_timeout_s=chance.choice((0.5, 5.0)) if chance.random() < 0.05 else 0.0,
    )
    if chance.random() < 0.2:  # it need not be true
        estimate_s = chance.choice(ESTIMATES_S)
        group = replace(group, estimate_s=estimate_s, estimate_bits=bits_of_estimate(estimate_s))
    return _draw_rules(chance, group) if chance.random() < 0.25 else group


def _draw_rules(chance: random.Random, group: GroupSpec) -> GroupSpec:
    """One of the things that couple tasks to one another. Few of them at a time, because some take turns."""
    few = replace(group, count=min(group.count, 5))
    match chance.choice(("parallel", "parallel", "exclusive", "distinct", "label", "licence", "port", "spread")):
        case "parallel":
            return replace(group, parallel_max=chance.choice((1, 2, 5)))
        case "exclusive":
            return replace(few, exclusive=True)
        case "distinct":
            return replace(few, distinct="host")
        case "label":
            return replace(few, distinct="disk")
        case "licence":
            return replace(few, needs={**group.needs, LICENCES[0]: chance.choice((1, 2))})
        case "port":
            return replace(few, needs={**group.needs, "port/8080": 1})
        case _:
            return replace(few, spread=(Spread("disk"),), affinity=(SSD, *AWAY))


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
    rules = (ExitRule((chance.choice((1, 3)),), chance.choice(("fail", "restart", "succeed"))),)
    return Restart(
        policy=chance.choice(("on-failure", "on-failure", "always", "unless-stopped")),
        max=chance.choice((0, 1, 2, 3)),
        delay_s=chance.choice((0.05, 0.5, 2.0)),
        delay_max_s=3.0,
        on_exit=rules if chance.random() < 0.3 else (),
        elsewhere=chance.random() < 0.15,
    )
