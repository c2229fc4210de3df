"""Finds the files of the built web UI, with their compressed variants. Used by `api.browser.ui_pages`.

The build is a folder: `ui_dist` in the installed package, or `web/dist` in a checkout. Nothing is read before a browser
asks. What was read stays in memory up to a limit, and is read again when the file has changed."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

INDEX = "index.html"
NAME_SIZE_MAX = 200
FILE_SIZE_MAX = 8 * 2**20
CACHED_BYTES_MAX = 32 * 2**20
VARIANTS = {"br": ".br", "gzip": ".gz"}  # what the build wrote next to a file; the first that a browser accepts
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*){0,3}")


@dataclass(frozen=True, slots=True)
class UiFile:
    """`encodings` are the compressed variants that exist."""

    content: bytes
    etag: str
    encodings: tuple[str, ...] = ()


class UiFiles:
    """`folders`: where the build may be. The first one with an index.html counts, also if it is built later."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._cached: dict[Path, tuple[tuple[int, int], UiFile]] = {}
        self._cached_bytes = 0

    def folder(self) -> Path | None:
        return next((folder for folder in self._folders if (folder / INDEX).is_file()), None)

    async def find(self, name: str, encoding: str = "") -> UiFile | None:
        """None for a name that does not exist, leads out of the folder, or is that of a variant."""
        folder = self.folder()
        if folder is None or len(name) > NAME_SIZE_MAX or not _NAME.fullmatch(name) or name.endswith(_SUFFIXES):
            return None
        path = folder / (name + VARIANTS.get(encoding, ""))
        try:
            status = path.stat()
            if not path.is_file() or status.st_size > FILE_SIZE_MAX or not _is_inside(path, folder):
                return None
            version = status.st_mtime_ns, status.st_size
            known = self._cached.get(path)
            if known is not None and known[0] == version:
                return known[1]
            found = await asyncio.to_thread(_read, path)
        except OSError:
            return None
        self._remember(path, version, found)
        return found

    def _remember(self, path: Path, version: tuple[int, int], file: UiFile) -> None:
        """Makes room by forgetting what was read first."""
        self._forget(path)
        self._cached[path] = version, file
        self._cached_bytes += len(file.content)
        while self._cached_bytes > CACHED_BYTES_MAX:
            self._forget(next(iter(self._cached)))

    def _forget(self, path: Path) -> None:
        known = self._cached.pop(path, None)
        if known is not None:
            self._cached_bytes -= len(known[1].content)


_SUFFIXES = tuple(VARIANTS.values())


def _is_inside(path: Path, folder: Path) -> bool:
    """A symbolic link must not lead out of the folder."""
    return path.resolve().is_relative_to(folder.resolve())


def _read(path: Path) -> UiFile:
    with path.open("rb") as file:
        content = file.read(FILE_SIZE_MAX)
    encodings = tuple(encoding for encoding, suffix in VARIANTS.items() if path.with_name(path.name + suffix).is_file())
    return UiFile(content, hashlib.sha256(content).hexdigest()[:24], encodings)
