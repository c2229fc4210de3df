"""kill -9 of random managers, workers and keepers under load: everything acknowledged is still completed.

`make crash` injects faults for SHUNTER_CRASH_SECONDS (60), the everyday suite for a few seconds. SHUNTER_CRASH_SEED
repeats the choices of a run, not its timing."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from shunter import Client
from tests.e2e import crash_checks as checks
from tests.e2e.cluster import Cluster
from tests.e2e.crash_faults import EmbeddedFaultTarget, FaultTarget, RemoteFaultTarget, inject_faults
from tests.e2e.crash_load import PATIENCE_S, Load
from tests.e2e.remote import RemoteCluster

SHORT_S = 5.0
LONG_S = float(os.environ.get("SHUNTER_CRASH_SECONDS", "60"))
# Attempts are lost by the dozen here, which must not fail a task.
LIMITS = "[limits]\nlost_max = 255\n"
UP = ("--cpu", "2")

long_and_short = pytest.mark.parametrize(
    "seconds", [SHORT_S, pytest.param(LONG_S, marks=[pytest.mark.crash, pytest.mark.slow])], ids=["short", "long"]
)


@pytest.fixture
def seed() -> int:
    """Printed by pytest for a test that fails."""
    chosen = int(os.environ.get("SHUNTER_CRASH_SEED", random.SystemRandom().randrange(2**32)))
    print(f"SHUNTER_CRASH_SEED={chosen}")
    return chosen


@pytest.fixture
def remote(make_home: Callable[[], Cluster]) -> Iterator[RemoteCluster]:
    running = RemoteCluster(make_home, timeout="1s", limits=LIMITS)
    running.start_manager()
    for name in ("w1", "w2"):
        running.add_worker(name)
    yield running
    running.close()


@long_and_short
@pytest.mark.timeout(LONG_S + 300)
def test_an_embedded_cluster_keeps_its_word(home: Cluster, tmp_path: Path, seed: int, seconds: float) -> None:
    """R-12, C-12, D-25, D-15: manager and keepers are killed; nothing is lost, recorded twice, leaked or left."""
    (home.home / "config.toml").write_text(LIMITS)
    home.up(*UP)
    crash(home, EmbeddedFaultTarget(home, UP), tmp_path, seed, seconds)
    home.down()
    home.expect_nothing_left()


@long_and_short
@pytest.mark.timeout(LONG_S + 300)
def test_a_cluster_of_several_processes_keeps_its_word(
    remote: RemoteCluster, tmp_path: Path, seed: int, seconds: float
) -> None:
    """R-09, R-12, R-13, C-17: manager, workers, keepers and whole machines are killed, and workers come back."""
    crash(remote.manager, RemoteFaultTarget(remote), tmp_path, seed, seconds)


def crash(cluster: Cluster, fault_target: FaultTarget, folder: Path, seed: int, seconds: float) -> None:
    """Load and blows together, then calm, then the checks."""
    with ExitStack() as stack:

        def connect() -> Client:
            return stack.enter_context(cluster.client(patience_s=PATIENCE_S))

        load = Load(connect, folder, seed)
        load.start()
        try:
            counts = inject_faults(fault_target, seconds, seed + 1)
        finally:
            load.stop()
        print(f"{len(load.acknowledged)} jobs; {counts}")
        client = connect()
        checks.expect_all_ended(client, load.acknowledged)
        checks.expect_no_job_twice(client, load.acknowledged)
        checks.expect_every_end_once(client, load.acknowledged)
        checks.expect_successes_really_ran(client, load.acknowledged, load.ends())
        checks.expect_nothing_reserved(cluster)
