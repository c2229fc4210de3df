"""HTTP answers from bytes, however the network cuts them; requests as bytes."""

from __future__ import annotations

import pytest

from shunter.sdk.endpoint import Endpoint
from shunter.sdk.errors import AnswerNotUnderstood, ConnectionLost
from shunter.sdk.transport.http1 import CHUNK_LINE_MAX_BYTES, HEAD_MAX_BYTES, ResponseParser, encode_request
from shunter.sdk.transport.steps import Request

BY_LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Kind:  fruit \r\n\r\napple"
IN_CHUNKS = (
    b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\napp\r\n2;note=x\r\nle\r\n0\r\nTrailer: t\r\n\r\n"
)
AFTER_A_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n" + BY_LENGTH


@pytest.mark.parametrize("wire", [BY_LENGTH, IN_CHUNKS, AFTER_A_CONTINUE], ids=["length", "chunks", "continue"])
@pytest.mark.parametrize("piece_size", [1, 2, 3, 7, 1000])
def test_an_answer_is_the_same_however_it_is_cut(wire: bytes, piece_size: int) -> None:
    parser, body = ResponseParser(), b""
    for start in range(0, len(wire), piece_size):
        assert not parser.complete
        parser.feed(wire[start : start + piece_size])
        body += parser.take_body()
    assert parser.complete and parser.reusable
    assert body == b"apple"


def test_the_head_is_known_before_the_body_is_complete() -> None:
    parser = ResponseParser()
    parser.feed(BY_LENGTH[:-3])
    assert (parser.status, parser.headers["x-kind"], parser.complete) == (200, "fruit", False)
    assert parser.take_body() == b"ap"


def test_a_body_without_length_ends_with_the_connection_which_is_then_of_no_more_use() -> None:
    parser = ResponseParser()
    parser.feed(b"HTTP/1.1 200 OK\r\n\r\napple")
    assert not parser.complete
    parser.feed(b"")
    assert parser.complete and parser.take_body() == b"apple" and not parser.reusable


def test_an_answer_without_content_is_complete_with_its_head() -> None:
    parser = ResponseParser()
    parser.feed(b"HTTP/1.1 204 No Content\r\n\r\n")
    assert parser.complete and parser.reusable and parser.take_body() == b""


def test_a_connection_ends_when_the_server_says_close() -> None:
    parser = ResponseParser()
    parser.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n")
    assert parser.complete and not parser.reusable


@pytest.mark.parametrize("wire", [BY_LENGTH, IN_CHUNKS], ids=["length", "chunks"])
def test_a_connection_that_ends_anywhere_before_the_end_is_lost(wire: bytes) -> None:
    for size in range(1, len(wire)):
        parser = ResponseParser()
        parser.feed(wire[:size])
        with pytest.raises(ConnectionLost):
            parser.feed(b"")


@pytest.mark.parametrize(
    "wire",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * (CHUNK_LINE_MAX_BYTES + 1),
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * HEAD_MAX_BYTES,
    ],
    ids=["not http", "no status", "no number", "negative", "no chunk size", "endless chunk size", "endless head"],
)
def test_what_is_not_http_is_told_so(wire: bytes) -> None:
    with pytest.raises(AnswerNotUnderstood):
        ResponseParser().feed(wire)


def test_a_request_carries_host_token_headers_and_body() -> None:
    endpoint = Endpoint("::1", 7070, "secret", prefix="/proxy")
    request = Request("POST", "/jobs?namespace=a%20b", (("Idempotency-Key", "k"),), b"{}")
    assert encode_request(endpoint, request) == (
        b"POST /proxy/api/v1/jobs?namespace=a%20b HTTP/1.1\r\n"
        b"Host: [::1]:7070\r\nAuthorization: Bearer secret\r\nIdempotency-Key: k\r\nContent-Length: 2\r\n\r\n{}"
    )


def test_a_request_without_a_body_has_no_length() -> None:
    assert b"Content-Length" not in encode_request(Endpoint("a", 1, "t"), Request("GET", "/nodes"))
