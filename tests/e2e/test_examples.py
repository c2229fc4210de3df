"""Every example runs as it stands, and so does the README's Python."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.e2e.cluster import Cluster, eventually
from tests.services.docker_daemon import IMAGE, TestDaemon

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((ROOT / "examples" / "python").glob("*.py"))
MANIFESTS = sorted((ROOT / "examples" / "manifests").glob("*.yaml"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_the_program_runs_to_its_end(cluster: Cluster, program: Path) -> None:
    _run(cluster, program.read_text())


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.stem)
def test_the_manifest_is_submitted_and_its_jobs_end_well(cluster: Cluster, manifest: Path) -> None:
    cluster.shunter("submit", "-f", str(manifest), "--wait", code=0)


def test_the_service_is_kept_and_updated_one_task_after_the_other(cluster: Cluster) -> None:
    manifest = (ROOT / "examples" / "long-running" / "service.yaml").read_text()
    cluster.shunter("submit", "-f", "-", "--wait", stdin=manifest)
    assert greetings(cluster) == ["hello", "hello"]
    changed = manifest.replace("GREETING: hello", "GREETING: welcome")
    done = cluster.shunter("submit", "-f", "-", "--wait", stdin=changed)
    assert done.out == "greeter updated\n"
    eventually(lambda: greetings(cluster) == ["welcome", "welcome"], "those that were replaced have ended")
    cluster.shunter("stop", "greeter")
    cluster.shunter("wait", "greeter", code=1)


def test_the_clock_runs_the_cron_job(cluster: Cluster) -> None:
    cluster.shunter("submit", "-f", str(ROOT / "examples" / "long-running" / "cron.yaml"))

    def fired() -> int:
        return sum(job["name"] == "tick" for job in cluster.items("jobs", "--state", "succeeded"))

    eventually(lambda: fired() >= 2, "it has fired twice")
    cluster.shunter("cron", "delete", "tick")
    cluster.shunter("wait", "tick@1", "tick@2")


def test_a_dispatch_brings_parameters_and_a_payload(cluster: Cluster, tmp_path: Path) -> None:
    cluster.shunter("submit", "-f", str(ROOT / "examples" / "long-running" / "dispatch.yaml"))
    photo = tmp_path / "photo.jpg"
    photo.write_bytes(os.urandom(10_000))
    done = cluster.shunter("dispatch", "thumbnail", "--param", "width=320", "--payload", str(photo), "--wait")
    assert done.out == "thumbnail@1\n"
    digest = hashlib.sha256(photo.read_bytes()).hexdigest()
    assert cluster.shunter("logs", "thumbnail").out == f"320 wide, as webp:\n{digest}  -\n"


def greetings(cluster: Cluster) -> list[str]:
    """What the healthy tasks of the service say."""
    found = []
    for task in cluster.items("tasks", "greeter"):
        if task["healthy"]:
            try:
                with urlopen(f"http://127.0.0.1:{task['ports']['web']}/", timeout=30) as answer:
                    found.append(answer.read().decode().strip())
            except OSError:
                continue  # it has just been replaced
    return found


def test_containers_run_to_their_end(home: Cluster, docker: TestDaemon) -> None:
    home.environment["DOCKER_HOST"] = docker.host
    docker.call("POST", f"images/{IMAGE}/tag", repo="busybox", tag="latest")
    home.up("--cpu", "2")
    home.shunter("submit", "-f", str(ROOT / "examples" / "containers" / "hello.yaml"), "--wait")
    assert "passwd" in home.shunter("logs", "boxed/1").out


def test_every_example_is_on_the_list() -> None:
    folder = ROOT / "examples"
    listed = re.findall(r"^\| `([^`]+)` \|", (folder / "README.md").read_text(), re.MULTILINE)
    there = [path for path in folder.rglob("*") if path.suffix in (".py", ".yaml") and "plugin" not in str(path)]
    assert {str(path.relative_to(folder)) for path in there} == {name for name in listed if not name.endswith("/")}


def test_the_readmes_python_does_what_it_says(cluster: Cluster) -> None:
    [program] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert "succeeded {'succeeded': 100}" in _run(cluster, program)


def _run(cluster: Cluster, program: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", program],
        env=cluster.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout
