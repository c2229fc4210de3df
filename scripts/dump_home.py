"""Write the store of a home as SQL text, for tests/upgrade: a later Shunter must be able to open it.

`python scripts/dump_home.py HOME tests/upgrade/home-VERSION.sql`, while nothing runs in that home. Check the contents
before you commit them: the bodies contain names of machines, paths and users of jobs, unchanged."""

from __future__ import annotations

import argparse
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=Path, help="a SHUNTER_HOME in which nothing runs")
    parser.add_argument("file", type=Path, help="the file to write")
    options = parser.parse_args()
    store = options.home / "store.db"
    if not store.exists():
        print(f"{store} is not there", file=sys.stderr)
        return 2
    options.file.write_text("\n".join(dump(store)) + "\n", encoding="utf-8")
    print(f"{options.file}: {options.file.stat().st_size:,} bytes")
    return 0


def dump(store: Path) -> Iterator[str]:
    """Triggers come last, so that loading it writes every row once, as it was."""
    connection = sqlite3.connect(store)
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        yield from connection.iterdump()
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
