"""Signs the certificates of workers: the port of the gateway, implemented in `app.tls`."""

from __future__ import annotations

from typing import Protocol

from shunter.model.errors import Conflict


class CertificateAuthority(Protocol):
    def bundle(self) -> bytes:
        """All authorities that a worker has to trust, as PEM text. Raises Conflict if this manager cannot issue."""
        ...

    def key_of(self, request: bytes) -> bytes:
        """The digest of the public key of a certificate request (DER). Raises Invalid."""
        ...

    def issue(self, node: str, request: bytes) -> bytes:
        """The certificate of the worker of a node and the chain behind it, as PEM text. Raises Conflict, Invalid."""
        ...


class NoCertificateAuthority:
    """For a manager without TLS."""

    def bundle(self) -> bytes:
        raise Conflict("join tokens need TLS: start the manager with --tls")

    def key_of(self, request: bytes) -> bytes:  # noqa: ARG002
        return self.bundle()

    def issue(self, node: str, request: bytes) -> bytes:  # noqa: ARG002
        return self.bundle()
