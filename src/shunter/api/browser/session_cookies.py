"""The cookie of a browser's session, and which pages may use it to change something. Pure; used by `api.http.app` and
`api.routes.sessions`.

The cookie is SameSite=Strict, so browsers send it with requests of our own pages only. In case one does not, a request
that changes something must also come from a page with the name by which the manager was reached."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from shunter.api.http.exchange import Scope, find_header
from shunter.model.errors import Forbidden, Invalid, Problem
from shunter.model.identity.sessions import PREFIX, TEXT_SIZE_MAX

COOKIE_PREFIX = "shunter-session"
COOKIES_SIZE_MAX = 16_384
STATE_COOKIE = "shunter-sign-in"
SIGN_IN_LIFETIME_S = 600
SESSIONS_MAX = 8  # of other clusters on the same host, in one request
FORWARDED_PROTO, FORWARDED_HOST, FORWARDED_PREFIX = b"x-forwarded-proto", b"x-forwarded-host", b"x-forwarded-prefix"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")
_PREFIX_PATH = re.compile(r"(/[A-Za-z0-9._~-]{1,64}){1,8}/?")


def find_sessions(scope: Scope) -> list[tuple[str, str]]:
    """Names and values of the cookies that may be sessions."""
    found = [
        (name, text)
        for name, text in _cookies(scope)
        if name.startswith(COOKIE_PREFIX) and text.startswith(PREFIX) and len(text) <= TEXT_SIZE_MAX
    ]
    return found[:SESSIONS_MAX]


def _cookies(scope: Scope) -> Iterator[tuple[str, str]]:
    for header, value in scope["headers"]:
        if header == b"cookie" and len(value) <= COOKIES_SIZE_MAX:
            for part in str(value, "latin-1").split(";"):
                name, _, text = part.strip().partition("=")
                yield name, text


def set_cookie(scope: Scope, name: str, text: str, lifetime_s: int) -> tuple[bytes, bytes]:
    """With an empty text and no lifetime, the browser forgets it."""
    return _cookie(scope, f"{name}={text}; Path={_prefix(scope) or '/'}; Max-Age={lifetime_s}", "Strict")


def set_state_cookie(scope: Scope, path: str, state: str) -> tuple[bytes, bytes]:
    """What a sign-in at the issuer must come back with: to `path`, and from a page of the issuer, hence Lax. Without a
    state, the browser forgets it."""
    lifetime_s = SIGN_IN_LIFETIME_S if state else 0
    return _cookie(scope, f"{STATE_COOKIE}={state}; Path={_prefix(scope)}{path}; Max-Age={lifetime_s}", "Lax")


def find_state(scope: Scope) -> str:
    """Empty if the browser has kept none."""
    return next((text for name, text in _cookies(scope) if name == STATE_COOKIE and len(text) <= TEXT_SIZE_MAX), "")


def public_url(scope: Scope, path: str) -> str:
    """The URL at which a browser reaches a path of this manager, by the headers of the browser and of proxies. Raises
    Invalid."""
    host = find_header(scope, FORWARDED_HOST) or find_header(scope, b"host") or ""
    if not _HOST.fullmatch(host):
        raise Invalid([Problem("header.host", "is not a host name with a port", host[:100])])
    return f"{'https' if is_secure(scope) else 'http'}://{host}{_prefix(scope)}{path}"


def _cookie(scope: Scope, text: str, same_site: str) -> tuple[bytes, bytes]:
    secure = "; Secure" if is_secure(scope) else ""
    return b"set-cookie", f"{text}; HttpOnly; SameSite={same_site}{secure}".encode("latin-1")


def _prefix(scope: Scope) -> str:
    """The path of a reverse proxy at which this manager is, without a slash at its end."""
    prefix = find_header(scope, FORWARDED_PREFIX) or ""
    return prefix.rstrip("/") if _PREFIX_PATH.fullmatch(prefix) else ""


def is_secure(scope: Scope) -> bool:
    """Whether the browser uses TLS: to this manager, or to the proxy in front of it."""
    return scope.get("scheme") in ("https", "wss") or find_header(scope, FORWARDED_PROTO) == "https"


def check_origin(scope: Scope) -> None:
    """For requests that change something, and for WebSockets. Raises Forbidden.

    Other sites can set neither `Sec-Fetch-Site` nor `X-Forwarded-Host`, so these are believed."""
    if find_header(scope, b"sec-fetch-site") == "same-origin":
        return
    origin = find_header(scope, b"origin")
    if origin is None:
        raise Forbidden("a request with a session must have the header Origin; programs use a token instead")
    hosts = [find_header(scope, name) for name in (b"host", FORWARDED_HOST)]
    if not any(host and _is_origin_of(origin, host) for host in hosts):
        fix = "a reverse proxy must pass the header Host on, or set X-Forwarded-Host"
        raise Forbidden(f"pages of '{origin[:100]}' may not use this session; {fix}")


def _is_origin_of(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower() != ""
    except ValueError:
        return False
