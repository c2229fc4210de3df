"""Programs in Go, which know nothing but proto/, as clients and as workers of a real cluster: the tests in go/."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.conftest import leave_nothing
from tests.foreign.go_build import SOURCES, build, find_go
from tests.machine_limits import NO_GO

pytestmark = [pytest.mark.slow, pytest.mark.services, pytest.mark.smoke, pytest.mark.timeout(600)]
TEST_MAX_S = 120
CASES = re.findall(r"^func (Test\w+)\(", "".join(path.read_text() for path in sorted(SOURCES.glob("*_test.go"))), re.M)


@pytest.fixture(scope="session")
def program() -> Path:
    go = find_go()
    if go is None:
        pytest.skip(NO_GO)
    return build(go)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Where the cluster is, and whose credentials there are."""
    cluster = Cluster(tmp_path_factory.mktemp("home"))
    cluster.up("--cpu", "2", "--workers-listen", "127.0.0.1:0", "--external-grpc", "127.0.0.1:0")
    try:
        cluster.shunter("tenant", "create", "red")
        described = cluster.description
        yield {
            "SHUNTER_GRPC": described["schedulers"],
            "SHUNTER_WORKERS": described["workers"],
            "SHUNTER_TOKEN": cluster.token,
            "SHUNTER_WORKER_TOKEN": (cluster.home / "worker-token").read_text().strip(),
            "SHUNTER_VIEWER_KEY": cluster.json("key", "create", "--role", "viewer")["key"],
            "SHUNTER_TENANT_KEY": cluster.json("key", "create", "--tenant", "red", "--role", "submitter")["key"],
        }
        cluster.stop_everything()
    finally:
        leave_nothing(cluster)


def test_the_cases_are_found() -> None:
    assert len(CASES) > 10


@pytest.mark.parametrize("case", CASES)
def test_in_go(case: str, program: Path, environment: dict[str, str]) -> None:
    command = [str(program), "-test.v", f"-test.run=^{case}$"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TEST_MAX_S)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    assert f"--- PASS: {case}" in done.stdout
