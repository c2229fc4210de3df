"""Makes and signs certificates. Used by the authority of a home and by workers that enrol.

An authority that replaces another one is signed by its predecessor as well: who trusts the predecessor alone accepts
what the new one issues, as long as that second certificate travels with it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from shunter.model.errors import Invalid, Problem
from shunter.model.identity.certified_names import CertifiedName

CLOCK_SKEW_S = 300.0  # by how much the clock of another machine may be behind
COMMON_NAME_MAX = 64  # X.509 allows no more
HOSTS_MAX = 100


@dataclass(frozen=True, slots=True)
class Issuer:
    """An authority with its key. `chain` are its certificates by its predecessors, as PEM text."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    chain: bytes = b""


@dataclass(frozen=True, slots=True)
class Subject:
    """Who gets a certificate. One without a certified name is a server and nothing else."""

    name: CertifiedName | None
    hosts: Sequence[str] = ()

    @property
    def common_name(self) -> str:
        if self.name is not None:
            return self.name.name[:COMMON_NAME_MAX]
        return self.hosts[0][:COMMON_NAME_MAX]


def make_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def certificate_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def make_authority(name: str, lifetime_s: float, now: datetime) -> Issuer:
    """A new authority, signed by itself."""
    key = make_key()
    own_id = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    subject = x509.Name(  # no two have the same, so that whoever verifies a chain need not try both
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, name[:COMMON_NAME_MAX] or "shunter"),
            x509.NameAttribute(NameOID.COMMON_NAME, f"Shunter CA {own_id.digest.hex()[:8]}"),
        ]
    )
    builder = _authority_builder(subject, key.public_key(), now, now + timedelta(seconds=lifetime_s))
    authority_id = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own_id)
    builder = builder.issuer_name(subject).add_extension(authority_id, critical=False)
    return Issuer(builder.sign(key, hashes.SHA256()), key)


def cross_sign(successor: Issuer, predecessor: Issuer, now: datetime) -> x509.Certificate:
    """The successor's certificate by its predecessor."""
    ends = min(successor.certificate.not_valid_after_utc, predecessor.certificate.not_valid_after_utc)
    builder = _authority_builder(successor.certificate.subject, successor.key.public_key(), now, ends)
    builder = builder.issuer_name(predecessor.certificate.subject).add_extension(
        _authority_key_id(predecessor.certificate), critical=False
    )
    return builder.sign(predecessor.key, hashes.SHA256())


def issue(
    issuer: Issuer, subject: Subject, public_key: ec.EllipticCurvePublicKey, lifetime_s: float, now: datetime
) -> bytes:
    """The certificate and the chain behind it, as PEM text. Never outlives its issuer."""
    ends = min(now + timedelta(seconds=lifetime_s), issuer.certificate.not_valid_after_utc)
    builder = _builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject.common_name)]), public_key, now, ends)
    builder = (
        builder.issuer_name(issuer.certificate.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(_usages(subject)), critical=False)
        .add_extension(x509.SubjectAlternativeName(_alternative_names(subject)), critical=False)
        .add_extension(_authority_key_id(issuer.certificate), critical=False)
    )
    return certificate_pem(builder.sign(issuer.key, hashes.SHA256())) + issuer.chain


def make_request(key: ec.EllipticCurvePrivateKey) -> bytes:
    """A request to sign a certificate for this key, as DER. The signer decides about all names."""
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    return request.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


def read_request(data: bytes) -> ec.EllipticCurvePublicKey:
    """The key of a request, whose holder has signed it. Raises Invalid."""
    problem = Problem("request", "is not a certificate request with a P-256 key", fix="send one as DER")
    try:
        request = x509.load_der_x509_csr(data)
        key = request.public_key()
        is_signed = request.is_signature_valid
    except (ValueError, TypeError, InvalidSignature, x509.InvalidVersion) as error:
        raise Invalid([problem]) from error
    if not is_signed or not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise Invalid([problem])
    return key


def key_digest(key: ec.EllipticCurvePublicKey) -> bytes:
    encoded = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(encoded).digest()


def load_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    """Raises ValueError."""
    key = serialization.load_pem_private_key(pem, None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("not a key of an elliptic curve")
    return key


def utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _builder(name: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, ends: datetime) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(seconds=CLOCK_SKEW_S))
        .not_valid_after(ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _authority_builder(
    name: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, ends: datetime
) -> x509.CertificateBuilder:
    return (
        _builder(name, key, now, ends)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _authority_key_id(authority: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    found = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(found.value)


def _usages(subject: Subject) -> list[x509.ObjectIdentifier]:
    server = [ExtendedKeyUsageOID.SERVER_AUTH] if subject.hosts else []
    client = [ExtendedKeyUsageOID.CLIENT_AUTH] if subject.name is not None else []
    return [*server, *client]


def _alternative_names(subject: Subject) -> list[x509.GeneralName]:
    names: list[x509.GeneralName] = []
    if len(subject.hosts) > HOSTS_MAX:
        raise Invalid([Problem("--host", f"has more than {HOSTS_MAX} hosts", len(subject.hosts), "name fewer")])
    for host in dict.fromkeys(subject.hosts):
        try:
            names.append(x509.IPAddress(ip_address(host)))
        except ValueError:
            try:
                names.append(x509.DNSName(host))
            except ValueError as error:
                fix = "write a host name or an IP address"
                raise Invalid([Problem("--host", "is not a host name", host, fix)]) from error
    if subject.name is not None:
        names.append(x509.UniformResourceIdentifier(subject.name.uri))
    return names
