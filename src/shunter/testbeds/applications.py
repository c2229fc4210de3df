"""Builds the job that runs a BatchJob: a driver (or JobManager) outside the slots, and an executor (or TaskManager) in
each slot. The engine submits it, and the launchers of `frameworks/` run it.

A command has no driver: its executors start at once. Other executors start after the driver, because its ports are
known only then: `executor_group` adds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from shunter.model.job.spec import GroupSpec, JobSpec, Port, TaskSpec
from shunter.model.objects.application_fields import read_application
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.resources import CPU, DISK, MEMORY
from shunter.testbeds.application_parts import DRIVER, EXECUTOR, ApplicationParts
from shunter.testbeds.flink_application import flink_parts, flink_problems
from shunter.testbeds.spark_application import spark_parts, spark_problems
from shunter.testbeds.view import StartApplication

PREFIX = "bj."
LABEL = "batchjob"
_SEPARATORS = str.maketrans({"-": "_", ".": "_"})


def application_name(job: BatchJob) -> str:
    return PREFIX + job.meta.name


def application_job(job: BatchJob, start: StartApplication, hosts: Sequence[str], secret: str) -> JobSpec:
    """Executor i is in slot i of the request, on `hosts[i]`. The job was validated, and `start_problems` found none.
    The secret is for this run only; it goes into the payloads, which only the tasks can see."""
    parts = _parts(job, start, secret)
    executors = _executors(job, start, hosts, parts)
    groups = (executors,) if parts.driver is None else (_driver(job, start, parts), executors)
    return JobSpec(job.meta.namespace, application_name(job), groups, labels={LABEL: job.meta.name})


def executor_group(job: BatchJob, spec: JobSpec, driver_host: str, driver_ports: Mapping[str, int]) -> GroupSpec:
    """The executors of the application's job, once its driver has started at this address."""
    assert spec.name == application_name(job)
    group = spec.groups[-1]
    driver_address = {"SHUNTER_DRIVER_HOST": driver_host}
    for name, port in driver_ports.items():
        driver_address[f"SHUNTER_DRIVER_PORT_{name.upper().translate(_SEPARATORS)}"] = str(port)
    task = msgspec.structs.replace(group.task, env={**group.task.env, **driver_address})
    return msgspec.structs.replace(group, task=task)


def start_problems(job: BatchJob, start: StartApplication) -> list[str]:
    """Why this application cannot run in such slots, or with such a driver: its submission fails with these."""
    if job.spec.engine == "spark":
        return spark_problems(job, start)
    return flink_problems(job, start) if job.spec.engine == "flink" else []


def _parts(job: BatchJob, start: StartApplication, secret: str) -> ApplicationParts:
    if job.spec.engine == "spark":
        return spark_parts(job, start, secret)
    return flink_parts(job, start) if job.spec.engine == "flink" else _command_parts(job)


def _command_parts(job: BatchJob) -> ApplicationParts:
    values = read_application(job.spec)
    command = (*values["command"], *values["args"])
    return ApplicationParts("process", values["env"], executor_command=command, executor_dir=values["workingDir"])


def _origin(job: BatchJob, start: StartApplication) -> dict[str, str]:
    """Variables that say what the application is, and who started it where."""
    scheduling = {"SHUNTER_SCHEDULING": job.claim.scheduling.name} if job.claim is not None else {}
    return {"SHUNTER_BATCHJOB": job.meta.name, "SHUNTER_TESTBED": start.request.testbed.name, **scheduling}


def _driver(job: BatchJob, start: StartApplication, parts: ApplicationParts) -> GroupSpec:
    task = TaskSpec(
        command=(DRIVER,),
        env={**parts.driver_env, **_origin(job, start)},
        cpu_milli=parts.driver_cpu_milli,
        memory_bytes=parts.driver_memory_bytes,
        runtime=parts.runtime,
        ports=tuple(Port(name, 0) for name in parts.ports),
        payload=_encode(parts.driver or {}),
    )
    return GroupSpec(DRIVER, 1, task, needs={CPU: parts.driver_cpu_milli, MEMORY: parts.driver_memory_bytes})


def _executors(job: BatchJob, start: StartApplication, hosts: Sequence[str], parts: ApplicationParts) -> GroupSpec:
    size, slots = start.size, tuple(str(slot) for slot in start.request.slot_ids)
    environment = {
        **parts.executor_env,
        **_origin(job, start),
        "SHUNTER_EXECUTOR_COUNT": str(len(slots)),
        "SHUNTER_EXECUTOR_HOSTS": ",".join(hosts),
    }
    task = TaskSpec(
        command=parts.executor_command,
        env=environment,
        dir=parts.executor_dir,
        cpu_milli=size.get(CPU, 0),
        memory_bytes=size.get(MEMORY, 0),
        disk_bytes=size.get(DISK, 0),
        runtime=parts.runtime,
        payload=_encode(parts.executor),
    )
    # The slot's own reservation holds the room: the executors need nothing in addition.
    return GroupSpec(EXECUTOR, len(slots), task, needs={}, entries=slots)


def _encode(payload: Mapping[str, Any]) -> bytes | None:
    return msgspec.json.encode(payload) if payload else None
