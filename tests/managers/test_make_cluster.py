"""`make cluster` and `make cluster-down`, as a user runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.manager_cluster import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.smoke, pytest.mark.timeout(300)]
GREET = """
apiVersion: shunter.dev/v1
kind: Job
metadata: {name: greet}
spec:
  command: [sh, -c, echo $GREETING]
  secrets: [{name: greeting, env: GREETING}]
"""
SCRIPT = Path(__file__).parents[2] / "scripts" / "cluster.py"


def call(verb: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, SCRIPT, verb, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def shunter(folder: Path, command: str) -> str:
    """A command in a shell that has sourced `env`."""
    done = subprocess.run(["sh", "-c", f". {folder}/env; shunter {command}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def managers(folder: Path) -> dict[str, Any]:
    return {each["name"]: each for each in json.loads(shunter(folder, "managers --output json"))["items"]}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / ".cluster"
    yield folder
    if folder.exists():
        call("down", folder)


def test_a_cluster_survives_its_leader_and_is_made_whole_again(folder: Path) -> None:
    said = call("up", folder)
    before = managers(folder)
    assert sorted(before) == ["m1", "m2", "m3"]
    assert set(before["m1"]) >= {"name", "role", "url", "version", "lag_s"}
    [leader] = [name for name, each in before.items() if each["role"] == "leader"]
    assert f"kill -9 $(cat {folder}/pids/{leader}.pid)" in said
    assert "succeeded: 30 succeeded" in shunter(folder, "run --count 30 -- sleep 0.01 2>&1")

    redis = ["redis-cli", "-p", str(json.loads((folder / "ports.json").read_text())["redis"]), "info", "commandstats"]
    assert "cmdstat_evalsha" in subprocess.run(redis, capture_output=True, text=True, check=True).stdout

    shunter(folder, "secret set greeting << EOF\nsaid in secret\nEOF\n")
    os.kill(int((folder / "pids" / f"{leader}.pid").read_text()), signal.SIGKILL)
    assert shunter(folder, "run -- echo still here") == "still here\n"
    wait_for(lambda: any(each["role"] == "leader" for name, each in managers(folder).items() if name != leader), "one")

    (folder / "greet.yaml").write_text(GREET)
    said = shunter(folder, f"submit --wait {folder}/greet.yaml 2>&1; shunter logs greet")
    assert "said in secret" in said, "the next leader has the same key"

    assert call("up", folder).splitlines()[0] == f"started {leader}"
    assert sorted(managers(folder)) == ["m1", "m2", "m3"]
    for path in (folder / "env", folder / "store-url", folder / "secrets.key", folder / "m1" / "token"):
        assert path.stat().st_mode & 0o077 == 0, path

    pids = [int(path.read_text()) for path in (folder / "pids").iterdir()]
    call("down", folder)
    assert not folder.exists()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "the end of all processes")
