"""The expected results of the applications, computed in one process."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from runpy import run_path
from urllib.error import HTTPError
from urllib.parse import urljoin
from urllib.request import urlopen

from tests.frameworks.framework_cluster import EXAMPLES, TEXT


def word_counts() -> dict[str, int]:
    return dict(Counter(re.findall(r"[a-z]+", TEXT.read_text().lower())))


def as_lines(counts: dict[str, int]) -> str:
    return "".join(f"{word} {count}\n" for word, count in sorted(counts.items()))


def crawl(start: str) -> dict[str, int]:
    """Words of every page that can be reached; -1 where there is no such page."""
    pages: dict[str, int] = {}
    frontier = [start]
    while frontier:
        address = frontier.pop()
        if address in pages:
            continue
        try:
            with urlopen(address, timeout=30) as answer:
                text = answer.read().decode()
        except HTTPError:
            pages[address] = -1
            continue
        pages[address] = len(re.findall(r"\w+", re.sub(r"<[^>]*>", " ", text)))
        frontier += [urljoin(address, link) for link in re.findall(r'href="([^"]+)"', text)]
    return pages


@contextmanager
def web_site() -> Iterator[str]:
    """The examples' web site, at a port of its own; yields the address of its first page."""
    server = run_path(str(EXAMPLES / "site.py"))["serve"](0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/0"
    finally:
        server.shutdown()
        server.server_close()
