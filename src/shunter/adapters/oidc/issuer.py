"""One issuer of OpenID Connect: its endpoints and keys, which are fetched and kept fresh, and the users that its tokens
stand for. Implements `ports.security.token_issuer`; `app.manager` runs it.

The manager starts and serves all other credentials while the issuer is away. Keys that were fetched once are used until
the issuer answers again."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from shunter.adapters.oidc.documents import CodeRefused, Documents, IssuerUnreachable
from shunter.adapters.oidc.signing_keys import SigningKey, parse_keys
from shunter.adapters.oidc.tokens import Expectations, VerifiedToken, read_key_id, verify
from shunter.adapters.oidc.verified_users import VerifiedUsers
from shunter.log import Log
from shunter.model.errors import Busy, Invalid, Unauthorized, Unavailable
from shunter.model.identity.oidc import ExternalUser, OidcSettings, check_secure_url, identify
from shunter.ports.security.token_issuer import PendingSignIn

REFRESH_EVERY_S = 300.0
RETRY_MIN_S, RETRY_MAX_S = 1.0, 30.0
REDEEMING_MAX = 32  # sign-ins at once that wait for the issuer
FETCH_AGAIN_S = 5.0  # at the earliest, for a key that is not known
WELL_KNOWN = "/.well-known/openid-configuration"

log = Log(__name__)


@dataclass(frozen=True, slots=True)
class Endpoints:
    keys: str
    authorization: str = ""  # empty: browsers cannot sign in
    token: str = ""


class Issuer:
    def __init__(self, settings: OidcSettings, now_s: Callable[[], float]) -> None:
        self._settings, self._now_s = settings, now_s
        self._documents = Documents(settings.ca_file)
        self._expected = Expectations(settings.issuer, settings.audiences, settings.clock_skew_s)
        self._endpoints: Endpoints | None = None
        self._keys: dict[str, SigningKey] = {}
        self._users = VerifiedUsers()
        self._fetch: asyncio.Task[None] | None = None
        self._fetched_at_s = float("-inf")  # by the clock of the event loop
        self._redeeming = 0
        self.problem = "it has not been asked yet"

    @property
    def settings(self) -> OidcSettings:
        return self._settings

    async def run(self) -> None:
        """Fetch the keys, again and again. Until cancelled."""
        retry_s = RETRY_MIN_S
        while True:
            await self._refresh()
            await asyncio.sleep(retry_s if self.problem else REFRESH_EVERY_S)
            retry_s = min(retry_s * 2, RETRY_MAX_S) if self.problem else RETRY_MIN_S

    def find(self, token: str) -> ExternalUser:
        now_s = self._now_s()
        known = self._users.find(token, now_s)
        if known is not None:
            return known
        verified = self._verify(token, self._expected)
        user = identify(verified.claims, self._settings)
        self._users.add(token, user, verified.expires_s)
        return user

    async def learn_key(self, token: str) -> None:
        try:
            is_known = read_key_id(token) in self._keys
        except Unauthorized:
            return  # `find` says what is wrong
        if is_known:
            return
        if asyncio.get_running_loop().time() - self._fetched_at_s >= FETCH_AGAIN_S or self._fetch is not None:
            await self._refresh()
        if not self._keys:
            raise Unavailable(f"the issuer {self._settings.issuer} cannot be asked for its keys: {self.problem}")

    async def authorization_url(self, pending: PendingSignIn, redirect_uri: str) -> str:
        endpoint = (await self._reached()).authorization
        if not endpoint:
            raise Unavailable(f"the issuer {self._settings.issuer} has no authorization endpoint for browsers")
        challenge = base64.urlsafe_b64encode(hashlib.sha256(pending.verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(self._settings.scopes),
            "state": pending.state,
            "nonce": pending.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(query)}"

    async def redeem_code(self, code: str, pending: PendingSignIn, redirect_uri: str) -> ExternalUser:
        if self._redeeming >= REDEEMING_MAX:
            raise Busy(f"more than {REDEEMING_MAX} sign-ins wait for the issuer; try again", 1.0)
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "client_id": self._settings.client_id,
            "code_verifier": pending.verifier,
        }
        self._redeeming += 1
        try:
            answer = await self._documents.post_form((await self._reached()).token, form)
        except CodeRefused as error:
            raise Unauthorized(f"the issuer refused the sign-in: {error}") from None
        except IssuerUnreachable as error:
            raise Unavailable(f"the issuer did not answer: {error}") from None
        finally:
            self._redeeming -= 1
        return await self._read_id_token(answer, pending.nonce)

    async def _read_id_token(self, answer: Mapping[str, Any], nonce: str) -> ExternalUser:
        """It is for the client itself, whatever the audience of other tokens."""
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise Unauthorized("the issuer answered without an ID token; does the scope have `openid`?")
        await self.learn_key(token)
        settings = self._settings
        expected = Expectations(settings.issuer, (settings.client_id,), settings.clock_skew_s)
        claims = self._verify(token, expected).claims
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
            raise Unauthorized("the ID token belongs to another sign-in; sign in again")
        return identify(claims, settings)

    def _verify(self, token: str, expected: Expectations) -> VerifiedToken:
        key = self._keys.get(read_key_id(token))
        if key is None:
            raise Unauthorized("the token is signed with a key that its issuer does not publish")
        return verify(token, key, expected, self._now_s())

    async def _reached(self) -> Endpoints:
        """Raises Unavailable."""
        if self._endpoints is None:
            await self._refresh()
        if self._endpoints is None:
            raise Unavailable(f"the issuer {self._settings.issuer} cannot be reached: {self.problem}")
        return self._endpoints

    async def _refresh(self) -> None:
        """One fetch at a time, for all who wait for it. It does not end with the request that began it."""
        if self._fetch is None:
            self._fetch = asyncio.create_task(self._fetch_all())
        await asyncio.shield(self._fetch)

    async def _fetch_all(self) -> None:
        try:
            endpoints = await self._fetch_endpoints()
            keys = parse_keys(await self._documents.get(endpoints.keys))
            if not keys:
                raise IssuerUnreachable("it publishes no key for RS256 or ES256")
        except (IssuerUnreachable, ValueError, Invalid) as error:
            self._note(str(error))
        except Exception as error:  # what strangers send must not end the manager
            log.exception("oidc.failed", issuer=self._settings.issuer)
            self._note(f"{type(error).__name__} while its documents were read")
        else:
            if keys != self._keys:
                self._users.clear()  # a token of a key that is not published any more counts for nothing
            self._endpoints, self._keys = endpoints, keys
            self._note("")
        finally:
            self._fetched_at_s = asyncio.get_running_loop().time()
            self._fetch = None

    async def _fetch_endpoints(self) -> Endpoints:
        """The document must be of the very issuer that tokens will name."""
        settings = self._settings
        document = await self._documents.get(settings.issuer.rstrip("/") + WELL_KNOWN)
        if document.get("issuer") != settings.issuer:
            raise IssuerUnreachable(f"its discovery document names the issuer {str(document.get('issuer'))[:200]!r}")
        urls = {}
        for name in ("jwks_uri", "authorization_endpoint", "token_endpoint"):
            url = document.get(name)
            urls[name] = check_secure_url(url, name) if isinstance(url, str) else ""
        if not urls["jwks_uri"]:
            raise IssuerUnreachable("its discovery document has no jwks_uri")
        return Endpoints(urls["jwks_uri"], urls["authorization_endpoint"], urls["token_endpoint"])

    def _note(self, problem: str) -> None:
        if problem and problem != self.problem:
            log.warning("oidc.unreachable", issuer=self._settings.issuer, reason=problem, keys=len(self._keys))
        elif not problem and self.problem:
            log.info("oidc.ready", issuer=self._settings.issuer, keys=len(self._keys))
        self.problem = problem
