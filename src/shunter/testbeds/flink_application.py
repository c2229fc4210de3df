"""The parts of a Flink application: a JobManager that runs this one job, and a TaskManager with one task slot in each
slot. Used by `testbeds.applications`."""

from __future__ import annotations

from shunter.model.objects.application_fields import read_application
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.flink_fields import ignored_reason
from shunter.model.resources import CPU, MEMORY, parse_amount
from shunter.testbeds.application_parts import (
    DRIVER_CPU_MILLI,
    DRIVER_MEMORY_BYTES,
    ApplicationParts,
    format_mebibytes,
    local_path,
)
from shunter.testbeds.memory_split import (
    JOB_MANAGER_MIN_BYTES,
    LAUNCHER_BYTES,
    TASK_MANAGER_MIN_BYTES,
    job_manager_bytes,
    task_manager_bytes,
)
from shunter.testbeds.view import StartApplication

PORTS = ("line", "rpc", "blob", "rest")


def flink_parts(job: BatchJob, start: StartApplication) -> ApplicationParts:
    values, count = read_application(job.spec), start.request.replication
    with_python = values["jarFile"] is None
    total = _amount(job, MEMORY, DRIVER_MEMORY_BYTES)
    settings = {key: value for key, value in values["flinkProperties"].items() if ignored_reason(key) is None}
    payload = {
        "name": job.meta.name,
        "jar": _path_or_none(values["jarFile"]),
        "main_class": values["className"],
        "arguments": list(values["args"]),
        "class_path": [local_path(path) for path in values["classPath"]],
        "py_file": _path_or_none(values["pyFile"]),
        "py_module": values["pyModule"],
        "py_files": [local_path(path) for path in values["pyFiles"]],
        "savepoint": values["fromSavepoint"],
        "skips_state": values["allowNonRestoredState"],
        "savepoints": values["savepointsDir"],
        "parallelism": values["parallelism"] or count,
        "settings": settings,
        "memory_mib": job_manager_bytes(total, with_python) >> 20,
    }
    memory_mib = task_manager_bytes(start.size.get(MEMORY, 0)) >> 20
    return ApplicationParts(
        runtime="flink",
        executor={"settings": settings, "memory_mib": memory_mib, "py_files": payload["py_files"]},
        executor_env=values["envVars"],
        driver=payload,
        driver_env=values["envVars"],
        driver_cpu_milli=_amount(job, CPU, DRIVER_CPU_MILLI),
        driver_memory_bytes=total,
        ports=PORTS,
    )


def flink_problems(job: BatchJob, start: StartApplication) -> list[str]:
    values, memory, slots = read_application(job.spec), start.size.get(MEMORY, 0), start.request.replication
    problems = []
    if task_manager_bytes(memory) < TASK_MANAGER_MIN_BYTES:
        minimum = format_mebibytes(TASK_MANAGER_MIN_BYTES + LAUNCHER_BYTES)
        problems.append(
            f"a TaskManager needs a slot with at least {minimum} of memory, but these have {format_mebibytes(memory)}"
        )
    total = _amount(job, MEMORY, DRIVER_MEMORY_BYTES)
    if job_manager_bytes(total, values["jarFile"] is None) < JOB_MANAGER_MIN_BYTES:
        problems.append(
            f"{format_mebibytes(total)} of memory are not enough for a JobManager; increase spec.driver.memory"
        )
    parallelism = values["parallelism"] or slots
    if parallelism > slots:
        problems.append(f"a parallelism of {parallelism} needs {parallelism} slots, but the Scheduling has {slots}")
    return problems


def _amount(job: BatchJob, resource: str, default: int) -> int:
    return parse_amount(resource, job.spec.driver[resource]) if resource in job.spec.driver else default


def _path_or_none(uri: str | None) -> str | None:
    return None if uri is None else local_path(uri)
