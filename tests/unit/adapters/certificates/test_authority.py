"""A private certificate authority: what it issues, who trusts it, and rotation with overlap."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from pathlib import Path

import pytest

from shunter.adapters.certificates.authority import TRUSTED_MAX, Authority
from shunter.adapters.certificates.inspection import inspect
from shunter.adapters.certificates.issuing import Subject, key_pem, make_key, make_request, read_request, utc
from shunter.model.errors import Conflict, Invalid, NotFound
from shunter.model.identity.certified_names import Bearer, CertifiedName, find_certified_name

DAY_S = 86400.0
SERVER = Subject(CertifiedName(Bearer.MANAGER, "m1"), ("localhost", "127.0.0.1"))


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = Authority(tmp_path / "ca")
    made.create("test", 10 * DAY_S, utc(time.time()))
    return made


def issued(authority: Authority, folder: Path, lifetime_s: float = DAY_S, now_s: float | None = None) -> ssl.SSLContext:
    """The context of a server with a new certificate."""
    key = make_key()
    now = utc(time.time() if now_s is None else now_s)
    (folder / "s.crt").write_bytes(authority.issue(SERVER, key.public_key(), lifetime_s, now))
    (folder / "s.key").write_bytes(key_pem(key))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "s.crt", folder / "s.key")
    return context


def shake_hands(server: ssl.SSLContext, trusted: bytes) -> None:
    """Raises SSLCertVerificationError if a client that trusts these authorities refuses the server."""
    ours, theirs = socket.socketpair()

    def serve() -> None:
        try:
            server.wrap_socket(theirs, server_side=True).close()
        except OSError:
            theirs.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        ssl.create_default_context(cadata=trusted.decode()).wrap_socket(ours, server_hostname="127.0.0.1").close()
    finally:
        ours.close()
        thread.join()


def test_keys_are_for_their_owner_only(authority: Authority) -> None:
    assert authority.issuer_path.stat().st_mode & 0o777 == 0o600
    assert authority.folder.stat().st_mode & 0o777 == 0o700
    assert b"PRIVATE" not in authority.bundle()


def test_a_second_authority_is_not_made_over_the_first(authority: Authority) -> None:
    with pytest.raises(Conflict, match="shunter ca rotate"):
        authority.create("other", DAY_S, utc(time.time()))


def test_what_it_issues_is_trusted_and_names_its_bearer(authority: Authority, tmp_path: Path) -> None:
    shake_hands(issued(authority, tmp_path), authority.bundle())
    found = inspect((tmp_path / "s.crt").read_bytes())
    assert found.name == SERVER.name and found.hosts == set(SERVER.hosts)


def test_an_expired_certificate_and_a_strange_authority_are_refused(authority: Authority, tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        shake_hands(issued(authority, tmp_path, 60.0, time.time() - 3600), authority.bundle())
    other = Authority(tmp_path / "other")
    other.create("test", DAY_S, utc(time.time()))
    with pytest.raises(ssl.SSLCertVerificationError, match="local issuer"):
        shake_hands(issued(authority, tmp_path), other.bundle())


def test_a_certificate_does_not_outlive_its_authority(authority: Authority, tmp_path: Path) -> None:
    issued(authority, tmp_path, 100 * DAY_S)
    assert inspect((tmp_path / "s.crt").read_bytes()).ends_s <= time.time() + 10 * DAY_S


def test_after_a_rotation_both_sides_may_know_only_the_old_or_only_the_new_authority(
    authority: Authority, tmp_path: Path
) -> None:
    old_bundle, old_server = authority.bundle(), issued(authority, tmp_path)
    new_id = authority.rotate(DAY_S, utc(time.time())).id
    new_server = issued(authority, tmp_path)
    new_alone = b"-----BEGIN" + authority.bundle().split(b"-----BEGIN")[1]
    shake_hands(old_server, authority.bundle())
    shake_hands(new_server, authority.bundle())
    shake_hands(new_server, old_bundle)  # by the certificate that the old authority gave the new one
    shake_hands(new_server, new_alone)
    assert [(each.id == new_id, each.is_issuer) for each in authority.trusted()] == [(True, True), (False, False)]


def test_a_dropped_authority_is_not_trusted_any_more(authority: Authority, tmp_path: Path) -> None:
    old_server, old = issued(authority, tmp_path), authority.trusted()[0]
    authority.rotate(DAY_S, utc(time.time()))
    authority.drop(old.id)
    assert len(authority.trusted()) == 1 and authority.issuer().chain == b""
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(old_server, authority.bundle())
    shake_hands(issued(authority, tmp_path), authority.bundle())


def test_the_one_that_issues_is_not_dropped_and_an_unknown_one_is_not_found(authority: Authority) -> None:
    with pytest.raises(Conflict, match="replace it first"):
        authority.drop(authority.trusted()[0].id)
    with pytest.raises(NotFound, match="shunter ca list"):
        authority.drop("nosuchid")


def test_few_authorities_are_trusted_at_once(authority: Authority, tmp_path: Path) -> None:
    first = authority.bundle()
    for _ in range(TRUSTED_MAX - 1):
        authority.rotate(DAY_S, utc(time.time()))
    shake_hands(issued(authority, tmp_path), first)  # over two certificates in between
    with pytest.raises(Conflict, match="shunter ca drop"):
        authority.rotate(DAY_S, utc(time.time()))


def test_a_damaged_or_missing_authority_says_what_to_do(authority: Authority, tmp_path: Path) -> None:
    authority.issuer_path.write_text("nonsense")
    with pytest.raises(Invalid, match="is damaged; restore it"):
        authority.issuer()
    with pytest.raises(NotFound, match="shunter ca init"):
        Authority(tmp_path / "none").issuer()


def test_a_request_is_for_the_key_of_its_sender() -> None:
    key = make_key()
    assert read_request(make_request(key)).public_numbers() == key.public_key().public_numbers()
    for wrong in (b"", b"nonsense", make_request(key)[:-4] + b"0000"):
        with pytest.raises(Invalid):
            read_request(wrong)


@pytest.mark.parametrize("name", ["w1", "node.example.org", "with space/and%slash", "ü"])
def test_a_certified_name_is_found_again(name: str) -> None:
    certified = CertifiedName(Bearer.WORKER, name)
    assert find_certified_name(["w1.example.org", certified.uri]) == certified


@pytest.mark.parametrize("uris", [(), ("shunter://root/a",), ("shunter://worker/a", "shunter://worker/b")])
def test_no_name_or_several_are_nobody(uris: tuple[str, ...]) -> None:
    assert find_certified_name(uris) is None
