"""Measures when the certificate of a manager expires. Implements `ports.telemetry.Probe`; built by `app.manager`."""

from __future__ import annotations

from shunter.app.tls.tls_files import TlsFiles
from shunter.model.metrics import catalogue as m
from shunter.model.metrics.exposition import Exposition


class CertificateProbe:
    """`files` is None without TLS."""

    def __init__(self, files: TlsFiles | None) -> None:
        self._files = files
        self._read = b""  # PEM text
        self._expires_s = 0.0

    def put(self, exposition: Exposition) -> None:
        exposition.put(m.CERTIFICATE_EXPIRY, self._expiry_s())

    def _expiry_s(self) -> float:
        """The certificate and the chain behind it: whichever expires first. Read again only if the files changed."""
        pem = b"" if self._files is None else self._files.pems.certificate
        if pem != self._read:
            from shunter.adapters.certificates.inspection import first_expiry_s

            self._read, self._expires_s = pem, first_expiry_s(pem)
        return self._expires_s
