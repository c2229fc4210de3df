"""Named clusters in the user's configuration. `shunter context` writes them, and `sdk.endpoint` reads them.

The file contains tokens, so only its owner may read it."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shunter.sdk.errors import Invalid, NotFound, Problem

LOCAL = "local"  # the cluster of this machine; it needs no entry
SIZE_MAX_BYTES = 2**20
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True)
class Context:
    url: str
    token: str = field(default="", repr=False)
    ca_file: str = ""  # whom to trust; empty: the authorities of the system


@dataclass(slots=True)
class Contexts:
    """`current` is used if nothing else names a cluster; LOCAL by default."""

    path: Path
    current: str = LOCAL
    by_name: dict[str, Context] = field(default_factory=dict)

    def get(self, name: str) -> Context:
        """Raises NotFound."""
        if name not in self.by_name:
            raise NotFound(f"context {name!r} does not exist; `shunter context list` shows all")
        return self.by_name[name]

    def save(self) -> None:
        """All or nothing: another process that reads sees the old file or the new one."""
        document = {
            "current": self.current,
            "contexts": {name: _document(each) for name, each in self.by_name.items()},
        }
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd, temporary = tempfile.mkstemp(dir=self.path.parent, prefix=".contexts-")  # with mode 0600
        try:
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                json.dump(document, file, indent=2)
                file.write("\n")
            Path(temporary).replace(self.path)
        except BaseException:
            Path(temporary).unlink()
            raise


def _document(context: Context) -> dict[str, str]:
    trusted = {"ca_file": context.ca_file} if context.ca_file else {}
    return {"url": context.url, "token": context.token, **trusted}


def load_contexts(environment: Mapping[str, str] = os.environ) -> Contexts:
    """Raises Invalid if the file is damaged, or if others may read it."""
    path = contexts_path(environment)
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode & 0o777
            data = file.read(SIZE_MAX_BYTES + 1)
    except FileNotFoundError:
        return Contexts(path)
    except OSError as error:
        raise Invalid([Problem(str(path), f"cannot be read ({error.strerror})")]) from error
    if mode & 0o077:
        fix = f"run: chmod 600 {path}"
        raise Invalid([Problem(str(path), f"contains tokens, but others may read it (mode {mode:o})", fix=fix)])
    try:
        document = json.loads(data)
        by_name = {
            str(name): Context(each["url"], each["token"], each.get("ca_file", ""))
            for name, each in document["contexts"].items()
        }
        return Contexts(path, str(document["current"]), by_name)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Invalid([Problem(str(path), "is damaged", fix="delete it, and add the contexts again")]) from error


def contexts_path(environment: Mapping[str, str]) -> Path:
    config = environment.get("XDG_CONFIG_HOME")
    return (Path(config) if config else Path.home() / ".config") / "shunter" / "contexts.json"


def check_name(name: str) -> None:
    """Raises Invalid."""
    if name == LOCAL:
        raise Invalid([Problem("name", "is reserved for the cluster of this machine", name, "choose another name")])
    if not _NAME.fullmatch(name):
        fix = "use lower-case letters, digits and . _ -; at most 63"
        raise Invalid([Problem("name", "is not a name for a context", name, fix)])
