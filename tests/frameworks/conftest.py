"""One cluster for all tests of a module, and the examples' jars, built once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.conftest import leave_nothing, make_home
from tests.frameworks.framework_cluster import EXAMPLES, FrameworkCluster, skip_reason

__all__ = ["make_home"]  # a fixture of theirs, for stories of several machines


@pytest.fixture(scope="session")
def jars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if reason := skip_reason():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("jars")
    subprocess.run([sys.executable, str(EXAMPLES / "build_jars.py"), str(folder)], check=True, timeout=280)
    return folder


@pytest.fixture(scope="module")
def framework_cluster(tmp_path_factory: pytest.TempPathFactory, jars: Path) -> Iterator[FrameworkCluster]:
    cluster = Cluster(tmp_path_factory.mktemp("home"))
    cluster.up("--cpu", "2", "--label", "bench=0")
    found = FrameworkCluster(cluster, jars)
    found.apply(found.manifest("testbed"))
    yield found
    leave_nothing(cluster)
