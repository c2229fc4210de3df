"""Reads a launcher's options from its command line, its payload (made by `testbeds.applications`) and its environment,
and starts it. Used by the launchers."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shunter.frameworks.child_processes import ChildProcesses, exit_with_error


@dataclass(frozen=True, slots=True)
class LaunchContext:
    application: dict[str, Any]  # the payload
    home: Path  # of the framework
    python: str
    java_home: str
    host: str  # this node's address, as the cluster knows it

    def environment(self) -> dict[str, str]:
        """The environment of the started programs: the task's own, with the Java that was found. Temporary files go
        into the task's folder and are removed with it."""
        path = f"{self.java_home}/bin{os.pathsep}{os.environ.get('PATH', '')}"
        return {**os.environ, "JAVA_HOME": self.java_home, "PATH": path, "TMPDIR": str(Path.cwd())}

    def file(self, path: str) -> str:
        """A file that the application names; it must be on this node."""
        if not Path(path).exists():
            exit_with_error(f"{path} does not exist on node {os.environ.get('SHUNTER_NODE', '?')}")
        return path


RoleMain = Callable[[LaunchContext, ChildProcesses], int]


def launch(driver: RoleMain, executor: RoleMain) -> int:
    """Play the part that the command line names; comes to its exit code, with nothing left running."""
    role_main = {"driver": driver, "executor": executor}[sys.argv[1]]
    context, children = _read_context(), ChildProcesses()
    try:
        return role_main(context, children)
    finally:
        children.end()


def _read_context() -> LaunchContext:
    try:
        application = json.loads(Path(os.environ["SHUNTER_PAYLOAD"]).read_text())
        return LaunchContext(
            application,
            Path(os.environ["SHUNTER_FRAMEWORK_HOME"]),
            os.environ["SHUNTER_FRAMEWORK_PYTHON"],
            os.environ["SHUNTER_FRAMEWORK_JAVA"],
            os.environ["SHUNTER_ADDRESS"],
        )
    except KeyError as error:
        exit_with_error(f"{error.args[0]} is not set: only workers start launchers")


def own_port(name: str) -> int:
    """A port of this task."""
    return int(os.environ[f"SHUNTER_PORT_{name}"])


def driver_address(name: str) -> tuple[str, int]:
    """The driver's address, for its executors."""
    return os.environ["SHUNTER_DRIVER_HOST"], int(os.environ[f"SHUNTER_DRIVER_PORT_{name}"])
