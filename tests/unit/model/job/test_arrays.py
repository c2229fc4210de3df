"""Arrays: what their spelling means, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.model.job import arrays
from shunter.model.job.arrays import (
    compress_indexes,
    count_indexes,
    format_indexes,
    index_at,
    parse_array,
    parse_entries,
    part_of,
    position_of,
)


def indexes(parts: tuple[arrays.IndexRange, ...]) -> list[int]:
    return [index_at(parts, place) for place in range(count_indexes(parts))]


@pytest.mark.parametrize(
    ("text", "expected", "parallel_max"),
    [
        ("5", [5], 0),
        ("0-3", [0, 1, 2, 3], 0),
        ("1-10:3", [1, 4, 7, 10], 0),
        ("1-9:3", [1, 4, 7], 0),
        ("1-2:9", [1], 0),
        ("7, 1-3", [7, 1, 2, 3], 0),
        ("1-5:2,2-6:2", [1, 3, 5, 2, 4, 6], 0),
        ("1-100:50%4", [1, 51], 4),
        ("3%1", [3], 1),
    ],
)
def test_a_spelling_names_its_indexes_in_order(text: str, expected: list[int], parallel_max: int) -> None:
    array = parse_array(text)
    assert (indexes(array.parts), array.parallel_max) == (expected, parallel_max)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a list of indexes"),
        ("a-b", "is not a list of indexes, found 'a-b'"),
        ("1-", "found '1-'"),
        ("1:2", "found '1:2'"),
        ("-5", "found '-5'"),
        ("1,,2", "found ''"),
        ("5-1", "must count upwards, found '5-1'"),
        ("1-5:0", "must count upwards"),
        ("1-5%", "must have a number after %"),
        ("1-5%0", "must have a number after %, found '0'"),
        ("1-5,3", "must not have an index twice, found 3"),
        ("1-100:7,2-100:5", "must not have an index twice, found 22"),
        ("1-9999999999", "must stay below 2,147,483,648"),
        ("0-10000000", "must have at most 10,000,000 indexes"),
        ("1" * 20_000, "must be at most 16,384 characters"),
        (",".join(str(n) for n in range(0, 2000, 2)), "must have 1 to 512 parts"),
    ],
)
def test_what_is_no_array_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_array(text)


PARTS = st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(1, 9)).filter(lambda part: part[0] <= part[1])


@given(st.lists(PARTS, min_size=1, max_size=5))
def test_an_array_is_taken_exactly_if_no_index_comes_twice(parts: list[tuple[int, int, int]]) -> None:
    text = ",".join(f"{first}-{last}:{step}" for first, last, step in parts)
    expected = [index for first, last, step in parts for index in range(first, last + 1, step)]
    try:
        found = indexes(parse_array(text).parts)
    except ValueError as error:
        assert len(set(expected)) < len(expected)
        assert "twice" in str(error)
    else:
        assert found == expected
        assert len(set(expected)) == len(expected)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=40, unique=True))
def test_a_list_is_folded_into_few_parts_and_keeps_its_order(listed: list[int]) -> None:
    parts = compress_indexes(listed)
    assert indexes(parts) == listed
    assert len(parts) <= len(listed)


def test_an_even_list_is_one_part() -> None:
    assert compress_indexes(list(range(3, 1000, 4))) == ((3, 999, 4),)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=30, unique=True), st.data())
def test_positions_and_indexes_are_each_other_s_opposite(values: list[int], data: st.DataObject) -> None:
    parts = compress_indexes(values)
    assert [position_of(parts, index) for index in values] == list(range(len(values)))
    assert all(position_of(parts, index) is None for index in range(62) if index not in values)
    first = data.draw(st.integers(0, len(values) - 1))
    last = data.draw(st.integers(first, len(values) - 1))
    assert indexes(part_of(parts, first, last)) == values[first : last + 1]


def test_indexes_are_written_as_in_a_manifest_and_cut_if_there_are_many() -> None:
    assert format_indexes(parse_array("1-9:4,20,30-31").parts) == "1-9:4,20,30-31"
    assert format_indexes(parse_array(",".join(map(str, range(0, 40, 4)))).parts) == "0,4,8,12,16,20,24,28,…"


def test_the_lines_of_a_file_are_entries() -> None:
    assert parse_entries("a.png\nb c.png\r\n\n  \nlast") == ("a.png", "b c.png", "last")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n \n", "at least one non-empty line"),
        ("a\n" * (arrays.ENTRIES_MAX + 1), "at most 100,000 lines, found 100,001"),
        ("a\n" + "x" * (arrays.ENTRY_SIZE_MAX + 1), "entry 2 must be at most 4,096 bytes"),
        ("a\nb\0", "entry 2 .* without NUL"),
    ],
)
def test_a_file_that_cannot_be_entries_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_entries(text)
