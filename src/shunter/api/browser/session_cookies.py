"""The cookie of a browser's session, and which pages may use it to change something. Pure; used by `api.http.app` and
`api.routes.sessions`.

The cookie is SameSite=Strict, so browsers send it with requests of our own pages only. In case one does not, a request
that changes something must also come from a page with the name by which the manager was reached."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from shunter.api.http.exchange import Scope, find_header
from shunter.model.errors import Forbidden
from shunter.model.identity.sessions import PREFIX, TEXT_SIZE_MAX

COOKIE_PREFIX = "shunter-session"
COOKIES_SIZE_MAX = 16_384
SESSIONS_MAX = 8  # of other clusters on the same host, in one request
FORWARDED_PROTO, FORWARDED_HOST, FORWARDED_PREFIX = b"x-forwarded-proto", b"x-forwarded-host", b"x-forwarded-prefix"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_PREFIX_PATH = re.compile(r"(/[A-Za-z0-9._~-]{1,64}){1,8}/?")


def find_sessions(scope: Scope) -> list[tuple[str, str]]:
    """Names and values of the cookies that may be sessions."""
    found = []
    for header, value in scope["headers"]:
        if header == b"cookie" and len(value) <= COOKIES_SIZE_MAX:
            for part in str(value, "latin-1").split(";"):
                name, _, text = part.strip().partition("=")
                if name.startswith(COOKIE_PREFIX) and text.startswith(PREFIX) and len(text) <= TEXT_SIZE_MAX:
                    found.append((name, text))
    return found[:SESSIONS_MAX]


def set_cookie(scope: Scope, name: str, text: str, lifetime_s: int) -> tuple[bytes, bytes]:
    """With an empty text and no lifetime, the browser forgets it."""
    prefix = find_header(scope, FORWARDED_PREFIX) or ""
    path = prefix.rstrip("/") or "/" if _PREFIX_PATH.fullmatch(prefix) else "/"
    secure = "; Secure" if is_secure(scope) else ""
    value = f"{name}={text}; Path={path}; Max-Age={lifetime_s}; HttpOnly; SameSite=Strict{secure}"
    return b"set-cookie", value.encode("latin-1")


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
