"""The URL of etcd, its options, and where the password comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.adapters.etcd.settings import EtcdSettings, TlsFiles, parse_etcd_url
from shunter.model.errors import Invalid

SECRET = "correct-horse"
CREDENTIALS = {"SHUNTER_ETCD_USER": "shunter", "SHUNTER_ETCD_PASSWORD": SECRET}


def test_addresses_get_ports_and_the_rest_has_defaults() -> None:
    assert parse_etcd_url("etcd://a,b:1234", {}) == EtcdSettings(("a:2379", "b:1234"), "shunter", 2)


def test_everything_can_be_set(tmp_path: Path) -> None:
    for name in ("ca", "cert", "key"):
        (tmp_path / name).touch()
    (tmp_path / "password").write_text(f"{SECRET}\n")
    files = f"ca={tmp_path}/ca&cert={tmp_path}/cert&key={tmp_path}/key"
    url = f"etcds://c:1,[::1]:2379,[::2]/one/two?ttl=5&user=me&password_file={tmp_path}/password&{files}"
    assert parse_etcd_url(url, {}) == EtcdSettings(
        ("c:1", "[::1]:2379", "[::2]:2379"),
        "one/two",
        5,
        TlsFiles(tmp_path / "ca", tmp_path / "cert", tmp_path / "key"),
        "me",
        SECRET,
    )


def test_user_and_password_come_from_the_environment_and_are_not_shown() -> None:
    settings = parse_etcd_url("etcds://a", CREDENTIALS)
    assert (settings.user, settings.password) == ("shunter", SECRET)
    assert settings.tls == TlsFiles()
    assert SECRET not in repr(settings)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://a", "must begin with etcd://"),
        ("etcd://", "must name 1 to 16 addresses"),
        ("etcd://a,,b", "must name 1 to 16 addresses"),
        ("etcd://" + ",".join("abcdefghijklmnopq"), "must name 1 to 16 addresses"),
        (f"etcd://me:{SECRET}@a", "must not have a user or password"),
        ("etcd://a?colour=red", "option 'colour' is unknown"),
        ("etcd://a?ttl=0", "ttl must be 1 to 60 seconds"),
        ("etcd://a?ttl=1.5", "ttl must be 1 to 60 seconds"),
        ("etcd://a?ca=/x", "option 'ca' needs etcds://"),
        ("etcds://a?cert=/x", "'cert' and 'key' need each other"),
        ("etcds://a?ca=/no/such/file", "ca: there is no such file"),
        ("etcd://a?user=me", "a user and a password, or neither"),
        ("etcd://a?user=me&password_file=/no/such/file", "password_file: cannot be read: No such file"),
    ],
)
def test_mistakes_are_named_without_repeating_the_url(url: str, message: str) -> None:
    with pytest.raises(Invalid, match=message) as raised:
        parse_etcd_url(url, {})
    assert SECRET not in str(raised.value)
