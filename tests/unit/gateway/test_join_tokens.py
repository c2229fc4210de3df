"""The sub-gateway `join_tokens`, with a real certificate authority."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509

from shunter.adapters.certificates.authority import Authority
from shunter.adapters.certificates.inspection import inspect
from shunter.adapters.certificates.issuing import make_key, make_request
from shunter.adapters.memory.coordination import Alone
from shunter.app.tls.tls_files import TlsFiles, TlsPems
from shunter.app.tls.worker_authority import WorkerAuthority
from shunter.gateway.identity import JoinTokens
from shunter.gateway.known_leader import KnownLeader
from shunter.gateway.managers import Members
from shunter.model.errors import Conflict, Invalid, Unauthorized
from shunter.model.identity.certified_names import Bearer, CertifiedName
from shunter.model.identity.join_tokens import parse_join_token
from shunter.ports.coordination import ManagerRecord
from shunter.ports.identity import AuditSearch
from shunter.ports.security.audit import Origin, request_of
from shunter.ports.security.certificate_authority import CertificateAuthority, NoCertificateAuthority
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.gateway.harness import ANNA, GatewayHarness, run_scenario


def worker_authority(folder: Path) -> WorkerAuthority:
    authority = Authority(folder)
    authority.create("test", 86_400.0, datetime.now(UTC))
    files = TlsFiles(folder / "m.crt", folder / "m.key", authority.bundle_path)
    files.pems = TlsPems(b"", b"", authority.bundle())
    return WorkerAuthority(authority, files)


def join_tokens(harness: GatewayHarness, authority: CertificateAuthority, workers: str = "m1:7071") -> JoinTokens:
    coordination = Alone()
    record = ManagerRecord("m1", "https://m1:7070", workers)
    members = Members(coordination, KnownLeader(coordination), None, record)
    return JoinTokens(ANNA, harness.engine, VirtualClock(), members, authority)


def test_a_worker_gets_a_certificate_for_its_node_once(tmp_path: Path) -> None:
    async def scenario(harness: GatewayHarness) -> None:
        service = join_tokens(harness, worker_authority(tmp_path))
        new = await service.create("node-7", 60.0)
        token = parse_join_token(new.token, "token")
        assert (token.urls, token.managers, token.node) == (("https://m1:7070",), ("m1:7071",), "node-7")
        key = make_key()
        enrolled = await service.enrol(token.id, token.secret, make_request(key))
        assert inspect(enrolled.certificate.encode()).name == CertifiedName(Bearer.WORKER, "node-7")
        certificate = x509.load_pem_x509_certificate(enrolled.certificate.encode())
        assert certificate.public_key() == key.public_key()
        certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(token.authorities.encode()))
        assert (await service.enrol(token.id, token.secret, make_request(key))).node == "node-7"  # asked again
        with pytest.raises(Unauthorized):
            await service.enrol(token.id, token.secret, make_request(make_key()))
        [view] = (await service.page(10, None)).items
        assert (view.state, view.user) == ("used", "anna")
        assert token.secret not in str(view)

    run_scenario(scenario)


def test_the_audit_log_names_the_token_and_its_node(tmp_path: Path) -> None:
    async def scenario(harness: GatewayHarness) -> None:
        service = join_tokens(harness, worker_authority(tmp_path))
        with request_of(Origin(ANNA, "createJoinToken", "rest", "127.0.0.1")):
            token = parse_join_token((await service.create("node-7", 60.0)).token, "token")
            await service.enrol(token.id, token.secret, make_request(make_key()))
            await service.revoke(token.id)
        found = (await harness.gateway.audit.page(AuditSearch(limit=10))).items[::-1]
        of_node = [f"join token {token.id} for node node-7"]
        assert [each.names for each in found] == [of_node, of_node, [f"join token {token.id}"]]

    run_scenario(scenario)


def test_a_request_that_is_none_uses_nothing_up(tmp_path: Path) -> None:
    async def scenario(harness: GatewayHarness) -> None:
        service = join_tokens(harness, worker_authority(tmp_path))
        token = parse_join_token((await service.create("node-7", 60.0)).token, "token")
        with pytest.raises(Invalid, match="is not a certificate request"):
            await service.enrol(token.id, token.secret, b"nonsense")
        assert (await service.page(10, None)).items[0].state == "valid"
        await harness.settle(60.0)
        assert (await service.page(10, None)).items[0].state == "expired"

    run_scenario(scenario)


def test_a_manager_that_cannot_enrol_workers_says_why(tmp_path: Path) -> None:
    async def scenario(harness: GatewayHarness) -> None:
        with pytest.raises(Conflict, match="join tokens need TLS: start the manager with --tls"):
            await join_tokens(harness, NoCertificateAuthority()).create("node-7", 60.0)
        with pytest.raises(Conflict, match="--workers-listen"):
            await join_tokens(harness, worker_authority(tmp_path / "a"), "").create("node-7", 60.0)
        files = TlsFiles(tmp_path, tmp_path, tmp_path)
        with pytest.raises(Conflict, match="has no certificate authority in"):
            await join_tokens(harness, WorkerAuthority(Authority(tmp_path / "b"), files)).create("node-7", 60.0)
        assert not harness.engine.state.join_tokens.tokens

    run_scenario(scenario)
