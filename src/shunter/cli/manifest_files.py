"""Files of manifests, as commands are given them. Used by submit, plan, validate and graph."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from shunter.model.documents import TEXT_SIZE_MAX
from shunter.sdk.manifests import Manifest, parse_manifests, read_manifests

STDIN = "-"

File = Annotated[
    str, typer.Option("--file", "-f", metavar="FILE", help="YAML or JSON, one or several documents; - reads stdin.")
]


def read_file(file: str) -> list[Manifest]:
    """The documents of a file, or of standard input. Raises Invalid."""
    return parse_manifests(sys.stdin.buffer.read(TEXT_SIZE_MAX + 1)) if file == STDIN else read_manifests(file)
