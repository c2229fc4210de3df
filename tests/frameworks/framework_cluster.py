"""A real cluster with a testbed of two slots, on which the tests run real Spark and Flink."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from shunter.frameworks.locations import KINDS, find_framework, find_java
from tests.e2e.cluster import Cluster, eventually

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "batchjobs"
TEXT = EXAMPLES / "text.txt"
RUN_MAX_S = 280.0  # of one application; on a busy machine its virtual machines take their time
ENDED = ("CompletedState", "FailedState", "FailedSubmissionState")


def skip_reason() -> str | None:
    """Why applications cannot run here; None where they can."""
    java = find_java()
    if java is None or not java.is_supported:
        return "no Java 17 or 21: make setup-frameworks"
    missing = [kind.name for kind in KINDS.values() if find_framework(kind) is None]
    return f"no {' and '.join(missing)}: make setup-frameworks" if missing else None


class FrameworkCluster:
    """The cluster, with what the stories ask of it."""

    def __init__(self, cluster: Cluster, jars: Path) -> None:
        self.cluster = cluster
        self._jars = jars

    def manifest(self, name: str) -> str:
        """An example's, with this machine's paths."""
        text = (EXAMPLES / f"{name}.yaml").read_text()
        return text.replace("/opt/shunter/examples/batchjobs/jars", str(self._jars)).replace("/opt/shunter", str(ROOT))

    def apply(self, manifest: str) -> str:
        return self.cluster.shunter("apply", "-f", "-", stdin=manifest).out

    def run(self, name: str, manifest: str | None = None) -> dict[str, Any]:
        """Apply an example, wait for the end of its BatchJob, and release it; returns the BatchJob as it ended."""
        self.apply(manifest or self.manifest(name))
        ended = self.wait_until_ended(name)
        self.release(name)
        return ended

    def batch_job(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.cluster.json("get", "batchjob", name)
        return found

    def state(self, name: str) -> str:
        return str(self.batch_job(name)["status"]["state"])

    def wait_until_ended(self, name: str) -> dict[str, Any]:
        eventually(lambda: self.state(name) in ENDED, f"{name} has ended", RUN_MAX_S)
        return self.batch_job(name)

    def release(self, name: str) -> None:
        """Delete its Scheduling; the BatchJob is ready again when nothing of it runs."""
        self.cluster.shunter("delete", "scheduling", name)
        eventually(lambda: self.state(name) == "ReadyState", f"{name} is released", RUN_MAX_S)

    def slots(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.cluster.json("get", "testbed", "batch")["status"]["slots"]
        return found

    def tasks(self, name: str) -> list[dict[str, Any]]:
        return self.cluster.items("tasks", f"bj.{name}")

    def ports(self, name: str) -> dict[str, int]:
        """Of its driver, once it has started."""

        def driver_ports() -> dict[str, int] | None:
            drivers = [task for task in self.tasks(name) if task["group"] == "driver"]
            return dict(drivers[0]["ports"]) if drivers and drivers[0]["state"] == "running" else None

        eventually(lambda: self.state(name) in ("SubmittedState", "ScheduledState", "RunningState"), f"{name} starts")
        return eventually(driver_ports, "the driver runs", RUN_MAX_S)

    def stdout(self, name: str, task: str = "driver/0") -> str:
        return self.cluster.shunter("logs", f"bj.{name}/{task}", "--stdout").out

    def stderr(self, name: str, task: str = "driver/0") -> str:
        return self.cluster.shunter("logs", f"bj.{name}/{task}", "--stderr").out


def get_json(port: int, path: str) -> Any:
    """What a framework's own REST answers; None while it does not."""
    try:
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return json.loads(answer.read())
    except (URLError, ValueError, OSError):
        return None
