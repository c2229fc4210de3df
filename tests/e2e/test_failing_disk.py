"""A disk that fails to sync (EIO) under a real manager: nothing is acknowledged that may be lost, the manager says what
happened, and continues when the disk works again. A library that is preloaded lets the syncs of the store fail."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from shunter.model.errors import Unavailable
from tests.e2e.cluster import Cluster, eventually
from tests.e2e.manifests import job
from tests.e2e.rest import Rest
from tests.machine_limits import NO_COMPILER

SOURCE = Path(__file__).with_name("failing_fsync.c")


class Disk:
    """The disk of a cluster's store."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self._trigger = folder / "disk-is-broken"
        library = folder / "failing_fsync.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"], check=True)
        cluster.environment |= {"LD_PRELOAD": str(library), "FAIL_SYNC_WHILE": str(self._trigger)}

    @contextmanager
    def broken(self) -> Iterator[None]:
        self._trigger.touch()
        try:
            yield
        finally:
            self._trigger.unlink()


@pytest.fixture
def disk(home: Cluster, tmp_path: Path) -> Disk:
    if shutil.which("gcc") is None:
        pytest.skip(NO_COMPILER)
    return Disk(home, tmp_path)


def names(cluster: Cluster) -> list[str]:
    with cluster.client() as client:
        return [each.name for each in client.jobs()]


def epoch(cluster: Cluster) -> int:
    [found] = cluster.items("store", "verify")
    return int(found["epoch"])


def test_a_failed_sync_ends_the_epoch_and_loses_nothing_that_was_acknowledged(home: Cluster, disk: Disk) -> None:
    home.up("--cpu", "2")
    rest = Rest(home)
    acknowledged = []
    for number in range(3):
        assert rest.ask("POST", "/jobs", job(f"before-{number}")).status == 201
        acknowledged.append(f"before-{number}")
    before = epoch(home)
    with disk.broken():
        for number in range(5):
            answer = rest.ask("POST", "/jobs", job(f"during-{number}"))
            assert answer.status == 503, answer
            assert answer.headers["retry-after"]
        health = rest.ask("GET", "/healthz", token=False)
        assert health.status == 503
        assert "the disk failed to read or write" in health.json["detail"]
        eventually(lambda: rest.ask("GET", "/jobs").status == 200 or None, "reads are answered")
    eventually(lambda: rest.ask("GET", "/healthz").status == 200 or None, "the manager can commit again")
    assert epoch(home) > before
    assert rest.ask("POST", "/jobs", job("after")).status == 201
    assert set(names(home)) >= {*acknowledged, "after"}
    assert "the disk failed to read or write" in home.log()
    assert "Traceback" not in home.log()

    home.kill_manager()
    home.up("--cpu", "2")
    found = names(home)
    assert set(found) >= {*acknowledged, "after"}
    assert len(found) == len(set(found)), "a submit was stored twice"
    assert "the store is intact" in home.shunter("store", "verify").out


def test_a_submit_waits_for_the_disk_and_is_stored_once(home: Cluster, disk: Disk) -> None:
    """As the SDK sees it: it repeats the submit with the same key until the disk works."""
    home.up("--cpu", "2")
    rest = Rest(home)
    with home.client(patience_s=0) as client, disk.broken(), pytest.raises(Unavailable):
        client.run(["/bin/true"], name="refused")
    eventually(lambda: rest.ask("GET", "/healthz").status == 200 or None, "the manager can commit again")
    with home.client(patience_s=60) as client, ThreadPoolExecutor(1) as pool:
        with disk.broken():
            patient = pool.submit(client.run, ["/bin/true"], name="patient")
            eventually(lambda: rest.ask("GET", "/healthz").status == 503 or None, "the commit has failed")
        assert patient.result().wait(60).state == "succeeded"
    assert names(home).count("patient") == 1


def test_a_cluster_does_not_start_on_a_disk_that_fails_and_says_why(home: Cluster, disk: Disk) -> None:
    with disk.broken():
        refused = home.shunter("up", "--detach", code=1)
    assert "the disk failed to read or write" in refused.err
    assert "Traceback" not in refused.err + home.log()
    assert "is ready at" in home.up("--cpu", "2").out
