"""Coordination by etcd over TLS and with a password, which nothing repeats."""

from __future__ import annotations

import asyncio
import base64
import logging
import subprocess
from pathlib import Path

import pytest

from shunter.adapters.etcd.coordination import EtcdCoordination
from shunter.adapters.etcd.settings import EtcdSettings, TlsFiles
from shunter.model.errors import Unauthorized
from shunter.ports.coordination import ManagerRecord
from tests.contracts.coordination import until_leader, until_names
from tests.etcd_servers import TTL_S, EtcdServers, etcd_servers
from tests.services.etcd_harness import member, prefixes

TIMEOUT_S = 30.0
PASSWORD = "correct-horse"
WRONG = "battery-staple"


async def test_tls_with_a_certificate_of_the_client(tmp_path: Path) -> None:
    make_certificates(tmp_path)
    options = (
        "--cert-file", f"{tmp_path}/server.pem", "--key-file", f"{tmp_path}/server.key",
        "--client-cert-auth", "--trusted-ca-file", f"{tmp_path}/ca.pem",
    )  # fmt: skip
    files = TlsFiles(tmp_path / "ca.pem", tmp_path / "client.pem", tmp_path / "client.key")
    with etcd_servers(tmp_path, options=options, scheme="https") as servers:
        async with member(tls_settings(servers, files)) as a:
            assert (await asyncio.wait_for(a.acquire(), TIMEOUT_S)).is_held()
            await until_leader(a, ManagerRecord("a"))
        stranger = TlsFiles(tmp_path / "ca.pem")
        suspicious = TlsFiles(tmp_path / "client.pem", tmp_path / "client.pem", tmp_path / "client.key")
        for refused in (tls_settings(servers, stranger), tls_settings(servers, suspicious)):
            async with member(refused) as a:
                campaign = asyncio.ensure_future(a.acquire())
                await asyncio.sleep(TTL_S / 2)
                assert not campaign.done()
                campaign.cancel()


async def test_a_user_with_a_password(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with etcd_servers(tmp_path) as servers:
        prefix = next(prefixes)
        enable_users(servers, prefix)
        right, wrong = (
            EtcdSettings(servers.addresses, prefix, TTL_S, user="shunter", password=word) for word in (PASSWORD, WRONG)
        )
        nobody = EtcdSettings(servers.addresses, prefix, TTL_S)
        other_keys = EtcdSettings(servers.addresses, "other", TTL_S, user="shunter", password=PASSWORD)
        for settings in (wrong, nobody, other_keys):
            with pytest.raises(Unauthorized):
                await EtcdCoordination(settings, "a").open()
        async with member(right, "a") as a, member(right, "b") as b:
            await a.register(ManagerRecord("a"))
            await asyncio.wait_for(a.acquire(), TIMEOUT_S)
            await until_names(b, ["a"])
            expire_tokens(servers)
            await b.register(ManagerRecord("b"))
            await until_names(a, ["a", "b"])
    printed = "".join(capfd.readouterr())
    for secret in (PASSWORD, WRONG):
        assert secret not in caplog.text + printed + repr(right) + repr(wrong)


async def test_a_password_is_used_once_the_server_has_users(tmp_path: Path) -> None:
    with etcd_servers(tmp_path) as servers:
        settings = EtcdSettings(servers.addresses, next(prefixes), TTL_S, user="shunter", password=PASSWORD)
        async with member(settings) as a:
            assert (await asyncio.wait_for(a.acquire(), TIMEOUT_S)).is_held()
            enable_users(servers, settings.prefix)
            await a.register(ManagerRecord("a"))
            await until_names(a, ["a"])


def tls_settings(servers: EtcdServers, files: TlsFiles) -> EtcdSettings:
    return EtcdSettings(servers.addresses, next(prefixes), TTL_S, tls=files)


def enable_users(servers: EtcdServers, prefix: str) -> None:
    """root, and a user who may use the keys of the prefix only."""
    servers.call("auth/user/add", {"name": "root", "password": "of root"})
    servers.call("auth/user/grant", {"user": "root", "role": "root"})
    servers.call("auth/user/add", {"name": "shunter", "password": PASSWORD})
    servers.call("auth/role/add", {"name": "shunter"})
    key, end = (base64.b64encode(text.encode()).decode() for text in (f"{prefix}/", f"{prefix}0"))
    permission = {"permType": "READWRITE", "key": key, "range_end": end}
    servers.call("auth/role/grant", {"name": "shunter", "perm": permission})
    servers.call("auth/user/grant", {"user": "shunter", "role": "shunter"})
    servers.call("auth/enable", {})


def expire_tokens(servers: EtcdServers) -> None:
    """Setting a password, even the same, ends the sessions of its user."""
    root = servers.call("auth/authenticate", {"name": "root", "password": "of root"})["token"]
    servers.call("auth/user/changepw", {"name": "shunter", "password": PASSWORD}, root)


def make_certificates(folder: Path) -> None:
    """An authority, and certificates by it for the server and for the client."""
    new = "openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    run(f"{new} -x509 -subj /CN=authority -keyout ca.key -out ca.pem", folder)
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n")
    for name in ("server", "client"):
        run(f"{new.replace(' -days 2', '')} -subj /CN={name} -keyout {name}.key -out {name}.csr", folder)
        sign = f"openssl x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names"
        run(f"{sign} -out {name}.pem", folder)


def run(command: str, folder: Path) -> None:
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
