"""A namespace for each test, and the custom resources, installed once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.kube.kube_cluster import NODE, SKIP_REASON, Kube


@pytest.fixture(scope="session")
def installed() -> str:
    """What the first installation has said."""
    if SKIP_REASON:
        pytest.skip(SKIP_REASON)
    command = [str(Path(sys.executable).parent / "shunter"), "operator", "install"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.fixture
def kube(installed: str, tmp_path: Path) -> Iterator[Kube]:
    assert installed
    found = Kube(f"test-{uuid4().hex[:8]}", tmp_path)
    found("create", "namespace", found.namespace)
    yield found
    found("delete", "shunter,pods", "--all", "--now")  # the namespace itself takes seconds to go
    found("delete", "namespace", found.namespace, "--wait=false")
    found("label", "node", NODE, "bench-", "second-")
