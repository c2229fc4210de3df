"""The token of a sign-in, which is renewed before it expires. Used by `sdk.endpoint` for every request of a user who
has signed in with `shunter login`."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from shunter.sdk.errors import NotReachable, Unauthorized
from shunter.sdk.login.logins import ACCESS, ID, Login, changed_logins, read_claims

RENEWED_BEFORE_S = 30.0  # it expires


class LoginToken:
    """The token of a sign-in to one cluster. Threads may share it, and programs share the file."""

    def __init__(self, path: Path, cluster: str, login: Login) -> None:
        self._path, self._cluster, self._login = path, cluster, login
        self._lock = threading.Lock()

    def current(self) -> str:
        """Raises Unauthorized if the sign-in has ended, and NotReachable if the issuer must be asked and is away."""
        with self._lock:
            if _is_fresh(self._login):
                return self._login.token
            with changed_logins(self._path) as logins:
                found = logins.get(self._cluster)
                if found is None:
                    raise Unauthorized("you have signed out; run `shunter login` again")
                self._login = found if _is_fresh(found) else _renewed(found)
                logins[self._cluster] = self._login
            return self._login.token


def _is_fresh(login: Login) -> bool:
    return time.time() < login.expires_s - RENEWED_BEFORE_S


def _renewed(login: Login) -> Login:
    if not login.refresh_token:
        if time.time() < login.expires_s:
            return login
        raise Unauthorized("the sign-in has expired; run `shunter login` again")
    from shunter.sdk.login.issuer_client import IssuerClient  # here: most commands need no new token

    try:
        answer = IssuerClient(login.issuer, login.client_id, login.ca_file).refresh(login.refresh_token)
    except NotReachable:
        if time.time() < login.expires_s:
            return login  # it is still valid for a moment
        raise
    token = {ACCESS: answer.access_token, ID: answer.id_token}[login.kind]
    expires_s = read_claims(token).get("exp")
    if not isinstance(expires_s, int | float):
        raise Unauthorized("the issuer gave no new token for this cluster; run `shunter login` again")
    refresh_token = answer.refresh_token or login.refresh_token
    return Login(login.issuer, login.client_id, login.kind, token, refresh_token, float(expires_s), login.ca_file)
