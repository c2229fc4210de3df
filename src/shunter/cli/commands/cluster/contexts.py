"""The commands about contexts: context add, use, list, remove."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from shunter.cli.connection import COPY_TOKEN
from shunter.cli.options import Format, Output, read_token_file
from shunter.cli.registry import plain_typer
from shunter.cli.render.tables import Column, print_items, print_table
from shunter.cli.text import print_text
from shunter.model.errors import Invalid, Problem, Unauthorized, Unavailable
from shunter.model.rest.cluster_views import ClusterInfo
from shunter.sdk.client import connect
from shunter.sdk.contexts import LOCAL, Context, Contexts, check_name, load_contexts
from shunter.sdk.endpoint import parse_url, split_urls
from shunter.sdk.errors import NotReachable

context = plain_typer(
    no_args_is_help=True,
    help="Choose among several clusters. A context is a name for the address and the token of a cluster.\n\n"
    f"The context `{LOCAL}` is the cluster of this machine. --context, SHUNTER_CONTEXT, SHUNTER_URL and SHUNTER_HOME"
    " override the current context.\n\n\b\n"
    "shunter context add prod https://shunter.example.org --token-file prod-token\n"
    "shunter context use prod\n"
    "shunter --context prod jobs\n"
    f"shunter context use {LOCAL}",
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the context.")]


@context.command("add")
def add(
    name: Name,
    url: Annotated[
        str,
        typer.Argument(metavar="URL", help="Address of the cluster's API; of several managers, separated by commas."),
    ],
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file", metavar="FILE", help="File that contains the token. Default: SHUNTER_TOKEN, or a prompt."
        ),
    ] = None,
    ca_file: Annotated[
        Path | None,
        typer.Option("--ca-file", metavar="FILE", help="Authorities to trust for HTTPS. Default: those of the system."),
    ] = None,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Connect to the cluster first.")] = True,
) -> None:
    """Add a context, or replace the one with that name.

    \b
    shunter context add prod https://shunter.example.org --token-file prod-token
    shunter context add prod https://10.0.0.5:7070 --token-file prod-token --ca-file ca.crt
    shunter context add lab http://10.0.0.5:7070,http://10.0.0.6:7070 --token-file lab-token
    """
    check_name(name)
    token = _read_token(token_file)
    urls = split_urls(url)
    for each in urls:
        parse_url(each, token)
    url = ",".join(urls)
    trusted = _ca_path(ca_file)
    found = ""
    if check:
        info = _connect(url, token, token_file, trusted)
        found = f": cluster {info.name}, version {info.version}"
    contexts = load_contexts()
    contexts.by_name[name] = Context(url, token, trusted)
    contexts.save()
    print_text(f"context {name} added{found}")
    if contexts.current != name:
        print_text(f"Use it with `shunter context use {name}`, or once with `shunter --context {name} COMMAND`.")


@context.command("use")
def use(name: Annotated[str, typer.Argument(metavar="NAME", help=f"Name of a context, or {LOCAL}.")]) -> None:
    """Use a context from now on.

    \b
    shunter context use prod
    """
    contexts = load_contexts()
    if name != LOCAL:
        contexts.get(name)
    contexts.current = name
    contexts.save()
    print_text(f"using {_describe(contexts)}")
    for variable in ("SHUNTER_URL", "SHUNTER_CONTEXT", "SHUNTER_HOME"):
        if os.environ.get(variable):
            print_text(f"note: {variable} is set in this shell and overrides it", stream=sys.stderr)
            return


@context.command("list")
def list_all(output: Output = Format.TABLE) -> None:
    """List the contexts. Tokens are never shown.

    \b
    shunter context list
    """
    contexts = load_contexts()
    rows = [(LOCAL, ""), *((name, each.url) for name, each in sorted(contexts.by_name.items()))]
    if output is not Format.TABLE:
        print_items([{"name": name, "url": url, "current": name == contexts.current} for name, url in rows], output)
        return
    columns = [Column("CURRENT"), Column("NAME"), Column("URL")]
    print_table(
        columns, (("*" if name == contexts.current else "", name, url or "(this machine)") for name, url in rows)
    )


@context.command("delete", hidden=True)
@context.command("remove")
def remove(name: Name) -> None:
    """Remove a context, including its token.

    \b
    shunter context remove prod
    """
    contexts = load_contexts()
    contexts.get(name)
    del contexts.by_name[name]
    was_current = contexts.current == name
    if was_current:
        contexts.current = LOCAL
    contexts.save()
    print_text(f"context {name} removed" + (f"; using {_describe(contexts)}" if was_current else ""))


def _describe(contexts: Contexts) -> str:
    if contexts.current == LOCAL:
        return f"context {LOCAL}: the cluster of this machine"
    return f"context {contexts.current}: {contexts.get(contexts.current).url}"


def _ca_path(file: Path | None) -> str:
    """The file stays where it is, so that a rotation of the authority reaches it."""
    given = file or (Path(found) if (found := os.environ.get("SHUNTER_CA_FILE")) else None)
    if given is None:
        return ""
    if not given.is_file():
        fix = "copy `ca/ca.crt` from the manager's SHUNTER_HOME"
        raise Invalid([Problem("--ca-file", "is not a file", str(given), fix)])
    return str(given.absolute())


def _connect(url: str, token: str, token_file: Path | None, ca_file: str) -> ClusterInfo:
    try:
        with connect(url, token, ca_file=ca_file or None, patience_s=0) as client:
            return client.cluster()
    except Unauthorized as error:
        option, given = ("token", None) if token_file is None else ("--token-file", str(token_file))
        raise Invalid([Problem(option, f"the cluster at {url} refused this token", given, COPY_TOKEN)]) from error
    except NotReachable as error:
        raise Unavailable(f"{error.fact}; check the URL argument") from error


def _read_token(file: Path | None) -> str:
    """Never from the command line, which other users of the machine can see."""
    if file is not None:
        return read_token_file(file, COPY_TOKEN)
    if given := os.environ.get("SHUNTER_TOKEN"):
        return given
    if not sys.stdin.isatty():
        raise Invalid([Problem("--token-file", "is missing", fix="give the file with the token, or set SHUNTER_TOKEN")])
    return str(typer.prompt("Token", hide_input=True))
