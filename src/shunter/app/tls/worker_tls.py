"""The files of a worker's TLS, in the folder `tls` of its home: whom it trusts, and its certificate and key. Called by
`app.worker`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from shunter.adapters.grpc.channel import ClientTls
from shunter.model.errors import Invalid, Problem


@dataclass(frozen=True, slots=True)
class WorkerTls:
    """`node` is whom the certificate names; empty without a certificate."""

    authorities: Path
    certificate: Path | None
    key: Path | None
    node: str = ""

    def read(self) -> ClientTls:
        """For each connection, so that a renewed certificate is used by the next one."""
        key, certificate = (None if path is None else path.read_bytes() for path in (self.key, self.certificate))
        return ClientTls(self.authorities.read_bytes(), key, certificate)


def find_worker_tls(folder: Path) -> WorkerTls | None:
    """None where the worker has no certificate and is told of no authority. Raises Invalid."""
    authorities, certificate, key = folder / "ca.crt", folder / "worker.crt", folder / "worker.key"
    if certificate.exists():
        for path in (authorities, key):
            if not path.exists():
                fix = "copy all three files of `shunter ca issue worker`: ca.crt, worker.crt, worker.key"
                raise Invalid([Problem(str(path), "is missing next to worker.crt", None, fix)])
        return WorkerTls(authorities, certificate, key, _node_of(certificate))
    given = os.environ.get("SHUNTER_CA_FILE")
    if given:
        if not Path(given).is_file():
            raise Invalid([Problem("SHUNTER_CA_FILE", "is not a file", given, "name the manager's ca.crt")])
        return WorkerTls(Path(given).absolute(), None, None)
    return WorkerTls(authorities, None, None) if authorities.exists() else None


def _node_of(certificate: Path) -> str:
    from shunter.adapters.certificates.inspection import inspect

    try:
        found = inspect(certificate.read_bytes())
    except (OSError, ValueError) as error:
        raise Invalid([Problem(str(certificate), f"cannot be read: {error}", None, "issue it again")]) from error
    return "" if found.name is None else found.name.name
