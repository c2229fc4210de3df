"""Who may use a listener that asks for no token: programs and web pages of this machine. Pure; used by `api.http.app`.

The Origin says which web page asks. The Host says by which name: another site's name that points to this machine (DNS
rebinding) would make its pages look like ours."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from shunter.api.http.exchange import Headers, Scope, find_header
from shunter.model.errors import Forbidden

SOCKJS_INFO = "/scheduler/info"
CORS_AGE_S = b"600"


def check_local(scope: Scope) -> None:
    """Raises Forbidden. Programs send no Origin, and old ones no Host."""
    host = find_header(scope, b"host")  # one at most, and the authority of an absolute URI: see Connection
    if host is not None and not _is_loopback_authority(host):
        text = f"this listener needs no token and answers only to loopback names, not to host '{host[:100]}'"
        raise Forbidden(f"{text}; use http://127.0.0.1:PORT")
    origin = find_header(scope, b"origin")
    if origin is not None and not is_loopback_origin(origin):
        text = f"web pages of '{origin[:100]}' may not use this listener, which needs no token"
        raise Forbidden(f"{text}; serve the page from localhost, or use the API with a token")


def cors_headers(scope: Scope) -> Headers:
    """Headers that let a web page of this machine read the answer."""
    origin = find_header(scope, b"origin")
    if origin is None or not is_loopback_origin(origin):
        return ()
    allowed = [(b"access-control-allow-origin", origin.encode("latin-1")), (b"vary", b"origin")]
    if scope["path"] == SOCKJS_INFO:
        # SockJS always asks with credentials, and the answer has nothing of the cluster in it.
        allowed.append((b"access-control-allow-credentials", b"true"))
    if scope["method"] != "OPTIONS":
        return allowed
    wanted = find_header(scope, b"access-control-request-headers") or "content-type"
    return [
        *allowed,
        (b"access-control-allow-methods", b"GET, POST, PUT, DELETE"),
        (b"access-control-allow-headers", wanted.encode("latin-1")),
        (b"access-control-max-age", CORS_AGE_S),
    ]


def is_loopback_origin(origin: str) -> bool:
    scheme, separator, authority = origin.partition("://")
    return bool(separator) and scheme in ("http", "https") and _is_loopback_authority(authority)


def _is_loopback_authority(authority: str) -> bool:
    """HOST or HOST:PORT."""
    try:
        url = urlsplit(f"//{authority}")
        host = url.hostname or ""
        if url.netloc != authority or "@" in authority or (url.port is not None and url.port == 0):
            return False
    except ValueError:
        return False
    if host == "localhost":
        return True
    if "%" in host:  # a zone, which may be any text
        return False
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
