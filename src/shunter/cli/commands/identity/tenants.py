"""The commands about tenants: tenant create, list, show, update, delete."""

from __future__ import annotations

from typing import Annotated

import typer

from shunter.cli.connection import open_client
from shunter.cli.options import Format, Output
from shunter.cli.registry import plain_typer
from shunter.cli.render.tables import Column, print_document, print_items, print_result, print_table
from shunter.cli.text import print_text
from shunter.model.errors import Invalid, Problem
from shunter.model.identity.quotas import QUOTAS
from shunter.model.rest.identity_views import TenantView

tenant = plain_typer(
    no_args_is_help=True,
    help="Create, list, show, update or delete tenants. A tenant owns namespaces and queues, and its keys see only what"
    " is in them.\n\n\b\n"
    "shunter tenant create red --quota queued=1000\n"
    "shunter key create --tenant red --role submitter",
)
Name = Annotated[str, typer.Argument(metavar="TENANT", help="Name of the tenant.")]
Namespaces = Annotated[
    list[str] | None,
    typer.Option(
        "--namespace", metavar="NAME", help="Namespace that it owns; the first is its default. May be repeated."
    ),
]
Queues = Annotated[
    list[str] | None, typer.Option("--queue", metavar="NAME", help="Queue that it owns. May be repeated.")
]
Quota = Annotated[
    list[str] | None,
    typer.Option(
        "--quota",
        metavar="NAME=LIMIT",
        help=f"Limit of {', '.join(QUOTAS)}: 8, 500m, 16Gi. `none` removes it. May be repeated.",
    ),
]


@tenant.command("create")
def create(
    name: Name,
    namespaces: Namespaces = None,
    queues: Queues = None,
    quotas: Quota = None,
    output: Output = Format.TABLE,
) -> None:
    """Create a tenant. It owns a namespace and a queue of the same name, and those of the options.

    \b
    shunter tenant create red
    shunter tenant create red --quota queued=1000 --quota cpu=16 --quota memory=64Gi
    """
    with open_client() as client:
        found = client.create_tenant(name, namespaces=namespaces, queues=queues, quotas=_quotas(quotas))
    print_result(f"tenant {found.name}: {_owned(found)}; quotas: {_format(found.quotas)}", found, output)


@tenant.command("list")
def list_tenants(output: Output = Format.TABLE) -> None:
    """List tenants, with what they own and their quotas.

    \b
    shunter tenant list
    """
    with open_client() as client:
        found = client.tenants()
    if output is not Format.TABLE:
        print_items(found, output)
        return
    rows = ([each.name, ", ".join(each.namespaces), _format(each.quotas), _format(each.used)] for each in found)
    print_table([Column("NAME"), Column("NAMESPACES"), Column("QUOTAS"), Column("USED", drop=1)], rows)


@tenant.command("show")
def show(name: Name, output: Output = Format.TABLE) -> None:
    """Show what a tenant owns, its quotas, and what it uses of them.

    \b
    shunter tenant show red
    """
    with open_client() as client:
        found = client.tenant(name)
    if output is not Format.TABLE:
        print_document(found, output)
        return
    print_text(f"tenant {found.name}: {_owned(found)}")
    rows = ([each, found.used.get(each, "-"), found.quotas.get(each, "unlimited")] for each in QUOTAS)
    print_table([Column("QUOTA"), Column("USED"), Column("LIMIT")], rows)


@tenant.command("update")
def update(
    name: Name,
    namespaces: Namespaces = None,
    queues: Queues = None,
    quotas: Quota = None,
    output: Output = Format.TABLE,
) -> None:
    """Change the quotas of a tenant, or what it owns.

    --namespace and --queue give the whole new list: what is not in it, the tenant no longer owns.

    \b
    shunter tenant update red --quota queued=none
    shunter tenant update red --namespace red --namespace red-test
    """
    with open_client() as client:
        found = client.update_tenant(name, namespaces=namespaces, queues=queues, quotas=_quotas(quotas))
    print_result(f"tenant {found.name}: {_owned(found)}; quotas: {_format(found.quotas)}", found, output)


@tenant.command("delete")
def delete(name: Name, output: Output = Format.TABLE) -> None:
    """Delete a tenant and its users. It must have no unfinished jobs, templates, objects or keys.

    \b
    shunter tenant delete red
    """
    with open_client() as client:
        client.delete_tenant(name)
    print_result(f"tenant {name} deleted", {"name": name, "action": "deleted"}, output)


def _quotas(texts: list[str] | None) -> dict[str, object] | None:
    found: dict[str, object] = {}
    for text in texts or ():
        name, equals, limit = text.partition("=")
        if not equals or name not in QUOTAS:
            raise Invalid([Problem("--quota", "must be NAME=LIMIT", text, f"name one of {', '.join(QUOTAS)}")])
        found[name] = None if limit == "none" else int(limit) if limit.isdecimal() else limit
    return found or None


def _owned(found: TenantView) -> str:
    return f"namespaces {', '.join(found.namespaces)}; queues {', '.join(found.queues) or 'none'}"


def _format(amounts: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in amounts.items()) or "none"
