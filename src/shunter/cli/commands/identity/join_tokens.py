"""The commands about join tokens: join-token create, list, revoke."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from shunter.cli.connection import open_client
from shunter.cli.options import Format, Output
from shunter.cli.output_mode import mode
from shunter.cli.registry import plain_typer
from shunter.cli.render.tables import Column, print_document, print_items, print_result, print_table
from shunter.cli.text import print_text
from shunter.model.identity.join_tokens import join_token_id
from shunter.model.rest.identity_views import JoinTokenView

join_token = plain_typer(
    no_args_is_help=True,
    help="Create, list or revoke join tokens. With a join token, one worker enrols as one node: it gets a certificate"
    " with the node's name. The managers need TLS.\n\n\b\n"
    "shunter join-token create node-7 > node-7.token  with the admin token\n"
    "shunter worker --join-token-file node-7.token    on node-7",
)


@join_token.command("create")
def create(
    node: Annotated[str, typer.Argument(metavar="NODE", help="Name of the node that joins with this token.")],
    expires_in: Annotated[
        str | None, typer.Option(metavar="DURATION", help="How long it is valid: 30m, 7d. Default: 1h.")
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Create a join token and print it, once: it cannot be shown again.

    The token contains the addresses of the managers and the authorities to trust, so it is all that the worker needs.

    \b
    shunter join-token create node-7 > node-7.token
    """
    with open_client() as client:
        found = client.create_join_token(node, expires_in)
    if output is not Format.TABLE:
        print_document(found, output)
        return
    if not mode.is_quiet:
        until = f"{found.expires_at[:10]} {found.expires_at[11:19]}Z"
        print_text(f"join token {found.id} for the node {node}, valid once, until {until}", stream=sys.stderr)
        print_text("Store it in a file, for: shunter worker --join-token-file FILE", stream=sys.stderr)
    print(found.token)


@join_token.command("list")
def list_all(output: Output = Format.TABLE) -> None:
    """List join tokens, without their secrets.

    \b
    shunter join-token list
    """
    with open_client() as client:
        found = sorted(client.join_tokens(), key=lambda each: (each.created_at, each.id))
    if output is not Format.TABLE:
        print_items(found, output)
        return
    titles = ("ID", "NODE", "STATE", "CREATED", "EXPIRES", "USED", "USER")
    drops = {"USER": 2, "USED": 1, "CREATED": 3}
    print_table([Column(title, drop=drops.get(title, 0)) for title in titles], map(_row, found))


@join_token.command("revoke")
def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token, as `shunter join-token list` shows it.")],
    output: Output = Format.TABLE,
) -> None:
    """Revoke a join token. A worker that has enrolled with it keeps its certificate.

    \b
    shunter join-token revoke b7k2mq9xwe
    """
    with open_client() as client:
        client.revoke_join_token(id := join_token_id(id))
    print_result(f"join token {id} revoked", {"id": id, "action": "revoked"}, output)


def _row(view: JoinTokenView) -> list[str]:
    times = (view.created_at, view.expires_at, view.used_at)
    created, expires, used = (f"{at[:10]} {at[11:16]}Z" if at else "-" for at in times)
    return [view.id, view.node, view.state, created, expires, used, view.user]
