"""Spark and Flink as runtimes of a worker: announced if installed, run as processes by keepers, refused with a
reason."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shunter.frameworks import locations
from shunter.frameworks.locations import KINDS
from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.worker_messages import Order
from shunter.worker.runtimes.frameworks import FrameworkRuntime
from shunter.worker.runtimes.port import Attempt, Launch, NotStarted
from shunter.worker.runtimes.task_log import TaskLog
from shunter.worker.settings import WorkerSettings

SPEC = TaskSpec(("driver",), env={"A": "1"}, runtime="spark", payload=b"{}")
ORDER = Order(1, 0, 0, 0, 1, 1, 1, 1, "default", "bj.words", "driver", 1)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without Java, Spark or Flink, as far as this process sees."""
    monkeypatch.setattr(locations, "JVM_FOLDER", tmp_path / "jvm")
    for name in ("JAVA_HOME", "SPARK_HOME", "FLINK_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SHUNTER_FRAMEWORKS", str(tmp_path / "frameworks"))
    return tmp_path


def add_java(machine: Path, version: str) -> Path:
    java = machine / "jvm" / f"java-{version}" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch()
    java.parent.with_name("release").write_text(f'JAVA_VERSION="{version}.0.1"\n')
    return java.parent.parent


def add_spark(machine: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    jar = machine / "spark" / "jars" / "spark-core_2.13-4.0.1.jar"
    jar.parent.mkdir(parents=True)
    jar.touch()
    monkeypatch.setenv("SPARK_HOME", str(machine / "spark"))
    return machine / "spark"


def runtime(machine: Path, address: str = "") -> FrameworkRuntime:
    return FrameworkRuntime(KINDS["spark"], WorkerSettings(machine, "node", address=address))


async def reason(found: FrameworkRuntime, machine: Path) -> str:
    log = TaskLog.create(machine, (1, 0, 0, 1), SPEC.log_max_bytes)
    with pytest.raises(NotStarted) as error:
        await found.launch(Launch(Attempt(1, 0, 0, 1), ORDER, SPEC, {}, log))
    assert error.value.exit_code == 127
    return str(error.value)


async def test_a_node_without_it_announces_nothing_and_says_how_to_get_it(machine: Path) -> None:
    found = runtime(machine)
    assert await found.open() == {}
    assert found.as_process(SPEC) == SPEC
    assert await reason(found, machine) == "this node has no Apache Spark; run on the node: shunter install spark"
    await found.close()


async def test_a_java_that_does_not_fit_is_told(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_spark(machine, monkeypatch)
    add_java(machine, "11")
    found = runtime(machine)
    assert await found.open() == {}
    assert (await reason(found, machine)).startswith(
        "this node has Java 11, but Apache Spark needs 17 or 21: on Debian"
    )
    await found.close()


async def test_a_node_that_has_it_announces_its_version_and_runs_launchers_as_processes(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, java = add_spark(machine, monkeypatch), add_java(machine, "17")
    found = runtime(machine, address="10.0.0.7")
    assert await found.open() == {"runtime.spark": "4.0.1"}
    process = found.as_process(SPEC)
    assert process.runtime == "process"
    assert process.command == (sys.executable, "-P", "-m", "shunter.frameworks.spark", "driver")
    assert process.payload == SPEC.payload
    assert process.env["A"] == "1"
    assert process.env["SHUNTER_FRAMEWORK_HOME"] == str(home)
    assert process.env["SHUNTER_FRAMEWORK_JAVA"] == str(java)
    assert process.env["SHUNTER_ADDRESS"] == "10.0.0.7"
    await found.close()


async def test_one_that_is_installed_while_the_worker_runs_is_used(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_java(machine, "17")
    found = runtime(machine)
    assert await found.open() == {}
    add_spark(machine, monkeypatch)
    assert found.as_process(SPEC).runtime == "process"
    assert found.as_process(SPEC).env["SHUNTER_ADDRESS"] == "127.0.0.1"
    await found.close()
