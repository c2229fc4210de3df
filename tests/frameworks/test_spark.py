"""Real Spark applications in slots: their results, and where Spark itself says that its executors are."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from shunter.frameworks.locations import KINDS, find_framework
from tests.e2e.cluster import eventually
from tests.frameworks.expected_results import as_lines, crawl, web_site, word_counts
from tests.frameworks.framework_cluster import EXAMPLES, RUN_MAX_S, FrameworkCluster, get_json
from tests.frameworks.sockets import is_loopback, listening_sockets

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

GATED = """
import pathlib, runpy, sys, time
from pyspark.sql import SparkSession
SparkSession.builder.getOrCreate()  # until all executors have registered
while not pathlib.Path({gate!r}).exists():
    time.sleep(0.1)
runpy.run_path({program!r}, run_name="__main__")
"""

INTRUDER = """
from pyspark import SparkConf, SparkContext
conf = SparkConf().set("spark.driver.host", "127.0.0.1").set("spark.ui.enabled", "false")
context = SparkContext(master="spark://127.0.0.1:{port}", appName="intruder", conf=conf)
print(context.parallelize([1]).count())
"""
SECRET = re.compile(r"_SPARK_AUTH_SECRET=([0-9a-f]+)")


@pytest.mark.smoke
def test_a_word_count_runs_with_each_executor_in_its_slot(framework_cluster: FrameworkCluster, tmp_path: Path) -> None:
    """S1-28, S1-30, S1-15, S1-16: Spark's own REST names the slots; the count is that of a serial run."""
    gate, program = tmp_path / "gate", tmp_path / "gated.py"
    program.write_text(GATED.format(gate=str(gate), program=str(EXAMPLES / "spark_words.py")))
    framework_cluster.apply(
        framework_cluster.manifest("spark-words").replace(str(EXAMPLES / "spark_words.py"), str(program))
    )
    ports = framework_cluster.ports("spark-words")

    def executors() -> list[dict[str, object]] | None:
        applications = get_json(ports["ui"], "/api/v1/applications")
        path = f"/api/v1/applications/{applications[0]['id']}/executors" if applications else ""
        found = [each for each in get_json(ports["ui"], path) or [] if each["id"] != "driver"] if path else []
        return found if len(found) == 2 else None

    found = eventually(executors, "two executors have registered", RUN_MAX_S)
    assert sorted(each["attributes"]["SLOT"] for each in found) == ["0", "1"]  # type: ignore[index]
    assert [each["totalCores"] for each in found] == [1, 1]
    workers = get_json(ports["master-ui"], "/json/")["workers"]
    assert [(worker["cores"], worker["coresused"]) for worker in workers] == [(1, 1), (1, 1)]

    expect_nobody_else_let_in(framework_cluster, ports)
    slots = framework_cluster.slots()
    assert [slot["state"] for slot in slots] == ["OCCUPIED", "OCCUPIED"]
    tasks = {task["name"]: task for task in framework_cluster.tasks("spark-words")}
    assert {name: task["entry"] for name, task in tasks.items()} == {
        "bj.spark-words/driver/0": None,
        "bj.spark-words/executor/0": "0",
        "bj.spark-words/executor/1": "1",
    }
    gate.touch()
    ended = framework_cluster.wait_until_ended("spark-words")
    assert ended["status"]["state"] == "CompletedState", framework_cluster.stderr("spark-words")
    result = json.loads(framework_cluster.stdout("spark-words"))
    assert result["words"] == word_counts()
    assert set(result["slots"]) == {"0", "1"}, "both slots have done some of it"
    (event,) = ended["status"]["scheduledEvents"]
    assert event["successful"]
    assert event["stop"] >= event["start"]
    framework_cluster.release("spark-words")


def expect_nobody_else_let_in(framework_cluster: FrameworkCluster, ports: dict[str, int]) -> None:
    """Who does not know the run's secret cannot have its Master run anything; and the secret is nowhere to be seen."""
    processes = framework_cluster.cluster.processes()
    assert {address for _, address in listening_sockets(processes) if not is_loopback(address)} == set()
    secrets = {found[1] for each in processes if (found := SECRET.search(environment(each.pid)))}
    assert len(secrets) == 1, "every executor knows it"
    [secret] = secrets
    assert not [each for each in processes if secret in each.command]
    for words in (("describe", "bj", "spark-words"), ("job", "bj.spark-words", "-o", "json")):
        assert secret not in framework_cluster.cluster.shunter(*words).out
    assert secret not in framework_cluster.stdout("spark-words") + framework_cluster.stderr("spark-words")
    spark = find_framework(KINDS["spark"])
    assert spark is not None
    intruder = subprocess.run(
        [str(spark.python), "-c", INTRUDER.format(port=ports["master"])], env={"PATH": os.environ["PATH"]},
        capture_output=True, text=True, timeout=RUN_MAX_S, check=False,
    )  # fmt: skip
    assert intruder.returncode != 0, intruder.stdout
    assert "Expected SaslMessage" in framework_cluster.stderr("spark-words"), "it is the Master that refused it"
    applications = get_json(ports["master-ui"], "/json/")
    assert len(applications["activeapps"] + applications["completedapps"]) == 1


def environment(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def test_a_crawler_finds_what_a_serial_one_finds(framework_cluster: FrameworkCluster) -> None:
    """S1-28, S1-30"""
    with web_site() as start:
        manifest = framework_cluster.manifest("spark-crawler").replace("http://127.0.0.1:8765/0", start)
        ended = framework_cluster.run("spark-crawler", manifest)
        assert ended["status"]["state"] == "CompletedState", framework_cluster.stderr("spark-crawler")
        result = json.loads(framework_cluster.stdout("spark-crawler"))
        assert result["pages"] == crawl(start)
    assert set(result["slots"]) == {"0", "1"}


def test_a_jar_of_scala_runs(framework_cluster: FrameworkCluster) -> None:
    """S1-30"""
    ended = framework_cluster.run("spark-words-scala")
    assert ended["status"]["state"] == "CompletedState", framework_cluster.stderr("spark-words-scala")
    assert framework_cluster.stdout("spark-words-scala") == as_lines(word_counts())


def test_a_program_that_fails_fails_its_job_until_it_is_released(
    framework_cluster: FrameworkCluster, tmp_path: Path
) -> None:
    """S1-27"""
    program = tmp_path / "broken.py"
    program.write_text("raise SystemExit('no words today')\n")
    framework_cluster.apply(
        framework_cluster.manifest("spark-words").replace(str(EXAMPLES / "spark_words.py"), str(program))
    )
    ended = framework_cluster.wait_until_ended("spark-words")
    assert ended["status"]["state"] == "FailedSubmissionState"
    [problem] = ended["status"]["problems"]
    assert "driver/0: exit code 1; last output: no words today" in problem
    # Spark sends everything that a Python program writes to stdout.
    assert "no words today" in framework_cluster.stdout("spark-words")
    framework_cluster.release("spark-words")
