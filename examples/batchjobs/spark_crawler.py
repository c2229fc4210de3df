"""Crawl a web site with Spark. All executors together fetch the pages at one distance from the start.

The driver prints as JSON how many words each page has, and how many pages each slot fetched.
"""

import json
import os
import re
import sys
from urllib.error import HTTPError
from urllib.parse import urljoin
from urllib.request import urlopen

from pyspark.sql import SparkSession

PARTS = 4
TIMEOUT_S = 30


def fetch(url: str) -> tuple[str, int, list[str], str]:
    """Return the address, the number of words (-1: no such page), the links, and the slot that fetched the page."""
    slot = os.environ["SHUNTER_SLOT_ID"]
    try:
        with urlopen(url, timeout=TIMEOUT_S) as answer:
            text = answer.read().decode()
    except HTTPError:
        return url, -1, [], slot
    links = [urljoin(url, link) for link in re.findall(r'href="([^"]+)"', text)]
    words = re.findall(r"\w+", re.sub(r"<[^>]*>", " ", text))
    return url, len(words), links, slot


def main(start: str, pages_max: int) -> None:
    spark = SparkSession.builder.getOrCreate()
    pages: dict[str, int] = {}
    slots: dict[str, int] = {}
    frontier = [start]
    while frontier and len(pages) < pages_max:
        fetched = spark.sparkContext.parallelize(frontier, PARTS).map(fetch).collect()
        pages.update({url: words for url, words, _, _ in fetched})
        for _, _, _, slot in fetched:
            slots[slot] = slots.get(slot, 0) + 1
        frontier = sorted({link for _, _, links, _ in fetched for link in links} - set(pages))
    print(json.dumps({"pages": dict(sorted(pages.items())), "slots": slots}))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
