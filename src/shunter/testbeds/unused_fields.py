"""Fields of an application that have no meaning on Shunter's workers: each is reported, with the reason. Used where a
BatchJob is applied and described."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shunter.model.objects.application_fields import FLINK_SPEC, SPARK_SPEC
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.environment_fields import VALUE_FROM
from shunter.model.objects.flink_fields import FLINK_NOT_HERE, why_not_here
from shunter.model.objects.object_meta import Document
from shunter.model.objects.spark_fields import CONF_NOT_HERE, DRIVER_NOT_HERE, EXECUTOR_NOT_HERE, ONCE, SPARK_NOT_HERE


def unused_fields(job: BatchJob) -> list[str]:
    """One message a field: `sparkSpec.image is not used: there are no images here ...`."""
    if job.spec.spark is not None:
        found = list(_of_spark(job.spec.spark))
    elif job.spec.flink is not None:
        found = list(_of_flink(job.spec.flink))
    else:
        found = []
    return [f"{path} is not used: {reason}" for path, reason in found]


def _of_spark(spark: Document) -> Iterator[tuple[str, str]]:
    yield from _among(spark, SPARK_NOT_HERE, SPARK_SPEC)
    if spark.get("mode") == "client":
        yield f"{SPARK_SPEC}.mode", "the driver runs on a node of the cluster"
    restart = spark.get("restartPolicy") or {}
    if restart.get("type", "Never") != "Never":
        yield f"{SPARK_SPEC}.restartPolicy", ONCE
    yield from _among(spark.get("sparkConf") or {}, CONF_NOT_HERE, f"{SPARK_SPEC}.sparkConf")
    for part, reasons in (("driver", DRIVER_NOT_HERE), ("executor", EXECUTOR_NOT_HERE)):
        fields = spark.get(part) or {}
        yield from _among(fields, reasons, f"{SPARK_SPEC}.{part}")
        for place, variable in enumerate(fields.get("env") or ()):
            if "valueFrom" in variable:
                yield f"{SPARK_SPEC}.{part}.env[{place}].valueFrom", VALUE_FROM


def _of_flink(flink: Document) -> Iterator[tuple[str, str]]:
    yield from _among(flink, FLINK_NOT_HERE, FLINK_SPEC)
    for name in flink.get("flinkProperties") or {}:
        if reason := why_not_here(name):
            yield f"{FLINK_SPEC}.flinkProperties.{name}", reason
    variables = flink.get("envVars")
    for place, variable in enumerate(variables if isinstance(variables, list) else ()):
        if "valueFrom" in variable:
            yield f"{FLINK_SPEC}.envVars[{place}].valueFrom", VALUE_FROM


def _among(fields: Mapping[str, object], reasons: Mapping[str, str], path: str) -> Iterator[tuple[str, str]]:
    for name in fields:
        if name in reasons:
            yield f"{path}.{name}", reasons[name]
