"""Constants that both ends of a connection share: the method's name, message sizes, keep-alive, and the gRPC status of
each refusal."""

from __future__ import annotations

import grpc

from shunter.model.protocol.refusals import RefusalCode

SERVICE = "shunter.worker.v1.Workers"
METHOD = "Connect"
MESSAGE_BYTES_MAX = 32 * 2**20  # an inventory of about two million unacknowledged results
KEEPALIVE_S = 10.0  # HTTP/2 pings: a peer whose machine is gone is noticed after this and the next
KEEPALIVE_TIMEOUT_S = 5.0
FLUSH_TIMEOUT_S = 2.0  # how long a closing connection may still write queued messages

OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
    ("grpc.keepalive_time_ms", int(KEEPALIVE_S * 1000)),
    ("grpc.keepalive_timeout_ms", int(KEEPALIVE_TIMEOUT_S * 1000)),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", int(KEEPALIVE_S * 500)),
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
