"""The private certificate authority of a home: a folder with the issuing key and all trusted authorities. Used by
`shunter ca`, by managers with `--tls`, and by tests.

`ca.crt` has every authority that is trusted; it is no secret. `issuer.pem` has the key of the one that issues, with its
certificate and the certificates by its predecessors. A rotation writes the first before the second, so that what is
issued is always trusted."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from shunter.adapters.certificates.files import blocks, read_limited, write_whole
from shunter.adapters.certificates.issuing import (
    Issuer,
    Subject,
    certificate_pem,
    cross_sign,
    issue,
    key_pem,
    load_key,
    make_authority,
)
from shunter.model.errors import Conflict, Invalid, NotFound, Problem

DAY_S = 86400.0
AUTHORITY_LIFETIME_S = 3650 * DAY_S
TRUSTED_MAX = 3  # authorities at once
ID_CHARS = 8


@dataclass(frozen=True, slots=True)
class TrustedAuthority:
    id: str
    name: str
    created: datetime
    expires: datetime
    is_issuer: bool


class Authority:
    """`folder` need not exist yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def bundle_path(self) -> Path:
        return self.folder / "ca.crt"

    @property
    def issuer_path(self) -> Path:
        return self.folder / "issuer.pem"

    @property
    def exists(self) -> bool:
        return self.issuer_path.exists()

    def create(self, name: str, lifetime_s: float, now: datetime) -> None:
        """Raises Conflict if there is one."""
        with self._locked():
            if self.exists or self.bundle_path.exists():
                raise Conflict(f"{self.folder} has a certificate authority; `shunter ca rotate` replaces it")
            issuer = make_authority(name, lifetime_s, now)
            write_whole(self.bundle_path, certificate_pem(issuer.certificate), 0o644)
            self._write_issuer(issuer)

    def rotate(self, lifetime_s: float, now: datetime) -> TrustedAuthority:
        """Issue by a new authority from now on, and trust the old one until it is dropped."""
        with self._locked():
            old, trusted = self.issuer(), self._certificates()
            if len(trusted) >= TRUSTED_MAX:
                raise Conflict(
                    f"{len(trusted)} authorities are trusted, and more than {TRUSTED_MAX} may not be;"
                    " drop the oldest: shunter ca drop ID"
                )
            new = make_authority(_name_of(old.certificate), lifetime_s, now)
            chain = certificate_pem(cross_sign(new, old, now)) + old.chain
            write_whole(self.bundle_path, b"".join(map(certificate_pem, (new.certificate, *trusted))), 0o644)
            self._write_issuer(Issuer(new.certificate, new.key, chain))
            return _described(new.certificate, is_issuer=True)

    def drop(self, id: str) -> None:
        """Trust an old authority no longer. Raises NotFound and Conflict."""
        with self._locked():
            issuer, trusted = self.issuer(), self._certificates()
            found = next((each for each in trusted if authority_id(each) == id), None)
            if found is None:
                raise NotFound(f"no trusted authority has the id {id!r}; `shunter ca list` shows all")
            if found == issuer.certificate:
                raise Conflict(f"{id} issues certificates; replace it first: shunter ca rotate")
            rest = [each for each in trusted if each != found]
            crossed = [x509.load_pem_x509_certificate(each) for each in blocks(issuer.chain, "CERTIFICATE")]
            chain = b"".join(certificate_pem(each) for each in crossed if not _is_signed_by(each, found))
            self._write_issuer(Issuer(issuer.certificate, issuer.key, chain))
            write_whole(self.bundle_path, b"".join(map(certificate_pem, rest)), 0o644)

    def trusted(self) -> list[TrustedAuthority]:
        """The one that issues first."""
        current = self.issuer().certificate
        return [_described(each, is_issuer=each == current) for each in self._certificates()]

    def issue(self, subject: Subject, public_key: ec.EllipticCurvePublicKey, lifetime_s: float, now: datetime) -> bytes:
        """The certificate and its chain as PEM text. Raises NotFound and Invalid."""
        return issue(self.issuer(), subject, public_key, lifetime_s, now)

    def bundle(self) -> bytes:
        """All trusted authorities, as PEM text."""
        return read_limited(self.bundle_path)

    def issuer(self) -> Issuer:
        """Raises NotFound if there is none, and Invalid if it is damaged."""
        try:
            pem = read_limited(self.issuer_path)
        except FileNotFoundError as error:
            fix = "create it with `shunter ca init`, or copy the folder from the manager that has it"
            raise NotFound(f"{self.folder} has no certificate authority; {fix}") from error
        except OSError as error:
            raise Invalid([Problem(str(self.issuer_path), f"cannot be read: {error.strerror}")]) from error
        try:
            own, *chain = blocks(pem, "CERTIFICATE")
            key = load_key(blocks(pem, "PRIVATE KEY")[0])
            return Issuer(x509.load_pem_x509_certificate(own), key, b"".join(chain))
        except (ValueError, IndexError, TypeError) as error:
            fix = "restore it from a backup of the home"
            raise Invalid([Problem(str(self.issuer_path), "is damaged", fix=fix)]) from error

    def _certificates(self) -> list[x509.Certificate]:
        try:
            return [x509.load_pem_x509_certificate(each) for each in blocks(self.bundle(), "CERTIFICATE")]
        except (OSError, ValueError) as error:
            fix = "restore it from a backup of the home"
            raise Invalid([Problem(str(self.bundle_path), f"cannot be read: {error}", fix=fix)]) from error

    def _write_issuer(self, issuer: Issuer) -> None:
        write_whole(self.issuer_path, key_pem(issuer.key) + certificate_pem(issuer.certificate) + issuer.chain)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One change at a time, of this process or another."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def authority_id(certificate: x509.Certificate) -> str:
    """What people call it: the beginning of its fingerprint."""
    return certificate.fingerprint(hashes.SHA256()).hex()[:ID_CHARS]


def _described(certificate: x509.Certificate, *, is_issuer: bool) -> TrustedAuthority:
    return TrustedAuthority(
        authority_id(certificate),
        _name_of(certificate),
        certificate.not_valid_before_utc,
        certificate.not_valid_after_utc,
        is_issuer,
    )


def _name_of(certificate: x509.Certificate) -> str:
    found = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return str(found[0].value) if found else certificate.subject.rfc4514_string()


def _is_signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except Exception:  # of several kinds, depending on what does not fit
        return False
    return True
