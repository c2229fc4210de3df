"""Reads and validates the application of a BatchJob manifest: exactly one of sparkSpec, flinkSpec and commandSpec. Also
defines the typed values from which `testbeds.applications` builds an application."""

from __future__ import annotations

from typing import Any

from shunter.model.job.task_fields import (
    COMMAND_FIX,
    COMMAND_WORD_SIZE_MAX,
    COMMAND_WORDS_MAX,
    PATH_PATTERN,
    PATH_SIZE_MAX,
)
from shunter.model.objects.batch_jobs import BatchJobSpec
from shunter.model.objects.environment_fields import env_field
from shunter.model.objects.flink_fields import FLINK
from shunter.model.objects.object_meta import Document
from shunter.model.objects.spark_fields import CORES_MAX, SPARK
from shunter.model.resources import AMOUNT_MAX, CPU, MEMORY
from shunter.model.schema.field_lists import command_words, value_list
from shunter.model.schema.fields import Section, amount, text
from shunter.model.schema.problems import Problems

SPARK_SPEC, FLINK_SPEC, COMMAND_SPEC = "sparkSpec", "flinkSpec", "commandSpec"
KINDS = (SPARK_SPEC, FLINK_SPEC, COMMAND_SPEC)
DRIVER_MEMORY_MIN = 64 * 2**20

_WORD = text(size_max=COMMAND_WORD_SIZE_MAX)

COMMAND = Section(
    "any program: one executor per slot",
    {
        "command": command_words(_WORD, count_min=1, count_max=COMMAND_WORDS_MAX, fix=COMMAND_FIX, required=True),
        "args": value_list(_WORD, count_max=COMMAND_WORDS_MAX, fix=COMMAND_FIX).about(
            "arguments after those of the command"
        ),
        "env": env_field().about("environment variables of the executors"),
        "workingDir": text(PATH_PATTERN, size_max=PATH_SIZE_MAX, rule="an absolute path").about(
            "working directory of the executors; default: a temporary directory that is deleted with the executor"
        ),
    },
)
DRIVER = Section(
    "resources that the driver or JobManager requests",
    {
        "cpu": amount(CPU, 1, CORES_MAX * 1000).about("like 500m, which is the default"),
        "memory": amount(MEMORY, DRIVER_MEMORY_MIN, AMOUNT_MAX).about("like 1Gi, which is the default"),
    },
)
SECTIONS = {SPARK_SPEC: SPARK, FLINK_SPEC: FLINK, COMMAND_SPEC: COMMAND, "driver": DRIVER}


def check_application(spec: Document, path: str, problems: Problems) -> None:
    """Add a problem for everything that is wrong with the application of a BatchJob: its kind, fields and driver."""
    given = [kind for kind in KINDS if spec.get(kind) is not None]
    if len(given) != 1:
        fault = f"must have exactly one of {', '.join(KINDS)}"
        problems.add(path, fault + (f", but has {' and '.join(given)}" if given else ""), fix=_fix(spec, given))
    for name, section in SECTIONS.items():
        if spec.get(name) is not None:
            section.read(spec[name], f"{path}.{name}", problems)
    if isinstance(spec.get(SPARK_SPEC), dict):
        _check_spark(spec[SPARK_SPEC], f"{path}.{SPARK_SPEC}", problems)
    if isinstance(spec.get(FLINK_SPEC), dict):
        _check_flink(spec[FLINK_SPEC], f"{path}.{FLINK_SPEC}", problems)


def read_application(spec: BatchJobSpec) -> dict[str, Any]:
    """The values of its one application by their fields, defaults filled in. It was checked before."""
    if spec.spark is not None:
        return SPARK.read(spec.spark, SPARK_SPEC, Problems())
    if spec.flink is not None:
        return FLINK.read(spec.flink, FLINK_SPEC, Problems())
    return COMMAND.read(spec.command, COMMAND_SPEC, Problems())


def _fix(spec: Document, given: list[str]) -> str:
    if given:
        return "remove all but one"
    return "add one of them" if not any(kind in spec for kind in KINDS) else "write it as a mapping"


def _check_spark(spark: Document, path: str, problems: Problems) -> None:
    if spark.get("type") in ("Scala", "Java") and spark.get("mainClass") is None:
        problems.add(f"{path}.mainClass", "is missing", fix="name the class with the main method")
    file = spark.get("mainApplicationFile")
    if spark.get("type") == "Python" and isinstance(file, str) and file.endswith(".jar"):
        problems.add(
            f"{path}.mainApplicationFile", "is a jar, but the type is Python", value=file, fix="name a .py file"
        )


def _check_flink(flink: Document, path: str, problems: Problems) -> None:
    programs = [name for name in ("jarFile", "pyFile", "pyModule") if flink.get(name) is not None]
    if len(programs) != 1:
        fault = "must have exactly one of jarFile, pyFile and pyModule"
        problems.add(path, fault + (f", but has {' and '.join(programs)}" if programs else ""), fix="name one program")
    if "jarFile" not in programs and flink.get("className") is not None:
        problems.add(f"{path}.className", "is only allowed with a jarFile", fix="remove it, or set jarFile")
