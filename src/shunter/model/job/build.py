"""Builds a JobSpec from the validated values of a manifest. Called by `model.job.manifests`."""

from __future__ import annotations

from typing import Any

from shunter.model.job.groups import Group, count_tasks
from shunter.model.job.isolation import CONSTRAINTS
from shunter.model.job.job_fields import SPEC
from shunter.model.job.placement_fields import RESTART, UNLIMITED, UPDATE
from shunter.model.job.spec import (
    BATCH,
    DEFAULT_OPTIONS,
    LONG_RUNNING,
    PORT_PREFIX,
    SYSTEM,
    Affinity,
    After,
    Container,
    ExitRule,
    GroupAfter,
    GroupSpec,
    HealthCheck,
    JobOptions,
    JobSpec,
    Mount,
    Parameters,
    Port,
    Restart,
    Schedule,
    SecretRef,
    Spread,
    TaskSpec,
    Update,
    estimate_bucket,
)
from shunter.model.job.timing_fields import TIMING_FIELDS
from shunter.model.resources import CPU, DISK, MEMORY, STANDARD

CPU_DEFAULT_MILLI = 1000
RESTARTS_DEFAULT = Restart().max

_RESTART_NEVER, _RESTART_ALWAYS = Restart(), Restart(policy="always")

_DEFAULTS = {name: field.default for name, field in SPEC.fields.items()}
_RESTART_DEFAULTS = {name: field.default for name, field in RESTART.fields.items()}
_UPDATE_DEFAULTS = {name: field.default for name, field in UPDATE.fields.items()}
_OPTION_FIELDS = frozenset({"queue", "timeout", "failures_max", "gang", "hold", *TIMING_FIELDS})
_NO_UPDATE = Update()


def build_job(metadata: dict[str, Any], spec: dict[str, Any], groups: list[Group], namespace: str) -> JobSpec:
    values = _DEFAULTS | spec
    job_type = values["type"] or BATCH
    return JobSpec(
        namespace=metadata["namespace"] or namespace,
        name=metadata["name"] or "",
        groups=tuple(_build_group(group, job_type, is_gang=values["gang"]) for group in groups),
        type=job_type,
        priority=values["priority"],
        labels=metadata["labels"],
        options=DEFAULT_OPTIONS
        if _OPTION_FIELDS.isdisjoint(spec)
        else _build_options(values, values["gang"] and len(groups) > 1),
    )


def _build_options(values: dict[str, Any], is_gang: bool) -> JobOptions:
    schedule, parameters = values["schedule"], values["parameters"]
    return JobOptions(
        after=tuple(After(edge["job"], edge["when"], edge["otherwise"]) for edge in values["after"]),
        start_at_ms=values["start_at"].at_ms,
        start_in_s=values["start_at"].in_s,
        deadline_ms=values["deadline"].at_ms,
        deadline_s=values["deadline"].in_s,
        queue=values["queue"],
        timeout_s=values["timeout"].get("job", 0.0),
        failures_max=values["failures_max"],
        gang=is_gang,
        held=values["hold"],
        schedule=None if schedule is None else Schedule(**schedule),
        parameters=None if parameters is None else Parameters(**parameters),
    )


def _build_group(group: Group, job_type: str, *, is_gang: bool) -> GroupSpec:
    values = group.values
    amounts = {CPU: CPU_DEFAULT_MILLI} | values["resources"]
    ports = _build_ports(values)
    needs = amounts | {f"{PORT_PREFIX}{port.host_port}": 1 for port in ports if port.host_port}
    return GroupSpec(
        name=group.name,
        count=count_tasks(group, job_type),
        task=_build_task(values, amounts, ports),
        needs={name: amount for name, amount in needs.items() if amount},
        restart=build_restart(values["restart"], job_type),
        datacenters=values["datacenters"],
        constraints=_build_constraints(values),
        queue_timeout_s=values["timeout"].get("queue", 0.0),
        after=tuple(GroupAfter(edge["group"], edge["when"], edge["otherwise"]) for edge in values["after"]),
        parallel_max=values["parallel_max"],
        gang=is_gang or values["gang"],
        exclusive=values["exclusive"],
        distinct=values["distinct"],
        spread=tuple(Spread(each["label"], float(each["weight"])) for each in values["spread"]),
        affinity=tuple(_build_affinity(each) for each in values["affinity"]),
        estimate_s=values["estimate"],
        update=build_update(values["update"], job_type, ports),
        array=values["array"],
        entries=values["entries"],
        estimate_bits=estimate_bucket(values["estimate"]),
        replace_after_s=values["disconnect"].get("replace_after", 0.0),
        at_most_once=values["at_most_once"],
    )


def _build_constraints(values: dict[str, Any]) -> tuple[str, ...]:
    """The required isolation is a constraint too, because every policy obeys constraints."""
    required = CONSTRAINTS.get(values["isolation"])
    given: tuple[str, ...] = values["constraints"]
    return given if required is None or required in given else (*given, required)


def _build_task(values: dict[str, Any], amounts: dict[str, int], ports: tuple[Port, ...]) -> TaskSpec:
    container = _build_container(values)
    return TaskSpec(
        command=values["command"],
        env=values["env"],
        dir=values["dir"],
        cpu_milli=amounts[CPU],
        memory_bytes=amounts.get(MEMORY, 0),
        disk_bytes=amounts.get(DISK, 0),
        run_timeout_s=values["timeout"].get("run", 0.0),
        stop_grace_s=values["stop_grace"],
        log_max_bytes=values["log_max"],
        runtime=values["runtime"] or ("process" if container is None else "docker"),
        container=container,
        mounts=tuple(Mount(**mount) for mount in values["mounts"]),
        ports=ports,
        health=tuple(_build_health(check, ports) for check in values["health"]),
        user=values["user"],
        stdout=values["stdout"],
        stderr=values["stderr"],
        devices={name: amount for name, amount in amounts.items() if amount and name not in STANDARD},
        payload=values["stdin"],
        payload_is_stdin=values["stdin"] is not None,
        stop_after_s=values["disconnect"].get("stop_after", 0.0),
        secrets=tuple(SecretRef(each["name"], each["env"], each["file"]) for each in values["secrets"]),
    )


def _build_container(values: dict[str, Any]) -> Container | None:
    if values["image"] is None:
        return None
    return Container(
        image=values["image"],
        args=values["args"],
        network=values["network"] or Container("").network,
        cap_add=tuple(name.removeprefix("CAP_") for name in values["cap_add"]),
        pids_max=values["pids_max"],
        pull=values["pull"],
        read_only=values["read_only"],
    )


def _build_ports(values: dict[str, Any]) -> tuple[Port, ...]:
    """A task without its own network serves its ports on the node."""
    return tuple(
        Port(port["name"], port["host_port"] if port["port"] is None else port["port"], port["host_port"])
        for port in values["ports"]
    )


def _build_health(check: dict[str, Any], ports: tuple[Port, ...]) -> HealthCheck:
    port = check["port"] or check["tcp"]
    if check["http"] and not port:
        port = ports[0].name
    kind = next((kind for kind in ("http", "tcp", "command") if check[kind]), check["plugin"])
    return HealthCheck(
        kind=kind,
        path=check["http"] or "",
        port=port,
        command=check["command"],
        interval_s=check["interval"],
        timeout_s=check["timeout"],
        failures=check["failures"],
        start_grace_s=check["start_grace"],
        options=check["options"],
    )


def build_restart(given: dict[str, Any], job_type: str) -> Restart:
    """Long-running jobs are always restarted, up to a limit. An attempt that ran long enough resets the count."""
    if not given:
        return _RESTART_ALWAYS if job_type in LONG_RUNNING else _RESTART_NEVER
    values = _RESTART_DEFAULTS | given
    policy = values["policy"] or ("always" if job_type in LONG_RUNNING else "never")
    restarts_max = values["max"]
    if restarts_max is None:
        restarts_max = RESTARTS_DEFAULT if job_type in LONG_RUNNING or policy in ("never", "on-failure") else UNLIMITED
    delay_max = values["delay_max"]
    return Restart(
        policy=policy,
        max=None if restarts_max == UNLIMITED else restarts_max,
        delay_s=values["delay"],
        factor=float(values["factor"]),
        delay_max_s=max(Restart().delay_max_s, values["delay"]) if delay_max is None else delay_max,
        jitter=float(values["jitter"]),
        on_exit=tuple(ExitRule(rule["codes"], rule["action"]) for rule in values["on_exit"]),
        elsewhere=values["elsewhere"],
    )


def _build_affinity(values: dict[str, Any]) -> Affinity:
    weight = float(values["weight"])
    return Affinity(values["to"], values["match"], values["require"], weight, values["anti"])


def build_update(given: dict[str, Any], job_type: str, ports: tuple[Port, ...]) -> Update:
    """Only one task of a node can have the port: the old task must stop before the new one starts."""
    has_fixed_port = job_type == SYSTEM and any(port.host_port for port in ports)
    if not given and not has_fixed_port:
        return _NO_UPDATE
    values = _UPDATE_DEFAULTS | given
    if has_fixed_port:
        values["unavailable_max"] = values["unavailable_max"] or 1
    return Update(
        parallel=values["parallel"],
        unavailable_max=values["unavailable_max"],
        healthy_for_s=values["healthy_for"],
        deadline_s=values["deadline"],
        rollback=values["rollback"],
    )
