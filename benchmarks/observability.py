"""What it costs a manager to be scraped every second, and to send traces: CPU for 100,000 tasks with and without, and
memory at rest.

Run: python -m benchmarks.observability"""

from __future__ import annotations

import json
import os
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

from benchmarks.arrays import run_array
from benchmarks.cluster import Cluster, cluster
from benchmarks.measure import Bar, Report, interleave, read_options

TASKS, TASKS_SMALL = 10_000, 500
PAIRS = 10
PER = 100_000
EVERY_S = 1.0
SCRAPES_AT_REST, SCRAPES_AT_REST_SMALL = 300, 10
RATIO = Bar(at_most=1.03)
TRACES_RATIO = Bar(at_most=1.10)
GROWTH_MB = Bar(at_most=3.0)


def main() -> None:
    options = read_options(__doc__)
    report = Report("observability", options)
    tasks = TASKS_SMALL if options.small else TASKS
    numbers = count()
    with receiver() as url, cluster() as ours, cluster("--otlp-endpoint", url) as tracing:
        for each in (tracing, ours):
            with at(each):
                run_array(each, "warm-up", tasks)
        before_mb = ours.manager().memory_info().rss / 1e6
        for _ in range(SCRAPES_AT_REST_SMALL if options.small else SCRAPES_AT_REST):
            scrape(ours)
        growth = interleave({"growth": lambda: ours.manager().memory_info().rss / 1e6 - before_mb}, 1)["growth"]

        def cpu_s(which: Cluster, *, is_scraped: bool = False) -> float:
            began_s = used_s(which)
            with at(which), scraped(which) if is_scraped else nullcontext():
                run_array(which, f"run-{next(numbers)}", tasks)
            return (used_s(which) - began_s) * PER / tasks

        contenders = {
            "scraped": lambda: cpu_s(ours, is_scraped=True),
            "alone": lambda: cpu_s(ours),
            "traced": lambda: cpu_s(tracing),
        }
        found = interleave(contenders, options.rounds if options.small else max(options.rounds, PAIRS))
    report.figure(f"CPU of the manager for {PER:,} tasks, scraped every second", "s", found["scraped"])
    report.figure(f"CPU of the manager for {PER:,} tasks, never scraped", "s", found["alone"])
    report.figure(f"CPU of the manager for {PER:,} tasks, with traces", "s", found["traced"])
    report.ratio("CPU with traces", found["traced"], "without", found["alone"], TRACES_RATIO)
    report.ratio("CPU with scrapes", found["scraped"], "without", found["alone"], RATIO)
    report.figure("memory that scrapes at rest add", "MB", growth, GROWTH_MB)


@contextmanager
def at(which: Cluster) -> Iterator[None]:
    """Commands go to this one of the clusters."""
    before = os.environ["SHUNTER_HOME"]
    os.environ["SHUNTER_HOME"] = str(which.home)
    try:
        yield
    finally:
        os.environ["SHUNTER_HOME"] = before


def used_s(ours: Cluster) -> float:
    times = ours.manager().cpu_times()
    return times.user + times.system


def scrape(ours: Cluster) -> bytes:
    url = json.loads((ours.home / "cluster.json").read_text())["url"]
    headers = {"Authorization": f"Bearer {(ours.home / 'token').read_text().strip()}"}
    with urllib.request.urlopen(urllib.request.Request(f"{url}/metrics", headers=headers), timeout=10) as response:
        body: bytes = response.read()
        return body


@contextmanager
def receiver() -> Iterator[str]:
    """The URL of an OTLP receiver that forgets what it gets."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def scraped(ours: Cluster) -> Iterator[None]:
    has_ended = threading.Event()

    def scrape_often() -> None:
        while not has_ended.wait(EVERY_S):
            scrape(ours)

    thread = threading.Thread(target=scrape_often)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()


if __name__ == "__main__":
    main()
