"""Generated files in docs/ match their generators."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest
import yaml

from shunter.model.metrics.catalogue import METRICS
from shunter.model.metrics.metric import Metric, MetricKind

ROOT = Path(__file__).parents[2]


def test_the_events_page_is_what_make_docs_writes() -> None:
    generator = runpy.run_path(str(ROOT / "scripts" / "generate_events_page.py"))
    written = (ROOT / "docs" / "reference" / "events.md").read_text(encoding="utf-8")
    assert written == generator["events_page"](), "run `make docs` and commit docs/reference/events.md"


def test_the_lifecycles_page_is_what_make_docs_writes() -> None:
    generator = runpy.run_path(str(ROOT / "scripts" / "generate_docs.py"))
    written = (ROOT / "docs" / "reference" / "lifecycles.md").read_text(encoding="utf-8")
    assert written == generator["lifecycles_page"](), "run `make docs` and commit docs/reference/lifecycles.md"


def test_the_schemas_of_manifests_are_what_make_docs_writes() -> None:
    generator = runpy.run_path(str(ROOT / "scripts" / "generate_schema.py"))
    folder = ROOT / "docs" / "reference" / "schema"
    written = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.json")}
    assert written == generator["schema_files"](), "run `make docs` and commit docs/reference/schema/"


def test_the_page_of_metrics_is_what_make_docs_writes() -> None:
    generator = runpy.run_path(str(ROOT / "scripts" / "generate_metrics_page.py"))
    written = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    assert written == generator["metrics_page"](), "run `make docs` and commit docs/reference/metrics.md"


def test_the_alert_rules_are_what_make_docs_writes_and_have_runbooks() -> None:
    generator = runpy.run_path(str(ROOT / "scripts" / "generate_alerts.py"))
    written = (ROOT / "deploy" / "prometheus" / "shunter-alerts.yml").read_text(encoding="utf-8")
    assert written == generator["alert_rules"](), "run `make docs` and commit deploy/prometheus/shunter-alerts.yml"
    runbooks = {path.name for path in (ROOT / "docs" / "operations" / "runbooks").glob("*.md")}
    assert runbooks == {alert.runbook for alert in generator["ALERTS"]}


def test_the_dashboards_are_what_make_docs_writes() -> None:
    pytest.importorskip("grafana_foundation_sdk", reason="make setup installs it")
    generator = runpy.run_path(str(ROOT / "scripts" / "generate_dashboards.py"))
    folder = ROOT / "deploy" / "grafana" / "dashboards"
    written = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert written == generator["dashboard_files"](), "run `make docs` and commit deploy/grafana/dashboards/"
    known = {name for metric in METRICS for name in _series_of(metric)}
    used = {name for _, _, expr in generator["all_queries"]() for name in re.findall(r"(?:shunter|process)_\w+", expr)}
    assert used <= known


def _series_of(metric: Metric) -> set[str]:
    suffixes = ("_bucket", "_count", "_sum") if metric.kind is MetricKind.HISTOGRAM else ("",)
    return {metric.sample_name + suffix for suffix in suffixes}


def test_data_sources_and_dashboards_of_grafana_fit() -> None:
    folder = ROOT / "deploy" / "grafana"
    sources = yaml.safe_load((folder / "provisioning" / "datasources" / "shunter.yml").read_text())["datasources"]
    assert {each["type"]: each["uid"] for each in sources} == {
        "prometheus": "shunter-prometheus",
        "alertmanager": "shunter-alertmanager",
    }
    panels = [
        panel
        for path in (folder / "dashboards").iterdir()
        for panel in json.loads(path.read_text(encoding="utf-8"))["panels"]
    ]
    targets = [target for panel in panels for target in panel["targets"]]
    assert {each["datasource"]["uid"] for each in (*panels, *targets)} == {"shunter-prometheus"}


def test_one_variable_scales_all_times_of_the_alerts() -> None:
    generator = runpy.run_path(str(ROOT / "scripts" / "generate_alerts.py"))
    usual, scaled = generator["alert_rules"](), generator["alert_rules"](1 / 60)
    assert "[300s]" in usual and "for: 900s" in usual
    assert "[5s]" in scaled and "for: 15s" in scaled
    assert "time() < 1209600" in usual and "time() < 20160" in scaled
    assert not {"[300s]", "[900s]", "for: 900s", "for: 120s"} & set(scaled.split())
