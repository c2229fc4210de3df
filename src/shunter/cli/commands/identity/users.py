"""The commands about users: user create, list, disable, enable; whoami; token reset."""

from __future__ import annotations

from typing import Annotated

import typer

from shunter.cli.connection import check_home_is_meant, open_client
from shunter.cli.options import Format, Output
from shunter.cli.registry import plain_typer
from shunter.cli.render.tables import Column, print_document, print_items, print_result, print_table
from shunter.cli.text import print_text
from shunter.model.identity.roles import Role

user = plain_typer(
    no_args_is_help=True,
    help="Create, list, disable or enable users. A key cannot have more roles than its user.\n\n\b\n"
    "shunter user create anna --role submitter\n"
    "shunter key create --user anna --role submitter",
)
token = plain_typer(no_args_is_help=True)
Tenant = Annotated[str | None, typer.Option(metavar="TENANT", help="Tenant of the user. Default: yours.")]
Name = Annotated[str, typer.Argument(metavar="USER", help="Name of the user.")]


@user.command("create")
def create(
    name: Name,
    roles: Annotated[
        list[Role],
        typer.Option("--role", metavar="ROLE", help=f"What the user may do: {', '.join(Role)}. May be repeated."),
    ],
    tenant: Tenant = None,
    output: Output = Format.TABLE,
) -> None:
    """Create a user, or change the roles of one.

    \b
    shunter user create anna --role submitter
    shunter user create anna --role submitter --role scheduler
    """
    with open_client() as client:
        found = client.put_user(name, roles=[str(role) for role in roles], tenant=tenant)
    state = f"; it is disabled, `shunter user enable {found.name}` enables it" if found.disabled else ""
    print_result(f"user {found.name}: {', '.join(found.roles)}{state}", found, output)


@user.command("list")
def list_users(output: Output = Format.TABLE) -> None:
    """List users and their roles.

    \b
    shunter user list
    """
    with open_client() as client:
        found = client.users()
    if output is not Format.TABLE:
        print_items(found, output)
        return
    rows = (
        [each.name, each.tenant or "-", "disabled" if each.disabled else "enabled", ", ".join(each.roles)]
        for each in found
    )
    print_table([Column("NAME"), Column("TENANT"), Column("STATE"), Column("ROLES")], rows)


@user.command("disable")
def disable(name: Name, tenant: Tenant = None, output: Output = Format.TABLE) -> None:
    """Disable a user: all its keys are refused. Its jobs continue.

    \b
    shunter user disable anna
    """
    with open_client() as client:
        found = client.put_user(name, disabled=True, tenant=tenant)
    print_result(f"user {found.name} disabled: its keys are refused, its jobs continue", found, output)


@user.command("enable")
def enable(name: Name, tenant: Tenant = None, output: Output = Format.TABLE) -> None:
    """Enable a disabled user: its keys are accepted again.

    \b
    shunter user enable anna
    """
    with open_client() as client:
        found = client.put_user(name, disabled=False, tenant=tenant)
    print_result(f"user {found.name} enabled", found, output)


def whoami(output: Output = Format.TABLE) -> None:
    """Show your user name on the cluster, and your roles.

    \b
    shunter whoami
    """
    with open_client() as client:
        found = client.whoami()
    if output is not Format.TABLE:
        print_document(found, output)
        return
    by = found.authority or ("admin token" if found.key is None else f"key {found.key}")
    print_text(f"user {found.user} ({by}), roles: {', '.join(found.roles)}")
    scope = "the whole cluster" if found.namespaces is None else f"namespaces {', '.join(found.namespaces) or 'none'}"
    tenant = "" if found.tenant is None else f"tenant {found.tenant}, "
    bounds = [f"testbed {each}" for each in found.testbeds] + ([f"queue {found.queue}"] if found.queue else [])
    bound = f"; bound to {', '.join(bounds)}" if bounds else ""
    print_text(f"{tenant}sees {scope}; default namespace: {found.namespace}{bound}")


@token.callback()
def token_group() -> None:
    """Reset the admin token of the cluster on this machine.

    \b
    shunter token reset
    """


@token.command("reset")
def reset(output: Output = Format.TABLE) -> None:
    """Replace the admin token of the cluster on this machine. The old token is refused at once.

    This is the way in when nobody has a valid token. Run it as the user of the manager, on its machine. Several
    managers share the token: copy the new file `token` into the SHUNTER_HOME of each. SHUNTER_URL and contexts do not
    count: only SHUNTER_HOME says which cluster it is.

    \b
    shunter token reset
    """
    from shunter.app.home import Home

    check_home_is_meant()
    home = Home.find()
    home.reset_token()
    print_result(f"new token in {home.token}", {"token_file": str(home.token)}, output)
