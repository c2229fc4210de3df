"""Managers with a role each, over TLS: forwarded requests and relayed streams of workers are encrypted."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from shunter.model.rest.manager_views import API, SCHEDULER, WATCHER
from shunter.sdk.client import Client, connect
from tests.etcd_servers import etcd_servers
from tests.manager_cluster import SHUNTER, TOKEN, ManagerCluster, shared_folder
from tests.postgres_server import running_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PROCESSES = {"a1": API, "s1": SCHEDULER, "s2": SCHEDULER, "v1": WATCHER}
CONFIG = '[tls]\nenabled = true\n[nodes]\ntimeout = "60s"\n'


class TlsCluster(ManagerCluster):
    """One authority, which was copied into the home of every manager. Workers have certificates and no token."""

    def prepare(self, *workers: str) -> None:
        self._shunter("ca", "init")
        for manager in self.managers:
            shutil.copytree(self._folder / "authority" / "ca", self._folder / manager / "ca")
        for worker in workers:
            self._shunter("ca", "issue", "worker", worker, "--out", str(self._folder / worker / "tls"))

    def url_of(self, manager: str) -> str:
        return super().url_of(manager).replace("http://", "https://")

    def client(self, *managers: str, patience_s: float = 30.0) -> Client:
        url = ",".join(self.url_of(name) for name in managers or self.with_role(API))
        authorities = self._folder / "authority" / "ca" / "ca.crt"
        return connect(url, TOKEN, ca_file=authorities, patience_s=patience_s)

    def _shunter(self, *words: str) -> None:
        environment = {**os.environ, "SHUNTER_HOME": str(self._folder / "authority")}
        subprocess.run([SHUNTER, *words], env=environment, check=True, capture_output=True)

    def _worker_words(self, name: str) -> list[str]:
        words = super()._worker_words(name)
        at = words.index("--token-file")
        return [*words[:at], *words[at + 2 :]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[TlsCluster]:
    with shared_folder() as folder, running_server() as postgres, etcd_servers(folder, 1) as etcd:
        cluster = TlsCluster(folder, postgres, etcd, 0, CONFIG, PROCESSES)
        cluster.prepare("w1")
        try:
            cluster.start(*cluster.managers)
            cluster.wait_until_managers_answer()
            cluster.wait_for_leader()
            cluster.start("w1")
            cluster.wait_for_workers(1)
            yield cluster
        finally:
            cluster.stop()


def test_a_job_runs_through_an_api_and_a_watcher_also_after_a_change_of_leader(cluster: TlsCluster) -> None:
    with cluster.client() as client:
        assert all(view.url.startswith("https://") for view in client.managers() if view.url)
        assert client.run(["true"], name="first").wait(60).state == "succeeded"
        leader = cluster.leader()
        cluster.kill(leader)
        cluster.wait_for_leader(other_than=leader)
        assert client.run(["true"], name="second").wait(60).state == "succeeded"
        cluster.start(leader)


def test_a_watcher_relays_no_worker_under_another_name(cluster: TlsCluster) -> None:
    words = cluster._worker_words("w1")
    words[words.index("--name") + 1] = "w9"
    home = cluster._folder / "w9"
    shutil.copytree(cluster._folder / "w1" / "tls", home / "tls")
    environment = {**os.environ, "SHUNTER_HOME": str(home)}
    done = subprocess.run([SHUNTER, *words], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "the certificate is that of the node 'w1'" in done.stderr
    with cluster.client() as client:
        assert [node.name for node in client.nodes()] == ["w1"]
