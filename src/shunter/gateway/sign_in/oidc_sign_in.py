"""Signs browsers in at an issuer of OpenID Connect: authorization code with PKCE. Used by the sub-gateway `sign_in`.

Nothing is stored: the nonce and the verifier of PKCE are derived from `state`, which the browser has in a cookie, and a
secret that all managers share. So any manager can finish what another one began."""

from __future__ import annotations

import hmac
import re
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable

from shunter.model.errors import NotFound, Unauthorized
from shunter.model.identity.oidc import ExternalUser
from shunter.model.rest.identity_views import OidcView, SignInOptionsView
from shunter.ports.clock import Clock
from shunter.ports.security.token_issuer import PendingSignIn, TokenIssuer

LIFETIME_S = 600  # in which a browser must come back from the issuer
STATE_BYTES = 24
CODE_SIZE_MAX = 4_096
NO_ISSUER = "this cluster has no OpenID Connect issuer; sign in with a token, or with `shunter ui`"
TOO_LATE = f"the sign-in took longer than {LIFETIME_S // 60} minutes, or began in another browser; sign in again"
_STATE = re.compile(r"([0-9]{1,12})-[A-Za-z0-9_-]{32}")


class OidcSignIn:
    """`derive` makes a secret for a purpose; other managers make the same."""

    def __init__(self, issuer: TokenIssuer | None, clock: Clock, derive: Callable[[bytes], bytes]) -> None:
        self._issuer, self._clock, self._derive = issuer, clock, derive

    async def begin(self, redirect_uri: str) -> tuple[str, str]:
        """Where to send the browser, and the state that it keeps. Raises NotFound, Unavailable."""
        state = f"{int(self._clock.now()) + LIFETIME_S}-{secrets.token_urlsafe(STATE_BYTES)}"
        return await self._found().authorization_url(self._pending(state), redirect_uri), state

    async def finish(self, code: str, state: str, kept_state: str, redirect_uri: str) -> ExternalUser:
        """`state` comes from the issuer, `kept_state` from the browser. Raises NotFound, Unauthorized, Unavailable."""
        issuer, parsed = self._found(), _STATE.fullmatch(kept_state)
        if parsed is None or not hmac.compare_digest(state.encode(), kept_state.encode()):
            raise Unauthorized(TOO_LATE)
        if int(parsed[1]) <= self._clock.now() or not 0 < len(code) <= CODE_SIZE_MAX:
            raise Unauthorized(TOO_LATE)
        return await issuer.redeem_code(code, self._pending(state), redirect_uri)

    def options(self) -> SignInOptionsView:
        if self._issuer is None:
            return SignInOptionsView()
        settings = self._issuer.settings
        return SignInOptionsView(
            oidc=OidcView(
                issuer=settings.issuer,
                client_id=settings.client_id,
                audiences=list(settings.audiences),
                scopes=list(settings.scopes),
            )
        )

    def _found(self) -> TokenIssuer:
        if self._issuer is None:
            raise NotFound(NO_ISSUER)
        return self._issuer

    def _pending(self, state: str) -> PendingSignIn:
        return PendingSignIn(state, self._secret(b"nonce", state), self._secret(b"verifier", state))

    def _secret(self, purpose: bytes, state: str) -> str:
        digest = hmac.digest(self._derive(b"oidc " + purpose), state.encode(), "sha256")
        return urlsafe_b64encode(digest).rstrip(b"=").decode()
