"""Signs a user in at an OpenID Connect issuer from a terminal: device authorization, and new tokens for a refresh
token. Used by `shunter login`, and by `sdk.login.login_tokens`, which loads it when a token must be renewed.

urllib is loaded with the first request."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shunter.model.identity.oidc import check_secure_url
from shunter.sdk.errors import Forbidden, NotReachable, Unauthorized

WELL_KNOWN = "/.well-known/openid-configuration"
DOCUMENT_BYTES_MAX = 256 * 2**10
REQUEST_MAX_S = 10.0
INTERVAL_MIN_S, INTERVAL_MAX_S = 1.0, 60.0
SLOW_DOWN_S = 5.0  # as RFC 8628 wants
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


@dataclass(frozen=True, slots=True)
class TokenAnswer:
    """What an issuer gives to who has signed in."""

    access_token: str = field(repr=False)
    id_token: str = field(repr=False)
    refresh_token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """What the user must approve, and where."""

    user_code: str
    url: str
    complete_url: str  # the same with the code in it; empty if the issuer gives none
    device_code: str = field(repr=False)
    verifier: str = field(repr=False)
    interval_s: float
    expires_in_s: float


class Refused(Exception):
    """The issuer answered with an error of OAuth: `code`, and its description."""

    def __init__(self, code: str, description: str) -> None:
        super().__init__(description or code)
        self.code = code


class IssuerClient:
    """`ca_file`: whom to trust; empty: the authorities of the system."""

    def __init__(self, issuer: str, client_id: str, ca_file: str = "") -> None:
        self._issuer, self._client_id, self._ca_file = issuer, client_id, ca_file
        self._endpoints: Mapping[str, Any] = {}

    def begin_device_sign_in(self, scopes: list[str]) -> DeviceCode:
        """Raises NotReachable, Forbidden."""
        verifier = secrets.token_urlsafe(48)
        digest = hashlib.sha256(verifier.encode()).digest()
        form = {
            "scope": " ".join(scopes),
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        try:
            answer = self._post("device_authorization_endpoint", form)
            return DeviceCode(
                str(answer["user_code"]),
                str(answer["verification_uri"]),
                str(answer.get("verification_uri_complete", "")),
                str(answer["device_code"]),
                verifier,
                min(max(float(answer.get("interval", 5)), INTERVAL_MIN_S), INTERVAL_MAX_S),
                float(answer["expires_in"]),
            )
        except Refused as error:
            raise Forbidden(f"the issuer {self._issuer} does not let devices sign in: {error}") from None
        except (KeyError, TypeError, ValueError) as error:
            raise NotReachable(f"the issuer {self._issuer} did not answer as RFC 8628 says ({error!r})") from None

    def wait_for_approval(self, device: DeviceCode, sleep: Callable[[float], None] = time.sleep) -> TokenAnswer:
        """Ask until the user has approved. Raises Unauthorized if it refuses, or lets the code expire."""
        interval_s, left_s = device.interval_s, device.expires_in_s
        form = {"grant_type": DEVICE_GRANT, "device_code": device.device_code, "code_verifier": device.verifier}
        while left_s > 0:
            sleep(interval_s)
            left_s -= interval_s
            try:
                return self._tokens(form)
            except Refused as error:
                if error.code == "slow_down":
                    interval_s += SLOW_DOWN_S
                elif error.code != "authorization_pending":
                    raise Unauthorized(f"the issuer refused the sign-in: {error}") from None
        raise Unauthorized("the code expired before anybody approved it; run `shunter login` again")

    def refresh(self, refresh_token: str) -> TokenAnswer:
        """Raises NotReachable, and Unauthorized if the sign-in has ended."""
        try:
            return self._tokens({"grant_type": "refresh_token", "refresh_token": refresh_token})
        except Refused as error:
            raise Unauthorized(f"the sign-in has ended ({error}); run `shunter login` again") from None

    def revoke(self, refresh_token: str) -> bool:
        """Whether the issuer was told that the refresh token is not needed any more; not all of them can be."""
        try:
            self._post("revocation_endpoint", {"token": refresh_token, "token_type_hint": "refresh_token"})
        except (NotReachable, Refused, Forbidden):
            return False
        return True

    def _tokens(self, form: Mapping[str, str]) -> TokenAnswer:
        answer = self._post("token_endpoint", form)
        found = [answer.get(name) or "" for name in ("access_token", "id_token", "refresh_token")]
        if not all(isinstance(each, str) for each in found):
            raise NotReachable(f"the issuer {self._issuer} did not answer with tokens")
        return TokenAnswer(*found)

    def _post(self, endpoint: str, form: Mapping[str, str]) -> Mapping[str, Any]:
        if not self._endpoints:
            self._endpoints = self._request(self._issuer.rstrip("/") + WELL_KNOWN, None)
        url = self._endpoints.get(endpoint)
        if not isinstance(url, str):
            raise Forbidden(f"the issuer {self._issuer} has no {endpoint}; enable it there")
        return self._request(check_secure_url(url, endpoint), {**form, "client_id": self._client_id})

    def _request(self, url: str, form: Mapping[str, str] | None) -> Mapping[str, Any]:
        """Raises Refused, NotReachable."""
        from urllib.error import HTTPError, URLError
        from urllib.parse import urlencode
        from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

        class NoRedirects(HTTPRedirectHandler):
            def redirect_request(self, *_: Any) -> None:
                """It might lead anywhere."""

        context = ssl.create_default_context(cafile=self._ca_file or None)
        opener = build_opener(NoRedirects, HTTPSHandler(context=context))
        body = None if form is None else urlencode(form).encode()
        try:
            with opener.open(Request(url, body, {"Accept": "application/json"}), timeout=REQUEST_MAX_S) as response:
                return _parse(response.read(DOCUMENT_BYTES_MAX + 1))
        except HTTPError as error:
            document = _parse(error.read(DOCUMENT_BYTES_MAX + 1))
            if isinstance(document.get("error"), str):
                raise Refused(document["error"], str(document.get("error_description", ""))[:200]) from None
            raise NotReachable(f"the issuer answered {error.code} at {url}") from None
        except (URLError, OSError) as error:
            reason = getattr(error, "reason", None) or error
            raise NotReachable(f"the issuer {self._issuer} does not answer ({reason})") from None


def _parse(body: bytes) -> Mapping[str, Any]:
    """Empty for what is no JSON object."""
    try:
        document = json.loads(body) if len(body) <= DOCUMENT_BYTES_MAX else None
    except (ValueError, RecursionError):
        document = None
    return document if isinstance(document, dict) else {}
