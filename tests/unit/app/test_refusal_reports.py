"""Counts of refused requests are recorded by the leader, whichever manager refused them, and are not lost meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from shunter.app.listeners.refusal_reports import RefusalReports
from shunter.model.audit.records import RefusedRequests
from shunter.model.errors import NotLeader, ShunterError, Unavailable

ONE = RefusedRequests("10.0.0.7", 401, 1)


class FakeCluster:
    """An engine, the managers and the client to the leader at once."""

    def __init__(self, *, is_following: bool) -> None:
        self.is_following = is_following
        self.failure: ShunterError | None = None
        self.recorded: list[RefusedRequests] = []
        self.reported: list[tuple[str, list[RefusedRequests]]] = []

    async def note_refused(self, refused: Sequence[RefusedRequests]) -> None:
        self._fail()
        self.recorded += refused

    def leader_url(self) -> str:
        return "http://leader"

    async def report_refused(self, url: str, refused: Sequence[RefusedRequests]) -> None:
        self._fail()
        self.reported.append((url, list(refused)))

    def _fail(self) -> None:
        if self.failure is not None:
            raise self.failure


def reports_of(cluster: FakeCluster) -> RefusalReports:
    fake = cast("Any", cluster)
    reports = RefusalReports(fake, fake, fake)
    reports.counter.add("10.0.0.7", 401, is_write=False)
    return reports


async def test_the_leader_records_what_it_refused() -> None:
    cluster = FakeCluster(is_following=False)
    reports = reports_of(cluster)
    await reports.flush()
    await reports.flush()
    assert (cluster.recorded, cluster.reported) == ([ONE], [])


async def test_a_follower_reports_to_the_leader() -> None:
    cluster = FakeCluster(is_following=True)
    await reports_of(cluster).flush()
    assert (cluster.recorded, cluster.reported) == ([], [("http://leader", [ONE])])


async def test_what_could_not_be_recorded_is_recorded_later() -> None:
    for is_following, failure in ((False, NotLeader("replaced")), (True, Unavailable("no leader"))):
        cluster = FakeCluster(is_following=is_following)
        cluster.failure = failure
        reports = reports_of(cluster)
        await reports.flush()
        cluster.failure = None
        await reports.flush()
        assert cluster.recorded + [each for _, sent in cluster.reported for each in sent] == [ONE]
