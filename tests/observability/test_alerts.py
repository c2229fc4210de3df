"""Every alert fires in a scenario that causes it, reaches Alertmanager, and resolves when the cause is gone: with real
servers, and all times scaled to a sixtieth."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from shunter.model.errors import ShunterError
from tests.chaos.disks import small_disk
from tests.e2e.cluster import Cluster, eventually
from tests.e2e.remote import Worker
from tests.machine_limits import NO_COMPILER, NO_ROOT
from tests.observability.prometheus import ROOT, Monitoring, running_monitoring

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

NODES = '[nodes]\nheartbeat = "200ms"\ntimeout = "1s"\n'


class Site:
    """A cluster whose home is on a small disk, with a second worker, and its monitoring."""

    def __init__(self, cluster: Cluster, worker: Worker, slow_disk: Path) -> None:
        self.cluster, self.worker, self._slow_disk = cluster, worker, slow_disk
        self.monitoring: Monitoring

    @property
    def pid(self) -> int:
        return int(self.cluster.description["pid"])

    @contextmanager
    def stopped(self) -> Iterator[None]:
        pid = self.pid
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    @contextmanager
    def slow_commits(self) -> Iterator[None]:
        with self._repeated(self._submit):
            self._slow_disk.touch()
            try:
                yield
            finally:
                self._slow_disk.unlink()

    @contextmanager
    def failing_commits(self) -> Iterator[None]:
        with self._trigger("rounds"), self._repeated(self._submit):
            yield

    @contextmanager
    def stuck_queue(self) -> Iterator[None]:
        self.cluster.shunter("run", "--detach", "--name", "too-large", "--cpu", "500", "--queue", "night", "--", "true")
        try:
            yield
        finally:
            self.cluster.shunter("stop", "too-large")

    @contextmanager
    def exhausted_quota(self) -> Iterator[None]:
        self.cluster.shunter("tenant", "create", "red", "--quota", "running=1")
        words = (
            "run",
            "--detach",
            "-n",
            "red",
            "--name",
            "sleeper",
            "--count",
            "2",
            "--cpu",
            "100m",
            "--",
            "sleep",
            "600",
        )
        self.cluster.shunter(*words)
        try:
            yield
        finally:
            self.cluster.shunter("stop", "-n", "red", "sleeper", "--now")

    @contextmanager
    def flapping(self) -> Iterator[None]:
        def flap() -> None:
            self.worker.process.send_signal(signal.SIGSTOP)
            time.sleep(1.6)
            self.worker.process.send_signal(signal.SIGCONT)
            time.sleep(1.2)

        with self._repeated(flap):
            yield

    @contextmanager
    def silent_worker(self) -> Iterator[None]:
        self.worker.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.worker.process.send_signal(signal.SIGCONT)

    @contextmanager
    def full_disk(self) -> Iterator[None]:
        filler = self.cluster.home / "filler"
        disk = os.statvfs(self.cluster.home)
        with filler.open("wb") as file:
            os.posix_fallocate(
                file.fileno(), 0, int(disk.f_bavail * disk.f_frsize - 0.05 * disk.f_blocks * disk.f_frsize)
            )
        try:
            yield
        finally:
            filler.unlink()

    @contextmanager
    def stalled_loop(self) -> Iterator[None]:
        def stall() -> None:
            with self.stopped():
                time.sleep(0.9)
            time.sleep(0.6)

        with self._repeated(stall):
            yield

    @contextmanager
    def failing_snapshots(self) -> Iterator[None]:
        """A snapshot is due when enough was logged."""
        payload = secrets.token_hex(450_000)  # not to be compressed to nothing
        with self._trigger("snapshot"), self._trigger("snapshot_parts"):
            for number in range(22):
                self.cluster.shunter("run", "--detach", "--name", f"large-{number}", "--", "true", stdin=payload)
            yield

    @contextmanager
    def _trigger(self, table: str) -> Iterator[None]:
        """The database refuses to write to a table."""
        self._change(f"CREATE TRIGGER broken_{table} BEFORE INSERT ON {table} BEGIN SELECT RAISE(FAIL, 'broken'); END")
        try:
            yield
        finally:
            self._change(f"DROP TRIGGER broken_{table}")

    def _change(self, statement: str) -> None:
        with sqlite3.connect(self.cluster.home / "store.db", timeout=30) as connection:
            connection.execute(statement)

    def _submit(self) -> None:
        try:
            with self.cluster.client(patience_s=0.0) as client:
                client.run(["true"])
        except ShunterError:
            pass
        time.sleep(0.1)

    @contextmanager
    def _repeated(self, cause: Callable[[], None]) -> Iterator[None]:
        has_ended = threading.Event()

        def repeat() -> None:
            while not has_ended.is_set():
                cause()

        thread = threading.Thread(target=repeat)
        thread.start()
        try:
            yield
        finally:
            has_ended.set()
            thread.join()


CAUSES: dict[str, Callable[[Site], AbstractContextManager[None]]] = {
    "ShunterManagerDown": Site.stopped,
    "ShunterLeaderLost": Site.stopped,
    "ShunterCommitsSlow": Site.slow_commits,
    "ShunterCommitsFailing": Site.failing_commits,
    "ShunterQueueStuck": Site.stuck_queue,
    "ShunterQuotaExhausted": Site.exhausted_quota,
    "ShunterNodeFlapping": Site.flapping,
    "ShunterNodeDown": Site.silent_worker,
    "ShunterDiskNearlyFull": Site.full_disk,
    "ShunterEventLoopStalled": Site.stalled_loop,
    "ShunterSnapshotFailing": Site.failing_snapshots,
}
SMOKE = ("ShunterLeaderLost", "ShunterQueueStuck", "ShunterDiskNearlyFull")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    if os.geteuid() != 0:
        pytest.skip(NO_ROOT)
    if shutil.which("gcc") is None:
        pytest.skip(NO_COMPILER)
    folder, home, worker_home = (tmp_path_factory.mktemp(name) for name in ("monitoring", "home", "worker"))
    library, slow_disk = folder / "slow_fsync.so", folder / "disk-is-slow"
    source = Path(__file__).with_name("slow_fsync.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    with small_disk(home, "256m"):
        cluster = Cluster(home)
        cluster.environment |= {"LD_PRELOAD": str(library), "SLOW_SYNC_WHILE": str(slow_disk)}
        (home / "config.toml").write_text(NODES)
        worker = Worker(cluster, Cluster(worker_home), "second", ("--cpu", "1"))
        try:
            cluster.up("--cpu", "2", "--workers-listen", "127.0.0.1:0")
            worker.start()
            eventually(lambda: len(cluster.items("nodes")) == 2, "the second worker has joined")
            key = folder / "key"
            key.write_text(cluster.shunter("--quiet", "key", "create", "--role", "viewer").out.strip())
            site = Site(cluster, worker, slow_disk)
            target = cluster.description["url"].removeprefix("http://")
            with running_monitoring(folder, target, key) as site.monitoring:
                yield site
        finally:
            worker.kill()
            cluster.down()
            cluster.kill_all()
            worker.home.kill_all()


@pytest.mark.smoke
def test_the_watchdog_always_fires(site: Site) -> None:
    site.monitoring.wait_until_fires("ShunterWatchdog")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.smoke if name in SMOKE else ()) for name in CAUSES]
)
def test_an_alert_fires_reaches_alertmanager_and_resolves(site: Site, name: str) -> None:
    site.monitoring.wait_until_resolved(name)
    with CAUSES[name](site):
        alert = site.monitoring.wait_until_fires(name)
        assert (ROOT / alert["annotations"]["runbook_url"]).exists()
        assert alert["annotations"]["summary"]
    site.monitoring.wait_until_resolved(name)
