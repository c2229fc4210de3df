"""URLs of Redis: what they say, and what is refused without repeating a password."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.adapters.redis.settings import RedisSettings, TlsFiles, parse_redis_url
from shunter.model.errors import Invalid


def test_a_url_names_the_server_and_the_database(tmp_path: Path) -> None:
    assert parse_redis_url("redis://limits.example", {}) == RedisSettings("limits.example")
    assert parse_redis_url("redis://[::1]:7000/3?prefix=blue", {}) == RedisSettings("::1", 7000, 3, "blue")
    (tmp_path / "ca.pem").write_text("")
    found = parse_redis_url(f"rediss://h:1?ca={tmp_path}/ca.pem", {"SHUNTER_REDIS_PASSWORD": "secret"})
    assert found == RedisSettings("h", 1, tls=TlsFiles(tmp_path / "ca.pem"), password="secret")
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://h", "must begin with redis://"),
        ("redis://", "must begin with redis://"),
        ("redis://h:port", "is not a URL"),
        ("redis://user:secret@h", "must not have a user or password"),
        ("redis://h/zero", "number of a database"),
        ("redis://h/1024", "number of a database"),
        ("redis://h?prefix=a*b", "prefix"),
        ("redis://h?colour=red", "unknown parameter 'colour'; known are user, "),
        ("redis://h?ca=/none", "needs rediss://"),
        ("rediss://h?ca=/none", "there is no such file"),
        ("rediss://h?cert=/none", "need each other"),
        ("redis://h?user=a", "needs a password"),
        ("redis://h?password_file=/none", "cannot be read"),
    ],
)
def test_a_wrong_url_is_refused_with_a_reason(url: str, reason: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_redis_url(url, {})
    assert reason in str(refused.value)
    assert "--limits" in str(refused.value)
    assert "secret" not in str(refused.value)
