"""Health checks on a real cluster: unhealthy tasks are stopped and restarted, as often as their restart policy
allows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.e2e.cluster import Cluster, eventually
from tests.e2e.manifests import as_yaml, job

# Answers with the status that a file holds, and leaves a trace.
SERVER = """
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status = int(open(sys.argv[1]).read())
        open(sys.argv[1] + ".asked", "w").close()
        self.send_response(status)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(os.environ["SHUNTER_PORT_WEB"])), Handler).serve_forever()
"""


def server(name: str, status: Path, **check: Any) -> dict[str, Any]:
    """A service whose health is what a file says."""
    checks = [{"http": "/health", "port": "web", "interval": "100ms", "failures": 2, "start_grace": "60s", **check}]
    command = [sys.executable, "-I", "-S", "-c", SERVER, str(status)]
    restart = {"delay": "50ms", "delay_max": "50ms"}
    return job(name, command, type="service", ports=[{"name": "web"}], health=checks, restart=restart, stop_grace="1s")


def test_a_failing_check_means_three_restarts_and_then_failed(cluster: Cluster, tmp_path: Path) -> None:
    """C-16: checks by HTTP path; three restarts at most."""
    status = tmp_path / "status"
    status.write_text("503")
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(server("sick", status, start_grace="1s")), code=0)
    cluster.until("sick", "failed")
    [task] = cluster.items("tasks", "sick")
    assert (task["state"], task["attempt"]) == ("failed", 4)
    assert task["reason"] == "http check of /health on port web failed 2 times in a row: answered 503"
    assert task["reason"] in cluster.json("job", "sick")["reason"]


def test_a_task_that_was_well_is_restarted_when_it_no_longer_is(cluster: Cluster, tmp_path: Path) -> None:
    """C-16: the attempt is ended as unhealthy, the next one is well again."""
    status = tmp_path / "status"
    status.write_text("200")
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(server("shaky", status)), code=0)
    eventually((tmp_path / "status.asked").exists, "it is asked how it is")
    status.write_text("500")
    eventually(lambda: task_of(cluster, "shaky")["attempt"] >= 2, "it is restarted")
    status.write_text("200")
    eventually(lambda: task_of(cluster, "shaky")["state"] == "running", "it runs again")
    assert cluster.json("job", "shaky")["state"] == "running"


def test_checks_go_on_when_the_cluster_was_killed(home: Cluster, tmp_path: Path) -> None:
    """C-16: the task outlives manager and worker, and is looked after by the next ones."""
    status = tmp_path / "status"
    status.write_text("200")
    home.up()
    home.shunter("submit", "-f", "-", stdin=as_yaml(server("steady", status)), code=0)
    home.until("steady", "running")
    home.kill_manager()
    asked = tmp_path / "status.asked"
    asked.unlink(missing_ok=True)
    home.up()
    eventually(asked.exists, "it is asked again how it is")
    assert task_of(home, "steady")["attempt"] == 1
    status.write_text("404")
    eventually(lambda: task_of(home, "steady")["attempt"] >= 2, "it is restarted")


def task_of(cluster: Cluster, name: str) -> dict[str, Any]:
    [task] = cluster.items("tasks", name)
    return task
