"""The commands about API keys: key create, list, rotate, revoke."""

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
from shunter.model.identity.keys import PREFIX
from shunter.model.identity.roles import Role
from shunter.model.rest.identity_views import KeyView, NewKeyView

key = plain_typer(
    no_args_is_help=True,
    help="Create, list, rotate or revoke API keys. A key works wherever a token does, with fewer rights.\n\n\b\n"
    "shunter key create --role submitter --note 'nightly build'\n"
    "SHUNTER_TOKEN=shk_... shunter jobs",
)
Id = Annotated[str, typer.Argument(metavar="KEY", help="Id of the key, as `shunter key list` shows it.")]


@key.command("create")
def create(
    roles: Annotated[
        list[Role],
        typer.Option("--role", metavar="ROLE", help=f"Role of the key: {', '.join(Role)}. May be repeated."),
    ],
    user: Annotated[
        str | None, typer.Option(metavar="USER", help="User to whom the key belongs. Default: you.")
    ] = None,
    note: Annotated[str | None, typer.Option(metavar="TEXT", help="What the key is for.")] = None,
    expires_in: Annotated[
        str | None, typer.Option(metavar="DURATION", help="How long it is valid: 90d, 12h. Default: no expiry.")
    ] = None,
    tenant: Annotated[
        str | None, typer.Option(metavar="TENANT", help="Tenant whose namespaces the key sees, and nothing else.")
    ] = None,
    testbeds: Annotated[
        list[str] | None,
        typer.Option("--testbed", metavar="NAME", help="Testbed to which the key is bound. May be repeated."),
    ] = None,
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", metavar="NAME", help="Namespace to which the key is bound.")
    ] = None,
    queue: Annotated[str | None, typer.Option(metavar="NAME", help="Queue to which the key is bound.")] = None,
    output: Output = Format.TABLE,
) -> None:
    """Create an API key and print it, once: it cannot be shown again.

    \b
    shunter key create --role submitter --note 'nightly build' --expires-in 90d
    shunter key create --role viewer --user anna > key
    shunter key create --role submitter --tenant red
    """
    with open_client() as client:
        found = client.create_key(
            [str(role) for role in roles], user=user, note=note, expires_in=expires_in, tenant=tenant,
            testbeds=testbeds or (), namespace=namespace, queue=queue,
        )  # fmt: skip
    _print_once(found, "created", output)


@key.command("list")
def list_keys(output: Output = Format.TABLE) -> None:
    """List API keys, without their secrets.

    \b
    shunter key list
    """
    with open_client() as client:
        found = sorted(client.keys(), key=lambda each: (each.user, each.created_at, each.id))
    if output is not Format.TABLE:
        print_items(found, output)
        return
    drops = {"ID": 0, "USER": 0, "TENANT": 5, "ROLES": 0, "EXPIRES": 1, "LAST USED": 2, "NOTE": 3, "CREATED": 4}
    titles = ("ID", "USER", "TENANT", "ROLES", "CREATED", "EXPIRES", "LAST USED", "NOTE")
    print_table([Column(title, drop=drops[title]) for title in titles], map(_row, found))


@key.command("rotate")
def rotate(
    id: Id,
    overlap: Annotated[
        str | None, typer.Option(metavar="DURATION", help="How long the old key is still accepted. Default: 1h.")
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Replace the secret of an API key, and print the new key once.

    \b
    shunter key rotate b7k2mq9xwe --overlap 24h
    """
    with open_client() as client:
        found = client.rotate_key(_id_of(id), overlap)
    until = found.old_secret_until
    old = "is refused from now on" if until is None else f"is accepted until {_second(until)}"
    _print_once(found, f"rotated; the old one {old}", output)


@key.command("revoke")
def revoke(id: Id, output: Output = Format.TABLE) -> None:
    """Revoke an API key at once. Streams that it has opened end.

    \b
    shunter key revoke b7k2mq9xwe
    """
    with open_client() as client:
        client.revoke_key(id := _id_of(id))
    print_result(f"key {id} revoked", {"id": id, "action": "revoked"}, output)


def _id_of(text: str) -> str:
    """A user may paste the whole key: its secret must neither travel nor be shown in an error."""
    prefix, _, rest = text.partition("_")
    return rest.partition("_")[0] if prefix == PREFIX else text


def _print_once(found: NewKeyView, done: str, output: Format) -> None:
    """Only the key goes to standard output, so that it can be stored in a file."""
    if output is not Format.TABLE:
        print_document(found, output)
        return
    if not mode.is_quiet:
        print_text(f"key {found.id} of {found.user} ({', '.join(found.roles)}) {done}", stream=sys.stderr)
        print_text("Store it now: it is not shown again. It works as SHUNTER_TOKEN.", stream=sys.stderr)
    print(found.key)


def _row(view: KeyView) -> list[str]:
    return [
        view.id,
        view.user,
        view.tenant or "-",
        ", ".join(view.roles),
        _minute(view.created_at),
        _minute(view.expires_at) if view.expires_at else "never",
        _minute(view.last_used_at) if view.last_used_at else "never",
        view.note,
    ]


def _minute(at: str) -> str:
    return f"{at[:10]} {at[11:16]}Z"


def _second(at: str) -> str:
    return f"{at[:10]} {at[11:19]}Z"
