"""Manifest files: decoded YAML and JSON, and the position of syntax errors."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.model.errors import Invalid
from shunter.model.files import yaml_reader
from shunter.model.files.yaml_reader import parse_documents


def refusal(text: str | bytes) -> str:
    with pytest.raises(Invalid) as caught:
        parse_documents(text)
    return str(caught.value)


def value(text: str) -> object:
    (document,) = parse_documents(f"v: {text}")
    assert isinstance(document, dict)
    return document["v"]


def test_several_documents_are_read_and_empty_ones_left_out() -> None:
    assert parse_documents("a: 1\n---\n---\n# nothing\n---\nb: [x, {c: d}]\n") == [{"a": 1}, {"b": ["x", {"c": "d"}]}]


def test_json_is_read_as_json_and_as_the_yaml_that_it_is() -> None:
    assert parse_documents(b'{"a": [1, 2.5, null, "x"]}') == [{"a": [1, 2.5, None, "x"]}]
    assert parse_documents("{kind: Job, 'a': 1}") == [{"kind": "Job", "a": 1}]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yes", "yes"), ("on", "on"), ("1:30", "1:30"), ("2020-01-01", "2020-01-01"), ("1_000", "1_000"),
        ("true", True), ("FALSE", False), ("~", None), ("null", None), ("", None), ("''", ""),
        ("010", 10), ("0o17", 15), ("0x1F", 31), ("-5", -5), ("+5", 5), ("1.5", 1.5), (".5e3", 500.0),
        (".inf", math.inf), ("-.INF", -math.inf), ("'5'", "5"), ("!!str 5", "5"), ("! 5", "5"), ("-", None),
        ("1.2.3", "1.2.3"), ("500m", "500m"), ("1" * 500, "1" * 500), ("|\n  a\n  b\n", "a\nb\n"),
    ],
)  # fmt: skip
def test_plain_words_follow_yaml_1_2(text: str, expected: object) -> None:
    if text == "-":
        assert parse_documents("v:\n-") == [{"v": [None]}]
    else:
        assert value(text) == expected
        assert type(value(text)) is type(expected)


def test_nan_is_a_number() -> None:
    found = value(".nan")
    assert isinstance(found, float)
    assert math.isnan(found)


def test_anchors_and_merge_keys_share_what_is_alike() -> None:
    text = "base: &b {x: 1, y: 2}\nlist: [*b, *b]\nown: {<<: *b, x: 5}\nlate: {x: 5, <<: [*b, {y: 3, z: 4}]}"
    (document,) = parse_documents(text)
    assert document == {
        "base": {"x": 1, "y": 2},
        "list": [{"x": 1, "y": 2}, {"x": 1, "y": 2}],
        "own": {"x": 5, "y": 2},
        "late": {"x": 5, "y": 2, "z": 4},
    }


def test_a_merge_key_in_quotes_is_a_key_like_any_other() -> None:
    assert parse_documents("'<<': {x: 1}\n\"a\": 2") == [{"<<": {"x": 1}, "a": 2}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: c: d", "line 2, column 5: mapping values are not allowed in this context"),
        ("a: 1\nb: 2\na: 3", "line 3, column 1: the key appears twice (got 'a'); remove one of them"),
        ("a: 'x", "line 1, column 6: found unexpected end of stream"),
        ("a: &x [*x]", "line 1, column 8: an alias must name an anchor that is complete before the alias (got 'x')"),
        ("a: *x", "line 1, column 4: an alias must name an anchor that is complete before the alias (got 'x')"),
        ("a: &x 1\n---\nb: *x", "line 3, column 4: an alias must name"),
        ("a: !!python/object:os.system x", "line 1, column 4: tags are not supported"),
        ("a: !!set {x}", "line 1, column 4: tags are not supported"),
        ("? [1]\n: 2", "line 1, column 5: keys must be text"),
        ("<<: 5", "line 1, column 5: << must have a mapping"),
        ("\ta: 1", "line 1, column 1: starts with a tab"),
        ("a: \x00", "document: is not YAML"),
        ("a: \ud800", "document: is not YAML"),
        (b"a: \xff", "byte 3: is not UTF-8"),
        ("", "document: is empty"),
        ("---\n---\n", "document: is empty"),
        ("a" * (yaml_reader.TEXT_SIZE_MAX + 1), "document: is larger than"),
    ],
)  # fmt: skip
def test_a_broken_file_is_refused_with_its_place(text: str | bytes, message: str) -> None:
    assert refusal(text).startswith(message)


def test_deep_nesting_ends_the_reading_and_not_the_process() -> None:
    assert "nested deeper than 64 levels" in refusal("[" * 1_000_000)
    assert "nested deeper than 64 levels" in refusal("a: " + "{b: " * 1_000)


def test_aliases_cannot_stand_for_more_than_may_be_written_out() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert "values, aliases included" in refusal("\n".join(lines))


def test_more_documents_than_allowed_are_refused() -> None:
    assert "documents" in refusal("--- a\n" * (yaml_reader.DOCUMENTS_MAX + 1))


@given(st.text(max_size=60))
def test_any_text_is_either_read_or_refused_as_invalid(text: str) -> None:
    try:
        assert parse_documents(text)
    except Invalid as error:
        assert error.problems


@pytest.mark.parametrize("seed", range(20))
def test_what_looks_like_yaml_is_either_read_or_refused_as_invalid(seed: int) -> None:
    chosen = random.Random(seed)
    pieces = [
        "a",
        ": ",
        "- ",
        "\n",
        "  ",
        "{",
        "}",
        "[",
        "]",
        "&x ",
        "*x",
        "<<",
        "!",
        "'",
        '"',
        "|",
        "? ",
        "#",
        "1",
        ".",
    ]
    for _ in range(200):
        text = "".join(chosen.choices(pieces, k=chosen.randrange(25)))
        try:
            parse_documents(text)
        except Invalid:
            continue
        except Exception as error:
            pytest.fail(f"seed {seed}, text {text!r}: {error!r}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a:\n\tb: 1\n", "line 2, column 1: starts with a tab; YAML needs spaces for the indentation"),
        ("a:\n  b: 1\n  \tc: 2\n", "line 3, column 3: starts with a tab; YAML needs spaces for the indentation"),
        ("a:\n  b: [x]\n c: 3\n", "line 3, column 2: does not belong to what is above it; check the indentation"),
        (
            '{"a": "x", "b": ["\\ud800"]}',
            "line 1, column 21: has an unpaired surrogate (\\ud800), which is no character; write the character itself",
        ),
    ],
)
def test_usual_mistakes_are_named(text: str, said: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_documents(text)
    assert str(caught.value) == said


def test_a_repeated_key_is_refused_in_json_as_in_yaml() -> None:
    assert "has the key 'a' twice" in refusal('{"a": 1, "a": 2}')
    assert "a" in refusal("a: 1\na: 2\n")
