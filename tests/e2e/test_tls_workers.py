"""Workers and external schedulers over TLS: who may join as which node, and rotation under live workers."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shunter.sdk.errors import NotReachable, Unauthorized
from shunter.sdk.schedulers.grpc_link import GrpcLink
from tests.e2e.cluster import SHUNTER, Cluster, eventually
from tests.e2e.remote import TASK_USER

LISTENERS = ("--workers-listen", "127.0.0.1:0", "--external-grpc", "127.0.0.1:0")


class TlsWorker:
    """A `shunter worker` in a home of its own, with or without a certificate."""

    def __init__(self, manager: Cluster, home: Cluster) -> None:
        self.manager, self.home = manager, home
        self.process: subprocess.Popen[str] | None = None

    def certify(self, node: str, issuer: Cluster | None = None, *options: str) -> None:
        folder = str(self.home.home / "tls")
        (issuer or self.manager).shunter("ca", "issue", "worker", node, "--out", folder, "--replace", *options)

    def command(self, *options: str) -> tuple[str, ...]:
        """A join token says where the managers are."""
        managers = () if "--join-token-file" in options else ("--manager", self.manager.description["workers"])
        return (SHUNTER, "worker", *managers, "--cpu", "1", *TASK_USER, *options)

    def start(self, *options: str) -> None:
        with (self.home.home / "shunter.log").open("a") as log:
            self.process = subprocess.Popen(
                self.command(*options), env=self.home.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                text=True,
            )  # fmt: skip

    def refusal(self, *options: str) -> str:
        done = subprocess.run(
            self.command(*options), env=self.home.environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 2, done
        return done.stderr

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(timeout=60)

    def close(self) -> None:
        self.stop()
        self.home.kill_all()


@pytest.fixture
def manager(make_home: Callable[[], Cluster]) -> Cluster:
    running = make_home()
    running.shunter("manager", "--detach", "--tls", *LISTENERS)
    return running


@pytest.fixture
def worker(manager: Cluster, make_home: Callable[[], Cluster]) -> Iterator[TlsWorker]:
    made = TlsWorker(manager, make_home())
    yield made
    made.close()


def states(manager: Cluster) -> dict[str, str]:
    return {node["name"]: node["state"] for node in manager.items("nodes")}


def until_ready(manager: Cluster, name: str) -> None:
    eventually(lambda: states(manager).get(name) == "ready", f"{name} is ready")


def test_a_worker_joins_as_the_node_of_its_certificate_and_stays_through_a_rotation(
    manager: Cluster, worker: TlsWorker
) -> None:
    worker.certify("w1")
    worker.start()
    until_ready(manager, "w1")
    assert manager.shunter("run", "--", "echo", "hello").out == "hello\n"
    manager.shunter("ca", "rotate")
    eventually(lambda: "tls.reloaded" in manager.log(), "the manager uses the new authority")
    assert states(manager) == {"w1": "ready"}
    address = manager.description["workers"]
    manager.kill_manager()
    manager.shunter("manager", "--detach", "--tls", "--workers-listen", address)
    until_ready(manager, "w1")  # its certificate is of the old authority, and it trusts the new one by the chain
    assert manager.shunter("run", "--", "echo", "again").out == "again\n"


def test_a_worker_enrols_with_a_join_token_that_works_once(
    manager: Cluster, worker: TlsWorker, make_home: Callable[[], Cluster]
) -> None:
    token = worker.home.home.parent / "join-token"
    token.write_text(manager.shunter("join-token", "create", "w1").out)
    joins = ("--join-token-file", str(token))
    worker.start(*joins)
    until_ready(manager, "w1")
    assert manager.shunter("run", "--", "echo", "hello").out == "hello\n"
    other = TlsWorker(manager, make_home())
    refused = other.refusal(*joins)
    assert "is refused: it is wrong, was used or revoked, or has expired; make another" in refused
    assert "certificate of worker w1, and the join token is for the node w2" in worker.refusal(
        "--join-token-file", save(worker.home.home.parent / "w2", manager.shunter("join-token", "create", "w2").out)
    )
    worker.stop()
    worker.start(*joins)  # as its unit file says: it has its certificate now
    eventually(lambda: worker.home.log().count("manager.connected") == 2, "it has joined again")
    assert sorted(each["state"] for each in manager.items("join-token", "list")) == ["used", "valid"]


def test_a_worker_renews_its_certificate_while_it_is_connected(manager: Cluster, worker: TlsWorker) -> None:
    worker.certify("w1", None, "--valid-for", "90s")
    certificate, authorities = (worker.home.home / "tls" / name for name in ("worker.crt", "ca.crt"))
    before = certificate.read_bytes()
    manager.shunter("ca", "rotate")
    eventually(lambda: "tls.reloaded" in manager.log(), "the manager uses the new authority")
    worker.start()
    until_ready(manager, "w1")
    eventually(lambda: certificate.read_bytes() != before, "the worker has another certificate", 30.0)
    assert authorities.read_bytes().count(b"BEGIN CERTIFICATE") == 2
    old = manager.items("ca", "list")[-1]["id"]
    manager.shunter("ca", "drop", old)
    worker.stop()
    worker.start()
    eventually(lambda: worker.home.log().count("manager.connected") == 2, "it joins with the new certificate")


def save(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_a_certificate_is_for_one_node(manager: Cluster, worker: TlsWorker) -> None:
    worker.certify("w1")
    refused = worker.refusal("--name", "w2")
    assert "the certificate is that of the node 'w1'" in refused and "--name w1" in refused
    assert states(manager) == {}


def test_the_shared_token_alone_admits_nobody(manager: Cluster, worker: TlsWorker) -> None:
    token = ("--token-file", str(manager.home / "worker-token"), "--name", "w1")
    worker.start(*token)
    log = worker.home.home / "shunter.log"
    eventually(lambda: "manager.unreachable" in log.read_text(), "a worker without TLS does not get in")
    worker.close()
    (worker.home.home / "tls").mkdir()
    (worker.home.home / "tls" / "ca.crt").write_bytes((manager.home / "ca" / "ca.crt").read_bytes())
    log.write_text("")
    worker.start(*token)
    eventually(lambda: "manager.unreachable" in log.read_text(), "a worker without a certificate does not get in")
    assert states(manager) == {}


def test_the_shared_token_admits_workers_if_that_is_configured(
    make_home: Callable[[], Cluster], worker: TlsWorker
) -> None:
    manager = worker.manager = make_home()
    (manager.home / "config.toml").write_text("[tls]\nenabled = true\nworker_token = true\n")
    manager.shunter("manager", "--detach", *LISTENERS)
    worker.home.environment["SHUNTER_CA_FILE"] = str(manager.home / "ca" / "ca.crt")
    worker.start("--token-file", str(manager.home / "worker-token"), "--name", "w1")
    until_ready(manager, "w1")


@pytest.mark.parametrize("kind", ["another authority", "expired", "manager", "server"])
def test_a_wrong_certificate_does_not_get_in(
    manager: Cluster, worker: TlsWorker, make_home: Callable[[], Cluster], kind: str
) -> None:
    log = worker.home.home / "shunter.log"
    folder = worker.home.home / "tls"
    if kind == "another authority":
        other = make_home()
        other.shunter("ca", "init")
        worker.certify("w1", other)
        (folder / "ca.crt").write_bytes((manager.home / "ca" / "ca.crt").read_bytes())
    elif kind == "expired":
        write_expired(manager.home / "ca", folder)
    else:
        manager.shunter("ca", "issue", kind, "w1", "--out", str(folder))
        for suffix in ("crt", "key"):
            (folder / f"{kind}.{suffix}").rename(folder / f"worker.{suffix}")
    if kind == "manager":
        assert "the certificate is that of manager w1, and not of a worker" in worker.refusal("--name", "w1")
    else:
        worker.start("--name", "w1")
        eventually(lambda: "manager.unreachable" in log.read_text(), "the handshake fails")
    assert states(manager) == {}


def test_an_external_scheduler_connects_over_tls(manager: Cluster) -> None:
    trusted = (manager.home / "ca" / "ca.crt").read_bytes()
    address = manager.description["schedulers"]
    for token, certificate, expected in (
        (manager.token, None, NotReachable),
        ("wrong", trusted, Unauthorized),
    ):
        link = GrpcLink(address, token, certificate)
        with pytest.raises(expected):
            next(link.watch("test", "lead", ("tasks",)))
        link.close()
    link = GrpcLink(address, manager.token, trusted)
    situation, lease = next(link.watch("test", "lead", ("tasks",)))
    assert lease is not None and situation is not None
    link.close()


def write_expired(authority: Path, folder: Path) -> None:
    from time import time

    from shunter.adapters.certificates.authority import Authority
    from shunter.adapters.certificates.issuing import Subject, key_pem, make_key, utc
    from shunter.model.identity.certified_names import Bearer, CertifiedName

    folder.mkdir()
    key, subject = make_key(), Subject(CertifiedName(Bearer.WORKER, "w1"))
    found = Authority(authority)
    (folder / "worker.crt").write_bytes(found.issue(subject, key.public_key(), 60.0, utc(time() - 3600)))
    (folder / "worker.key").write_bytes(key_pem(key))
    (folder / "ca.crt").write_bytes(found.bundle())
