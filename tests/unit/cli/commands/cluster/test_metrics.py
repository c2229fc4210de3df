"""The commands for metrics: a table with a line for each series, and its course in a few characters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shunter.cli.commands.cluster.metrics import COLUMNS, SPARK_WIDTH, sparkline
from shunter.cli.render.measured import format_value
from shunter.model.rest.metric_views import MetricView
from tests.unit.cli.conftest import Cluster, Shunter
from tests.unit.sdk.scripted_server import answer, job_document

HERE = "/apis/batchjob.gcr.io/v1alpha1/namespaces/default/batchjobs"


def metrics(name: str, **fields: Any) -> dict[str, Any]:
    cpu = {"mean": 0.5, "max": 1.0, "values": [0.0, None, 1.0]}
    memory = {"mean": 3.0 * 2**30, "max": 3.5 * 2**30, "values": [1.0, 1.0, 1.0]}
    slot = {"name": f"bj.{name}/0", "node": "n1", "slot": 4, "metrics": {"cpu_cores": cpu, "memory_bytes": memory}}
    node: dict[str, Any] = {"name": "n1", "node": "n1", "slot": None, "metrics": {}}
    window = {"start": "2026-01-01T00:00:00.000Z", "stop": "2026-01-01T00:00:03.000Z", "step_s": 1.0}
    return {"name": name, "namespace": "default", "nodes": [node], "tasks": [slot], **window, **fields}


def test_a_run_is_shown_by_slot_and_node(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers[f"GET {HERE}/sum/metrics"] = answer(200, metrics("sum", run=2))
    said = shunter("metrics", "batchjob", "sum", "--run", "2", "--step", "1s")
    assert said.code == 0 and cluster.received == [f"GET {HERE}/sum/metrics?run=2&step=1s"]
    head, _, cpu, memory, node = said.out.splitlines()
    assert "sum, run 2" in head and "one value per 1 s" in head
    assert cpu.split()[:7] == ["slot", "4", "n1", "cpu_cores", "0.50", "1.00", "▁"] and cpu.endswith("▁ █")
    assert memory.split()[4:6] == ["3.0Gi", "3.5Gi"]
    assert "no samples" in node


def test_a_node_is_shown_over_its_last_minutes(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /nodes/n1/metrics"] = answer(200, metrics("n1", tasks=[]))
    assert shunter("metrics", "node", "n1", "--last", "90s").code == 0
    [received] = cluster.received
    assert received.startswith("GET /nodes/n1/metrics?start=20") and "%2B00%3A00" in received
    assert shunter("metrics", "node", "n1", "--last", "soon").code == 2


def test_a_task_is_found_by_its_job(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /jobs/render"] = answer(200, job_document("render", id=9))
    cluster.answers["GET /jobs/id:9/tasks/17/metrics"] = answer(200, metrics("render/17"))
    assert '"step_s": 1.0' in shunter("metrics", "task", "render/17", "--output", "json").out


def test_numbers_are_said_for_people() -> None:
    said = [
        format_value("cpu_cores", 0.123),
        format_value("memory_bytes", 512),
        format_value("memory_bytes", 1.5 * 2**20),
    ]
    assert said == ["0.12", "512", "1.5Mi"]


def test_a_long_course_keeps_its_peak() -> None:
    values: list[float | None] = [0.0] * 1_000
    values[777] = 5.0
    values[0:100] = [None] * 100
    drawn = sparkline(MetricView(mean=0.0, max=5.0, values=values), SPARK_WIDTH)
    assert len(drawn) == SPARK_WIDTH and drawn.count("█") == 1 and drawn.startswith("    ▁")
    assert sparkline(MetricView(mean=0.0, max=0.0, values=[0.0, 0.0]), SPARK_WIDTH) == "▁▁"


def test_the_page_shows_the_table_as_it_is_printed() -> None:
    page = (Path(__file__).parents[5] / "docs" / "operations" / "metrics.md").read_text(encoding="utf-8")
    head, titles = page[page.index("busy, run 1:") :].splitlines()[:2]
    assert head.endswith("one value per 1 s")
    assert titles.split() == " ".join(column.title for column in COLUMNS).split()
