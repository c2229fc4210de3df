"""The keeper's own JSON is JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.worker.keeper.json_lines import decode, encode
from shunter.worker.process import protocol

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(PLAIN)
def test_what_is_encoded_is_json_of_one_line(value: Any) -> None:
    text = encode(value)
    assert json.loads(text) == value
    assert "\n" not in text


@given(PLAIN)
def test_what_any_encoder_writes_can_be_decoded(value: Any) -> None:
    assert decode(json.dumps(value).encode()) == value


@pytest.mark.parametrize("line", [b"", b"[1,", b"nonsense", b"\xff", b"[" * 100_000])
def test_what_is_not_json_is_an_error(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"JSON|decode"):
        decode(line)


@given(st.binary(max_size=300) | PLAIN.map(lambda value: json.dumps(value).encode()))
def test_whatever_comes_from_the_socket_is_read_or_refused(line: bytes) -> None:
    """Both ends: the keeper reads plain values, the worker messages of a keeper."""
    for read in (decode, protocol.decode):
        try:
            read(line)
        except ValueError:
            pass  # msgspec's errors are ValueErrors too
