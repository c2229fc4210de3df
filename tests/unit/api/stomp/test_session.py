"""A STOMP session: what a client may send, and the answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.api.stomp.frames import Decoder, Frame, encode
from shunter.api.stomp.session import (
    HEARTBEAT_MS,
    SUBSCRIPTIONS_MAX,
    Close,
    Session,
    Step,
    Subscribe,
    Unsubscribe,
    Write,
)
from shunter.api.stomp.topics import Topic
from tests.unit.api.stomp.harness import AnyReader

TOKEN = "sesame"


def session(*, is_authenticated: bool = True) -> Session:
    reader = AnyReader()
    return Session(lambda token: reader if token == TOKEN else None, reader if is_authenticated else None)


def connected(version: str = "1.2", **headers: str) -> Session:
    made = session()
    [step] = made.receive(frame("CONNECT", **{"accept-version": version, **headers}))
    assert read(step).command == "CONNECTED"
    return made


def frame(command: str, /, body: str = "", **headers: str) -> bytes:
    lines = [command, *(f"{name.replace('_', '-')}:{value}" for name, value in headers.items())]
    return ("\n".join(lines) + f"\n\n{body}\0").encode()


def read(step: Step) -> Frame:
    assert isinstance(step, Write)
    decoder = Decoder()
    decoder.feed(step.data.encode())
    found = decoder.next()
    assert found is not None
    return found


def refusal(steps: list[Step]) -> Frame:
    """The ERROR that ends it."""
    *_, written, end = steps
    assert end == Close(is_error=True)
    error = read(written)
    assert (error.command, error.headers["content-type"]) == ("ERROR", "text/plain")
    return error


# ---- connecting ----


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [("1.2", "1.2"), ("1.0,1.1,1.2", "1.2"), ("1.1,1.0", "1.1"), (" 1.1 , 2.0", "1.1"), (None, "1.0")],
)
@pytest.mark.parametrize("command", ["CONNECT", "STOMP"])
def test_the_newest_version_that_both_know_is_chosen(command: str, offered: str | None, chosen: str) -> None:
    headers = {} if offered is None else {"accept-version": offered}
    [step] = session().receive(frame(command, host="x", **headers))
    answer = read(step)
    assert (answer.command, answer.headers["version"], answer.headers["server"]) == ("CONNECTED", chosen, "shunter")


def test_without_a_common_version_the_known_ones_are_told() -> None:
    error = refusal(session().receive(frame("CONNECT", accept_version="2.0")))
    assert (error.headers["message"], error.headers["version"]) == ("unsupported version", "1.0,1.1,1.2")


@pytest.mark.parametrize(
    "headers",
    [{"passcode": TOKEN}, {"login": "me", "passcode": TOKEN}, {"login": TOKEN}, {"Authorization": f"Bearer {TOKEN}"}],
)
def test_the_token_may_come_in_several_ways(headers: dict[str, str]) -> None:
    [step] = session(is_authenticated=False).receive(frame("CONNECT", **headers))
    assert read(step).command == "CONNECTED"


def test_a_token_of_an_issuer_may_list_many_groups() -> None:
    made = Session(lambda token: AnyReader() if token == "e" * 12_000 else None)
    [step] = made.receive(frame("CONNECT", passcode="e" * 12_000, **{"accept-version": "1.2"}))
    assert read(step).command == "CONNECTED"


@pytest.mark.parametrize("headers", [{}, {"passcode": "wrong"}, {"login": "me"}, {"Authorization": "Bearer wrong"}])
def test_without_the_token_nobody_is_let_in(headers: dict[str, str]) -> None:
    made = session(is_authenticated=False)
    assert refusal(made.receive(frame("CONNECT", **headers))).headers["message"] == "unauthorized"
    assert not made.is_connected and made.receive(frame("CONNECT", passcode=TOKEN)) == []


@pytest.mark.parametrize(
    ("said", "beat_ms", "heard_ms"),
    [("0,0", 0, 0), ("10000,20000", 20_000, 10_000), ("1,1", HEARTBEAT_MS, HEARTBEAT_MS), ("0,5000", 5_000, 0)],
)
def test_heart_beats_are_agreed_on_both_ways(said: str, beat_ms: int, heard_ms: int) -> None:
    made = connected(**{"heart-beat": said})
    assert (made.send_interval_ms, made.receive_interval_ms) == (beat_ms, heard_ms)


@pytest.mark.parametrize("said", ["", "1", "1,2,3", "a,b", "-1,0", "1.5,0"])
def test_a_malformed_heart_beat_is_refused(said: str) -> None:
    error = refusal(session().receive(frame("CONNECT", heart_beat=said)))
    assert error.headers["message"] == "malformed heart-beat"


def test_a_newline_is_a_heart_beat_and_nothing_else() -> None:
    assert connected().receive(b"\n") == []


def test_nothing_comes_before_connect_and_connect_only_once() -> None:
    assert refusal(session().receive(frame("SUBSCRIBE", id="1", destination="/topic/jobs"))).headers["message"] == (
        "not connected"
    )
    assert refusal(connected().receive(frame("CONNECT"))).headers["message"] == "already connected"


# ---- subscribing ----


@pytest.mark.parametrize(
    ("destination", "header", "topic"),
    [
        ("/topic/testbeds", None, Topic("default", "Testbed")),
        ("/topic/jobs", None, Topic("default", "BatchJob")),
        ("/topic/schedulings/first", None, Topic("default", "Scheduling", "first")),
        ("/topic/jobs/crawler", "lab", Topic("lab", "BatchJob", "crawler")),
        ("/topic/namespaces/lab/jobs", None, Topic("lab", "BatchJob")),
        ("/topic/namespaces/lab/jobs/crawler", "lab", Topic("lab", "BatchJob", "crawler")),
    ],
)
def test_every_topic_can_be_subscribed_to(destination: str, header: str | None, topic: Topic) -> None:
    headers = {} if header is None else {"namespace": header}
    [step, receipt] = connected().receive(
        frame("SUBSCRIBE", id="sub-0", destination=destination, receipt="r:1".replace(":", r"\c"), **headers)
    )
    assert isinstance(step, Subscribe)
    assert (step.subscription.topic, step.subscription.id) == (topic, "sub-0")
    assert step.subscription.head == f"MESSAGE\nsubscription:sub-0\ndestination:{destination}\n"
    assert read(receipt) == Frame("RECEIPT", {"receipt-id": "r:1"})


@pytest.mark.parametrize(
    "destination",
    [
        "/topic/nodes", "/topic", "/topic/", "/topic/jobs/", "/topic/jobs/a/b", "/topic/jobs/UPPER", "/queue/jobs",
        "jobs", "/topic/namespaces/lab", "/topic/namespaces/lab/nodes", "/topic/namespaces/Lab/jobs", "/app/jobs",
    ],
)  # fmt: skip
def test_what_is_no_topic_is_refused_with_those_that_are(destination: str) -> None:
    error = refusal(connected().receive(frame("SUBSCRIBE", id="1", destination=destination, receipt="r")))
    assert (error.headers["message"], error.headers["receipt-id"]) == ("unknown destination", "r")
    assert b"/topic/schedulings" in error.body


def test_a_destination_and_a_header_of_two_namespaces_is_refused() -> None:
    steps = connected().receive(frame("SUBSCRIBE", id="1", destination="/topic/namespaces/a/jobs", namespace="b"))
    assert b"but the header has b" in refusal(steps).body


@pytest.mark.parametrize("ack", ["auto", "client", "client-individual"])
def test_every_way_to_acknowledge_is_accepted(ack: str) -> None:
    made = connected()
    [step] = made.receive(frame("SUBSCRIBE", id="1", destination="/topic/jobs", ack=ack))
    assert isinstance(step, Subscribe) and step.subscription.is_acknowledged == (ack != "auto")
    [receipt] = made.receive(frame("ACK", id="7", receipt="a") + frame("NACK", id="8"))
    assert read(receipt).headers == {"receipt-id": "a"}


def test_an_old_client_is_known_by_its_destinations() -> None:
    made = connected("1.0")
    [step] = made.receive(frame("SUBSCRIBE", destination="/topic/jobs"))
    assert isinstance(step, Subscribe) and step.subscription.head == "MESSAGE\ndestination:/topic/jobs\n"
    [gone] = made.receive(frame("UNSUBSCRIBE", destination="/topic/jobs"))
    assert gone == Unsubscribe(step.subscription)


def test_what_was_unsubscribed_may_be_subscribed_again() -> None:
    made = connected()
    subscribe = frame("SUBSCRIBE", id="1", destination="/topic/jobs")
    [first] = made.receive(subscribe)
    [gone, again] = made.receive(frame("UNSUBSCRIBE", id="1") + subscribe)
    assert isinstance(first, Subscribe)
    assert (gone, again) == (Unsubscribe(first.subscription), first)


def test_a_connection_has_a_limited_number_of_subscriptions() -> None:
    made = connected()
    many = b"".join(frame("SUBSCRIBE", id=str(n), destination="/topic/jobs") for n in range(SUBSCRIPTIONS_MAX))
    assert len(made.receive(many)) == SUBSCRIPTIONS_MAX
    error = refusal(made.receive(frame("SUBSCRIBE", id="x", destination="/topic/jobs")))
    assert error.headers["message"] == "too many subscriptions"


# ---- refusals and the end ----

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("SEND", {"destination": "/topic/jobs"}, "SEND is not supported"),
    ("BEGIN", {"transaction": "1"}, "no transactions"),
    ("MESSAGE", {}, "unknown command"),
    ("SUBSCRIBE", {"id": "1"}, "missing header"),
    ("SUBSCRIBE", {"destination": "/topic/jobs"}, "missing header"),
    ("SUBSCRIBE", {"id": "0", "destination": "/topic/jobs"}, "already subscribed"),
    ("SUBSCRIBE", {"id": "1", "destination": "/topic/jobs", "ack": "maybe"}, "unknown ack"),
    ("UNSUBSCRIBE", {"id": "1"}, "not subscribed"),
    ("UNSUBSCRIBE", {}, "missing header"),
]


@pytest.mark.parametrize(("command", "headers", "message"), REFUSED)
def test_what_cannot_be_is_an_error_and_the_end(command: str, headers: dict[str, str], message: str) -> None:
    made = connected()
    made.receive(frame("SUBSCRIBE", id="0", destination="/topic/jobs"))
    steps = made.receive(frame(command, **headers, receipt="r") + frame("SUBSCRIBE", id="2", destination="/topic/jobs"))
    error = refusal(steps)
    assert (error.headers["message"], error.headers["receipt-id"]) == (message, "r")
    assert len(steps) == 2 and made.is_closed


def test_malformed_bytes_are_an_error_and_the_end() -> None:
    made = connected()
    assert refusal(made.receive(b"nonsense\n\n\0")).headers["message"] == "malformed frame"
    assert made.receive(frame("SUBSCRIBE", id="1", destination="/topic/jobs")) == []


def test_a_client_that_leaves_gets_its_receipt_first() -> None:
    [receipt, end] = connected().receive(frame("DISCONNECT", receipt="bye") + frame("SEND"))
    assert (read(receipt).headers, end) == ({"receipt-id": "bye"}, Close(is_error=False))


COMMANDS = (
    "CONNECT",
    "STOMP",
    "SUBSCRIBE",
    "UNSUBSCRIBE",
    "SEND",
    "ACK",
    "NACK",
    "BEGIN",
    "DISCONNECT",
    "MESSAGE",
    "X",
)
HEADERS = ("id", "destination", "receipt", "ack", "accept-version", "heart-beat", "host", "passcode", "content-length")
VALUES = st.sampled_from(["0", "1.2", "auto", "client", "/topic/jobs", "/topic/jobs/a", "10,10", TOKEN]) | st.text()
FRAMES = st.builds(
    Frame, st.sampled_from(COMMANDS), st.dictionaries(st.sampled_from(HEADERS), VALUES, max_size=4), st.binary()
)


@given(st.booleans(), st.lists(st.binary(max_size=100) | FRAMES.map(encode), max_size=8))
def test_whatever_a_client_sends_is_answered_or_refused(is_authenticated: bool, parts: list[bytes]) -> None:
    made = session(is_authenticated=is_authenticated)
    for part in parts:
        steps = made.receive(part)
        assert any(isinstance(step, Close) for step in steps) <= made.is_closed
