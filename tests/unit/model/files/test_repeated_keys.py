"""A key that an object of a JSON document has twice is found; nothing else is taken for one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.model.files.repeated_keys import SEARCHED_SIZE_MAX, find_repeated_key


@pytest.mark.parametrize(
    ("document", "key"),
    [
        ('{"a": 1, "a": 2}', "a"),
        ('[{"spec": {"count": 1, "cpu": 1, "count": 1}}]', "count"),
        (r'{"a": 1, "\u0061": 2}', "a"),
        ('{"a": {"b": 1}, "b": [{"a": 1}, {"a": 2}]}', None),
        ('{"a": ' + "9" * 5_000 + "}", None),
        ("[]", None),
    ],
)
def test_the_key_is_named(document: str, key: str | None) -> None:
    assert find_repeated_key(document) == find_repeated_key(document.encode()) == key


@given(st.recursive(st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_documents_with_different_keys_have_none(value: object) -> None:
    assert find_repeated_key(json.dumps(value)) is None


def test_a_document_beyond_the_limit_is_not_searched() -> None:
    document = '{"a": 1, "a": "' + "x" * SEARCHED_SIZE_MAX + '"}'
    assert find_repeated_key(document) is None
