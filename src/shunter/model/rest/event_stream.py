"""Events as server-sent events: what followers receive. Pure; the gateway writes them, both clients read them."""

from __future__ import annotations

import msgspec

from shunter.model.rest.cluster_views import EventView

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(EventView).decode


def encode_event(event: EventView) -> bytes:
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (event.id.encode(), event.type.encode(), _encode(event))


def encode_resume_point(version: int) -> bytes:
    """The last message to a follower that read too slowly: no event, only the position to resume from. Browsers take
    its id for their next Last-Event-ID."""
    return b"id: %d\n: you read too slowly and were dropped; follow again after %d\n\n" % (version, version)


def decode_events(chunk: bytes) -> tuple[list[EventView], str]:
    """The events of a chunk, and the position to resume from where it says that the reader was dropped."""
    events, resume = [], ""
    for message in chunk.split(b"\n\n"):
        identifier, _, rest = message.partition(b"\n")
        _, _, data = rest.partition(b"\ndata: ")
        if data:
            events.append(_decode(data))
        elif identifier:
            resume = identifier.removeprefix(b"id: ").decode()
    return events, resume
