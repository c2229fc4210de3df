"""When a worker asks for another certificate, and what it accepts as one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shunter.adapters.certificates.inspection import inspect
from shunter.adapters.certificates.issuing import (
    Issuer,
    Subject,
    certificate_pem,
    issue,
    key_pem,
    make_authority,
    make_key,
    read_request,
)
from shunter.app.tls.renewal import CertificateRenewal
from shunter.model.identity.certified_names import Bearer, CertifiedName

DAY_S = 86_400.0
W1, W2 = (Subject(CertifiedName(Bearer.WORKER, name)) for name in ("w1", "w2"))


class Worker:
    """Its files, and an authority."""

    def __init__(self, folder: Path, age: timedelta = timedelta(0), lifetime_s: float = 90 * DAY_S) -> None:
        self.folder = folder
        self.issuer: Issuer = make_authority("test", 365 * DAY_S, datetime.now(UTC) - timedelta(days=30))
        self.key = make_key()
        (folder / "worker.key").write_bytes(key_pem(self.key))
        self.certificate = issue(self.issuer, W1, self.key.public_key(), lifetime_s, datetime.now(UTC) - age)
        (folder / "worker.crt").write_bytes(self.certificate)
        (folder / "ca.crt").write_bytes(self.bundle)
        self.renewal = CertificateRenewal(folder)

    @property
    def bundle(self) -> bytes:
        return certificate_pem(self.issuer.certificate)


@pytest.mark.parametrize(
    ("age", "lifetime_s", "asks"),
    [
        (timedelta(minutes=1), 90 * DAY_S, False),
        (timedelta(hours=13), 90 * DAY_S, True),  # the authority may have been replaced since
        (timedelta(minutes=1), 90.0, True),  # it ends soon
    ],
)
def test_a_worker_asks_when_its_certificate_is_old_or_ends_soon(
    tmp_path: Path, age: timedelta, lifetime_s: float, asks: bool
) -> None:
    worker = Worker(tmp_path, age, lifetime_s)
    request = worker.renewal.request()
    assert (request is not None) == asks
    if request is not None:
        assert read_request(request) == worker.key.public_key()


def test_what_the_manager_sends_is_used(tmp_path: Path) -> None:
    worker = Worker(tmp_path, timedelta(hours=13))
    new = issue(worker.issuer, W1, worker.key.public_key(), 90 * DAY_S, datetime.now(UTC))
    worker.renewal.accept(new, worker.bundle * 2)
    assert ((tmp_path / "worker.crt").read_bytes(), (tmp_path / "ca.crt").read_bytes()) == (new, worker.bundle * 2)
    assert worker.renewal.request() is None
    assert replace(inspect(new), begins_s=0.0, ends_s=0.0) == replace(
        inspect(worker.certificate), begins_s=0.0, ends_s=0.0
    )


@pytest.mark.parametrize("wrong", ["another node", "another key", "no certificate", "no authorities"])
def test_what_does_not_fit_changes_nothing(tmp_path: Path, wrong: str) -> None:
    worker = Worker(tmp_path)
    key = make_key() if wrong == "another key" else worker.key
    subject = W2 if wrong == "another node" else W1
    new = issue(worker.issuer, subject, key.public_key(), DAY_S, datetime.now(UTC))
    with pytest.raises(ValueError, match=r"the manager sent|no certificate"):
        worker.renewal.accept(
            b"" if wrong == "no certificate" else new, b"" if wrong == "no authorities" else worker.bundle
        )
    assert (tmp_path / "worker.crt").read_bytes() == worker.certificate
    assert (tmp_path / "ca.crt").read_bytes() == worker.bundle
