"""STOMP frames: written frames can be read again in any pieces, and invalid frames are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.api.stomp.frames import (
    BODY_SIZE_MAX,
    HEAD_SIZE_MAX,
    HEADERS_MAX,
    V1_0,
    V1_1,
    V1_2,
    BadFrame,
    Decoder,
    Frame,
    encode,
)

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)
VALUES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
HEADERS = st.dictionaries(NAMES.filter(lambda name: name != "content-length"), VALUES, max_size=8)
FRAMES = st.one_of(
    st.builds(Frame, st.sampled_from(["SEND", "MESSAGE", "ERROR"]), HEADERS, st.binary(max_size=200)),
    st.builds(Frame, st.sampled_from(["SUBSCRIBE", "ACK", "RECEIPT", "STOMP"]), HEADERS),
)


def decoded(data: bytes, *, size: int | None = None, version: str = V1_2) -> list[Frame]:
    decoder = Decoder()
    decoder.version = version
    found = []
    for start in range(0, len(data), size or len(data) or 1):
        decoder.feed(data[start : start + (size or len(data))])
        while (frame := decoder.next()) is not None:
            found.append(frame)
    return found


def without_length(frame: Frame) -> Frame:
    return Frame(frame.command, {k: v for k, v in frame.headers.items() if k != "content-length"}, frame.body)


@given(st.lists(FRAMES, max_size=4), st.integers(1, 50))
def test_frames_are_read_as_they_were_written_in_whatever_chunks_they_come(frames: list[Frame], size: int) -> None:
    data = b"\n".join(encode(frame) for frame in frames)
    assert [without_length(frame) for frame in decoded(data, size=size)] == frames


@given(st.binary(max_size=300))
def test_whatever_comes_is_a_frame_or_refused(data: bytes) -> None:
    try:
        for frame in decoded(data):
            assert frame.command.isupper()
    except BadFrame as error:
        assert str(error)


def test_headers_are_escaped_except_in_connect_and_connected() -> None:
    headers = {"a:b": "c\\d\ne\rf"}
    assert encode(Frame("SEND", headers)) == b"SEND\na\\cb:c\\\\d\\ne\\rf\n\n\0"
    assert encode(Frame("CONNECTED", {"server": "a:b\\c"})) == b"CONNECTED\nserver:a:b\\c\n\n\0"
    assert decoded(b"CONNECT\npasscode:a\\nb:c\n\n\0")[0].headers == {"passcode": "a\\nb:c"}


def test_each_version_escapes_as_it_says() -> None:
    assert encode(Frame("SEND", {"a": "b:c\r"}), V1_1) == b"SEND\na:b\\cc\r\n\n\0"
    assert encode(Frame("SEND", {"a": "b\\c"}), V1_0) == b"SEND\na:b\\c\n\n\0"
    assert decoded(b"SEND\na:b\\qc\n\n\0", version=V1_0)[0].headers == {"a": "b\\qc"}
    with pytest.raises(BadFrame, match="not a valid escape"):
        decoded(b"SEND\na:b\\rc\n\n\0", version=V1_1)


def test_content_length_counts_bytes_and_lets_a_body_hold_nul() -> None:
    body = "ä\0b".encode()
    data = encode(Frame("SEND", {}, body))
    assert b"content-length:4" in data
    assert decoded(data)[0].body == body
    assert decoded(b"SEND\n\nab\0\n")[0].body == b"ab"


def test_several_frames_and_heart_beats_may_come_together() -> None:
    frames = decoded(b"\n\r\n\nSEND\n\n1\0\n\nACK\r\nid:2\r\n\r\n\0\n")
    assert [(frame.command, dict(frame.headers), frame.body) for frame in frames] == [
        ("SEND", {}, b"1"),
        ("ACK", {"id": "2"}, b""),
    ]


def test_of_a_repeated_header_the_first_counts() -> None:
    assert decoded(b"SEND\na:1\na:2\n\n\0")[0].headers == {"a": "1"}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"SEND\0", "within its headers"),
        (b"SEND\na:b\0\n\n", "within its headers"),
        (b"send\n\n\0", "begins with a command"),
        (b"\rSEND\n\n\0", "begins with a command"),
        (b"SEND\nnothing\n\n\0", "NAME:VALUE"),
        (b"SEND\n:value\n\n\0", "NAME:VALUE"),
        (b"SEND\na:\\t\n\n\0", "not a valid escape"),
        (b"SEND\na:b\\\n\n\0", "not a valid escape"),
        (b"SEND\na:\xff\n\n\0", "not UTF-8"),
        (b"SEND\ncontent-length:x\n\n\0", "number of bytes"),
        (b"SEND\ncontent-length:-1\n\n\0", "number of bytes"),
        (b"SEND\ncontent-length:2\n\nabc\0", "no NUL follows the 2 bytes"),
        (b"SUBSCRIBE\n\nbody\0", "SUBSCRIBE frame has no body"),
        (b"SEND\n" + b"a:b\n" * (HEADERS_MAX + 1) + b"\n\0", f"more than {HEADERS_MAX} headers"),
        (b"SEND\na:" + b"b" * HEAD_SIZE_MAX, f"{HEAD_SIZE_MAX:,} bytes"),
        (b"SEND\n\n" + b"b" * (BODY_SIZE_MAX + 1), f"{BODY_SIZE_MAX:,} bytes"),
        (b"SEND\ncontent-length:%d\n\n" % (BODY_SIZE_MAX + 1), f"{BODY_SIZE_MAX:,} bytes"),
    ],
)
def test_what_is_no_frame_is_refused_with_the_reason(data: bytes, said: str) -> None:
    with pytest.raises(BadFrame, match=said):
        decoded(data)
