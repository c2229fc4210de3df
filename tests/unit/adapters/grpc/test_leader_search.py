"""Which manager a worker tries next, and after how long."""

from __future__ import annotations

import random

import pytest

from shunter.adapters.grpc.backoff import BACKOFF_MAX_S
from shunter.adapters.grpc.leader_search import PAUSE_MAX_S, PAUSE_MIN_S, LeaderSearch, is_address
from shunter.model.protocol.refusals import RefusalCode, refuse
from shunter.model.protocol.worker_messages import Refused

ADDRESSES = ["a:1", "b:2", "c:3"]


def not_leader(leader: str = "") -> Refused:
    return refuse(RefusalCode.NOT_LEADER, "follows", leader)


def search(addresses: list[str] | None = None, seed: int = 0) -> LeaderSearch:
    return LeaderSearch(addresses or ADDRESSES, random.Random(seed))


def test_the_first_rounds_through_the_managers_are_quick_and_visit_all() -> None:
    finding = search()
    visited, delays_s = [], []
    for _ in range(6):
        visited.append(finding.address)
        delays_s.append(finding.ended(None))
    assert sorted(visited[:3]) == sorted(visited[3:]) == ADDRESSES
    assert all(PAUSE_MIN_S <= delay_s <= PAUSE_MAX_S for delay_s in delays_s)


def test_a_search_without_success_slows_down_to_the_longest_back_off() -> None:
    finding = search()
    delays_s = [finding.ended(not_leader()) for _ in range(40)]
    assert all(BACKOFF_MAX_S / 2 <= delay_s <= BACKOFF_MAX_S for delay_s in delays_s[20:])


def test_news_of_a_leader_makes_a_slow_search_quick_again() -> None:
    finding = search()
    for _ in range(40):
        finding.ended(None)
    finding.point_to("c:3")
    assert finding.address == "c:3"
    assert finding.ended(None) <= PAUSE_MAX_S


def test_the_leader_that_a_refusal_names_is_tried_at_once_also_outside_the_list() -> None:
    finding = search()
    assert finding.ended(not_leader("elsewhere:9")) == 0.0
    assert finding.address == "elsewhere:9"
    assert finding.ended(None) >= PAUSE_MIN_S
    assert finding.address in ADDRESSES


def test_managers_that_name_one_another_do_not_keep_a_worker_busy() -> None:
    finding = search(["a:1", "b:2"])
    waits = 0
    for _ in range(30):
        other = "a:1" if finding.address == "b:2" else "b:2"
        waits += finding.ended(not_leader(other)) > 0
    assert waits >= 10


def test_a_manager_that_names_itself_is_tried_again_after_a_pause() -> None:
    finding = search()
    first = finding.address
    assert PAUSE_MIN_S <= finding.ended(not_leader(first)) <= PAUSE_MAX_S
    assert finding.address == first


@pytest.mark.parametrize("code", [RefusalCode.RESET, RefusalCode.BUSY, RefusalCode.REPLACED])
def test_a_leader_that_takes_no_worker_now_is_tried_again(code: RefusalCode) -> None:
    finding = search()
    first = finding.address
    assert finding.ended(refuse(code, "")) > 0
    assert finding.address == first


def test_a_manager_that_never_takes_the_worker_does_not_keep_it_from_the_others() -> None:
    finding = search()
    first = finding.address
    for _ in range(10):
        finding.ended(refuse(RefusalCode.BUSY, ""))
        if finding.address != first:
            return
    raise AssertionError("it asks one manager only")


def test_a_token_that_one_manager_refuses_is_tried_at_the_others() -> None:
    finding = search()
    unauthorized = refuse(RefusalCode.UNAUTHORIZED, "")
    assert finding.ended(unauthorized) <= PAUSE_MAX_S
    finding.ended(None)
    finding.ended(unauthorized)
    assert not finding.is_refused_by_all
    finding.ended(unauthorized)
    assert finding.ended(unauthorized) > BACKOFF_MAX_S
    assert finding.is_refused_by_all
    finding.accepted()
    assert not finding.is_refused_by_all


def test_workers_begin_at_different_managers() -> None:
    assert {search(seed=seed).address for seed in range(30)} == set(ADDRESSES)


@pytest.mark.parametrize("address", ["10.0.0.1:7071", "[::1]:7071", "manager-1.example:1", "localhost:65535"])
def test_addresses_are_accepted(address: str) -> None:
    assert is_address(address)


@pytest.mark.parametrize(
    "text", ["", "host", "unix:/tmp/socket", "dns:///host:1", "a:1,b:2", "host:1/x", "a b:1", "x" * 300 + ":1", "a:1\n"]
)
def test_anything_else_is_no_address(text: str) -> None:
    assert not is_address(text)
