"""The command `install`: installs Spark and Flink for BatchJobs on this machine."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from shunter.cli.exit_codes import INTERNAL_ERROR, SUCCESS, print_error
from shunter.frameworks.install import InstallRequest, NotInstalled, install
from shunter.frameworks.locations import JAVA_HINT, JAVA_VERSIONS, KINDS, find_framework, find_java


def install_frameworks(
    names: Annotated[list[str], typer.Argument(metavar="spark|flink...", help="Frameworks to install.")],
    version: Annotated[
        str, typer.Option(metavar="VERSION", help="Version to install. Default: the newest tested version.")
    ] = "",
    again: Annotated[bool, typer.Option("--again", help="Reinstall if it is already installed.")] = False,
) -> None:
    """Install Apache Spark or Apache Flink for BatchJobs on this machine.

    Each framework gets its own virtual environment in your data directory, which all your clusters share. Install it on
    every machine whose worker runs such applications. If SPARK_HOME or FLINK_HOME is set, Shunter uses that
    installation and installs nothing. Both need Java 17 or 21.

    \b
    shunter install spark
    shunter install spark flink
    shunter install spark --version 4.0.1
    """
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is not a framework; use {' or '.join(KINDS)}", param_hint="NAME")
    if version and len(names) > 1:
        raise typer.BadParameter("it applies to one framework; install them one by one", param_hint="--version")
    try:
        for name in dict.fromkeys(names):
            _install(name, version, again)
    except NotInstalled as error:
        print_error(error)
        raise typer.Exit(INTERNAL_ERROR) from None
    raise typer.Exit(_check_java())


def _install(name: str, version: str, again: bool) -> None:
    kind = KINDS[name]
    if home := os.environ.get(kind.home_variable):
        found = find_framework(kind)
        if found is None:
            raise NotInstalled(
                f"{kind.home_variable}: {home} does not contain {kind.title}; correct or unset the variable"
            )
        print(f"{kind.home_variable} is set: using {kind.title} {found.version} in {home}")
        return
    install(InstallRequest(kind, version, again), print)


def _check_java() -> int:
    java = find_java()
    if java is not None and java.is_supported:
        print(f"found Java {java.version} in {java.home}")
        return SUCCESS
    versions = " or ".join(map(str, JAVA_VERSIONS))
    found = "found none" if java is None else f"found Java {java.version} in {java.home}"
    print_error(f"applications need Java {versions}; {found}. {JAVA_HINT}")
    return INTERNAL_ERROR
