"""Installs Spark or Flink: the package from PyPI in its own virtual environment. Called by `shunter install`.

A lock allows one installation at a time. A marker file is written last, so that an interrupted installation starts
anew. Uses uv if it is installed, else venv and pip."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shunter.frameworks.locations import Framework, Kind, frameworks_folder, read_marker, version_at, write_marker

Report = Callable[[str], None]


class NotInstalled(Exception):
    """Why it could not be installed, in words."""


@dataclass(frozen=True, slots=True)
class InstallRequest:
    kind: Kind
    version: str = ""  # empty: the newest that Shunter knows to work with
    reinstall: bool = False  # even where it is installed


def install(request: InstallRequest, report: Report, folder: Path | None = None) -> Framework:
    """Returns it as it is now; does nothing where it is there in the wished version. Raises NotInstalled."""
    kind, parent = request.kind, folder or frameworks_folder()
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotInstalled(f"cannot create {parent}: {error.strerror}") from None
    target = parent / kind.name
    with _locked(parent / f"{kind.name}.lock", report):
        found = read_marker(target)
        if found is not None and not request.reinstall and request.version in ("", found.version):
            report(f"{kind.title} {found.version} is already installed in {target}")
            return found
        if target.exists():
            shutil.rmtree(target)
        python = _create_environment(kind, target, report)
        _install_package(kind, request.version, target, python, report)
        framework = _find_installed(kind, target, python)
        write_marker(target, framework)
    report(f"{kind.title} {framework.version} is installed in {target}")
    return framework


@contextmanager
def _locked(path: Path, report: Report) -> Iterator[None]:
    with open(path, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("another process is installing it: waiting")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _create_environment(kind: Kind, target: Path, report: Report) -> Path:
    """A virtual environment with a Python that the package runs on; returns the Python."""
    base = _python_for(kind)
    uv = shutil.which("uv")
    if base is None and uv is None:
        (first, last), running = kind.pythons, ".".join(map(str, sys.version_info[:2]))
        version_range = f"{'.'.join(map(str, first))} to {'.'.join(map(str, last))}"
        raise NotInstalled(
            f"{kind.title} needs Python {version_range}, but this is {running}; install a suitable Python, or uv"
        )
    wanted = base or ".".join(map(str, kind.pythons[1]))
    report(f"creating a virtual environment in {target}")
    if uv is not None:
        _run([uv, "venv", "--quiet", "--python", wanted, str(target)], "create the environment")
    else:
        _run([wanted, "-m", "venv", str(target)], "create the environment")
    return target / "bin" / "python"


def _python_for(kind: Kind) -> str | None:
    first, last = kind.pythons
    if first <= sys.version_info[:2] <= last:
        return sys.executable
    for minor in range(last[1], first[1] - 1, -1):
        if (found := shutil.which(f"python3.{minor}")) and _is_working_python(found):
            return found
    return None


def _is_working_python(python: str) -> bool:
    """A name on the path may be a stand-in that runs nothing."""
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def _install_package(kind: Kind, version: str, target: Path, python: Path, report: Report) -> None:
    requirement = f"{kind.package}=={version}" if version else kind.requirement
    report(f"installing {requirement}: some hundred megabytes, a minute or more")
    uv = shutil.which("uv")
    if uv is not None:
        command = [uv, "pip", "install", "--python", str(python), requirement]
    else:
        command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", requirement]
    try:
        _run(command, f"install {requirement}")
    except NotInstalled:
        shutil.rmtree(target, ignore_errors=True)
        raise


def _run(command: list[str], what: str) -> None:
    """Its own output shows the progress; the environment of ours is not handed on."""
    environment = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONHOME")}
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, env=environment, check=False)
    except OSError as error:
        raise NotInstalled(f"could not {what}: {error}") from None
    if done.returncode != 0:
        raise NotInstalled(f"could not {what}: {Path(command[0]).name} ended with {done.returncode}, see above")


def _find_installed(kind: Kind, target: Path, python: Path) -> Framework:
    for home in sorted(target.glob(f"lib/python3.*/site-packages/{kind.folder}")):
        if version := version_at(kind, home):
            return Framework(kind.name, version, str(home), str(python))
    raise NotInstalled(f"the package {kind.package} has no {kind.jar}: is it the right one?")
