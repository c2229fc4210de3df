"""Renews the certificate of a worker over its stream. Implements `adapters.grpc.worker_client.Renewal`."""

from __future__ import annotations

import time
from pathlib import Path

from shunter.adapters.certificates.files import read_limited, write_whole
from shunter.adapters.certificates.inspection import certifies, has_certificates, inspect
from shunter.adapters.certificates.issuing import load_key, make_request
from shunter.log import Log

RENEW_AGE_S = 12 * 3600.0  # soon enough after a rotation of the authority

log = Log(__name__)


class CertificateRenewal:
    """`folder` has ca.crt, worker.key and worker.crt. The key stays: a worker that is killed between two files would
    have a key and a certificate that do not belong together."""

    def __init__(self, folder: Path) -> None:
        self._authorities, self._key = folder / "ca.crt", folder / "worker.key"
        self._certificate = folder / "worker.crt"

    def request(self) -> bytes | None:
        current = inspect(read_limited(self._certificate))
        now_s = time.time()
        if now_s < current.begins_s + RENEW_AGE_S and not current.is_due(now_s):
            return None
        return make_request(load_key(read_limited(self._key)))

    def accept(self, certificate: bytes, authorities: bytes) -> None:
        current = inspect(read_limited(self._certificate))
        if inspect(certificate).name != current.name or not certifies(certificate, load_key(read_limited(self._key))):
            raise ValueError("the manager sent the certificate of another worker, or of another key")
        if not has_certificates(authorities):
            raise ValueError("the manager sent no authorities")
        write_whole(self._authorities, authorities, 0o644)
        write_whole(self._certificate, certificate, 0o644)
        log.info("worker.certificate_renewed", until=inspect(certificate).ends_s)
