"""Serves the web UI below `/ui/`: its files, and its index page for every other path there, because the application
routes by itself. Called by `api.http.app`.

All links are relative, so that it works below any path of a reverse proxy: the index page gets a `<base>` that leads
back to `/ui/`."""

from __future__ import annotations

import hashlib
import re
import secrets
from pathlib import PurePosixPath

from shunter.api.browser.content_security import content_security_policy
from shunter.api.browser.ui_files import INDEX, UiFile, UiFiles
from shunter.api.http.exchange import Exchange
from shunter.api.http.problems import MethodNotAllowed
from shunter.model.errors import NotFound

UI = "/ui"
NO_UI = "this manager was built without the web UI; `shunter ui` says how to get it"
NONCE_MARK = b"__CSP_NONCE__"  # in the index page, where the nonce of the answer belongs
NONCE_BYTES = 16
DEPTH_MAX = 16  # segments of a path of the application
_HASHED = re.compile(r"assets/.+-[A-Za-z0-9_-]{8,}\.[a-z0-9]+")
_WEIGHT = re.compile(r"\s*;\s*q\s*=\s*")
CONTENT_TYPES = {
    ".css": b"text/css; charset=utf-8",
    ".html": b"text/html; charset=utf-8",
    ".ico": b"image/x-icon",
    ".js": b"text/javascript; charset=utf-8",
    ".json": b"application/json",
    ".map": b"application/json",
    ".png": b"image/png",
    ".svg": b"image/svg+xml",
    ".txt": b"text/plain; charset=utf-8",
    ".wasm": b"application/wasm",
    ".webmanifest": b"application/manifest+json",
    ".woff2": b"font/woff2",
}
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)

Headers = list[tuple[bytes, bytes]]


def is_ui_path(path: str) -> bool:
    return path in ("/", UI) or path.startswith(f"{UI}/")


class UiPages:
    def __init__(self, files: UiFiles) -> None:
        self._files = files

    def is_built(self) -> bool:
        return self._files.folder() is not None

    async def serve(self, exchange: Exchange) -> None:
        """Answer a request for a path of `is_ui_path`. Raises NotFound, MethodNotAllowed."""
        method, path = exchange.scope["method"], exchange.scope["path"]
        if path == "/" and "text/html" not in (exchange.header(b"accept") or ""):
            raise NotFound("path / is for browsers, which it sends to the web UI; GET /api/v1/openapi.json lists paths")
        if method not in ("GET", "HEAD"):
            raise MethodNotAllowed(method, "GET, HEAD")
        if path in ("/", UI):
            await _redirect(exchange, b"ui/")
            return
        name = path.removeprefix(f"{UI}/")
        encoding = "" if self._is_page(name) else await self._choose_encoding(name, exchange)
        file = await self._files.find(INDEX if self._is_page(name) else name, encoding)
        if file is None:
            raise NotFound(f"the web UI has no file {name[:100]!r}" if self.is_built() else NO_UI)
        if self._is_page(name):
            await _send_index(exchange, file, depth=name.count("/"))
        else:
            await _send_file(exchange, name, file, encoding)

    def _is_page(self, name: str) -> bool:
        """A path of the application, and not of a file: those have an extension that is known."""
        if name.startswith("assets/") or name.count("/") >= DEPTH_MAX:
            return False
        return name in ("", INDEX) or PurePosixPath(name).suffix not in CONTENT_TYPES

    async def _choose_encoding(self, name: str, exchange: Exchange) -> str:
        file = await self._files.find(name)
        accepted = _accepted_encodings(exchange.header(b"accept-encoding") or "")
        return next((each for each in (file.encodings if file else ()) if each in accepted), "")


async def _send_file(exchange: Exchange, name: str, file: UiFile, encoding: str) -> None:
    """A name with a hash in it never changes its content."""
    is_hashed = _HASHED.fullmatch(name) is not None
    caching = b"public, max-age=31536000, immutable" if is_hashed else b"no-cache"
    etag = f'"{file.etag}"'.encode()
    headers: Headers = [(b"cache-control", caching), (b"etag", etag), (b"vary", b"accept-encoding"), *SECURITY_HEADERS]
    if _is_known(exchange, etag):
        await _send(exchange, 304, headers)
        return
    headers.append((b"content-type", CONTENT_TYPES.get(PurePosixPath(name).suffix, b"application/octet-stream")))
    if encoding:
        headers.append((b"content-encoding", encoding.encode()))
    await _send(exchange, 200, headers, file.content)


async def _send_index(exchange: Exchange, file: UiFile, depth: int) -> None:
    """The answer 304 has no policy: the page that the browser keeps has the nonce of the policy that came with it."""
    base = "../" * depth or "./"
    etag = f'"{file.etag}-{hashlib.sha256(base.encode()).hexdigest()[:8]}"'.encode()
    headers: Headers = [(b"cache-control", b"no-cache"), (b"etag", etag), *SECURITY_HEADERS]
    if _is_known(exchange, etag):
        await _send(exchange, 304, headers)
        return
    nonce = secrets.token_urlsafe(NONCE_BYTES)
    page = file.content.replace(NONCE_MARK, nonce.encode())
    page = page.replace(b"<head>", f'<head><base href="{base}">'.encode(), 1)
    headers.append((b"content-type", CONTENT_TYPES[".html"]))
    headers.append((b"content-security-policy", content_security_policy(nonce).encode()))
    await _send(exchange, 200, headers, page)


async def _redirect(exchange: Exchange, location: bytes) -> None:
    headers = [(b"location", location), (b"cache-control", b"no-store"), (b"vary", b"accept"), *SECURITY_HEADERS]
    await _send(exchange, 307, headers)


async def _send(exchange: Exchange, status: int, headers: Headers, body: bytes = b"") -> None:
    if status != 304:
        headers = [*headers, (b"content-length", str(len(body)).encode())]
    await exchange.start_raw(status, headers)
    if body:
        await exchange.write(body)
    await exchange.end()


def _is_known(exchange: Exchange, etag: bytes) -> bool:
    known = exchange.header(b"if-none-match") or ""
    return etag.decode() in [each.strip().removeprefix("W/") for each in known.split(",")]


def _accepted_encodings(header: str) -> set[str]:
    """The encodings with a weight above 0. `*` alone is no reason to compress."""
    found = set()
    for part in header.lower().split(","):
        name, *weight = _WEIGHT.split(part.strip(), maxsplit=1)
        if not weight or weight[0].strip("0. "):
            found.add(name.strip())
    return found
