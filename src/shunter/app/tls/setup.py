"""Prepares the TLS of a manager: with certificates that the user names, or with those of the home's own authority,
which are made and renewed here. Called by `app.manager` and by `shunter ca`."""

from __future__ import annotations

import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING

from shunter.app.home import Home
from shunter.app.options import UpOptions, parse_address
from shunter.app.tls.tls_files import TlsFiles
from shunter.log import Log
from shunter.model.errors import Invalid, Problem
from shunter.model.identity.certified_names import Bearer, CertifiedName

if TYPE_CHECKING:
    from shunter.app.tls.worker_authority import WorkerAuthority

MANAGER_LIFETIME_S = 90 * 86400.0
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
CHECK_AGE_EVERY_S = 60.0

log = Log(__name__)


def prepare_tls(home: Home, options: UpOptions, name: str) -> TlsFiles | None:
    """None without TLS. Raises Invalid."""
    if not options.has_tls:
        _refuse_leftovers(options)
        return None
    files = _given_files(home, options) if options.tls_cert else _own_files(home, options, name)
    files.read()
    return files


def _refuse_leftovers(options: UpOptions) -> None:
    """Who names a key or an authority wants TLS."""
    for name in ("tls_key", "tls_ca"):
        if getattr(options, name) is not None:
            field = name.replace("_", ".")
            fix = "add enabled = true to [tls] in config.toml, or start with --tls"
            raise Invalid([Problem(field, "is given, but TLS is off", getattr(options, name), fix)])


def _given_files(home: Home, options: UpOptions) -> TlsFiles:
    certificate = Path(options.tls_cert or "")
    if options.tls_key is None:
        raise Invalid([Problem("tls.key", "is missing", None, "name the file with the key of tls.cert")])
    authorities = Path(options.tls_ca) if options.tls_ca else home.authority / "ca.crt"
    if not authorities.exists():
        fix = "name the file with the authority that signed tls.cert and those of workers"
        raise Invalid([Problem("tls.ca", "is missing, or cannot be read", str(authorities), fix)])
    return TlsFiles(certificate, Path(options.tls_key), authorities)


def _own_files(home: Home, options: UpOptions, name: str) -> TlsFiles:
    from shunter.adapters.certificates.authority import AUTHORITY_LIFETIME_S, Authority
    from shunter.adapters.certificates.issuing import utc

    if options.tls_key is not None:
        fix = "name the certificate too: cert = ... in [tls] of config.toml"
        raise Invalid([Problem("tls.key", "is given without tls.cert", options.tls_key, fix)])
    authority = Authority(home.authority)
    if not authority.exists:
        if options.coordination is not None:
            fix = "run `shunter ca init` once, and copy the folder `ca` into the home of every manager"
            raise Invalid([Problem("--tls", f"needs a certificate authority in {home.authority}", None, fix)])
        authority.create(name, AUTHORITY_LIFETIME_S, utc(time.time()))
        log.info("ca.created", folder=home.authority)
    own = OwnCertificate(home, name, manager_hosts(options))
    own.renew_if_due(time.time())
    authorities = Path(options.tls_ca) if options.tls_ca else authority.bundle_path
    return TlsFiles(own.certificate, own.key, authorities, own.refresh)


class OwnCertificate:
    """The manager's certificate by its home's authority: made again when it is due, when it lacks a host, and when
    another authority issues."""

    def __init__(self, home: Home, name: str, hosts: tuple[str, ...]) -> None:
        self.certificate, self.key = home.tls / "manager.crt", home.tls / "manager.key"
        self._folder = home.authority
        self._name, self._hosts = CertifiedName(Bearer.MANAGER, name), hosts
        self._checked_s = 0.0
        self._issuer_stamp: tuple[int, int] | None = None

    def refresh(self) -> None:
        """Cheap: looks into the certificate only now and then, and when another authority issues."""
        now_s = time.time()
        try:
            status = (self._folder / "issuer.pem").stat()
        except OSError:
            return  # the manager's key may be all that is left here
        stamp = (status.st_ino, status.st_mtime_ns)
        if stamp != self._issuer_stamp or now_s - self._checked_s > CHECK_AGE_EVERY_S:
            self.renew_if_due(now_s)
            self._issuer_stamp, self._checked_s = stamp, now_s

    def renew_if_due(self, now_s: float) -> None:
        from shunter.adapters.certificates.authority import Authority
        from shunter.adapters.certificates.files import write_whole
        from shunter.adapters.certificates.issuing import Subject, key_pem, make_key, utc

        authority = Authority(self._folder)
        if not self._is_due(authority, now_s):
            return
        key = make_key()
        subject = Subject(self._name, self._hosts)
        certificate = authority.issue(subject, key.public_key(), MANAGER_LIFETIME_S, utc(now_s))
        write_whole(self.key, key_pem(key))  # a reader that sees the new key with the old certificate looks again
        write_whole(self.certificate, certificate, 0o644)
        log.info("tls.certificate_issued", name=self._name.name, hosts=",".join(self._hosts))

    def _is_due(self, authority: object, now_s: float) -> bool:
        from shunter.adapters.certificates.authority import Authority
        from shunter.adapters.certificates.inspection import inspect, own_key_id

        assert isinstance(authority, Authority)
        try:
            found = inspect(self.certificate.read_bytes())
        except (OSError, ValueError):
            return True
        issuer = authority.issuer()
        is_of_issuer = found.authority_key == own_key_id(issuer.certificate) and found.chain == issuer.chain
        has_names = found.name == self._name and found.hosts >= set(self._hosts)
        return not (is_of_issuer and has_names and self.key.exists()) or found.is_due(now_s)


def worker_authority(home: Home, files: TlsFiles) -> WorkerAuthority:
    """Signs the certificates of workers that enrol."""
    from shunter.adapters.certificates.authority import Authority
    from shunter.app.tls.worker_authority import WorkerAuthority

    return WorkerAuthority(Authority(home.authority), files)


def manager_hosts(options: UpOptions) -> tuple[str, ...]:
    """The hosts at which others reach this manager: this machine's names, and those that it listens on and
    advertises."""
    listeners = (options.listen, options.workers_listen, options.external_listen, options.external_grpc)
    hosts = [parse_address(each, "listen")[0] for each in listeners if each]
    given = [*hosts, options.advertise or "", platform.node(), *options.tls_hosts]
    return tuple(dict.fromkeys((*LOCAL_HOSTS, *(host for host in given if host))))
