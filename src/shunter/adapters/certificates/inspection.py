"""What a certificate says: whom it names, who issued it, until when. Used by `app.tls`."""

from __future__ import annotations

from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from shunter.adapters.certificates.files import blocks
from shunter.model.identity.certified_names import CertifiedName, find_certified_name


@dataclass(frozen=True, slots=True)
class CertificateInfo:
    name: CertifiedName | None
    hosts: frozenset[str]
    begins_s: float
    ends_s: float
    chain: bytes  # what comes behind it, as PEM text
    authority_key: bytes  # the id of the key that signed it

    def is_due(self, now_s: float) -> bool:
        """Whether the last third of its life has begun, so that it is to be renewed."""
        return now_s > self.ends_s - (self.ends_s - self.begins_s) / 3


def inspect(pem: bytes) -> CertificateInfo:
    """What the first certificate of PEM text says. Raises ValueError."""
    found = blocks(pem, "CERTIFICATE")
    if not found:
        raise ValueError("no certificate")
    certificate = x509.load_pem_x509_certificate(found[0])
    names = _alternative_names(certificate)
    hosts = {
        *(str(name) for name in names.get_values_for_type(x509.IPAddress)),
        *names.get_values_for_type(x509.DNSName),
    }
    return CertificateInfo(
        name=find_certified_name(names.get_values_for_type(x509.UniformResourceIdentifier)),
        hosts=frozenset(hosts),
        begins_s=certificate.not_valid_before_utc.timestamp(),
        ends_s=certificate.not_valid_after_utc.timestamp(),
        chain=b"".join(found[1:]),
        authority_key=_authority_key(certificate),
    )


def first_expiry_s(pem: bytes) -> float:
    """When the first of the certificates in PEM text expires. Raises ValueError."""
    return min(each.not_valid_after_utc.timestamp() for each in x509.load_pem_x509_certificates(pem))


def certifies(pem: bytes, key: ec.EllipticCurvePrivateKey) -> bool:
    """Whether the first certificate of PEM text is for this key. Raises ValueError."""
    return x509.load_pem_x509_certificate(pem).public_key() == key.public_key()


def has_certificates(pem: bytes) -> bool:
    try:
        return bool(x509.load_pem_x509_certificates(pem))
    except ValueError:
        return False


def own_key_id(certificate: x509.Certificate) -> bytes:
    return certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest


def _alternative_names(certificate: x509.Certificate) -> x509.SubjectAlternativeName:
    try:
        return certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return x509.SubjectAlternativeName([])


def _authority_key(certificate: x509.Certificate) -> bytes:
    try:
        return certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier or b""
    except x509.ExtensionNotFound:
        return b""
