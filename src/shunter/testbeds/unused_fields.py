"""Reports fields of an application that have no meaning on Shunter's workers, each with the reason. Used when a
BatchJob is applied or described."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shunter.model.objects.application_fields import FLINK_SPEC, SPARK_SPEC
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.environment_fields import VALUE_FROM
from shunter.model.objects.flink_fields import IGNORED_FLINK_FIELDS, ignored_reason
from shunter.model.objects.object_meta import Document
from shunter.model.objects.spark_fields import (
    IGNORED_CONF,
    IGNORED_DRIVER_FIELDS,
    IGNORED_EXECUTOR_FIELDS,
    IGNORED_SPARK_FIELDS,
    SINGLE_ATTEMPT,
)


def unused_fields(job: BatchJob) -> list[str]:
    """One message a field: `sparkSpec.image is not used: there are no images here ...`."""
    if job.spec.spark is not None:
        found = list(_unused_spark_fields(job.spec.spark))
    elif job.spec.flink is not None:
        found = list(_unused_flink_fields(job.spec.flink))
    else:
        found = []
    return [f"{path} is not used: {reason}" for path, reason in found]


def _unused_spark_fields(spark: Document) -> Iterator[tuple[str, str]]:
    yield from _unused_with_reasons(spark, IGNORED_SPARK_FIELDS, SPARK_SPEC)
    if spark.get("mode") == "client":
        yield f"{SPARK_SPEC}.mode", "the driver runs on a node of the cluster"
    restart = spark.get("restartPolicy") or {}
    if restart.get("type", "Never") != "Never":
        yield f"{SPARK_SPEC}.restartPolicy", SINGLE_ATTEMPT
    yield from _unused_with_reasons(spark.get("sparkConf") or {}, IGNORED_CONF, f"{SPARK_SPEC}.sparkConf")
    for part, reasons in (("driver", IGNORED_DRIVER_FIELDS), ("executor", IGNORED_EXECUTOR_FIELDS)):
        fields = spark.get(part) or {}
        yield from _unused_with_reasons(fields, reasons, f"{SPARK_SPEC}.{part}")
        for index, variable in enumerate(fields.get("env") or ()):
            if "valueFrom" in variable:
                yield f"{SPARK_SPEC}.{part}.env[{index}].valueFrom", VALUE_FROM


def _unused_flink_fields(flink: Document) -> Iterator[tuple[str, str]]:
    yield from _unused_with_reasons(flink, IGNORED_FLINK_FIELDS, FLINK_SPEC)
    for name in flink.get("flinkProperties") or {}:
        if reason := ignored_reason(name):
            yield f"{FLINK_SPEC}.flinkProperties.{name}", reason
    variables = flink.get("envVars")
    for index, variable in enumerate(variables if isinstance(variables, list) else ()):
        if "valueFrom" in variable:
            yield f"{FLINK_SPEC}.envVars[{index}].valueFrom", VALUE_FROM


def _unused_with_reasons(
    fields: Mapping[str, object], reasons: Mapping[str, str], path: str
) -> Iterator[tuple[str, str]]:
    for name in fields:
        if name in reasons:
            yield f"{path}.{name}", reasons[name]
