"""What entity tags save a manager: its processor time for polls of 10,000 jobs, with and without If-None-Match, in a
cluster where nothing happens, and in one where a job is submitted before every poll.

Run: python -m benchmarks.etags"""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import psutil

from benchmarks.cluster import Cluster, cluster
from benchmarks.measure import Bar, Report, interleave, read_options
from shunter.sdk.manifests import job_manifest

BAR_IDLE = Bar(at_most=0.5)
BAR_BUSY = Bar(at_most=1.1)  # a tag that never matches must cost next to nothing
BULK = 5_000
PAGE = "/api/v1/jobs"  # the first hundred, as a web page or `watch shunter jobs` shows
LARGE_PAGE = "/api/v1/jobs?limit=1000"
JOB = "/api/v1/jobs/listed-7"


@dataclass(frozen=True, slots=True)
class Size:
    jobs: int
    polls: int


FULL = Size(jobs=10_000, polls=500)
SMALL = Size(jobs=1_000, polls=500)  # processor time is counted in steps of 10 ms


class Poller:
    """A client that asks again and again over one connection. With tags, it sends back the last one of each path."""

    def __init__(self, cluster: Cluster) -> None:
        place = urlsplit(json.loads((cluster.home / "cluster.json").read_text())["url"])
        self._connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=60)
        self._token = (cluster.home / "token").read_text().strip()
        self._tags: dict[str, str] = {}
        self._submitted = 0
        self.unchanged = 0

    def poll(self, path: str, *, with_tags: bool) -> None:
        headers = {"If-None-Match": self._tags[path]} if with_tags and path in self._tags else {}
        answer = self._ask("GET", path, headers=headers)
        self._tags[path] = str(answer.headers["ETag"])
        self.unchanged += answer.status == 304

    def submit(self, count: int = 1) -> None:
        first = self._submitted
        self._submitted += count
        for start in range(first, self._submitted, BULK):
            names = [f"listed-{number}" for number in range(start, min(start + BULK, self._submitted))]
            items = [job_manifest(["/bin/true"], {"name": name, "hold": True}) for name in names]
            self._ask("POST", "/api/v1/bulk/jobs", json.dumps({"items": items}))

    def _ask(
        self, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None
    ) -> http.client.HTTPResponse:
        sent = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json", **(headers or {})}
        self._connection.request(method, path, body, sent)
        answer = self._connection.getresponse()
        answer.read()
        assert answer.status in (200, 201, 304), answer.status
        return answer


def main() -> None:
    options = read_options(__doc__)
    report, size = Report("etags", options), SMALL if options.small else FULL
    with cluster() as running:
        poller = Poller(running)
        poller.submit(size.jobs)
        manager = running.manager()
        for what, path, bar_idle in (
            ("a page of 100 jobs", PAGE, BAR_IDLE),
            ("a page of 1,000 jobs", LARGE_PAGE, BAR_IDLE),
            ("one job", JOB, None),  # rendering it costs no more than the request itself
        ):
            for state, is_busy, bar in (("idle", False, bar_idle), ("busy", True, BAR_BUSY)):
                contenders = {
                    "with": _contender(manager, poller, path, size.polls, with_tags=True, is_busy=is_busy),
                    "without": _contender(manager, poller, path, size.polls, with_tags=False, is_busy=is_busy),
                }
                found = interleave(contenders, options.rounds)
                name = f"{what}, {state} cluster"
                report.figure(f"processor time of a poll of {name}, without tags", "ms", found["without"])
                report.ratio(f"polls of {name}, with tags", found["with"], "those without", found["without"], bar)
        assert poller.unchanged


def _contender(
    manager: psutil.Process, poller: Poller, path: str, polls: int, *, with_tags: bool, is_busy: bool
) -> Callable[[], float]:
    """Milliseconds of the manager's processor time for each poll."""

    def measure() -> float:
        poller.poll(path, with_tags=False)
        used_s = _cpu_s(manager)
        for _ in range(polls):
            if is_busy:
                poller.submit()
            poller.poll(path, with_tags=with_tags)
        return 1000 * (_cpu_s(manager) - used_s) / polls

    return measure


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    main()
