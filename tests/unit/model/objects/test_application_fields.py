"""The application of a BatchJob: manifests of the reference implementation are accepted unchanged, mistakes are
reported with their path and a fix."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import shunter
from shunter.model.job.task_fields import is_reserved_variable
from shunter.model.objects.application_fields import check_application, read_application
from shunter.model.objects.batch_jobs import BatchJobSpec
from shunter.model.schema.problems import Problems

# As the reference prints it, and with what its Kubernetes setting adds.
PRINTED = """
sparkSpec:
  type: Scala
  image: "gcr.io/spark-on-kubernetes-316714/spark-webcrawler:latest"
  imagePullPolicy: Always
  mainClass: de.tuberlin.batchjoboperator.spark.webcrawler.WebCrawlerApplication
  mainApplicationFile: "local:///opt/spark/examples/webcrawler.jar"
  arguments:
  - Web_crawler
  - "10000"
  - Kubernetes
  #... more spark specific configuration
"""
IN_KUBERNETES = """
sparkSpec:
  type: Scala
  mode: cluster
  image: "gcr.io/spark-operator/spark:v3.1.1"
  imagePullPolicy: Always
  mainClass: org.apache.spark.examples.SparkPi
  mainApplicationFile: "local:///opt/spark/examples/jars/spark-examples_2.12-3.1.1.jar"
  arguments: ["1000"]
  sparkVersion: "3.1.1"
  restartPolicy: {type: Never}
  volumes: [{name: test-volume, hostPath: {path: /tmp, type: Directory}}]
  driver:
    cores: 1
    coreRequest: 200m
    memory: 512m
    labels: {version: 3.1.1}
    serviceAccount: spark
    volumeMounts: [{name: test-volume, mountPath: /tmp}]
  executor:
    labels: {version: 3.1.1}
    volumeMounts: [{name: test-volume, mountPath: /tmp}]
"""
FLINK = """
flinkSpec:
  jarFile: /opt/flink/examples/batch/WordCount.jar
  className: org.apache.flink.examples.java.wordcount.WordCount
  args: ["--input", "./README.txt"]
"""
COMMAND = """
commandSpec:
  command: [python3, /opt/sum.py]
  args: ["100"]
  env: {SEED: "7"}
  workingDir: /tmp
driver: {cpu: 250m, memory: 2Gi}
"""


def problems_of(document: dict[str, Any]) -> list[str]:
    problems = Problems()
    check_application(document, "spec", problems)
    return [str(problem) for problem in problems.found]


@pytest.mark.parametrize("manifest", [PRINTED, IN_KUBERNETES, FLINK, COMMAND])
def test_the_documents_applications_are_taken_as_they_are(manifest: str) -> None:
    assert problems_of(yaml.safe_load(manifest)) == []


SPARK = {"type": "Python", "mainApplicationFile": "/opt/a.py"}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({}, "spec: must have exactly one of sparkSpec, flinkSpec, commandSpec; add one of them"),
        (
            {"sparkSpec": SPARK, "commandSpec": {"command": ["true"]}},
            "spec: must have exactly one of sparkSpec, flinkSpec, commandSpec, but has sparkSpec and commandSpec; "
            "remove all but one",
        ),
        (
            {"sparkSpec": SPARK | {"type": "R"}},
            "spec.sparkSpec.type: Spark from PyPI does not contain R support, which Spark has deprecated; "
            "use Scala, Java or Python",
        ),
        (
            {"sparkSpec": SPARK | {"type": "Java"}},
            "spec.sparkSpec.mainClass: is missing; name the class with the main method",
        ),
        (
            {"sparkSpec": SPARK | {"mainApplicationFile": "https://example.org/a.py"}},
            "spec.sparkSpec.mainApplicationFile: must be a path on the nodes, like local:///opt/jobs/words.jar or "
            "/opt/jobs/words.py (got 'https://example.org/a.py')",
        ),
        (
            {"sparkSpec": SPARK | {"mainApplicationFile": "/opt/a.jar"}},
            "spec.sparkSpec.mainApplicationFile: is a jar, but the type is Python (got '/opt/a.jar'); name a .py file",
        ),
        (
            {"sparkSpec": SPARK | {"argument": []}},
            "spec.sparkSpec.argument: unknown field; did you mean arguments?",
        ),
        (
            {"sparkSpec": SPARK | {"arguments": [10]}},
            "spec.sparkSpec.arguments[0]: must be text (got 10); put it in quotes",
        ),
        (
            {"sparkSpec": SPARK | {"driver": {"memory": "much"}}},
            "spec.sparkSpec.driver.memory: must be a quantity (got 'much'); write it like 256Mi or 4Gi",
        ),
        (
            {"sparkSpec": SPARK | {"executor": {"core": 1}}},
            "spec.sparkSpec.executor.core: unknown field; did you mean cores?",
        ),
        (
            {"sparkSpec": SPARK | {"driver": {"envVars": {"SHUNTER_NODE": "x"}}}},
            "spec.sparkSpec.driver.envVars.SHUNTER_NODE: is reserved for Shunter; leave it out",
        ),
        (
            {"commandSpec": {"command": ["a"], "env": {"SHUNTER_SLOT_ID": "9"}}},
            "spec.commandSpec.env.SHUNTER_SLOT_ID: is reserved for Shunter; leave it out",
        ),
        (
            {"flinkSpec": {}},
            "spec.flinkSpec: must have exactly one of jarFile, pyFile and pyModule; name one program",
        ),
        (
            {"flinkSpec": {"jarFile": "/a.jar", "pyFile": "/a.py"}},
            "spec.flinkSpec: must have exactly one of jarFile, pyFile and pyModule, but has jarFile and pyFile; "
            "name one program",
        ),
        (
            {"flinkSpec": {"pyFile": "/a.py", "className": "A"}},
            "spec.flinkSpec.className: is only allowed with a jarFile; remove it, or set jarFile",
        ),
        (
            {"flinkSpec": {"jarFile": "/a.jar", "parallelism": 0}},
            "spec.flinkSpec.parallelism: must be 1 to 32,768 (got 0)",
        ),
        ({"commandSpec": {}}, "spec.commandSpec.command: is missing; add command"),
        (
            {"commandSpec": {"command": "sleep 1"}},
            "spec.commandSpec.command: must be a list (got 'sleep 1'); write it as a list, like [echo, hello] or "
            '[sh, -c, "echo hello | wc"]',
        ),
        (
            {"commandSpec": {"command": ["true"], "workingDir": "here"}},
            "spec.commandSpec.workingDir: must be an absolute path (got 'here')",
        ),
        (
            {"sparkSpec": SPARK, "driver": {"cpu": "lots"}},
            "spec.driver.cpu: must be a quantity (got 'lots'); write it like 2 or 500m",
        ),
    ],
)
def test_a_mistake_is_told_with_its_path_and_the_fix(document: dict[str, Any], words: str) -> None:
    assert problems_of(document) == [words]


def test_spark_memory_is_read_as_spark_writes_it() -> None:
    for written, bytes_ in (("512m", 2**29), ("1g", 2**30), ("1gb", 2**30), ("512Mi", 2**29)):
        spark = SPARK | {"driver": {"memory": written}}
        assert read_application(BatchJobSpec(spark=spark))["driver"]["memory"] == bytes_, written


def test_variables_may_be_a_mapping_or_a_list_as_kubernetes_has_them() -> None:
    for env in ({"A": "1"}, [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {}}}]):
        assert read_application(BatchJobSpec(command={"command": ["true"], "env": env}))["env"] == {"A": "1"}


@pytest.mark.parametrize("name", ["SHUNTER_SIM_DURATION", "SHUNTER_URL", "SHUNTER_TOKEN", "SHUNTERS", "LANG"])
def test_every_variable_that_shunter_does_not_set_is_the_users(name: str) -> None:
    env = {name: "1"}
    specs: list[dict[str, Any]] = [
        {"commandSpec": {"command": ["a"], "env": env}},
        {"sparkSpec": SPARK | {"driver": {"envVars": env}, "executor": {"env": [{"name": name, "value": "1"}]}}},
        {"flinkSpec": {"jarFile": "/a.jar", "envVars": env}},
    ]
    for spec in specs:
        problems = Problems()
        check_application(spec, "spec", problems)
        assert problems.found == []


def test_what_tasks_and_applications_are_told_cannot_be_set_by_users() -> None:
    """Every variable that a worker, a keeper or an application's job sets, as their sources name them."""
    source = Path(shunter.__file__).parent
    files = (
        "worker/environment.py",
        "worker/keeper/work_queue.py",
        "worker/keeper/task_setup.py",
        "worker/keeper/lane.py",
    )
    setters = [*files, "testbeds/applications.py", "frameworks/launch_options.py"]
    told = {name for file in setters for name in re.findall(r"SHUNTER_[A-Z_]+", (source / file).read_text())}
    assert len(told) > 15
    assert {name for name in told if not is_reserved_variable(name)} == set()
