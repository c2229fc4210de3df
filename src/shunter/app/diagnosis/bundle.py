"""Packs what helps to find a fault into one archive, without secrets. Called by `shunter debug bundle`.

Every part is text, has a limit, and passes `model.redaction`, which knows the secrets of this home."""

from __future__ import annotations

import io
import os
import platform
import sys
import tarfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import distributions
from pathlib import Path

import msgspec

from shunter import __version__
from shunter.app.diagnosis.doctor import examine
from shunter.app.home import Home
from shunter.model.errors import Conflict, Invalid, Problem, ShunterError
from shunter.model.metrics.debug_views import DebugView
from shunter.model.redaction import redact
from shunter.model.rest.cluster_views import ClusterInfo

PART_BYTES_MAX = 4 * 2**20  # of a log, the end; of anything else, the beginning
BUNDLE_BYTES_MAX = 32 * 2**20  # of all parts, before they are compressed
FILES_MAX = 2_000  # of the home, whose sizes are listed
SECRET_BYTES_MAX = 64 * 2**10
SECRET_VARIABLES = ("SHUNTER_TOKEN", "SHUNTER_WORKER_TOKEN", "PGPASSWORD")
FOLDER = "shunter-debug"


@dataclass(frozen=True, slots=True)
class Answers:
    """What a running manager said; `errors` has what it did not."""

    debug: DebugView | None = None
    cluster: ClusterInfo | None = None
    errors: tuple[str, ...] = field(default=())


def write_bundle(home: Home, answers: Answers, path: Path) -> list[str]:
    """Returns the names of the parts. Raises Conflict if the file exists, Invalid if it cannot be written."""
    secrets, written, left_bytes = find_secrets(home), [], BUNDLE_BYTES_MAX
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise Conflict(f"{path} exists; name another file") from None
    except OSError as error:
        raise Invalid([Problem("FILE", f"cannot be written: {error.strerror}", str(path))]) from error
    with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, text in _parts(home, answers):
            body = redact(text, secrets).encode(errors="replace")[: min(PART_BYTES_MAX, left_bytes)]
            left_bytes -= len(body)
            entry = tarfile.TarInfo(f"{FOLDER}/{name}")
            entry.size, entry.mtime, entry.mode = len(body), int(time.time()), 0o600
            archive.addfile(entry, io.BytesIO(body))
            written.append(name)
    return written


def find_secrets(home: Home, environment: Mapping[str, str] = os.environ) -> list[str]:
    """The longest first, so that no part of one stays."""
    found = {environment[name] for name in SECRET_VARIABLES if environment.get(name)}
    for path in (home.token, home.worker_token, *home.folder.glob("*token*"), *home.folder.glob("*.key")):
        try:
            found.add(path.read_bytes()[:SECRET_BYTES_MAX].decode(errors="replace").strip())
        except OSError:
            continue
    return sorted(filter(None, found), key=len, reverse=True)


def _parts(home: Home, answers: Answers) -> Iterator[tuple[str, str]]:
    """The small ones first: the limit cuts the last ones."""
    yield "versions.json", _json(_versions())
    yield "doctor.json", _json(_doctor(home))
    yield "sizes.json", _json(dict(_sizes(home.folder)))
    yield "errors.json", _json(list(answers.errors))
    if answers.cluster is not None:
        yield "cluster.json", _json(answers.cluster)
    if answers.debug is not None:
        debug = answers.debug
        yield "metrics.txt", debug.metrics
        yield "rounds.json", _json(debug.rounds)
        yield "stalls.json", _json(debug.stalls)
        yield "profile.txt", debug.profile
    yield "config.toml", _read(home.config, from_end=False)
    yield "shunter.log", _read(home.log, from_end=True)


def _versions() -> dict[str, object]:
    packages = {each.metadata["Name"]: each.version for each in distributions()}
    return {
        "shunter": __version__,
        "python": sys.version,
        "system": platform.platform(),
        "packages": dict(sorted(packages.items())),
    }


def _doctor(home: Home) -> object:
    """A fault of the machine must not keep the rest from being packed."""
    try:
        return examine(home)
    except (OSError, ShunterError) as error:
        return {"error": str(error)}


def _sizes(folder: Path) -> Iterable[tuple[str, int]]:
    for number, path in enumerate(sorted(folder.rglob("*"))):
        if number >= FILES_MAX:
            return
        try:
            yield str(path.relative_to(folder)), path.lstat().st_size
        except OSError:
            continue


def _read(path: Path, *, from_end: bool) -> str:
    try:
        with path.open("rb") as file:
            if from_end:
                file.seek(max(0, path.stat().st_size - PART_BYTES_MAX))
            body = file.read(PART_BYTES_MAX)
    except OSError as error:
        return f"{path.name} cannot be read: {error.strerror}\n"
    text = body.decode(errors="replace")
    return text.partition("\n")[2] if from_end and len(body) == PART_BYTES_MAX else text  # no half of a line


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
