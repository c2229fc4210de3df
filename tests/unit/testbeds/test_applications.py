"""The job that runs a BatchJob: its driver, its executors in their slots, and their payloads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shunter.model.objects.batch_jobs import BatchJob, BatchJobSpec, Claim, CreationRequest
from shunter.model.objects.object_meta import Meta, ObjectName
from shunter.model.objects.testbeds import SlotPlace
from shunter.testbeds.applications import application_job, executor_group, start_problems
from shunter.testbeds.memory_split import DAEMON_BYTES, LAUNCHER_BYTES, SPARK_OVERHEAD_DEFAULT_BYTES, spark_slot_min
from shunter.testbeds.view import StartApplication

MIB = 2**20
HOSTS = ("10.0.0.1", "10.0.0.2")
SECRET = "c0ffee"
SPARK_PYTHON = {"type": "Python", "mainApplicationFile": "local:///opt/words.py", "arguments": ["a", "b"]}
SPARK_JAVA = {"type": "Java", "mainApplicationFile": "file:///opt/words.jar", "mainClass": "org.example.Words"}
FLINK = {"jarFile": "local:///opt/words.jar", "className": "org.example.Words", "args": ["--in", "x"]}
COMMAND = {"command": ["python3", "sum.py"], "args": ["9"], "env": {"SEED": "7"}, "workingDir": "/tmp"}


def batch_job(driver: dict[str, Any] | None = None, **spec: Any) -> BatchJob:
    meta = Meta(uid=7, namespace="lab", name="words", created_ms=0, user="ann")
    claim = Claim(ObjectName("lab", "first"))
    return BatchJob(meta, BatchJobSpec(**spec, driver=driver or {}), claim=claim)


def start(slots: tuple[int, ...] = (1, 3), cpu: int = 700, memory: int = 896 * MIB) -> StartApplication:
    request = CreationRequest(ObjectName("lab", "bed"), slots)
    places = tuple(SlotPlace(f"node{slot}", 0) for slot in slots)
    return StartApplication(request, places, {"cpu": cpu, "memory": memory})


def payload(spec: Any, group: int) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(spec.groups[group].task.payload)
    return decoded


@pytest.mark.parametrize("spec", [{"spark": SPARK_PYTHON}, {"flink": FLINK}])
def test_an_application_has_a_driver_outside_the_slots_and_an_executor_in_each(spec: dict[str, Any]) -> None:
    job = application_job(batch_job(**spec), start(), HOSTS, SECRET)
    assert (job.namespace, job.name, job.type, job.labels) == ("lab", "bj.words", "batch", {"batchjob": "words"})
    driver, executor = job.groups
    assert (driver.name, driver.count, driver.needs) == ("driver", 1, {"cpu": 500, "memory": 1024 * MIB})
    assert (driver.task.cpu_milli, driver.task.memory_bytes) == (500, 1024 * MIB)
    assert (executor.name, executor.count, executor.entries, executor.needs) == ("executor", 2, ("1", "3"), {})
    assert (executor.task.cpu_milli, executor.task.memory_bytes) == (700, 896 * MIB)
    assert driver.task.runtime == executor.task.runtime == next(iter(spec))
    assert all(port.host_port == 0 for port in driver.task.ports)


def test_every_executor_is_told_whose_it_is_and_where_the_others_are() -> None:
    for spec in ({"spark": SPARK_PYTHON}, {"flink": FLINK}, {"command": COMMAND}):
        env = application_job(batch_job(**spec), start(), HOSTS, SECRET).groups[-1].task.env
        assert env["SHUNTER_BATCHJOB"] == "words"
        assert (env["SHUNTER_TESTBED"], env["SHUNTER_SCHEDULING"]) == ("bed", "first")
        assert env["SHUNTER_EXECUTOR_COUNT"] == "2"
        assert env["SHUNTER_EXECUTOR_HOSTS"] == "10.0.0.1,10.0.0.2"


def test_executors_are_told_where_the_driver_is_once_it_has_started() -> None:
    job = batch_job(spark=SPARK_PYTHON)
    spec = application_job(job, start(), HOSTS, SECRET)
    group = executor_group(job, spec, "10.0.0.9", {"line": 20001, "master-ui": 20002})
    assert group.task.env["SHUNTER_DRIVER_HOST"] == "10.0.0.9"
    assert group.task.env["SHUNTER_DRIVER_PORT_LINE"] == "20001"
    assert group.task.env["SHUNTER_DRIVER_PORT_MASTER_UI"] == "20002"
    assert group.entries == spec.groups[1].entries


def test_a_command_has_executors_alone() -> None:
    (executor,) = application_job(batch_job(command=COMMAND), start(), HOSTS, SECRET).groups
    assert executor.task.command == ("python3", "sum.py", "9")
    assert (executor.task.dir, executor.task.env["SEED"], executor.task.runtime) == ("/tmp", "7", "process")


def test_spark_is_told_the_program_and_how_many_executors_of_which_size() -> None:
    decoded = payload(application_job(batch_job(spark=SPARK_PYTHON), start(), HOSTS, SECRET), 0)
    assert (decoded["type"], decoded["file"], decoded["arguments"]) == ("Python", "/opt/words.py", ["a", "b"])
    assert (decoded["executors"], decoded["executor_cores"]) == (2, 1)
    java = payload(application_job(batch_job(spark=SPARK_JAVA), start(cpu=2500), HOSTS, SECRET), 0)
    assert (java["main_class"], java["file"], java["executor_cores"]) == ("org.example.Words", "/opt/words.jar", 2)


@pytest.mark.parametrize("kind", [SPARK_PYTHON, SPARK_JAVA])
@pytest.mark.parametrize("mib", [896, 1024, 2048, 16384])
def test_heap_worker_and_the_rest_fit_into_the_slot(kind: dict[str, Any], mib: int) -> None:
    spec = application_job(batch_job(spark=kind), start(memory=mib * MIB), HOSTS, SECRET)
    heap = payload(spec, 1)["heap_mib"]
    assert heap == payload(spec, 0)["executor_heap_mib"]
    assert 450 <= heap <= mib - (DAEMON_BYTES + LAUNCHER_BYTES) // MIB - 176
    assert mib < 2048 or heap > mib // 2, "of a large slot most is heap"


def test_a_driver_requests_its_heap_and_what_is_beside_it() -> None:
    spark = SPARK_JAVA | {"driver": {"coreRequest": "200m", "cores": 1, "memory": "512m"}}
    spec = application_job(batch_job(spark=spark), start(), HOSTS, SECRET)
    total = 512 * MIB + SPARK_OVERHEAD_DEFAULT_BYTES + DAEMON_BYTES + LAUNCHER_BYTES
    assert spec.groups[0].needs == {"cpu": 200, "memory": total}
    assert payload(spec, 0)["heap_mib"] == 512
    cores = SPARK_JAVA | {"driver": {"cores": 2}}
    assert application_job(batch_job(spark=cores), start(), HOSTS, SECRET).groups[0].needs["cpu"] == 2000


@pytest.mark.parametrize("spec", [{"spark": SPARK_PYTHON}, {"flink": FLINK}])
def test_the_request_of_the_driver_can_be_said_as_a_whole(spec: dict[str, Any]) -> None:
    job = batch_job({"cpu": "1", "memory": "2Gi"}, **spec)
    assert application_job(job, start(), HOSTS, SECRET).groups[0].needs == {"cpu": 1000, "memory": 2048 * MIB}


def test_settings_variables_and_dependencies_of_spark_reach_it() -> None:
    spark = SPARK_PYTHON | {
        "sparkConf": {"spark.task.maxFailures": "2", "spark.master": "yarn"},
        "hadoopConf": {"fs.defaultFS": "file:///"},
        "deps": {"pyFiles": ["local:///opt/lib.zip"], "packages": ["org.example:lib:1"]},
        "driver": {"envVars": {"A": "1"}, "javaOptions": "-Da=b"},
        "executor": {"env": [{"name": "B", "value": "2"}], "cores": 3},
    }
    spec = application_job(batch_job(spark=spark), start(), HOSTS, SECRET)
    assert payload(spec, 0)["conf"] == {
        "spark.task.maxFailures": "2",
        "spark.hadoop.fs.defaultFS": "file:///",
        "spark.submit.pyFiles": "/opt/lib.zip",
        "spark.jars.packages": "org.example:lib:1",
        "spark.driver.extraJavaOptions": "-Da=b",
        "spark.executorEnv.B": "2",
    }
    assert spec.groups[0].task.env["A"] == "1"
    assert spec.groups[1].task.env["B"] == "2"
    assert payload(spec, 1)["cores"] == payload(spec, 0)["executor_cores"] == 3


def test_flink_is_told_the_program_and_runs_as_wide_as_its_slots() -> None:
    flink = FLINK | {"flinkProperties": {"a": "b", "rest.port": "1"}, "envVars": {"A": "1"}}
    spec = application_job(batch_job(flink=flink), start(), HOSTS, SECRET)
    decoded = payload(spec, 0)
    assert (decoded["jar"], decoded["main_class"], decoded["arguments"]) == (
        "/opt/words.jar",
        "org.example.Words",
        ["--in", "x"],
    )
    assert (decoded["parallelism"], decoded["settings"]) == (2, {"a": "b"})
    assert spec.groups[0].task.env["A"] == spec.groups[1].task.env["A"] == "1"
    assert payload(spec, 1)["memory_mib"] == 896 - LAUNCHER_BYTES // MIB
    assert (
        payload(application_job(batch_job(flink=FLINK | {"parallelism": 1}), start(), HOSTS, SECRET), 0)["parallelism"]
        == 1
    )


@pytest.mark.parametrize(
    ("spec", "slots", "words"),
    [
        ({"spark": SPARK_PYTHON}, start(), ""),
        ({"flink": FLINK}, start(), ""),
        ({"command": COMMAND}, start(memory=MIB), ""),
        ({"spark": SPARK_JAVA}, start(memory=512 * MIB), "a Spark executor needs a slot with at least"),
        ({"flink": FLINK}, start(memory=512 * MIB), "a TaskManager needs a slot with at least"),
        ({"flink": FLINK | {"parallelism": 3}}, start(), "a parallelism of 3 needs 3 slots"),
        ({"spark": SPARK_PYTHON, "driver": {"memory": "512Mi"}}, start(), "the Spark driver needs at least"),
        ({"flink": FLINK, "driver": {"memory": "512Mi"}}, start(), "512Mi of memory are not enough for a JobManager"),
        (
            {"spark": SPARK_JAVA | {"driver": {"memory": "1g"}}, "driver": {"memory": "1Gi"}},
            start(),
            "spec.driver.memory: a heap of 1Gi does not fit into 1Gi",
        ),
    ],
)
def test_what_cannot_run_in_such_slots_is_told_before_it_starts(
    spec: dict[str, Any], slots: StartApplication, words: str
) -> None:
    found = start_problems(batch_job(**spec), slots)
    assert [words] == [problem[: len(words)] for problem in found] if words else found == []


def test_the_smallest_slot_that_is_named_is_large_enough() -> None:
    for kind, with_python in ((SPARK_PYTHON, True), (SPARK_JAVA, False)):
        least = spark_slot_min(with_python)
        assert start_problems(batch_job(spark=kind), start(memory=least)) == []
        assert start_problems(batch_job(spark=kind), start(memory=least - MIB)) != []


def test_all_processes_of_a_spark_application_are_told_its_secret_by_their_payloads_alone() -> None:
    spec = application_job(batch_job(spark=SPARK_PYTHON), start(), HOSTS, SECRET)
    assert [payload(spec, part)["secret"] for part in (0, 1)] == [SECRET, SECRET]
    for group in spec.groups:
        assert SECRET not in repr(group.task.env) and SECRET not in repr(group.task.command)
