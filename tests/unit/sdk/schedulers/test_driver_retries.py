"""What `ExternalScheduler` does when it is sent away or refused: how soon it reconnects, and what it logs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from shunter.model.errors import Conflict, Invalid, ShunterError, Unavailable
from shunter.model.protocol.scheduler_messages import DecisionAnswer, ItemRefusal
from shunter.scheduler import ClusterView, Decision, ExternalScheduler
from shunter.sdk.errors import NotReachable
from shunter.sdk.schedulers.grpc_link import find_addresses
from shunter.sdk.schedulers.links import Link

TOOK_OVER = Conflict("another session of the same name took over")


class IdlePolicy:
    name = "nothing"

    def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
        return Decision(view.version)


class EndedLink:
    """A connection whose session has ended by `error`."""

    def __init__(self, error: ShunterError) -> None:
        self.error = error

    def watch(self, *_: object) -> Iterator[object]:
        raise self.error
        yield

    def stop_watching(self) -> None: ...

    def close(self) -> None: ...


class Pauses(threading.Event):
    """Takes no time, and ends it all after `most`."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most, self.seen = most, list[float]()

    def wait(self, timeout: float | None = None) -> bool:
        self.seen.append(timeout or 0.0)
        if len(self.seen) == self.most:
            self.set()
        return self.is_set()


def pauses(connect: Callable[[], EndedLink], most: int) -> list[float]:
    scheduler = ExternalScheduler(IdlePolicy(), connect=cast("Callable[[], Link]", connect))
    scheduler._is_stopping = found = Pauses(most)
    scheduler.run()
    return found.seen


@pytest.mark.parametrize("error", [TOOK_OVER, NotReachable("nobody answers"), Unavailable("the disk is full")])
def test_who_is_sent_away_again_and_again_comes_back_less_often(error: ShunterError) -> None:
    """Two of one name take turns, and do not spend their time on it."""
    assert pauses(lambda: EndedLink(error), 8) == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


def test_who_had_a_session_for_a_while_is_back_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("shunter.sdk.schedulers.driver.time.monotonic", lambda: now)
    ends = iter([0.0, 0.0, 60.0, 0.0])

    class LongSessionLink(EndedLink):
        def watch(self, *_: object) -> Iterator[object]:
            nonlocal now
            now += next(ends)
            return super().watch()

    assert pauses(lambda: LongSessionLink(TOOK_OVER), 4) == [0.1, 0.2, 0.1, 0.2]


def test_all_managers_are_asked_before_a_pause() -> None:
    class Managers:
        addresses = 3
        calls = 0

        def __call__(self) -> EndedLink:
            self.calls += 1
            return EndedLink(NotReachable("nobody answers"))

    managers = Managers()
    assert pauses(managers, 3) == [0.1, 0.2, 0.4]
    assert managers.calls == 9


def test_an_address_that_is_wrong_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHUNTER_EXTERNAL_GRPC", "a:1,b:2")
    assert find_addresses(None, "secret") == (["a:1", "b:2"], "secret")
    assert find_addresses(["c:3", "d:4"], "secret")[0] == ["c:3", "d:4"]
    with pytest.raises(Invalid, match="'b 2'"):
        find_addresses("a:1,b 2", "secret")


def test_refusals_are_logged_once_for_each_reason_and_when_it_is_overruled(caplog: pytest.LogCaptureFixture) -> None:
    scheduler, refused = ExternalScheduler(IdlePolicy()), [ItemRefusal("placements[0]", "no room")]
    for answer in (
        DecisionAnswer(1),
        *[DecisionAnswer(2, refusals=refused)] * 3,
        DecisionAnswer(3, refusals=refused, is_overruled=True),
        *[DecisionAnswer(4, is_overruled=True)] * 3,  # it decided nothing since
        DecisionAnswer(5),
    ):
        scheduler._log_refusals(answer)
    assert [line.getMessage().partition("items=")[2] for line in caplog.records] == [
        "1 reason='no room' is_overruled=False",
        "1 reason='no room' is_overruled=True",
    ]


def test_a_scheduler_that_is_overruled_for_deciding_nothing_is_told_so(caplog: pytest.LogCaptureFixture) -> None:
    scheduler = ExternalScheduler(IdlePolicy())
    for answer in (DecisionAnswer(1), *[DecisionAnswer(2, is_overruled=True)] * 3):
        scheduler._log_refusals(answer)
    assert [line.getMessage().split()[0] for line in caplog.records] == ["scheduler.overruled"]
