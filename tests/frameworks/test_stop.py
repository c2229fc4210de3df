"""Applications that are ended from outside, or whose manager dies: nothing of them is left, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.cluster import eventually
from tests.frameworks.expected_results import word_counts
from tests.frameworks.framework_cluster import EXAMPLES, Yard
from tests.frameworks.test_spark import GATED

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def gated(yard: Yard, tmp_path: Path) -> tuple[str, Path]:
    """A word count that ends when its gate is opened."""
    gate, program = tmp_path / "gate", tmp_path / "gated.py"
    program.write_text(GATED.format(gate=str(gate), program=str(EXAMPLES / "spark_words.py")))
    return yard.manifest("spark-words").replace(str(EXAMPLES / "spark_words.py"), str(program)), gate


def until_running(yard: Yard) -> None:
    eventually(lambda: yard.state("spark-words") == "RunningState", "it runs")
    eventually(lambda: java_processes(yard) >= 4, "Master, driver and Workers have started", 120)


def java_processes(yard: Yard) -> int:
    return sum("org.apache.spark" in process.command for process in yard.cluster.processes())


def test_deleting_the_scheduling_ends_the_whole_application(yard: Yard, gated: tuple[str, Path]) -> None:
    """S1-17: the job is ready again only when nothing of it is left."""
    yard.apply(gated[0])
    until_running(yard)
    yard.release("spark-words")
    assert java_processes(yard) == 0
    assert [slot["state"] for slot in yard.slots()] == ["FREE", "FREE"]


def test_an_application_outlives_its_manager(yard: Yard, gated: tuple[str, Path]) -> None:
    manifest, gate = gated
    yard.apply(manifest)
    until_running(yard)
    yard.cluster.kill_manager()
    gate.touch()
    yard.cluster.up("--cpu", "2", "--label", "yard=0")
    ended = yard.until_ended("spark-words")
    assert ended["status"]["state"] == "CompletedState", yard.complaints("spark-words")
    assert json.loads(yard.output("spark-words"))["words"] == word_counts()
    yard.release("spark-words")
