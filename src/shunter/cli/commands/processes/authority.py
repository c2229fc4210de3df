"""The commands about the certificate authority of this home: ca init, issue, list, rotate, drop. `shunter.app` does the
work; it is imported inside the functions."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shunter.cli.options import Format, Output, duration_s
from shunter.cli.registry import plain_typer
from shunter.cli.render.tables import Column, print_items, print_result, print_table

if TYPE_CHECKING:
    from shunter.app.tls.authority_admin import TrustedAuthority

ca = plain_typer(
    no_args_is_help=True,
    help="Manage the private certificate authority of this SHUNTER_HOME. `shunter up --tls` uses it, and creates it if"
    " there is none.\n\n\b\n"
    "shunter ca init\n"
    "shunter up --tls --listen 10.0.0.5:7070\n"
    "shunter ca rotate",
)
ValidFor = Annotated[
    str | None, typer.Option("--valid-for", metavar="DURATION", help="How long it is valid. Default: 3650d.")
]


@ca.command("init")
def init(
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the authority. Default: the host name.")
    ] = None,
    valid_for: ValidFor = None,
    output: Output = Format.TABLE,
) -> None:
    """Create the authority. Its key stays in SHUNTER_HOME/ca; clients need the file ca.crt there.

    \b
    shunter ca init
    """
    from shunter.app.tls.authority_admin import create_authority

    authority = create_authority(name, duration_s(valid_for, "--valid-for"))
    document = {"authorities": str(authority.bundle_path)}
    print_result(f"authority created; copy {authority.bundle_path} to clients of other machines", document, output)


@ca.command("issue")
def issue(
    kind: Annotated[str, typer.Argument(metavar="server|manager|worker", help="What the certificate is for.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the manager, of the node or of the server.")],
    hosts: Annotated[
        list[str] | None,
        typer.Option("--host", metavar="HOST", help="Host name or address of it. May be repeated. Default: NAME."),
    ] = None,
    valid_for: Annotated[str, typer.Option("--valid-for", metavar="DURATION", help="How long it is valid.")] = "90d",
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where to write the files.")] = Path(),
    replace: Annotated[bool, typer.Option("--replace", help="Replace files that exist.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """Issue a certificate with a new key: KIND.crt, KIND.key and ca.crt.

    Managers with --tls issue their own. A worker needs the three files in the folder `tls` of its SHUNTER_HOME; it can
    only join as the node NAME.

    \b
    shunter ca issue server proxy.example.org --out proxy
    shunter ca issue worker node-7 --out node-7/tls
    """
    from shunter.app.tls.authority_admin import issue_certificate

    lifetime_s = duration_s(valid_for, "--valid-for") or 0.0
    issued = issue_certificate(kind, name, hosts or (), lifetime_s, out, replaces=replace)
    document = {"certificate": str(issued.certificate), "key": str(issued.key), "authorities": str(issued.authorities)}
    print_result(f"{kind} {name}: {issued.certificate} with the key {issued.key}", document, output)


@ca.command("list")
def list_all(output: Output = Format.TABLE) -> None:
    """List the trusted authorities. One of them issues certificates.

    \b
    shunter ca list
    """
    from shunter.app.tls.authority_admin import list_authorities

    found = list_authorities()
    if output is not Format.TABLE:
        print_items(
            [
                {
                    "id": each.id,
                    "name": each.name,
                    "state": _state(each.is_issuer),
                    "created_at": each.created.isoformat(),
                    "expires_at": each.expires.isoformat(),
                }
                for each in found
            ],
            output,
        )
        return
    columns = [Column(title) for title in ("ID", "STATE", "NAME", "CREATED", "EXPIRES")]
    print_table(columns, map(_row, found))


@ca.command("rotate")
def rotate(valid_for: ValidFor = None, output: Output = Format.TABLE) -> None:
    """Create another authority, which issues all new certificates. The old one stays trusted until you drop it.

    Managers and connected workers get new certificates by themselves, while they run: managers at once, workers within
    twelve hours. Drop the old authority when they all have one, and when clients of other machines have the new ca.crt.

    \b
    shunter ca rotate
    shunter ca list
    shunter ca drop 1f0a93c2
    """
    from shunter.app.tls.authority_admin import rotate_authority

    new = rotate_authority(duration_s(valid_for, "--valid-for"))
    print_result(f"authority {new.id} issues from now on; the old one is trusted until dropped", {"id": new.id}, output)


@ca.command("drop")
def drop(
    id: Annotated[str, typer.Argument(metavar="ID", help="Id of the authority, as `shunter ca list` shows it.")],
    output: Output = Format.TABLE,
) -> None:
    """Stop trusting an old authority. What it has issued is refused from now on.

    \b
    shunter ca drop 1f0a93c2
    """
    from shunter.app.tls.authority_admin import drop_authority

    drop_authority(id)
    print_result(f"authority {id} dropped", {"id": id, "action": "dropped"}, output)


def _row(each: TrustedAuthority) -> list[str]:
    return [each.id, _state(each.is_issuer), each.name, _day(each.created), _day(each.expires)]


def _state(is_issuer: bool) -> str:
    return "issues" if is_issuer else "trusted"


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d}"
