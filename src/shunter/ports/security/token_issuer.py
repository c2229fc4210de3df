"""Who vouches for users that the cluster does not know by itself: the port of the gateway for an issuer of OpenID
Connect. Implemented in `adapters.oidc`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from shunter.model.identity.oidc import ExternalUser, OidcSettings


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """What a browser that was sent to the issuer must bring back; nobody else may know it."""

    state: str
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)  # of PKCE


class TokenIssuer(Protocol):
    @property
    def settings(self) -> OidcSettings: ...

    @property
    def problem(self) -> str:
        """Why the issuer could not be asked when it was last tried; empty if it could."""
        ...

    def find(self, token: str) -> ExternalUser:
        """The user whom a token identifies now, by the keys that are known. Raises Unauthorized."""
        ...

    async def learn_key(self, token: str) -> None:
        """Ask the issuer for its keys if the token names one that is not known; not more often than every few
        seconds. Raises Unavailable if no keys are known and the issuer does not answer."""
        ...

    async def authorization_url(self, pending: PendingSignIn, redirect_uri: str) -> str:
        """Where to send a browser to sign in. Raises Unavailable."""
        ...

    async def redeem_code(self, code: str, pending: PendingSignIn, redirect_uri: str) -> ExternalUser:
        """Who has signed in. Raises Unauthorized, Unavailable."""
        ...
