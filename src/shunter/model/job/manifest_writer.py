"""Writes a JobSpec as the manifest that reads as the same spec. Pure; used by the gateway, which shows it.

Stored jobs have the validated spec and not the text that somebody wrote: comments, order and defaults that were spelled
out are gone. `model.job.build` is the opposite direction."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import msgspec

from shunter.model.job.arrays import format_indexes
from shunter.model.job.build import build_restart, build_update
from shunter.model.job.job_fields import API_VERSION
from shunter.model.job.spec import (
    BATCH,
    DEFAULT_OPTIONS,
    PER_NODE,
    PORT_PREFIX,
    PRIORITY_DEFAULT,
    Container,
    GroupSpec,
    HealthCheck,
    JobOptions,
    JobSpec,
    Restart,
    TaskSpec,
    Update,
)
from shunter.model.resources import CPU, DISK, MEMORY, STANDARD, format_amount
from shunter.model.timestamps import iso

GROUP_DEFAULT = "main"
NODE_PROCESS, CONTAINER = "process", "docker"
_TASK = TaskSpec(())
_CONTAINER, _HEALTH = Container(""), HealthCheck("")

Values = dict[str, Any]


def write_manifest(spec: JobSpec) -> Values:
    """With fields that are not defaults alone."""
    metadata = _filled(name=spec.name, namespace=spec.namespace, labels=spec.labels)
    options = spec.options
    values = _filled(type=spec.type if spec.type != BATCH else None, **_options(options))
    if spec.priority != PRIORITY_DEFAULT:
        values["priority"] = spec.priority
    groups = [_group(group, spec) for group in spec.groups]
    timeout = _filled(job=_seconds(options.timeout_s))
    if len(groups) == 1 and spec.groups[0].name == GROUP_DEFAULT:
        del groups[0]["name"]
        timeout |= groups[0].pop("timeout", {})
        values |= groups[0]
    else:
        values["groups"] = groups
    return {"apiVersion": API_VERSION, "kind": "Job", "metadata": metadata, "spec": values | _filled(timeout=timeout)}


def _options(options: JobOptions) -> Values:
    default = DEFAULT_OPTIONS
    start_at = iso(options.start_at_ms / 1000) or _seconds(options.start_in_s)
    deadline = iso(options.deadline_ms / 1000) or _seconds(options.deadline_s)
    return _filled(
        after=[_plain(edge) for edge in options.after],
        start_at=start_at,
        deadline=deadline,
        queue=options.queue if options.queue != default.queue else None,
        failures_max=options.failures_max,
        gang=options.gang,
        hold=options.held,
        schedule=_plain(options.schedule),
        parameters=_plain(options.parameters),
    )


def _group(group: GroupSpec, spec: JobSpec) -> Values:
    count = group.count if spec.type not in PER_NODE and not group.array and not group.entries else None
    none = {"count": 0} if count == 0 else {}
    return none | _filled(
        name=group.name,
        count=count if count != 1 else None,
        array=format_indexes(group.array),
        entries=list(group.entries),
        **_task(group.task),
        resources=_resources(group),
        restart=_restart(group.restart, spec.type),
        datacenters=list(group.datacenters),
        constraints=list(group.constraints),
        timeout=_filled(queue=_seconds(group.queue_timeout_s), run=_seconds(group.task.run_timeout_s)),
        after=[_plain(edge) for edge in group.after],
        parallel_max=group.parallel_max,
        gang=group.gang and not spec.options.gang,
        exclusive=group.exclusive,
        distinct=group.distinct,
        spread=[_plain(each) for each in group.spread],
        affinity=[_plain(each) for each in group.affinity],
        estimate=_seconds(group.estimate_s),
        update=_update(group.update, spec.type, group.task),
        disconnect=_filled(replace_after=_seconds(group.replace_after_s), stop_after=_seconds(group.task.stop_after_s)),
        at_most_once=group.at_most_once,
    )


def _task(task: TaskSpec) -> Values:
    container = task.container
    runtime = task.runtime if task.runtime != (NODE_PROCESS if container is None else CONTAINER) else None
    return _filled(
        command=list(task.command),
        **_container(container),
        env=task.env,
        dir=task.dir,
        runtime=runtime,
        stop_grace=(_seconds(task.stop_grace_s) or "0s") if task.stop_grace_s != _TASK.stop_grace_s else None,
        log_max=format_amount(DISK, task.log_max_bytes) if task.log_max_bytes != _TASK.log_max_bytes else None,
        mounts=[_plain(mount) for mount in task.mounts],
        ports=[_port(port.name, port.port, port.host_port) for port in task.ports],
        health=[_health(check) for check in task.health],
        user=task.user,
        stdout=task.stdout,
        stderr=task.stderr,
        stdin=b64encode(task.payload).decode() if task.payload_is_stdin and task.payload is not None else None,
    )


def _container(container: Container | None) -> Values:
    if container is None:
        return {}
    return _filled(
        image=container.image,
        args=list(container.args),
        network=container.network if container.network != _CONTAINER.network else None,
        cap_add=list(container.cap_add),
        pids_max=container.pids_max if container.pids_max != _CONTAINER.pids_max else None,
        pull=container.pull if container.pull != _CONTAINER.pull else None,
        read_only=container.read_only,
    )


def _resources(group: GroupSpec) -> Values:
    found: Values = {
        name: format_amount(name, amount) if name in STANDARD else amount
        for name, amount in group.needs.items()
        if not name.startswith(PORT_PREFIX)
    }
    if CPU not in found:
        found[CPU] = 0
    elif found == {CPU: "1"}:
        return {}
    return {name: found[name] for name in (CPU, MEMORY, DISK, *sorted(found)) if name in found}


def _port(name: str, port: int, host_port: int) -> Values:
    return _filled(name=name, port=port if port != host_port else None, host_port=host_port)


def _health(check: HealthCheck) -> Values:
    by_kind: dict[str, Values] = {
        "http": {"http": check.path, "port": check.port},
        "tcp": {"tcp": check.port},
        "command": {"command": list(check.command)},
    }
    found = by_kind.get(check.kind, {"plugin": check.kind, "options": check.options})
    for name, value, default in (
        ("interval", check.interval_s, _HEALTH.interval_s),
        ("timeout", check.timeout_s, _HEALTH.timeout_s),
        ("start_grace", check.start_grace_s, _HEALTH.start_grace_s),
    ):
        if value != default:
            found[name] = _seconds(value) or 0
    if check.failures != _HEALTH.failures:
        found["failures"] = check.failures
    return {name: value for name, value in found.items() if value not in ({}, "")}


def _restart(restart: Restart, job_type: str) -> Values:
    if restart == build_restart({}, job_type):
        return {}
    return {
        "policy": restart.policy,
        "max": "unlimited" if restart.max is None else restart.max,
        "delay": restart.delay_s,
        "factor": restart.factor,
        "delay_max": restart.delay_max_s,
        "jitter": restart.jitter,
        **_filled(on_exit=[_plain(rule) for rule in restart.on_exit], elsewhere=restart.elsewhere),
    }


def _update(update: Update, job_type: str, task: TaskSpec) -> Values:
    if update == build_update({}, job_type, task.ports):
        return {}
    return {
        "parallel": update.parallel,
        "unavailable_max": update.unavailable_max,
        "healthy_for": update.healthy_for_s,
        "deadline": update.deadline_s,
        "rollback": update.rollback,
    }


def _plain(value: object) -> Any:
    """As JSON has it: lists, not tuples."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _seconds(value: float) -> str | float | None:
    """None for 0, which means none."""
    if not value:
        return None
    return f"{int(value)}s" if value == int(value) else value


def _filled(**values: Any) -> Values:
    """The values that are not empty."""
    return {name: value for name, value in values.items() if value is not None and value not in ("", [], {}, 0, False)}
