"""The commands about secrets: secret set, list, delete, rotate-key. A value is never on the command line, which
everybody on the machine can read."""

from __future__ import annotations

import sys
from getpass import getpass
from pathlib import Path
from typing import Annotated

import typer

from shunter.cli.connection import open_client
from shunter.cli.options import Format, Namespace, Output
from shunter.cli.registry import plain_typer
from shunter.cli.render.tables import Column, print_document, print_items, print_result, print_table
from shunter.model.errors import Invalid, Problem
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.rest.secret_views import SecretView
from shunter.model.secrets import VALUE_SIZE_MAX

secret = plain_typer(
    no_args_is_help=True,
    help="Set, list or delete secrets: values that tasks get as a variable or a file.\n\n\b\n"
    "shunter secret set db-password --from-file password.txt\n"
    "pass show db | shunter secret set db-password",
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the secret.")]


@secret.command("set")
def set_secret(
    name: Name,
    from_file: Annotated[
        Path | None, typer.Option("--from-file", metavar="FILE", help="File with the value. Default: standard input.")
    ] = None,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Create a secret, or give it another value, from a file or from standard input.

    The value is taken as it is, except that one line break at its end is removed from standard input. Running tasks
    keep the old value.

    \b
    shunter secret set tls-key --from-file key.pem
    printf %s "$PASSWORD" | shunter secret set db-password
    """
    value = _read_value(from_file)
    with open_client() as client:
        view = client.set_secret(name, value, namespace=namespace)
    if output is not Format.TABLE:
        print_document(view, output)
    else:
        print_result(f"secret {view.name} set (version {view.version})", {}, output)


@secret.command("list")
def list_secrets(namespace: Namespace = NAMESPACE_DEFAULT, output: Output = Format.TABLE) -> None:
    """List the secrets of a namespace, without their values.

    \b
    shunter secret list --namespace team-a
    """
    with open_client() as client:
        found = client.secrets(namespace=namespace)
    if output is not Format.TABLE:
        print_items(found, output)
        return
    drops = {"NAME": 0, "VERSION": 0, "UPDATED": 0, "BY": 1, "KEY": 2}
    print_table([Column(title, drop=drop) for title, drop in drops.items()], map(_row, found))


@secret.command("delete")
def delete(name: Name, namespace: Namespace = NAMESPACE_DEFAULT, output: Output = Format.TABLE) -> None:
    """Delete a secret. Tasks that need it and have not started wait until it exists again.

    \b
    shunter secret delete db-password
    """
    with open_client() as client:
        client.delete_secret(name, namespace=namespace)
    print_result(f"secret {name} deleted", {"name": name, "action": "deleted"}, output)


@secret.command("rotate-key")
def rotate_key(output: Output = Format.TABLE) -> None:
    """Encrypt all secrets with a new key. The old key stays in the key file, because older backups need it.

    \b
    shunter secret rotate-key
    """
    with open_client() as client:
        found = client.rotate_secrets_key()
    if output is not Format.TABLE:
        print_document(found, output)
    else:
        what = "a new key" if found.added else "the first key of the manager's key file"
        print_result(f"{found.resealed:,} secrets encrypted again with {what}, {found.key}", {}, output)


def _read_value(file: Path | None) -> bytes:
    try:
        if file is not None:
            with file.open("rb") as opened:
                value = opened.read(VALUE_SIZE_MAX + 1)
        elif sys.stdin.isatty():
            value = getpass("Value (not shown): ").encode()
        else:
            value = sys.stdin.buffer.read(VALUE_SIZE_MAX + 2)
            value = value.removesuffix(b"\n").removesuffix(b"\r")
    except OSError as error:
        raise Invalid(
            [Problem("--from-file", f"cannot be read: {error.strerror}", str(file), "name a readable file")]
        ) from None
    if not 0 < len(value) <= VALUE_SIZE_MAX:
        source = "standard input" if file is None else "--from-file"
        raise Invalid(
            [Problem(source, f"must have 1 to {VALUE_SIZE_MAX:,} bytes", len(value), "store a shorter value")]
        )
    return value


def _row(view: SecretView) -> list[str]:
    at = view.updated_at
    return [view.name, str(view.version), f"{at[:10]} {at[11:16]}Z", view.set_by, view.key]
