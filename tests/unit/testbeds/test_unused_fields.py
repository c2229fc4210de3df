"""Every field of the applications either acts or is reported: none is dropped silently."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.model.objects.batch_jobs import BatchJob, BatchJobSpec, CreationRequest
from shunter.model.objects.flink_fields import FLINK, IGNORED_FLINK_FIELDS, IGNORED_PROPERTIES
from shunter.model.objects.object_meta import Meta, ObjectName
from shunter.model.objects.spark_fields import (
    DEPENDENCIES,
    DRIVER,
    EXECUTOR,
    IGNORED_CONF,
    IGNORED_DRIVER_FIELDS,
    IGNORED_EXECUTOR_FIELDS,
    IGNORED_SPARK_FIELDS,
    SPARK,
)
from shunter.model.schema.fields import Section
from shunter.testbeds.applications import application_job
from shunter.testbeds.unused_fields import unused_fields
from shunter.testbeds.view import StartApplication

MIB = 2**20
SPARK_MINIMAL = {"type": "Java", "mainApplicationFile": "/opt/a.jar", "mainClass": "A"}
FLINK_MINIMAL = {"jarFile": "/opt/a.jar"}
PYTHON_MINIMAL = {"pyFile": "/opt/a.py"}
SIZE = {"cpu": 1000, "memory": 2048 * MIB}

# A value of each field that acts, other than its default, beside the least of an application.
SPARK_EFFECTIVE: dict[str, Any] = {
    "type": "Scala",
    "mainClass": "B",
    "mainApplicationFile": "/opt/b.jar",
    "arguments": ["1"],
    "sparkConf": {"spark.a": "b"},
    "hadoopConf": {"a": "b"},
    "deps": {"jars": ["/opt/c.jar"]},
    "driver": {"cores": 3},
    "executor": {"cores": 3},
}
DRIVER_EFFECTIVE: dict[str, Any] = {
    "cores": 3,
    "coreRequest": "300m",
    "memory": "700m",
    "memoryOverhead": "900m",
    "javaOptions": "-Da=b",
    "env": [{"name": "A", "value": "1"}],
    "envVars": {"A": "1"},
}
EXECUTOR_EFFECTIVE: dict[str, Any] = {
    "cores": 3,
    "javaOptions": "-Da=b",
    "env": [{"name": "A", "value": "1"}],
    "envVars": {"A": "1"},
}
DEPENDENCIES_EFFECTIVE: dict[str, Any] = {
    name: ["org.example:a:1"] if name in ("packages", "excludePackages", "repositories") else ["/opt/x"]
    for name in DEPENDENCIES.fields
}
FLINK_EFFECTIVE: dict[str, Any] = {
    "jarFile": "/opt/b.jar",
    "className": "B",
    "args": ["1"],
    "parallelism": 1,
    "classPath": ["/opt/c.jar"],
    "fromSavepoint": "/tmp/s",
    "allowNonRestoredState": True,
    "savepointsDir": "/tmp/s",
    "flinkProperties": {"a": "b"},
    "envVars": {"A": "1"},
    "pyFiles": ["/opt/lib"],
}
RESTART = {"type": "OnFailure"}


def batch_job(**spec: Any) -> BatchJob:
    return BatchJob(Meta(uid=7, namespace="lab", name="words", created_ms=0, user="ann"), BatchJobSpec(**spec))


def application(**spec: Any) -> object:
    request = CreationRequest(ObjectName("lab", "bed"), (0, 1))
    return application_job(batch_job(**spec), StartApplication(request, (), SIZE), ("a", "b"), "c0ffee")


def reported(**spec: Any) -> list[str]:
    return [message.split(" ")[0] for message in unused_fields(batch_job(**spec))]


def spark_with(part: str | None, name: str, value: object) -> dict[str, Any]:
    return SPARK_MINIMAL | ({name: value} if part is None else {part: {name: value}})


SPARK_PARTS: list[tuple[str | None, Section, dict[str, Any], dict[str, str]]] = [
    (None, SPARK, SPARK_EFFECTIVE, IGNORED_SPARK_FIELDS),
    ("driver", DRIVER, DRIVER_EFFECTIVE, IGNORED_DRIVER_FIELDS),
    ("executor", EXECUTOR, EXECUTOR_EFFECTIVE, IGNORED_EXECUTOR_FIELDS),
    ("deps", DEPENDENCIES, DEPENDENCIES_EFFECTIVE, {}),
]
CASES = [
    (part, name, acts.get(name), name in silent)
    for part, section, acts, silent in SPARK_PARTS
    for name in section.fields
    if (part, name) not in ((None, "mode"), (None, "restartPolicy"))
]


@pytest.mark.parametrize(("part", "name", "value", "is_silent"), CASES, ids=lambda value: str(value)[:30])
def test_a_field_of_sparkspec_acts_or_is_reported(part: str | None, name: str, value: object, is_silent: bool) -> None:
    """S1-31, S1-01"""
    path = f"sparkSpec.{name}" if part is None else f"sparkSpec.{part}.{name}"
    if is_silent:
        assert value is None
        assert reported(spark=spark_with(part, name, "anything")) == [path]
    else:
        spec = spark_with(part, name, value)
        assert reported(spark=spec) == []
        base = SPARK_MINIMAL | {"driver": {"memory": "512m"}} if name == "memoryOverhead" else SPARK_MINIMAL
        spec = spec | {"driver": {"memory": "512m", name: value}} if name == "memoryOverhead" else spec
        assert application(spark=spec) != application(spark=base)


@pytest.mark.parametrize("name", FLINK.fields)
def test_a_field_of_flinkspec_acts_or_is_reported(name: str) -> None:
    """S1-31, S1-02"""
    if name in IGNORED_FLINK_FIELDS:
        assert name not in FLINK_EFFECTIVE
        assert reported(flink=FLINK_MINIMAL | {name: "anything"}) == [f"flinkSpec.{name}"]
    elif name in ("pyFile", "pyModule"):
        assert reported(flink={name: "/opt/b"}) == []
        assert application(flink={name: "/opt/b"}) != application(flink=PYTHON_MINIMAL)
    else:
        assert reported(flink=FLINK_MINIMAL | {name: FLINK_EFFECTIVE[name]}) == []
        assert application(flink=FLINK_MINIMAL | {name: FLINK_EFFECTIVE[name]}) != application(flink=FLINK_MINIMAL)


def test_a_mode_or_restart_policy_that_asks_for_what_is_not_done_is_reported() -> None:
    assert reported(spark=SPARK_MINIMAL | {"mode": "cluster", "restartPolicy": {"type": "Never"}}) == []
    assert reported(spark=SPARK_MINIMAL | {"mode": "client"}) == ["sparkSpec.mode"]
    assert reported(spark=SPARK_MINIMAL | {"restartPolicy": RESTART}) == ["sparkSpec.restartPolicy"]


@pytest.mark.parametrize("key", IGNORED_CONF)
def test_a_setting_of_spark_that_shunter_makes_itself_is_reported_and_not_passed_on(key: str) -> None:
    spec = SPARK_MINIMAL | {"sparkConf": {key: "x"}}
    assert reported(spark=spec) == [f"sparkSpec.sparkConf.{key}"]
    assert application(spark=spec) == application(spark=SPARK_MINIMAL)


@pytest.mark.parametrize("key", [*IGNORED_PROPERTIES, "taskmanager.memory.managed.size"])
def test_a_setting_of_flink_that_shunter_makes_itself_is_reported_and_not_passed_on(key: str) -> None:
    spec = FLINK_MINIMAL | {"flinkProperties": {key: "x"}}
    assert reported(flink=spec) == [f"flinkSpec.flinkProperties.{key}"]
    assert application(flink=spec) == application(flink=FLINK_MINIMAL)


def test_a_variable_whose_value_comes_from_another_object_is_reported() -> None:
    variable = {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    assert reported(spark=SPARK_MINIMAL | {"driver": {"env": [variable]}}) == ["sparkSpec.driver.env[0].valueFrom"]
    assert reported(flink=FLINK_MINIMAL | {"envVars": [variable]}) == ["flinkSpec.envVars[0].valueFrom"]


def test_a_message_says_why() -> None:
    job = batch_job(spark=SPARK_MINIMAL | {"imagePullPolicy": "Always"})
    assert unused_fields(job) == [
        "sparkSpec.imagePullPolicy is not used: Shunter uses no images: the Spark that is installed on the nodes "
        "runs the application"
    ]
    assert unused_fields(batch_job(command={"command": ["true"]})) == []
