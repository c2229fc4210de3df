"""How to reach Redis, read from a URL and the environment. Used by whoever starts a manager.

    redis://HOST:6379/0?user=NAME&password_file=FILE&prefix=NAME
    rediss://HOST:6380/0?ca=FILE&cert=FILE&key=FILE

A password never stands in the URL, which is visible in the list of processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, parse_qs, urlsplit

from shunter.model.errors import Invalid, Problem

PORT = 6379
PREFIX = "shunter"
PREFIX_SIZE_MAX = 64
DATABASES_MAX = 1024
USER_VARIABLE = "SHUNTER_REDIS_USER"
PASSWORD_VARIABLE = "SHUNTER_REDIS_PASSWORD"
_OPTIONS = ("user", "password_file", "prefix", "ca", "cert", "key")
_KNOWN = f"known are {', '.join(_OPTIONS)}"


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files. Without `ca`, the authorities that the system trusts. `cert` and `key` identify this manager."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None


@dataclass(frozen=True, slots=True)
class RedisSettings:
    host: str
    port: int = PORT
    database: int = 0
    prefix: str = PREFIX  # of all keys; clusters that share a Redis have different ones
    tls: TlsFiles | None = None
    user: str = ""
    password: str = field(default="", repr=False)

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_redis_url(url: str, environment: Mapping[str, str], option: str = "--limits") -> RedisSettings:
    """Raises Invalid with every problem found. No message repeats the URL: somebody may have put a password into it."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or PORT
    except ValueError:
        raise Invalid([Problem(option, "is not a URL", fix=f"write it like redis://HOST:{PORT}/0")]) from None
    options = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
    database, prefix = parts.path.strip("/") or "0", options.get("prefix", PREFIX)
    problems = [
        *_find_address_problems(option, parts),
        *(Problem(option, f"unknown parameter {name!r}", fix=_KNOWN) for name in options if name not in _OPTIONS),
        *_find_place_problems(option, database, prefix),
        *_find_tls_problems(option, parts.scheme, options),
    ]
    password = _read_password(option, options.get("password_file"), environment, problems)
    user = options.get("user", environment.get(USER_VARIABLE, ""))
    if user and not password and not problems:
        fix = f"set {PASSWORD_VARIABLE}, or ?password_file="
        problems.append(Problem(option, "a user of Redis needs a password", fix=fix))
    if problems:
        raise Invalid(problems)
    files = {name: Path(options[name]) for name in ("ca", "cert", "key") if name in options}
    tls = TlsFiles(**files) if parts.scheme == "rediss" else None
    return RedisSettings(host, port, int(database), prefix, tls, user, password)


def _find_address_problems(option: str, parts: SplitResult) -> list[Problem]:
    problems = []
    if parts.scheme not in ("redis", "rediss") or not parts.hostname:
        problems.append(Problem(option, "must begin with redis://HOST or rediss://HOST"))
    if "@" in parts.netloc:
        fix = f"use {USER_VARIABLE} and {PASSWORD_VARIABLE}, or ?user= and ?password_file="
        problems.append(Problem(option, "the URL must not have a user or password", fix=fix))
    return problems


def _find_place_problems(option: str, database: str, prefix: str) -> list[Problem]:
    problems = []
    if not database.isdecimal() or int(database) >= DATABASES_MAX:
        problems.append(Problem(option, "the path must be the number of a database", fix="use /0"))
    if not 0 < len(prefix) <= PREFIX_SIZE_MAX or not prefix.replace("-", "").replace("_", "").isalnum():
        problems.append(Problem(option, "prefix must be a name of letters, digits, - and _", prefix))
    return problems


def _find_tls_problems(option: str, scheme: str, options: Mapping[str, str]) -> list[Problem]:
    named = [name for name in ("ca", "cert", "key") if name in options]
    if named and scheme == "redis":
        return [Problem(option, f"{named[0]!r} needs rediss://")]
    if ("cert" in options) != ("key" in options):
        return [Problem(option, "'cert' and 'key' need each other")]
    missing = [name for name in named if not Path(options[name]).is_file()]
    return [Problem(option, f"{name}: there is no such file", options[name]) for name in missing]


def _read_password(option: str, path: str | None, environment: Mapping[str, str], problems: list[Problem]) -> str:
    if path is None:
        return environment.get(PASSWORD_VARIABLE, "")
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        problems.append(Problem(option, f"password_file: cannot be read: {reason}", path))
        return ""
