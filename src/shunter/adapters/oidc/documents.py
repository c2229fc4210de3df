"""Asks an issuer for documents: small JSON over HTTP, within limits of size and time. Used by `adapters.oidc.issuer`.

aiohttp is loaded with the first request."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

DOCUMENT_BYTES_MAX = 256 * 2**10
REQUEST_MAX_S = 5.0


class IssuerUnreachable(Exception):
    """It did not answer, or not with what it should."""


class CodeRefused(Exception):
    """It refused what a sign-in brought back."""


class Documents:
    """`ca_file`: whom to trust; empty: the authorities of the system."""

    def __init__(self, ca_file: str = "") -> None:
        self._ca_file = ca_file

    async def get(self, url: str) -> Mapping[str, Any]:
        """Raises IssuerUnreachable."""
        status, document = await self._request("GET", url, None)
        if status != 200:
            raise IssuerUnreachable(f"{_place(url)} answered {status}")
        return document

    async def post_form(self, url: str, form: Mapping[str, str]) -> Mapping[str, Any]:
        """Raises IssuerUnreachable, and CodeRefused for an answer that OAuth gives to what is wrong."""
        status, document = await self._request("POST", url, form)
        if status in (400, 401) and "error" in document:
            raise CodeRefused(str(document.get("error_description") or document["error"])[:200])
        if status != 200:
            raise IssuerUnreachable(f"{_place(url)} answered {status}")
        return document

    async def _request(self, method: str, url: str, form: Mapping[str, str] | None) -> tuple[int, Mapping[str, Any]]:
        """A session of its own for each: requests are rare. A redirection is not followed: it might lead anywhere."""
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=REQUEST_MAX_S)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()) as session,
                session.request(method, url, data=form, allow_redirects=False, ssl=self._tls()) as response,
            ):
                body = await _read(response)
                return response.status, _parse(body) if response.status in (200, 400, 401) else {}
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise IssuerUnreachable(f"{_place(url)}: {str(error) or type(error).__name__}"[:300]) from None
        except ValueError as error:
            raise IssuerUnreachable(f"{_place(url)} {error}") from None

    def _tls(self) -> ssl.SSLContext | bool:
        return ssl.create_default_context(cafile=self._ca_file) if self._ca_file else True


async def _read(response: Any) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > DOCUMENT_BYTES_MAX:
            raise ValueError(f"answered with more than {DOCUMENT_BYTES_MAX:,} bytes")
    return bytes(body)


def _parse(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise ValueError("did not answer with a JSON object")
    return document


def _place(url: str) -> str:
    """The URL without its query, which may have secrets."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{parts.path}"
