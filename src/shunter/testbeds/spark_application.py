"""The parts of a Spark application: a driver with its own Master, and a Worker with one executor in each slot. Used by
`testbeds.applications`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shunter.model.objects.application_fields import read_application
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.environment_fields import env_dict
from shunter.model.objects.spark_fields import IGNORED_CONF
from shunter.model.resources import CPU, MEMORY, parse_amount
from shunter.testbeds.application_parts import (
    DRIVER_CPU_MILLI,
    DRIVER_MEMORY_BYTES,
    ApplicationParts,
    format_mebibytes,
    local_path,
)
from shunter.testbeds.memory_split import spark_driver_total, spark_share, spark_slot_min
from shunter.testbeds.view import StartApplication

PYTHON = "Python"
PORTS = ("line", "master", "master-ui", "driver", "blocks", "ui")


def spark_parts(job: BatchJob, start: StartApplication, secret: str) -> ApplicationParts:
    """Only the processes of this run know the secret."""
    values = read_application(job.spec)
    with_python = values["type"] == PYTHON
    driver, executor = values["driver"], values["executor"]
    cpu_milli, total, heap = _spark_driver(job, values)
    share = spark_share(start.size.get(MEMORY, 0), with_python)
    cores = executor.get("cores") or max(1, start.size.get(CPU, 0) // 1000)
    conf = {key: value for key, value in values["sparkConf"].items() if key not in IGNORED_CONF}
    conf |= {f"spark.hadoop.{key}": value for key, value in values["hadoopConf"].items()}
    conf |= _spark_dependencies(values["deps"])
    for part, name in ((driver, "driver"), (executor, "executor")):
        if part.get("javaOptions"):
            conf[f"spark.{name}.extraJavaOptions"] = part["javaOptions"]
    executor_env = _variables(executor)
    conf |= {f"spark.executorEnv.{key}": value for key, value in executor_env.items()}
    payload = {
        "name": job.meta.name,
        "type": values["type"],
        "main_class": values["mainClass"],
        "file": local_path(values["mainApplicationFile"]),
        "arguments": list(values["arguments"]),
        "conf": conf,
        "heap_mib": heap >> 20,
        "executors": start.request.replication,
        "executor_cores": cores,
        "executor_heap_mib": share.heap_bytes >> 20,
        "secret": secret,
    }
    return ApplicationParts(
        runtime="spark",
        executor={"cores": cores, "heap_mib": share.heap_bytes >> 20, "secret": secret},
        executor_env=executor_env,
        driver=payload,
        driver_env=_variables(driver),
        driver_cpu_milli=cpu_milli,
        driver_memory_bytes=total,
        ports=PORTS,
    )


def _spark_driver(job: BatchJob, values: Mapping[str, Any]) -> tuple[int, int, int]:
    """Its cpu, all its memory, and its heap. `spec.driver` is the whole request and goes first."""
    requested, spark = job.spec.driver, values["driver"]
    cpu_milli = spark.get("coreRequest") or 1000 * (spark.get("cores") or 0) or DRIVER_CPU_MILLI
    if "cpu" in requested:
        cpu_milli = parse_amount(CPU, requested["cpu"])
    heap = spark.get("memory")
    total = DRIVER_MEMORY_BYTES if heap is None else spark_driver_total(heap, spark.get("memoryOverhead"))
    if "memory" in requested:
        total = parse_amount(MEMORY, requested["memory"])
    if heap is None:
        heap = spark_share(total, values["type"] == PYTHON).heap_bytes
    return cpu_milli, total, heap


def _spark_dependencies(dependencies: Mapping[str, Any]) -> dict[str, str]:
    conf = {}
    for field, key in (("jars", "jars"), ("files", "files"), ("pyFiles", "submit.pyFiles"), ("archives", "archives")):
        if dependencies.get(field):
            conf[f"spark.{key}"] = ",".join(local_path(path) for path in dependencies[field])
    for field, key in (("packages", "packages"), ("excludePackages", "excludes"), ("repositories", "repositories")):
        if dependencies.get(field):
            conf[f"spark.jars.{key}"] = ",".join(dependencies[field])
    return conf


def spark_problems(job: BatchJob, start: StartApplication) -> list[str]:
    values, memory = read_application(job.spec), start.size.get(MEMORY, 0)
    with_python, problems = values["type"] == PYTHON, []
    if not spark_share(memory, with_python).fits:
        minimum, found = format_mebibytes(spark_slot_min(with_python)), format_mebibytes(memory)
        problems.append(f"a Spark executor needs a slot with at least {minimum} of memory, but these have {found}")
    _, total, heap = _spark_driver(job, values)
    share = spark_share(total, with_python)
    if values["driver"].get("memory") is None and not share.fits:
        problems.append(
            f"the Spark driver needs at least {format_mebibytes(spark_slot_min(with_python))}, "
            f"but has {format_mebibytes(total)}"
        )
    elif "memory" in job.spec.driver and heap > share.heap_bytes:
        problems.append(
            f"spec.driver.memory: a heap of {format_mebibytes(heap)} does not fit into {format_mebibytes(total)}"
        )
    return problems


def _variables(part: Mapping[str, Any]) -> dict[str, str]:
    return {**env_dict(part.get("env", ())), **part.get("envVars", {})}
