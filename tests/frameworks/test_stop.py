"""Applications that users stop, or whose manager dies: no process is left, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.cluster import eventually
from tests.frameworks.expected_results import word_counts
from tests.frameworks.framework_cluster import EXAMPLES, FrameworkCluster
from tests.frameworks.test_spark import GATED

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def gated(framework_cluster: FrameworkCluster, tmp_path: Path) -> tuple[str, Path]:
    """A word count that ends when its gate is opened."""
    gate, program = tmp_path / "gate", tmp_path / "gated.py"
    program.write_text(GATED.format(gate=str(gate), program=str(EXAMPLES / "spark_words.py")))
    return framework_cluster.manifest("spark-words").replace(str(EXAMPLES / "spark_words.py"), str(program)), gate


def wait_until_running(framework_cluster: FrameworkCluster) -> None:
    eventually(lambda: framework_cluster.state("spark-words") == "RunningState", "it runs")
    eventually(lambda: java_processes(framework_cluster) >= 4, "Master, driver and Workers have started", 120)


def java_processes(framework_cluster: FrameworkCluster) -> int:
    return sum("org.apache.spark" in process.command for process in framework_cluster.cluster.processes())


@pytest.mark.smoke
def test_deleting_the_scheduling_ends_the_whole_application(
    framework_cluster: FrameworkCluster, gated: tuple[str, Path]
) -> None:
    """S1-17: the job is ready again only when nothing of it is left."""
    framework_cluster.apply(gated[0])
    wait_until_running(framework_cluster)
    framework_cluster.release("spark-words")
    assert java_processes(framework_cluster) == 0
    assert [slot["state"] for slot in framework_cluster.slots()] == ["FREE", "FREE"]


def test_an_application_outlives_its_manager(framework_cluster: FrameworkCluster, gated: tuple[str, Path]) -> None:
    manifest, gate = gated
    framework_cluster.apply(manifest)
    wait_until_running(framework_cluster)
    framework_cluster.cluster.kill_manager()
    gate.touch()
    framework_cluster.cluster.up("--cpu", "2", "--label", "bench=0")
    ended = framework_cluster.wait_until_ended("spark-words")
    assert ended["status"]["state"] == "CompletedState", framework_cluster.stderr("spark-words")
    assert json.loads(framework_cluster.stdout("spark-words"))["words"] == word_counts()
    framework_cluster.release("spark-words")
