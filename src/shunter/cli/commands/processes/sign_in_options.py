"""The options of `up` and `manager` about users that the cluster does not know by itself: an issuer, and plugins."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shunter.model.identity.oidc import check_secure_url, parse_grant

OidcIssuer = Annotated[
    str | None,
    typer.Option(metavar="URL", help="OpenID Connect issuer whose users may sign in. Its keys are found by discovery."),
]
OidcClientId = Annotated[
    str | None, typer.Option(metavar="ID", help="Name under which the issuer knows this cluster as a client.")
]
OidcAudience = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Audience that a token must have. May be repeated. Default: the client id."),
]
OidcRoleMap = Annotated[
    list[str] | None,
    typer.Option(metavar="GROUP=ROLE[@TENANT]", help="Role of the members of a group. May be repeated."),
]
AuthPlugin = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Installed plugin that checks credentials. May be repeated.")
]


def sign_in_options(
    issuer: str | None,
    client_id: str | None,
    audiences: list[str] | None,
    role_map: list[str] | None,
    plugins: list[str] | None,
) -> dict[str, Any]:
    return {
        "oidc_issuer": None if issuer is None else check_secure_url(issuer, "--oidc-issuer"),
        "oidc_client_id": client_id,
        "oidc_audiences": audiences or (),
        "oidc_role_map": [each for each in role_map or () if parse_grant(each, "--oidc-role-map")],
        "authenticators": plugins or (),
    }
