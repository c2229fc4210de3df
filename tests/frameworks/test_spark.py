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
from tests.frameworks.expected_results import as_lines, crawl, site, word_counts
from tests.frameworks.framework_cluster import EXAMPLES, RUN_MAX_S, Yard, ask
from tests.frameworks.sockets import is_loopback, listening

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


def test_a_word_count_runs_with_each_executor_in_its_slot(yard: Yard, tmp_path: Path) -> None:
    """S1-28, S1-30, S1-15, S1-16: Spark's own REST names the slots; the count is that of a serial run."""
    gate, program = tmp_path / "gate", tmp_path / "gated.py"
    program.write_text(GATED.format(gate=str(gate), program=str(EXAMPLES / "spark_words.py")))
    yard.apply(yard.manifest("spark-words").replace(str(EXAMPLES / "spark_words.py"), str(program)))
    ports = yard.ports("spark-words")

    def executors() -> list[dict[str, object]] | None:
        applications = ask(ports["ui"], "/api/v1/applications")
        path = f"/api/v1/applications/{applications[0]['id']}/executors" if applications else ""
        found = [each for each in ask(ports["ui"], path) or [] if each["id"] != "driver"] if path else []
        return found if len(found) == 2 else None

    found = eventually(executors, "two executors have registered", RUN_MAX_S)
    assert sorted(each["attributes"]["SLOT"] for each in found) == ["0", "1"]  # type: ignore[index]
    assert [each["totalCores"] for each in found] == [1, 1]
    workers = ask(ports["master-ui"], "/json/")["workers"]
    assert [(worker["cores"], worker["coresused"]) for worker in workers] == [(1, 1), (1, 1)]

    expect_nobody_else_let_in(yard, ports)
    slots = yard.slots()
    assert [slot["state"] for slot in slots] == ["OCCUPIED", "OCCUPIED"]
    tasks = {task["name"]: task for task in yard.tasks("spark-words")}
    assert {name: task["entry"] for name, task in tasks.items()} == {
        "bj.spark-words/driver/0": None,
        "bj.spark-words/executor/0": "0",
        "bj.spark-words/executor/1": "1",
    }
    gate.touch()
    ended = yard.until_ended("spark-words")
    assert ended["status"]["state"] == "CompletedState", yard.complaints("spark-words")
    result = json.loads(yard.output("spark-words"))
    assert result["words"] == word_counts()
    assert set(result["slots"]) == {"0", "1"}, "both slots have done some of it"
    (event,) = ended["status"]["scheduledEvents"]
    assert event["successful"]
    assert event["stop"] >= event["start"]
    yard.release("spark-words")


def expect_nobody_else_let_in(yard: Yard, ports: dict[str, int]) -> None:
    """Who does not know the run's secret cannot have its Master run anything; and the secret is nowhere to be seen."""
    processes = yard.cluster.processes()
    assert {address for _, address in listening(processes) if not is_loopback(address)} == set()
    secrets = {found[1] for each in processes if (found := SECRET.search(environment(each.pid)))}
    assert len(secrets) == 1, "every executor knows it"
    [secret] = secrets
    assert not [each for each in processes if secret in each.command]
    for words in (("describe", "bj", "spark-words"), ("job", "bj.spark-words", "-o", "json")):
        assert secret not in yard.cluster.shunter(*words).out
    assert secret not in yard.output("spark-words") + yard.complaints("spark-words")
    spark = find_framework(KINDS["spark"])
    assert spark is not None
    intruder = subprocess.run(
        [str(spark.python), "-c", INTRUDER.format(port=ports["master"])], env={"PATH": os.environ["PATH"]},
        capture_output=True, text=True, timeout=RUN_MAX_S, check=False,
    )  # fmt: skip
    assert intruder.returncode != 0, intruder.stdout
    assert "Expected SaslMessage" in yard.complaints("spark-words"), "it is the Master that refused it"
    applications = ask(ports["master-ui"], "/json/")
    assert len(applications["activeapps"] + applications["completedapps"]) == 1


def environment(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def test_a_crawler_finds_what_a_serial_one_finds(yard: Yard) -> None:
    """S1-28, S1-30"""
    with site() as start:
        manifest = yard.manifest("spark-crawler").replace("http://127.0.0.1:8765/0", start)
        ended = yard.run("spark-crawler", manifest)
        assert ended["status"]["state"] == "CompletedState", yard.complaints("spark-crawler")
        result = json.loads(yard.output("spark-crawler"))
        assert result["pages"] == crawl(start)
    assert set(result["slots"]) == {"0", "1"}


def test_a_jar_of_scala_runs(yard: Yard) -> None:
    """S1-30"""
    ended = yard.run("spark-words-scala")
    assert ended["status"]["state"] == "CompletedState", yard.complaints("spark-words-scala")
    assert yard.output("spark-words-scala") == as_lines(word_counts())


def test_a_program_that_fails_fails_its_job_until_it_is_released(yard: Yard, tmp_path: Path) -> None:
    """S1-27"""
    program = tmp_path / "broken.py"
    program.write_text("raise SystemExit('no words today')\n")
    yard.apply(yard.manifest("spark-words").replace(str(EXAMPLES / "spark_words.py"), str(program)))
    ended = yard.until_ended("spark-words")
    assert ended["status"]["state"] == "FailedSubmissionState"
    assert any("driver/0" in problem for problem in ended["status"]["problems"]), ended["status"]["problems"]
    assert "no words today" in yard.output("spark-words")  # to which Spark sends all that a Python program writes
    yard.release("spark-words")
