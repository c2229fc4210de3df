"""What both ends of the wire agree on: the method's name, message sizes, keep-alive, gRPC's status for each refusal."""

from __future__ import annotations

import grpc

from shunter.model.protocol.refusals import Code

SERVICE = "shunter.worker.v1.Workers"
METHOD = "Connect"
MESSAGE_BYTES_MAX = 32 * 2**20  # an inventory of about two million unacknowledged results
KEEPALIVE_S = 10.0  # HTTP/2 pings: a peer whose machine is gone is noticed after this and the next
KEEPALIVE_TIMEOUT_S = 5.0
FLUSH_TIMEOUT_S = 2.0  # how long a connection that ends may still write what waits

OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
    ("grpc.keepalive_time_ms", int(KEEPALIVE_S * 1000)),
    ("grpc.keepalive_timeout_ms", int(KEEPALIVE_TIMEOUT_S * 1000)),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", int(KEEPALIVE_S * 500)),
)

STATUS: dict[str, grpc.StatusCode] = {
    Code.UNAUTHORIZED: grpc.StatusCode.UNAUTHENTICATED,
    Code.PROTOCOL_VERSION: grpc.StatusCode.FAILED_PRECONDITION,
    Code.INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    Code.NAME_TAKEN: grpc.StatusCode.ALREADY_EXISTS,
    Code.NOT_LEADER: grpc.StatusCode.UNAVAILABLE,
    Code.STALE_EPOCH: grpc.StatusCode.ABORTED,
    Code.BUSY: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Code.SILENT: grpc.StatusCode.DEADLINE_EXCEEDED,
    Code.TOO_SLOW: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Code.REPLACED: grpc.StatusCode.ABORTED,
    Code.RESET: grpc.StatusCode.ABORTED,
    Code.SHUTTING_DOWN: grpc.StatusCode.UNAVAILABLE,
    Code.FAILED: grpc.StatusCode.INTERNAL,
}
