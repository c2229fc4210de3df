"""Reads the lines of a trace file: plain, .gz, or one member of a .tar.gz. Bounded in bytes, jobs and length of a line.
Used by all readers."""

from __future__ import annotations

import gzip
import hashlib
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from shunter.model.errors import Invalid, Problem

FILE_BYTES_MAX = 8 * 2**30  # as stored
TEXT_BYTES_MAX = 32 * 2**30  # decompressed
LINE_BYTES_MAX = 64 * 2**10
HASH_BYTES = 2**20

Lines = Iterator[tuple[int, str]]  # the number of each line, from 1, and its text


class TraceError(Invalid):
    """The file cannot be read as a trace. Names the line, if one is wrong."""

    def __init__(self, path: Path, message: str, line: int = 0, fix: str = "") -> None:
        where = f"{path.name}, line {line}" if line else path.name
        super().__init__([Problem("--trace", f"{where}: {message}", fix=fix or None)])
        self.line = line


def hash_file(path: Path) -> str:
    """The SHA-256 of the file as it is stored."""
    digest = hashlib.sha256()
    with _translated(path), path.open("rb") as file:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise TraceError(path, f"is larger than {FILE_BYTES_MAX:,} bytes")
        while block := file.read(HASH_BYTES):
            digest.update(block)
    return digest.hexdigest()


def read_lines(path: Path, is_member: Callable[[str], bool] = lambda _: True) -> Lines:
    """The lines of the file without their ends; blank ones are left out. Of an archive, the lines of the first member
    for whose name `is_member` holds."""
    total = 0
    with _translated(path), _open(path, is_member) as file:
        number = 0
        while line := file.readline(LINE_BYTES_MAX + 1):
            number += 1
            total += len(line)
            if len(line) > LINE_BYTES_MAX:
                raise TraceError(path, f"is longer than {LINE_BYTES_MAX:,} bytes", number)
            if total > TEXT_BYTES_MAX:
                raise TraceError(path, f"has more than {TEXT_BYTES_MAX:,} bytes of text", number)
            try:
                text = line.decode().rstrip("\r\n")
            except UnicodeDecodeError:
                raise TraceError(path, "is not text in UTF-8", number) from None
            if text.strip():
                yield number, text


@contextmanager
def _open(path: Path, is_member: Callable[[str], bool]) -> Iterator[IO[bytes]]:
    if path.name.endswith((".tar.gz", ".tgz", ".tar")):
        with tarfile.open(path) as archive:
            for member in archive:
                if member.isfile() and is_member(Path(member.name).name):
                    content = archive.extractfile(member)
                    assert content is not None, "it is a file"
                    yield content
                    return
        raise TraceError(path, "has no member that is a trace")
    if path.suffix == ".gz":
        with gzip.open(path) as packed:
            yield packed  # type: ignore[misc]
    else:
        with path.open("rb") as plain:
            yield plain


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise TraceError(path, "does not exist") from None
    except (EOFError, zlib.error, tarfile.TarError, gzip.BadGzipFile) as error:
        raise TraceError(path, f"is not a complete archive: {error}") from error
    except OSError as error:
        raise TraceError(path, f"cannot be read: {error.strerror or error}") from error
