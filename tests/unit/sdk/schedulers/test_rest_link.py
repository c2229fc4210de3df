"""`ExternalScheduler` over REST, against the real API: a policy sees objects, makes Schedulings and withdraws them."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import shunter
from shunter.model.rest.object_views import ListMeta, ObjectList, ObjectView, WatchLine
from shunter.planning.remote.view_reader import ViewReader
from shunter.scheduler import ClusterView, Decision, ExternalScheduler, ObjectName, SchedulingDraft, SchedulingSpec
from shunter.sdk.schedulers.driver import Decided
from shunter.sdk.schedulers.object_cache import ObjectCache
from tests.contracts.objects import batch_job, scheduling, testbed
from tests.unit.api.fake_gateway import TOKEN, FakeGateway
from tests.unit.api.live_server import live_server

PATIENCE_S = 20.0
Decide = Callable[[ClusterView], Decision]


class ScriptedPolicy:
    """A policy that decides as a test says, call after call."""

    name, wants = "said", ("objects",)

    def __init__(self, *decisions: Decide) -> None:
        self._decisions = list(decisions)

    def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
        return self._decisions.pop(0)(view) if self._decisions else Decision(based_on=view.version)


@pytest.fixture
def live_api() -> Iterator[tuple[str, FakeGateway]]:
    with live_server() as (port, gateway):
        yield f"http://127.0.0.1:{port}", gateway


@contextmanager
def scheduling_with(policy: Any, url: str | list[str], **options: Any) -> Iterator[Callable[[], Decided]]:
    """What was decided, one after another."""
    decided: queue.Queue[Decided] = queue.Queue()
    scheduler = ExternalScheduler(policy, url, token=TOKEN, transport="rest", on_decision=decided.put, **options)
    thread = threading.Thread(target=scheduler.run, daemon=True)
    thread.start()
    try:
        yield lambda: decided.get(timeout=PATIENCE_S)
    finally:
        scheduler.stop()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def draft(name: str, job: str, testbed: str = "bench") -> SchedulingDraft:
    return SchedulingDraft(here(name), SchedulingSpec(here(testbed), queue=(here(job),)))


def here(name: str) -> ObjectName:
    return ObjectName("default", name)


def decide_drafts(*drafts: SchedulingDraft, **fields: Any) -> Decide:
    return lambda view: Decision(based_on=view.version, schedulings=list(drafts), **fields)


def test_it_makes_schedulings_of_what_it_sees_and_withdraws_them(live_api: tuple[str, FakeGateway]) -> None:
    url, _ = live_api
    with shunter.connect(url, TOKEN) as client:
        client.apply([testbed(), batch_job("first"), batch_job("second")])

        class Once:
            """Schedules all jobs once, and withdraws what it made as soon as all of it is there."""

            wants = ("objects",)

            def __init__(self) -> None:
                self.drafts: list[SchedulingDraft] = []

            def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
                if not self.drafts:
                    self.drafts = [draft(f"run-{name.name}", name.name) for name in view.batch_jobs]
                    return decide_drafts(*self.drafts)(view)
                is_made = len(view.schedulings) == len(self.drafts)
                return decide_drafts(withdrawals=list(view.schedulings) * is_made)(view)

        with scheduling_with(Once(), url) as decided:
            first = decided()
            assert (len(first.decision.schedulings), first.answer.refusals) == (2, [])
            while not (last := decided()).decision.withdrawals:
                assert not last.decision.schedulings
            assert [each.name for each in last.decision.withdrawals] == ["run-first", "run-second"]
            assert last.answer.refusals == []
        assert [each.name for each in client.past_schedulings()] == ["run-second", "run-first"]


def test_it_uses_a_manager_that_answers(live_api: tuple[str, FakeGateway]) -> None:
    url, _ = live_api
    with socket.create_server(("127.0.0.1", 0)) as listener:
        unused = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with shunter.connect(url, TOKEN) as client:
        client.apply([testbed(), batch_job("first")])
        with scheduling_with(ScriptedPolicy(decide_drafts(draft("run", "first"))), [unused, url]) as decided:
            assert decided().answer.refusals == []
        assert [each.name for each in client.objects("schedulings")] == ["run"]


def test_what_cannot_be_is_refused_item_by_item(live_api: tuple[str, FakeGateway]) -> None:
    url, _ = live_api
    with shunter.connect(url, TOKEN) as client:
        client.apply([testbed(), batch_job()])
        absent = here("absent")
        with scheduling_with(
            ScriptedPolicy(decide_drafts(draft("Bad Name", "a"), draft("ok", "a"), withdrawals=[absent])), url
        ) as done:
            answer = done().answer
        assert [each.item for each in answer.refusals] == ["withdrawals[0]", "schedulings[0]"]
        assert "there is no Scheduling default/absent" in answer.refusals[0].reason
        assert [each.name for each in client.objects("scheduling")] == ["ok"]


def test_an_atomic_decision_is_all_or_nothing(live_api: tuple[str, FakeGateway]) -> None:
    url, _ = live_api
    with shunter.connect(url, TOKEN) as client:
        client.apply([testbed(), batch_job(), scheduling("there")])
        there, absent = here("there"), here("absent")
        tried = (
            decide_drafts(draft("one", "a"), withdrawals=[there, absent], atomic=True, again_in_ms=0),
            decide_drafts(draft("one", "a"), draft("Bad Name", "b"), withdrawals=[there], atomic=True, again_in_ms=0),
            decide_drafts(draft("one", "a"), withdrawals=[there], atomic=True),
        )
        with scheduling_with(ScriptedPolicy(*tried), url) as decided:
            assert [each.item for each in decided().answer.refusals] == ["withdrawals[1]"]
            assert [each.item for each in decided().answer.refusals] == ["schedulings"]
            assert decided().answer.refusals == []
        assert [each.name for each in client.objects("scheduling")] == ["one"]


def test_it_is_asked_again_when_it_wants_to_be(live_api: tuple[str, FakeGateway]) -> None:
    url, _ = live_api
    with scheduling_with(ScriptedPolicy(decide_drafts(again_in_ms=20), decide_drafts(is_partial=True)), url) as decided:
        first, second, third = decided(), decided(), decided()
    assert [each.situation.delta.number for each in (first, second, third)] == [1, 2, 3]
    assert second.situation.now >= first.situation.now + 0.02
    assert not second.situation.delta.is_whole and not third.situation.delta.batch_jobs


def test_what_it_cannot_see_or_do_over_rest_is_said(live_api: tuple[str, FakeGateway]) -> None:
    url, _ = live_api
    policy = ScriptedPolicy()
    policy.wants = ("tasks", "objects")  # type: ignore[assignment]
    with pytest.raises(shunter.Invalid, match="supports only objects, for a scheduler"):
        ExternalScheduler(policy, url, token=TOKEN, transport="rest").run()
    with pytest.raises(shunter.Invalid, match="supports only objects, for a scheduler"):
        ExternalScheduler(ScriptedPolicy(), url, token=TOKEN, transport="rest", mode="shadow").run()
    with pytest.raises(shunter.Invalid, match="choose grpc or rest"):
        ExternalScheduler(ScriptedPolicy(), url, token=TOKEN, transport="stomp").run()
    with pytest.raises(shunter.Unauthorized):
        ExternalScheduler(ScriptedPolicy(), url, token="wrong", transport="rest").run()


def test_a_scheduler_that_stops_leaves_no_watch_behind(live_api: tuple[str, FakeGateway]) -> None:
    url, gateway = live_api
    with scheduling_with(ScriptedPolicy(), url) as decided:
        decided()
        until(lambda: gateway.objects.watches_open == 1)
    until(lambda: gateway.objects.watches_open == 0)


def until(holds: Callable[[], bool]) -> None:
    waiting = threading.Event()
    for _ in range(int(PATIENCE_S / 0.01)):
        if holds():
            return
        waiting.wait(0.01)
    raise AssertionError("it has not come about")


# ---- what is told, and when ----


def object_view(uid: int, revision: int, name: str = "bench") -> ObjectView:
    meta = {"name": name, "namespace": "default", "uid": str(uid), "resourceVersion": str(revision), "generation": 1}
    return ObjectView(
        api_version="batchjob.gcr.io/v1alpha1",
        kind="Testbed",
        metadata=meta,
        spec={"slotsPerNode": 1, "nodeLabel": "a", "resourcesPerSlot": {"cpu": "1"}},
    )


def started_cache(*there: ObjectView, version: int = 10) -> tuple[ObjectCache, ViewReader, ClusterView]:
    known, reader = ObjectCache(lambda: 5.0), ViewReader(("objects",))
    page = ObjectList(
        api_version="", kind="ObjectList", metadata=ListMeta(str(version)), items=list(there), total=len(there)
    )
    return known, reader, reader.read(known.initial(page).delta)


def names(view: ClusterView) -> list[tuple[str, int]]:
    return [(name.name, each.meta.uid) for name, each in view.testbeds.items()]


def test_what_is_there_comes_in_the_order_in_which_it_was_made() -> None:
    _, _, view = started_cache(object_view(7, 9, "a"), object_view(3, 10, "z"))
    assert (names(view), view.version) == ([("z", 3), ("a", 7)], 10)


def test_half_of_a_commit_is_not_told() -> None:
    known, reader, _ = started_cache()
    assert known.apply_change(WatchLine("ADDED", object_view(1, 11, "one"), more=True)) is None
    situation = known.apply_change(WatchLine("ADDED", object_view(2, 12, "two")))
    assert situation is not None
    assert names(view := reader.read(situation.delta)) == [("one", 1), ("two", 2)]
    assert (situation.now, view.version) == (5.0, 12)


def test_what_was_known_is_not_told_again() -> None:
    known, _, _ = started_cache(object_view(1, 9))
    assert known.apply_change(WatchLine("MODIFIED", object_view(1, 9))) is None
    assert known.apply_change(WatchLine("DELETED", object_view(4, 11, "never-seen"))) is None


def test_what_comes_and_goes_in_one_commit_was_never_there() -> None:
    known, reader, _ = started_cache()
    known.apply_change(WatchLine("ADDED", object_view(1, 11), more=True))
    situation = known.apply_change(WatchLine("DELETED", object_view(1, 12)))
    assert situation is not None
    assert names(reader.read(situation.delta)) == []


def test_another_one_of_the_same_name_is_a_new_one() -> None:
    known, reader, _ = started_cache(object_view(1, 9), object_view(2, 10, "other"))
    known.apply_change(WatchLine("DELETED", object_view(1, 11), more=True))
    situation = known.apply_change(WatchLine("ADDED", object_view(3, 12)))
    assert situation is not None
    assert names(reader.read(situation.delta)) == [("other", 2), ("bench", 3)]
