"""Prints the part of a lock file that one package needs, with versions and hashes. The comments `# via` of the file
tell it. Called by deploy/compose/Dockerfile; needs nothing but Python.

    runtime_requirements.py requirements.lock shunter      what Shunter needs to run
    runtime_requirements.py requirements.lock hatchling    hatchling, and what it needs"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ENTRY = re.compile(r"([A-Za-z0-9._-]+)==")


def main(arguments: list[str]) -> int:
    path, root = arguments
    entries = dict(read_entries(Path(path).read_text("utf-8")))
    for name in sorted(find_needed(entries, root)):
        print(entries[name], end="")
    return 0


def read_entries(text: str) -> Iterator[tuple[str, str]]:
    """Name and lines of each package. Only its first line is not indented."""
    for entry in re.split(r"^(?=\S)", text, flags=re.MULTILINE):
        if found := ENTRY.match(entry):
            yield found[1].lower(), entry


def find_needed(entries: dict[str, str], root: str) -> set[str]:
    needed = {root}
    while True:
        more = {name for name, entry in entries.items() if parents(entry) & needed} - needed
        if not more:
            return needed & set(entries)
        needed |= more


def parents(entry: str) -> set[str]:
    """The packages that need this one."""
    _, _, comment = entry.partition("# via")
    return set(comment.replace("#", " ").split())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
