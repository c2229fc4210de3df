"""Refused requests are counted in bounded memory, whoever sends them."""

from __future__ import annotations

from shunter.api.audit.refusals import ROWS_MAX, RefusalCounter
from shunter.model.audit.records import RefusedRequests
from shunter.ports.principals import Principal

ANNA = Principal("anna", frozenset(), "k1", "red")


def test_the_same_refusal_is_one_row_with_a_count() -> None:
    counter = RefusalCounter()
    for _ in range(3):
        counter.add("10.0.0.7", 401, is_write=False)
    counter.add("10.0.0.7", 403, "stopJob", ANNA, is_write=True)
    assert counter.take() == [
        RefusedRequests("10.0.0.7", 401, 3),
        RefusedRequests("10.0.0.7", 403, 1, "stopJob", "anna", "red", "k1"),
    ]
    assert counter.take() == []


def test_reads_that_find_nothing_are_not_refusals() -> None:
    counter = RefusalCounter()
    for status in (200, 404, 400, 503):
        counter.add("10.0.0.7", status, is_write=False)
    for status in (201, 500, 503):
        counter.add("10.0.0.7", status, is_write=True)
    assert counter.take() == []
    for status in (400, 404, 409, 413, 429):
        counter.add("10.0.0.7", status, is_write=True)
    assert [each.status for each in counter.take()] == [400, 404, 409, 413, 429]


def test_a_flood_from_many_sources_takes_no_more_rows_than_one_from_few() -> None:
    counter = RefusalCounter()
    for number in range(10 * ROWS_MAX):
        counter.add(f"10.{number // 65536}.{number // 256 % 256}.{number % 256}", 401, is_write=False)
    counter.add("10.0.0.0", 403, is_write=False)
    rows = counter.take()
    assert len(rows) == ROWS_MAX + 2
    assert rows[-2:] == [RefusedRequests("", 401, 9 * ROWS_MAX), RefusedRequests("", 403, 1)]


def test_what_could_not_be_recorded_counts_in_the_next_minute() -> None:
    counter = RefusalCounter()
    counter.add("10.0.0.7", 401, is_write=False)
    counter.put_back(counter.take())
    counter.add("10.0.0.7", 401, is_write=False)
    assert counter.take() == [RefusedRequests("10.0.0.7", 401, 2)]


def test_addresses_of_one_network_are_one_source() -> None:
    counter = RefusalCounter()
    for host in range(5):
        counter.add(f"2001:db8::{host:x}", 401, is_write=False)
    assert counter.take() == [RefusedRequests("2001:db8::", 401, 5)]
