"""The command `install`: Spark and Flink for BatchJobs, on this machine."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from shunter.cli.exit_codes import INTERNAL_ERROR, SUCCESS, print_notice
from shunter.frameworks.install import InstallRequest, NotInstalled, install
from shunter.frameworks.locations import JAVA_HINT, JAVA_VERSIONS, KINDS, find_framework, find_java


def install_frameworks(
    names: Annotated[list[str], typer.Argument(metavar="spark|flink...", help="What to install.")],
    version: Annotated[
        str, typer.Option(metavar="VERSION", help="A certain version; without it the newest that is known to work.")
    ] = "",
    again: Annotated[bool, typer.Option("--again", help="Install it anew where it is installed already.")] = False,
) -> None:
    """Install Apache Spark or Apache Flink for BatchJobs, on this machine.

    Each goes into a virtual environment of its own in your data folder, which all your clusters share. Every machine
    whose worker should run such applications needs it. Where SPARK_HOME or FLINK_HOME is set, that one is used, and
    nothing is installed. Both need Java 17 or 21.

    \b
    shunter install spark
    shunter install spark flink
    shunter install spark --version 4.0.1
    """
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]} is unknown; there are {' and '.join(KINDS)}", param_hint="NAME")
    if version and len(names) > 1:
        raise typer.BadParameter("a version belongs to one of them: install them one by one", param_hint="--version")
    try:
        for name in dict.fromkeys(names):
            _install(name, version, again)
    except NotInstalled as error:
        print_notice(f"error: {error}")
        raise typer.Exit(INTERNAL_ERROR) from None
    raise typer.Exit(_check_java())


def _install(name: str, version: str, again: bool) -> None:
    kind = KINDS[name]
    if home := os.environ.get(kind.home_variable):
        found = find_framework(kind)
        if found is None:
            raise NotInstalled(f"{kind.home_variable} is {home}, and there is no {kind.title}: mend or unset it")
        print(f"{kind.home_variable} is set: {kind.title} {found.version} in {home} is used")
        return
    install(InstallRequest(kind, version, again), print)


def _check_java() -> int:
    java = find_java()
    if java is not None and java.is_supported:
        print(f"Java {java.version} is in {java.home}")
        return SUCCESS
    versions = " or ".join(map(str, JAVA_VERSIONS))
    found = "there is none" if java is None else f"here is Java {java.version}, in {java.home}"
    print_notice(f"error: applications need Java {versions}, and {found}. {JAVA_HINT}")
    return INTERNAL_ERROR
