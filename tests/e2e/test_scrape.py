"""What Prometheus scrapes: what `shunter metrics list` and the docs page name, for those with a token."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from shunter.model.metrics.catalogue import METRICS
from shunter.model.metrics.exposition import CONTENT_TYPE
from tests.e2e.cluster import Cluster

parser = pytest.importorskip("prometheus_client.openmetrics.parser", reason="make setup installs it")
TESTBED = """
apiVersion: batchjob.gcr.io/v1alpha1
kind: Testbed
metadata: {name: lab}
spec: {nodeLabel: lab, slotsPerNode: 1, resourcesPerSlot: {cpu: 100m}}
"""
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"


def scrape(url: str, token: str = "") -> tuple[str, dict[str, Any]]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as response:
        body = response.read().decode()
        return response.headers["content-type"], {
            each.name: each for each in parser.text_string_to_metric_families(body)
        }


def test_a_scrape_the_list_and_the_docs_page_name_the_same_metrics(home: Cluster) -> None:
    home.up("--cpu", "2", "--memory", "1Gi", "--resource", "gpu=2")
    home.shunter("queue", "set", "night", "--running-max", "5")
    home.shunter("tenant", "create", "red", "--quota", "queued=5")
    home.shunter("apply", "-f", "-", stdin=TESTBED)
    home.shunter("run", "-n", "3", "--", "true")
    url = json.loads((home.home / "cluster.json").read_text())["url"] + "/metrics"
    kind, families = scrape(url, (home.home / "token").read_text().strip())
    assert kind == CONTENT_TYPE

    expected = {metric.name: (str(metric.kind), metric.about, metric.unit) for metric in METRICS}
    assert {name: (each.type, each.documentation, each.unit) for name, each in families.items()} == expected
    for metric in METRICS:
        assert all(set(metric.labels) <= set(sample.labels) for sample in families[metric.name].samples)
    listed = {each["name"] for each in home.json("metrics", "list")}
    assert listed == {metric.sample_name for metric in METRICS}
    assert {line.split("`")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")} == listed

    samples = {sample.name: sample.value for each in families.values() for sample in each.samples}
    assert samples["shunter_manager_leading"] == 1
    assert samples["shunter_jobs_submitted_total"] == 1
    assert samples["process_resident_memory_bytes"] > 2**20
    assert samples["shunter_store_size_bytes"] > 0
    assert samples["shunter_certificate_expiry_timestamp_seconds"] == 0


def test_a_scrape_needs_a_token_and_a_viewer_is_enough(home: Cluster) -> None:
    home.up("--cpu", "1")
    url = json.loads((home.home / "cluster.json").read_text())["url"] + "/metrics"
    for token in ("", "wrong"):
        with pytest.raises(HTTPError) as refused:
            scrape(url, token)
        assert refused.value.code == 401
    key = home.shunter("--quiet", "key", "create", "--role", "viewer").out.strip()
    assert "shunter_tasks" in scrape(url, key)[1]


def test_a_key_of_a_tenant_scrapes_that_tenant_only(home: Cluster) -> None:
    home.up("--cpu", "1")
    for name in ("red", "blue"):
        home.shunter("tenant", "create", name, "--quota", "queued=5")
        home.shunter("run", "--detach", "-n", name, "--name", f"too-large-of-{name}", "--cpu", "500", "--", "true")
    home.shunter("run", "--detach", "--name", "too-large", "--cpu", "500", "--", "true")
    url = json.loads((home.home / "cluster.json").read_text())["url"] + "/metrics"
    key = home.shunter("--quiet", "key", "create", "--role", "viewer", "--tenant", "red").out.strip()
    families = scrape(url, key)[1]
    assert set(families) == {
        "shunter_jobs", "shunter_queue_tasks", "shunter_tenant_quota_used", "shunter_tenant_quota_limit",
    }  # fmt: skip
    samples = [sample for each in families.values() for sample in each.samples]
    assert {sample.labels.get("tenant", "red") for sample in samples} == {"red"}
    assert sum(sample.value for sample in samples if sample.name == "shunter_jobs") == 1
    assert sum(sample.value for sample in samples if sample.name == "shunter_queue_tasks") == 1

    bound = home.shunter("--quiet", "key", "create", "--role", "viewer", "--tenant", "red", "--namespace", "red")
    with pytest.raises(HTTPError) as refused:
        scrape(url, bound.out.strip())
    assert refused.value.code == 403
