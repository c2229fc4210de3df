"""Parses the URL of a PostgreSQL store. asyncpg gets it as it is, except for the parameters that are ours."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from shunter.model.errors import Invalid, Problem

SCHEMES = ("postgresql", "postgres")
SCHEMA_DEFAULT = "shunter"
APPLICATION_NAME_DEFAULT = "shunter"
CONNECT_TIMEOUT_S = 10.0
CONNECT_TIMEOUT_MAX_S = 300.0

REPLICATION_SYNCHRONOUS = "synchronous"

_OWN_PARAMETERS = ("schema", "connect_timeout", "application_name", "replication")
_SCHEMA_PATTERN = r"[a-z_][a-z0-9_]{0,62}"
_EXAMPLE = "write it like postgresql://USER@HOST:5432/DATABASE?sslmode=verify-full&sslrootcert=FILE"
# Those of libpq that asyncpg knows.
_PARAMETERS = frozenset((
    "host", "port", "dbname", "user", "password", "passfile", "service", "target_session_attrs", "krbsrvname", "gsslib",
    "sslmode", "sslcert", "sslkey", "sslrootcert", "sslcrl", "sslpassword", "sslnegotiation",
    "ssl_min_protocol_version", "ssl_max_protocol_version",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class StoreUrl:
    """`public_url` is for messages and logs: it has no password. `is_synchronous` is the operator's promise that only a
    server with every commit becomes primary."""

    dsn: str = field(repr=False)
    public_url: str
    schema: str = SCHEMA_DEFAULT
    connect_timeout_s: float = CONNECT_TIMEOUT_S
    has_password: bool = False
    application_name: str = APPLICATION_NAME_DEFAULT
    is_synchronous: bool = False

    @property
    def has_several_hosts(self) -> bool:
        return "," in urlsplit(self.dsn).netloc


def is_postgres_url(text: str) -> bool:
    return text.startswith(tuple(f"{scheme}://" for scheme in SCHEMES))


def parse_store_url(text: str, option: str = "--store") -> StoreUrl:
    """Raises Invalid; its text has no password either."""
    scheme, _, rest = text.partition("://")
    if scheme not in SCHEMES or "#" in rest:
        raise Invalid([Problem(option, "is not the URL of a PostgreSQL database", None, _EXAMPLE)])
    try:
        parts = urlsplit(text)
        pairs = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query), keep_blank_values=True))
    except ValueError as error:
        raise Invalid([Problem(option, "is not a valid URL", None, _EXAMPLE)]) from error
    user_part, at, hosts = parts.netloc.rpartition("@")
    user, colon, _ = user_part.partition(":")
    schema = pairs.pop("schema", SCHEMA_DEFAULT)
    if not re.fullmatch(_SCHEMA_PATTERN, schema):
        fix = "use lower-case letters, digits and _"
        raise Invalid([Problem(option, "names a schema that cannot be used", schema, fix)])
    application_name = pairs.pop("application_name", APPLICATION_NAME_DEFAULT)
    timeout_s = _connect_timeout_s(pairs.pop("connect_timeout", None), option)
    replication = pairs.pop("replication", None)
    if replication not in (None, REPLICATION_SYNCHRONOUS):
        fix = f"use replication={REPLICATION_SYNCHRONOUS}, or remove it"
        raise Invalid([Problem(option, "has an invalid replication", replication, fix)])
    has_password = bool(colon) or "password" in pairs or "sslpassword" in pairs
    if unknown := sorted(set(pairs) - _PARAMETERS):
        fix = f"remove it; known are {', '.join((*_OWN_PARAMETERS, *sorted(_PARAMETERS)))}"
        raise Invalid([Problem(option, "has an unknown parameter", unknown[0], fix)])
    public = {key: value for key, value in pairs.items() if key in ("host", "port", "dbname", "user", "service")}
    if schema != SCHEMA_DEFAULT:
        public["schema"] = schema
    return StoreUrl(
        dsn=urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(pairs), "")),
        public_url=urlunsplit(("postgresql", f"{user}{at}{hosts}", parts.path, urlencode(public), "")),
        schema=schema,
        connect_timeout_s=timeout_s,
        has_password=has_password,
        application_name=application_name,
        is_synchronous=replication is not None,
    )


def _connect_timeout_s(text: str | None, option: str) -> float:
    if text is None:
        return CONNECT_TIMEOUT_S
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= CONNECT_TIMEOUT_MAX_S:
        fix = f"use 1 to {CONNECT_TIMEOUT_MAX_S:.0f} seconds"
        raise Invalid([Problem(option, "has an invalid connect_timeout", text, fix)])
    return float(text)
