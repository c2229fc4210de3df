"""The alert about a certificate that is about to expire fires and resolves, over TLS with a real Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shunter.adapters.certificates.authority import Authority
from shunter.adapters.certificates.issuing import Subject, key_pem, make_key, utc
from shunter.model.identity.certified_names import Bearer, CertifiedName
from tests.e2e.cluster import Cluster
from tests.observability.prometheus import ROOT, Monitoring, running_monitoring

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

DAY_S = 86_400.0
ALERT = "ShunterCertificateExpiring"


class Certificates:
    """An authority of the user's own, whose certificates nobody renews."""

    def __init__(self, folder: Path) -> None:
        self.key, self.certificate = folder / "manager.key", folder / "manager.crt"
        self._authority = Authority(folder / "authority")
        self._authority.create("lab", 3650 * DAY_S, utc(time.time()))
        self._key = make_key()
        self.key.write_bytes(key_pem(self._key))
        self.key.chmod(0o600)

    @property
    def authorities(self) -> Path:
        return self._authority.bundle_path

    def issue(self, lifetime_s: float) -> None:
        subject = Subject(CertifiedName(Bearer.MANAGER, "m1"), ("127.0.0.1", "localhost"))
        pem = self._authority.issue(subject, self._key.public_key(), lifetime_s, utc(time.time()))
        self.certificate.write_bytes(pem)


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


@pytest.fixture
def monitoring(tmp_path: Path, certificates: Certificates) -> Iterator[Monitoring]:
    """A manager whose certificate has an hour to live: of 14 days, scaled to a sixtieth, that is too little."""
    certificates.issue(3600.0)
    home = tmp_path / "home"
    home.mkdir()
    names = {"cert": certificates.certificate, "key": certificates.key, "ca": certificates.authorities}
    (home / "config.toml").write_text("[tls]\nenabled = true\n" + "".join(f'{k} = "{v}"\n' for k, v in names.items()))
    cluster = Cluster(home)
    try:
        cluster.up("--cpu", "1", "--name", "m1")
        key = tmp_path / "api.key"
        key.write_text(cluster.shunter("--quiet", "key", "create", "--role", "viewer").out.strip())
        target = cluster.description["url"].removeprefix("https://")
        with running_monitoring(tmp_path, target, key, certificates.authorities) as running:
            yield running
    finally:
        cluster.down()
        cluster.kill_all()


def test_a_certificate_that_expires_soon_fires_and_a_new_one_resolves(
    monitoring: Monitoring, certificates: Certificates
) -> None:
    alert = monitoring.wait_until_fires(ALERT)
    assert (ROOT / alert["annotations"]["runbook_url"]).exists()
    assert "expires in" in alert["annotations"]["summary"]
    certificates.issue(90 * DAY_S)
    monitoring.wait_until_resolved(ALERT)
