"""Sessions of browsers: opens, checks, renews and ends them, and the one-time codes that open one. Used by
`gateway.authentication` and by the sub-gateway `sign_in`.

A session is signed and not stored, so every manager that shares the admin token accepts it (ADR 19). Which sessions
were ended is in the state, so every manager refuses them. Codes are in the memory of one manager: the leader, which
gets these requests."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace

from shunter.engine.engine import Engine
from shunter.gateway.sign_in.oidc_sign_in import OidcSignIn
from shunter.gateway.tokens import TokenFile, Tokens
from shunter.model.errors import Busy, Forbidden, Unauthorized
from shunter.model.identity.oidc import ExternalUser
from shunter.model.identity.roles import Role
from shunter.model.identity.sessions import (
    CODE_BYTES,
    CODE_LIFETIME_S,
    RENEWED_AFTER_S,
    Session,
    is_signed,
    parse_session,
    sign_session,
)
from shunter.model.rest.identity_views import SessionCodeView, SessionView, SignInOptionsView
from shunter.model.timestamps import iso
from shunter.ports.clock import Clock
from shunter.ports.identity import OpenedSession
from shunter.ports.principals import Principal

CODES_MAX = 1_000  # that wait for their browser
ID_BYTES = 12
COOKIE = "shunter-session"
NO_CODE = "the one-time code is wrong, was used already, or is older than a minute; `shunter ui` makes another"

FindPrincipal = Callable[[Session], Principal | None]  # whose key is valid now, or whom an authority vouched for


class BrowserSessions:
    """`external_settings`: how users of an issuer or plugin get their roles. Their sessions end when that changes."""

    def __init__(
        self,
        tokens: Tokens | TokenFile,
        engine: Engine,
        clock: Clock,
        find_principal: FindPrincipal,
        external_settings: str = "",
    ) -> None:
        self._tokens, self._engine, self._clock = tokens, engine, clock
        self._find_principal, self._external_settings = find_principal, external_settings
        self._codes: dict[bytes, tuple[Principal, float]] = {}  # digest of a code -> whose, until when

    @property
    def cookie_name(self) -> str:
        """The clusters of one machine share its cookies, whatever their ports."""
        return f"{COOKIE}-{self.derive(b'cookie').hex()[:8]}"

    def find(self, text: str) -> Principal | None:
        """The caller that a session stands for."""
        session = self._check(text)
        return None if session is None else self._find_principal(session)

    def renew(self, text: str) -> str | None:
        """The session with the time of now, if it was last seen a while ago."""
        session = self._check(text)
        now_s = int(self._clock.now())
        if session is None or now_s - session.seen_s < RENEWED_AFTER_S:
            return None
        key = self._signing_key(session)
        return None if key is None else sign_session(replace(session, seen_s=now_s), key)

    def open(self, caller: Principal) -> OpenedSession:
        now_s, id = int(self._clock.now()), secrets.token_urlsafe(ID_BYTES)
        session = Session(caller.key, caller.user, id, now_s, now_s)
        if caller.authority:
            roles = tuple(role for role in Role if role in caller.roles)
            session = replace(session, roles=roles, tenant=caller.tenant, authority=caller.authority)
        key = self._signing_key(session)
        if key is None or self._find_principal(session) is None:
            raise Unauthorized(NO_CODE)  # the key was revoked since
        view = SessionView(user=caller.user, expires_at=iso(session.expires_s) or "")
        return OpenedSession(sign_session(session, key), self.cookie_name, session.lifetime_s, view)

    async def end(self, text: str) -> None:
        session = self._check(text)
        if session is not None:
            await self._engine.end_session(session.id, session.expires_s * 1000)

    def create_code(self, caller: Principal) -> SessionCodeView:
        now_s = self._clock.now()
        self._codes = {digest: each for digest, each in self._codes.items() if each[1] > now_s}
        if len(self._codes) >= CODES_MAX:
            raise Busy(f"more than {CODES_MAX:,} one-time codes wait to be used; try again in a minute")
        code = secrets.token_urlsafe(CODE_BYTES)
        self._codes[_digest(code)] = caller, now_s + CODE_LIFETIME_S
        return SessionCodeView(code=code, expires_at=iso(now_s + CODE_LIFETIME_S) or "")

    def redeem(self, code: str) -> OpenedSession:
        """Raises Unauthorized. A code is used up by the first attempt."""
        caller, until_s = self._codes.pop(_digest(code), (None, 0.0))
        if caller is None or until_s <= self._clock.now():
            raise Unauthorized(NO_CODE)
        return self.open(caller)

    def _check(self, text: str) -> Session | None:
        parsed = parse_session(text)
        if parsed is None:
            return None
        session, claims, signature = parsed
        key = self._signing_key(session)
        if key is None or not is_signed(claims, signature, key):
            return None
        return None if session.has_expired(self._clock.now()) or self._was_ended(session) else session

    def _was_ended(self, session: Session) -> bool:
        return session.id in self._engine.state.identity.ended_sessions

    def _signing_key(self, session: Session) -> bytes | None:
        """From the admin token, which is not in the store: who reads a backup cannot make sessions. And from the
        secret of the API key, as it is now: another secret ends the sessions."""
        if session.authority:
            return self.derive(b"external" + self._external_settings.encode())
        if not session.key:
            return self.derive(b"admin")
        key = self._engine.state.identity.keys.get(session.key)
        return None if key is None else self.derive(b"key" + session.key.encode() + key.secret.digest)

    def derive(self, purpose: bytes) -> bytes:
        """A secret that every manager of the cluster derives. Raises Forbidden."""
        secret = self._tokens.secret()
        if not secret:
            raise Forbidden("sessions need the admin token, which this manager cannot read; see its log")
        return hmac.digest(secret, b"shunter session v1\0" + purpose, "sha256")


@dataclass(frozen=True, slots=True)
class SignIn:
    """The sub-gateway `sign_in`. Implements `ports.identity.SignInService`."""

    _caller: Principal
    _sessions: BrowserSessions
    _oidc: OidcSignIn
    _admit: Callable[[ExternalUser], Principal]

    async def create_code(self) -> SessionCodeView:
        return self._sessions.create_code(self._caller)

    async def open(self) -> OpenedSession:
        return self._sessions.open(self._caller)

    async def redeem(self, code: str) -> OpenedSession:
        return self._sessions.redeem(code)

    async def end(self, session: str) -> None:
        await self._sessions.end(session)

    def options(self) -> SignInOptionsView:
        return self._oidc.options()

    async def begin_oidc(self, redirect_uri: str) -> tuple[str, str]:
        return await self._oidc.begin(redirect_uri)

    async def finish_oidc(self, code: str, state: str, kept_state: str, redirect_uri: str) -> OpenedSession:
        user = await self._oidc.finish(code, state, kept_state, redirect_uri)
        return self._sessions.open(self._admit(user))


def _digest(code: str) -> bytes:
    return hashlib.sha256(code.encode()).digest()
