"""How to reach etcd, read from a URL and the environment. Used by whoever starts a manager.

    etcd://host:2379,host:2379/PREFIX?ttl=2&user=NAME&password_file=FILE
    etcds://host:2379/PREFIX?ca=FILE&cert=FILE&key=FILE

A password never stands in the URL, which is visible in the list of processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs

from shunter.model.errors import Invalid, Problem

PORT = 2379
PREFIX = "shunter"
TTL_S = 2  # with its defaults, etcd grants no lease that is shorter
TTL_MIN_S, TTL_MAX_S = 1, 60
ENDPOINTS_MAX = 16
USER_VARIABLE = "SHUNTER_ETCD_USER"
PASSWORD_VARIABLE = "SHUNTER_ETCD_PASSWORD"
_OPTIONS = ("ttl", "user", "password_file", "ca", "cert", "key")


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files. Without `ca`, the authorities that gRPC knows. `cert` and `key` identify this manager to etcd."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None


@dataclass(frozen=True, slots=True)
class EtcdSettings:
    endpoints: tuple[str, ...]  # host:port
    prefix: str = PREFIX  # of all keys; clusters that share an etcd have different ones
    ttl_s: int = TTL_S  # of the lead and of the registration
    tls: TlsFiles | None = None
    user: str = ""
    password: str = field(default="", repr=False)


def parse_etcd_url(url: str, environment: Mapping[str, str]) -> EtcdSettings:
    """Raises Invalid with every problem found. No message repeats the URL: somebody may have put a password into it."""
    scheme, _, rest = url.partition("://")
    location, _, query = rest.partition("?")  # by hand: `urlsplit` accepts one IPv6 address, but not several
    addresses, _, prefix = location.partition("/")
    options = {name: values[-1] for name, values in parse_qs(query, keep_blank_values=True).items()}
    problems = [
        *_find_url_problems(scheme, addresses),
        *(Problem("coordination", f"option {name!r} is unknown") for name in options if name not in _OPTIONS),
        *_find_tls_problems(scheme, options),
    ]
    ttl_s = _parse_ttl(options.get("ttl", str(TTL_S)), problems)
    password = _read_password(options.get("password_file"), environment, problems)
    user = options.get("user", environment.get(USER_VARIABLE, ""))
    if bool(user) != bool(password) and not problems:
        fix = f"set both, for example with {USER_VARIABLE} and {PASSWORD_VARIABLE}"
        problems.append(Problem("coordination", "etcd needs a user and a password, or neither", fix=fix))
    if problems:
        raise Invalid(problems)
    files = {name: Path(options[name]) for name in ("ca", "cert", "key") if name in options}
    return EtcdSettings(
        endpoints=tuple(_with_port(address) for address in addresses.split(",")),
        prefix=prefix.strip("/") or PREFIX,
        ttl_s=ttl_s,
        tls=TlsFiles(**files) if scheme == "etcds" else None,
        user=user,
        password=password,
    )


def _find_url_problems(scheme: str, addresses: str) -> list[Problem]:
    if scheme not in ("etcd", "etcds"):
        return [Problem("coordination", "must begin with etcd:// or etcds://")]
    if "@" in addresses:
        fix = f"use {USER_VARIABLE} and {PASSWORD_VARIABLE}, or ?user= and ?password_file="
        return [Problem("coordination", "the URL must not have a user or password", fix=fix)]
    if not all(addresses.split(",")) or addresses.count(",") >= ENDPOINTS_MAX:
        return [
            Problem("coordination", f"must name 1 to {ENDPOINTS_MAX} addresses, as in etcd://host:{PORT},host:{PORT}")
        ]
    return []


def _find_tls_problems(scheme: str, options: Mapping[str, str]) -> list[Problem]:
    named = [name for name in ("ca", "cert", "key") if name in options]
    if named and scheme == "etcd":
        return [Problem("coordination", f"option {named[0]!r} needs etcds://")]
    if ("cert" in options) != ("key" in options):
        return [Problem("coordination", "options 'cert' and 'key' need each other")]
    missing = [name for name in named if not Path(options[name]).is_file()]
    return [Problem("coordination", f"{name}: there is no such file", options[name]) for name in missing]


def _parse_ttl(text: str, problems: list[Problem]) -> int:
    if text.isdecimal() and TTL_MIN_S <= int(text) <= TTL_MAX_S:
        return int(text)
    problems.append(Problem("coordination", f"ttl must be {TTL_MIN_S} to {TTL_MAX_S} seconds", text))
    return TTL_S


def _read_password(path: str | None, environment: Mapping[str, str], problems: list[Problem]) -> str:
    if path is None:
        return environment.get(PASSWORD_VARIABLE, "")
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        problems.append(Problem("coordination", f"password_file: cannot be read: {reason}", path))
        return ""


def _with_port(address: str) -> str:
    _, colon, port = address.rpartition(":")
    return address if colon and port.isdecimal() else f"{address}:{PORT}"
