"""Signs certificates of workers with the authority of the manager's home. Implements
`ports.security.certificate_authority`."""

from __future__ import annotations

import time

from shunter.adapters.certificates.authority import Authority
from shunter.adapters.certificates.issuing import Subject, key_digest, read_request, utc
from shunter.app.tls.tls_files import TlsFiles
from shunter.model.errors import Conflict
from shunter.model.identity.certified_names import Bearer, CertifiedName

WORKER_LIFETIME_S = 90 * 86400.0


class WorkerAuthority:
    def __init__(self, authority: Authority, tls: TlsFiles) -> None:
        self._authority, self._tls = authority, tls

    def bundle(self) -> bytes:
        if not self._authority.exists:
            fix = "copy the folder from the manager that has it, or use `shunter ca issue worker` there"
            raise Conflict(f"this manager has no certificate authority in {self._authority.folder}; {fix}")
        return self._tls.pems.authorities

    def key_of(self, request: bytes) -> bytes:
        return key_digest(read_request(request))

    def issue(self, node: str, request: bytes) -> bytes:
        subject = Subject(CertifiedName(Bearer.WORKER, node))
        return self._authority.issue(subject, read_request(request), WORKER_LIFETIME_S, utc(time.time()))
