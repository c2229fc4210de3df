"""URLs of PostgreSQL stores: what is ours, what is asyncpg's, and no password in anything that is printed."""

from __future__ import annotations

import pytest

from shunter.adapters.postgres.url import is_postgres_url, parse_store_url
from shunter.model.errors import Invalid


def test_our_parameters_are_taken_and_the_others_stay() -> None:
    url = parse_store_url(
        "postgresql://me@db1,db2:5433/jobs?schema=blue&connect_timeout=3&application_name=m1&sslmode=verify-full"
    )
    assert (url.schema, url.connect_timeout_s, url.application_name) == ("blue", 3.0, "m1")
    assert url.dsn == "postgresql://me@db1,db2:5433/jobs?sslmode=verify-full"
    assert url.public_url == "postgresql://me@db1,db2:5433/jobs?schema=blue"
    assert url.has_several_hosts and not url.has_password


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://me:hunter2@db/jobs",
        "postgres://me:hunter2@db",
        "postgresql://me@db/jobs?password=hunter2",
        "postgresql:///jobs?host=/run/postgresql&user=me&password=hunter2",
        "postgresql://me@db/jobs?sslkey=k&sslpassword=hunter2",
    ],
)
def test_a_password_is_noticed_and_not_printed(text: str) -> None:
    url = parse_store_url(text)
    assert url.has_password and "hunter2" in url.dsn
    assert "hunter2" not in repr(url) + str(url) + url.public_url


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("postgresql://me:hunter2@db/jobs?schema=Bad-Name", "names a schema that cannot be used"),
        ("postgresql://me:hunter2@db/jobs?connect_timeout=soon", "invalid connect_timeout"),
        ("postgresql://me:hunter2@db/jobs?replication=async", "invalid replication"),
        ("postgresql://me:hunter2@db/jobs?pool=9", "unknown parameter"),
        ("postgresql://me:hunter2@db/jobs?novalue", "is not a valid URL"),
        ("postgresql://me:hunter2@[db/jobs", "is not a valid URL"),
        ("mysql://me:hunter2@db/jobs", "is not the URL of a PostgreSQL database"),
    ],
)
def test_a_url_that_is_wrong_is_refused_without_its_password(text: str, problem: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_store_url(text)
    assert problem in str(refusal.value)
    assert "hunter2" not in str(refusal.value)


def test_other_stores_are_no_urls() -> None:
    assert [is_postgres_url(text) for text in ("sqlite", "memory", "postgresql", "postgres://x")] == [False] * 3 + [
        True
    ]
