"""Credentials and quotas over a fail-over: join tokens, certificates of workers, users of an issuer, request rates."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from shunter.adapters.certificates.issuing import make_key, make_request
from shunter.model.errors import Busy, Unauthorized
from shunter.model.identity.join_tokens import parse_join_token
from shunter.sdk.client import Client, connect
from tests.etcd_servers import etcd_servers
from tests.fake_issuer import CLIENT_ID, FakeIssuer, running_issuer
from tests.manager_cluster import shared_folder, wait_for
from tests.managers.test_tls import TlsCluster
from tests.postgres_server import running_server
from tests.redis_server import redis_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

REQUESTS_PER_S = 20
COUNTED_S = 3.0
CONFIG = """
[tls]
enabled = true
[nodes]
timeout = "60s"
[api]
limits = "{redis}"
[oidc]
issuer = "{issuer}"
client_id = "{client}"
role_map = ["team=submitter"]
"""


@dataclass(frozen=True, slots=True)
class Place:
    cluster: TlsCluster
    folder: Path
    issuer: FakeIssuer

    def client(self, manager: str, token: str) -> Client:
        """Of one manager, which is asked once."""
        authorities = self.folder / "authority" / "ca" / "ca.crt"
        return connect(self.cluster.url_of(manager), token, ca_file=authorities, patience_s=0)

    def others(self, manager: str) -> list[str]:
        return [name for name in self.cluster.managers if name != manager]


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with (
        shared_folder() as folder,
        running_server() as postgres,
        etcd_servers(folder, 1) as etcd,
        redis_server(folder) as redis,
        running_issuer() as issuer,
    ):
        config = CONFIG.format(redis=redis.url, issuer=issuer.url, client=CLIENT_ID)
        cluster = TlsCluster(folder, postgres, etcd, 3, config)
        cluster.prepare()
        try:
            cluster.start(*cluster.managers)
            cluster.wait_until_managers_answer()
            cluster.wait_for_leader()
            yield Place(cluster, folder, issuer)
        finally:
            cluster.stop()


@pytest.fixture
def cluster(place: Place) -> Iterator[TlsCluster]:
    yield place.cluster
    place.cluster.start(*(name for name in place.cluster.managers if name not in place.cluster.processes))
    place.cluster.wait_until_managers_answer()
    place.cluster.wait_for_leader()


def test_a_join_token_works_once_also_at_another_manager_after_a_fail_over(place: Place, cluster: TlsCluster) -> None:
    leader = cluster.leader()
    with cluster.client(place.others(leader)[0]) as client:
        token = parse_join_token(client.create_join_token("w1").token, "token")
    cluster.kill(leader)
    request = make_request(make_key())
    with cluster.client(place.others(leader)[1]) as client:
        assert b"BEGIN CERTIFICATE" in client.enrol_worker(token.id, token.secret, request).certificate.encode()
    successor = cluster.wait_for_leader(other_than=leader)
    cluster.start(leader)
    cluster.wait_until_managers_answer()
    cluster.kill(successor)
    cluster.wait_for_leader(other_than=successor)
    for name in place.others(successor):
        with cluster.client(name) as client:
            with pytest.raises(Unauthorized, match="was used"):
                client.enrol_worker(token.id, token.secret, make_request(make_key()))
            client.enrol_worker(token.id, token.secret, request)  # its answer may have been lost
            assert [each.state for each in client.join_tokens()] == ["used"]


def test_a_worker_renews_its_certificate_under_the_next_leader(place: Place, cluster: TlsCluster) -> None:
    cluster._shunter("ca", "issue", "worker", "w2", "--out", str(place.folder / "w2" / "tls"), "--valid-for", "60s")
    certificate = place.folder / "w2" / "tls" / "worker.crt"
    before = certificate.read_bytes()
    leader = cluster.leader()
    cluster.start("w2")
    cluster.wait_for_workers(1)
    assert certificate.read_bytes() == before, "it is not due yet"
    cluster.kill(leader)
    cluster.wait_for_leader(other_than=leader)
    wait_for(lambda: certificate.read_bytes() != before, "another certificate")
    with cluster.client() as client:
        assert client.run(["true"], name="renewed").wait(60).state == "succeeded"
    cluster.end("w2")


def test_a_user_of_the_issuer_is_known_to_every_manager_and_to_the_next_leader(
    place: Place, cluster: TlsCluster
) -> None:
    token, leader = place.issuer.token(), cluster.leader()
    for name in cluster.managers:
        with place.client(name, token) as client:
            assert (client.whoami().user, client.whoami().authority) == ("anna", "oidc")
    place.issuer.stop()
    try:
        cluster.kill(leader)
        cluster.wait_for_leader(other_than=leader)
        for name in place.others(leader):
            with place.client(name, token) as client:
                assert client.run(["true"], name=f"of-{name}").id
    finally:
        place.issuer.start()


def test_managers_count_the_requests_of_a_tenant_together_over_a_fail_over(place: Place, cluster: TlsCluster) -> None:
    with cluster.client() as client:
        client.create_tenant("red", quotas={"requests_per_s": REQUESTS_PER_S})
        key = client.create_key(["submitter"], tenant="red").key
    leader = cluster.leader()
    expect_rate(place, cluster.managers, key)
    cluster.kill(leader)
    expect_rate(place, place.others(leader), key)
    cluster.wait_for_leader(other_than=leader)
    expect_rate(place, place.others(leader), key)


def expect_rate(place: Place, managers: list[str], key: str) -> None:
    """No more is answered than one manager alone would answer, with a burst of a second; and not much less."""
    clients = [place.client(name, key) for name in managers]
    began_s, answered, refused = time.monotonic(), 0, 0
    while (passed_s := time.monotonic() - began_s) < COUNTED_S:
        try:
            clients[(answered + refused) % len(clients)].queues()
            answered += 1
        except Busy:
            refused += 1
    for client in clients:
        client.close()
    assert refused
    assert answered <= REQUESTS_PER_S * (passed_s + 1) + 1
    assert answered >= REQUESTS_PER_S * COUNTED_S / 2
