"""Every query of the dashboards returns data on a real Prometheus, after a load that touches everything they show."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster, eventually
from tests.observability.prometheus import ROOT, Monitoring, running_monitoring

pytestmark = [pytest.mark.slow, pytest.mark.smoke, pytest.mark.timeout(300)]

LOAD_MAX_S = 120.0
RATE_INTERVAL = "120s"  # so that the load is still in the window when the last query is asked
ZERO_IF_NONE = " or vector(0)"  # would answer for a metric that does not exist
TESTBED = """
apiVersion: batchjob.gcr.io/v1alpha1
kind: Testbed
metadata: {name: lab}
spec: {nodeLabel: lab, slotsPerNode: 2, resourcesPerSlot: {cpu: 100m}}
"""


@pytest.fixture(scope="module")
def monitoring(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitoring]:
    folder, home = tmp_path_factory.mktemp("monitoring"), tmp_path_factory.mktemp("home")
    cluster = Cluster(home)
    try:
        cluster.up("--cpu", "2", "--name", "dashboards")
        key = folder / "key"
        key.write_text(cluster.shunter("--quiet", "key", "create", "--role", "viewer").out.strip())
        target = cluster.description["url"].removeprefix("http://")
        with running_monitoring(folder, target, key) as running:
            eventually(lambda: running.query("shunter_jobs_submitted_total"), "the first scrape has come")
            put_load_on(cluster)
            yield running
    finally:
        cluster.down()
        cluster.kill_all()


def put_load_on(cluster: Cluster) -> None:
    """An exhausted quota makes an alert pending and then firing."""
    node = cluster.items("nodes")[0]["name"]
    cluster.shunter("node", "label", node, "lab=0")
    cluster.shunter("apply", "-f", "-", stdin=TESTBED)
    cluster.shunter("tenant", "create", "red", "--quota", "running=1")
    sleeper = ("--detach", "-n", "red", "--name", "sleeper", "--count", "2", "--cpu", "100m")
    cluster.shunter("run", *sleeper, "--", "sleep", "600")
    cluster.shunter("run", "--count", "20", "--", "true")
    cluster.shunter("run", "--", "false", code=1)


def test_every_query_of_every_panel_returns_data(monitoring: Monitoring) -> None:
    empty = {
        (path.name, panel["title"], target["expr"])
        for path in (ROOT / "deploy" / "grafana" / "dashboards").iterdir()
        for panel in json.loads(path.read_text(encoding="utf-8"))["panels"]
        for target in panel["targets"]
    }
    assert len(empty) > 60

    def all_have_data() -> bool:
        """A query counts once it has returned data: a pending alert is soon a firing one."""
        for query in sorted(empty):
            expr = query[2].replace("$__rate_interval", RATE_INTERVAL).replace(ZERO_IF_NONE, "")
            if any(each["value"][1] != "NaN" for each in monitoring.query(expr)):
                empty.discard(query)
        return not empty

    try:
        eventually(all_have_data, "all queries return data", within_s=LOAD_MAX_S)
    except AssertionError:
        raise AssertionError(f"no data: {sorted(empty)}") from None


def test_prometheus_accepts_the_configuration_for_users(tmp_path: Path) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool not found: make setup-observability installs it")
    for name in ("prometheus.yml", "shunter-alerts.yml"):
        shutil.copy(ROOT / "deploy" / "prometheus" / name, tmp_path)
    (tmp_path / "key").write_text("x")
    config = tmp_path / "prometheus.yml"
    config.write_text(config.read_text().replace("/etc/prometheus/shunter.key", str(tmp_path / "key")))
    checked = subprocess.run(["promtool", "check", "config", str(config)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
