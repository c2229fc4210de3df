"""The commands `login` and `logout`: sign in at the OpenID Connect issuer of the cluster, from a terminal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from shunter.cli.connection import cluster_name
from shunter.cli.exit_codes import print_warning
from shunter.cli.options import Format, Output
from shunter.cli.render.tables import print_result
from shunter.cli.text import print_text
from shunter.model.errors import Forbidden, Invalid, NotFound, Problem
from shunter.sdk.client import connect
from shunter.sdk.login.issuer_client import IssuerClient
from shunter.sdk.login.logins import Login, changed_logins, choose_token, logins_path

NO_TOKEN_NEEDED = "-"  # the cluster says how to sign in to whoever asks


def login(
    issuer_ca: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Authorities to trust as the issuer. Default: those of the system."),
    ] = None,
) -> None:
    """Sign in at the OpenID Connect issuer of the cluster.

    Approve the code in a browser, on this or another device. Your tokens are stored in a file that only you can read,
    and renewed until the session at the issuer ends. SHUNTER_TOKEN takes precedence.

    \b
    shunter login
    shunter --context prod login
    """
    ca_file = _checked_file(issuer_ca)
    with connect(token=NO_TOKEN_NEEDED) as client:
        oidc = client.sign_in_options().oidc
    if oidc is None:
        raise NotFound("this cluster has no OpenID Connect issuer; ask an administrator for an API key")
    issuer = IssuerClient(oidc.issuer, oidc.client_id, ca_file)
    device = issuer.begin_device_sign_in(oidc.scopes)
    print_text(f"open {device.complete_url or device.url} in a browser, and approve the code {device.user_code}")
    answer = issuer.wait_for_approval(device)
    found = choose_token(answer, oidc.audiences)
    if found is None:
        wanted = " or ".join(oidc.audiences)
        raise Forbidden(
            f"no token of the issuer has the audience {wanted}; add an audience to its client {oidc.client_id}"
        )
    kind, token, expires_s = found
    stored = Login(oidc.issuer, oidc.client_id, kind, token, answer.refresh_token, expires_s, ca_file)
    with connect(token=token) as client:
        user = client.whoami()  # before it is stored: a user without a role is told why
    with changed_logins(logins_path()) as logins:
        logins[cluster_name()] = stored
    print_text(f"signed in as {user.user}, roles: {', '.join(user.roles)}")
    _warn_of_other_token()


def logout(output: Output = Format.TABLE) -> None:
    """Delete the tokens of `shunter login` for this cluster, and revoke them at the issuer.

    \b
    shunter logout
    """
    with changed_logins(logins_path()) as logins:
        known = logins.pop(cluster_name(), None)
    if known is None:
        print_result("you were not signed in", {"signed_out": False}, output)
        return
    is_revoked = bool(known.refresh_token) and IssuerClient(known.issuer, known.client_id, known.ca_file).revoke(
        known.refresh_token
    )
    more = "" if is_revoked else "; the issuer did not revoke the tokens; its session lasts until it expires"
    print_result(f"signed out{more}", {"signed_out": True, "revoked": is_revoked}, output)


def _warn_of_other_token() -> None:
    if os.environ.get("SHUNTER_TOKEN"):
        print_warning("SHUNTER_TOKEN is set in this shell and takes precedence")


def _checked_file(file: Path | None) -> str:
    if file is None:
        return ""
    if not file.is_file():
        raise Invalid([Problem("--issuer-ca", "is no file", str(file), "name a file of PEM")])
    return str(file.absolute())
