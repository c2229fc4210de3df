"""Constants that both ends of a connection share: names of methods, message sizes, keep-alive, and the gRPC status of
each refusal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import grpc
import grpc.aio

from shunter.model.protocol.refusals import RefusalCode

SERVICE = "shunter.worker.v1.Workers"
METHOD = "Connect"
WATCH_METHOD = "WatchLeader"
NEWS_EVERY_S = 5.0  # how often a manager repeats who leads, so that silence is noticed
MESSAGE_BYTES_MAX = 32 * 2**20  # an inventory of about two million unacknowledged results
KEEPALIVE_S = 10.0  # HTTP/2 pings: a peer whose machine is gone is noticed after this and the next
KEEPALIVE_TIMEOUT_S = 5.0
QUICK_KEEPALIVE_S = 4.0  # where another manager can take the stream, soon enough that its node is not given up
QUICK_KEEPALIVE_TIMEOUT_S = 3.0
FLUSH_TIMEOUT_S = 2.0  # how long a closing connection may still write queued messages

_KEEPALIVE_OPTIONS = ("grpc.keepalive_time_ms", "grpc.keepalive_timeout_ms", "grpc.http2.ping_timeout_ms")


def _ping_timeout(seconds: float) -> tuple[tuple[str, int], ...]:
    """gRPC has two limits for the answer to a ping; the second alone ends a connection after a minute."""
    return tuple((name, int(seconds * 1000)) for name in _KEEPALIVE_OPTIONS[1:])


OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
    ("grpc.keepalive_time_ms", int(KEEPALIVE_S * 1000)),
    *_ping_timeout(KEEPALIVE_TIMEOUT_S),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", int(QUICK_KEEPALIVE_S * 500)),
)
CLIENT_OPTIONS: tuple[tuple[str, int], ...] = (
    *OPTIONS,
    ("grpc.use_local_subchannel_pool", 1),  # otherwise gRPC's back-off of an earlier channel would delay this one
    ("grpc.enable_http_proxy", 0),
)
QUICK_CLIENT_OPTIONS: tuple[tuple[str, int], ...] = (
    *(option for option in CLIENT_OPTIONS if option[0] not in _KEEPALIVE_OPTIONS),
    ("grpc.keepalive_time_ms", int(QUICK_KEEPALIVE_S * 1000)),
    *_ping_timeout(QUICK_KEEPALIVE_TIMEOUT_S),
)

STATUS: dict[str, grpc.StatusCode] = {
    RefusalCode.UNAUTHORIZED: grpc.StatusCode.UNAUTHENTICATED,
    RefusalCode.PROTOCOL_VERSION: grpc.StatusCode.FAILED_PRECONDITION,
    RefusalCode.INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    RefusalCode.NAME_TAKEN: grpc.StatusCode.ALREADY_EXISTS,
    RefusalCode.OTHER_HOME: grpc.StatusCode.FAILED_PRECONDITION,
    RefusalCode.NOT_LEADER: grpc.StatusCode.UNAVAILABLE,
    RefusalCode.STALE_EPOCH: grpc.StatusCode.ABORTED,
    RefusalCode.BUSY: grpc.StatusCode.RESOURCE_EXHAUSTED,
    RefusalCode.SILENT: grpc.StatusCode.DEADLINE_EXCEEDED,
    RefusalCode.TOO_SLOW: grpc.StatusCode.RESOURCE_EXHAUSTED,
    RefusalCode.REPLACED: grpc.StatusCode.ABORTED,
    RefusalCode.RESET: grpc.StatusCode.ABORTED,
    RefusalCode.SHUTTING_DOWN: grpc.StatusCode.UNAVAILABLE,
    RefusalCode.FAILED: grpc.StatusCode.INTERNAL,
}


@dataclass(frozen=True, slots=True)
class ClientTls:
    """PEM texts: whom to trust, and the caller's own key and certificate, if the server asks for one."""

    authorities: bytes
    key: bytes | None = None
    certificate: bytes | None = None


ReadClientTls = Callable[[], ClientTls]  # asked for each channel, because files change


def open_channel(
    address: str, options: tuple[tuple[str, int], ...] = CLIENT_OPTIONS, tls: ReadClientTls | None = None
) -> grpc.aio.Channel:
    """Without `tls`, the connection is not encrypted."""
    if tls is None:
        return grpc.aio.insecure_channel(address, options)
    found = tls()
    credentials = grpc.ssl_channel_credentials(found.authorities, found.key, found.certificate)
    return grpc.aio.secure_channel(address, credentials, options)
