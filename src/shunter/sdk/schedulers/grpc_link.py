"""A scheduler's connection to the manager over gRPC (`shunter.v1.ExternalScheduler`)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import grpc

from shunter.model.errors import (
    Busy,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Problem,
    Rejected,
    ShunterError,
    Unauthorized,
    Unavailable,
)
from shunter.model.protocol.scheduler_messages import DecisionAnswer, DecisionRow, Situation
from shunter.proto.v1 import external_scheduler_pb2 as pb
from shunter.proto.v1 import external_scheduler_pb2_grpc as pb_grpc
from shunter.sdk.endpoint import home_folder, local_endpoint, split_urls
from shunter.sdk.errors import NotReachable
from shunter.sdk.schedulers.links import Lease
from shunter.wire.situations import decision_message, read_answer, read_situation

CALL_MAX_S = 10.0
MESSAGE_BYTES_MAX = 256 * 2**20
NO_LISTENER = "the cluster has no gRPC address for schedulers; start it with: shunter up --external-grpc 127.0.0.1:0"
_OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
)
_CONNECT_TIMEOUT = ("grpc.min_reconnect_backoff_ms", 3_000)  # gRPC uses it as the time-out of an attempt; else 20 s
_ERRORS: dict[grpc.StatusCode, type[ShunterError]] = {
    grpc.StatusCode.UNAUTHENTICATED: Unauthorized,
    grpc.StatusCode.PERMISSION_DENIED: Forbidden,
    grpc.StatusCode.INVALID_ARGUMENT: Rejected,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.FAILED_PRECONDITION: Conflict,
    grpc.StatusCode.ABORTED: Conflict,
    grpc.StatusCode.CANCELLED: Conflict,
    grpc.StatusCode.RESOURCE_EXHAUSTED: Busy,
    grpc.StatusCode.UNAVAILABLE: NotReachable,
    grpc.StatusCode.DEADLINE_EXCEEDED: NotReachable,
}


class GrpcLink:
    """`certificate` is a PEM of whom to trust; with it the connection is encrypted. A link that has others to fall
    back on gives up sooner on a manager that accepts the connection and is silent."""

    def __init__(self, address: str, token: str, certificate: bytes | None = None, *, has_others: bool = False) -> None:
        self._metadata = (("authorization", f"Bearer {token}"),)
        options = (*_OPTIONS, _CONNECT_TIMEOUT) if has_others else _OPTIONS
        if certificate is None:
            self._channel = grpc.insecure_channel(address, options=options)
        else:
            credentials = grpc.ssl_channel_credentials(certificate)
            self._channel = grpc.secure_channel(address, credentials, options=options)
        self._stub: Any = pb_grpc.ExternalSchedulerStub(self._channel)  # type: ignore[no-untyped-call]
        self._stream: Any = None

    def watch(self, name: str, mode: str, wants: Sequence[str]) -> Iterator[tuple[Situation, Lease | None]]:
        request = pb.WatchRequest(name=name, mode=mode, wants=wants)
        try:
            self._stream = self._stub.Watch(request, metadata=self._metadata)
            for message in self._stream:
                lease = Lease(message.lease.token, message.lease.lease_s) if message.HasField("lease") else None
                yield read_situation(message), lease
        except grpc.RpcError as error:
            raise _translated(error) from error

    def decide(self, token: str, row: DecisionRow) -> DecisionAnswer:
        try:
            message = decision_message(row, token)
            return read_answer(self._stub.Decide(message, metadata=self._metadata, timeout=CALL_MAX_S))
        except grpc.RpcError as error:
            raise _translated(error) from error

    def renew(self, token: str) -> None:
        try:
            self._stub.Renew(pb.RenewRequest(token=token), metadata=self._metadata, timeout=CALL_MAX_S)
        except grpc.RpcError as error:
            raise _translated(error) from error

    def stop_watching(self) -> None:
        if self._stream is not None:
            self._stream.cancel()

    def close(self) -> None:
        self.stop_watching()
        self._channel.close()


def find_addresses(address: str | Sequence[str] | None, token: str | None) -> tuple[list[str], str]:
    """The addresses of the managers' listeners and the token: as given, or those of the local cluster. Raises
    NotReachable and Invalid."""
    address = address or os.environ.get("SHUNTER_EXTERNAL_GRPC")
    token = token or os.environ.get("SHUNTER_TOKEN")
    home = home_folder()
    if not address:
        local_endpoint(home)  # says what to do where no cluster runs
        address = json.loads((home / "cluster.json").read_text()).get("schedulers")
        if not address:
            raise NotReachable(NO_LISTENER)
    if token is None:
        token = local_endpoint(home).token
    return _split_addresses(address), token


def find_authorities(address: str | Sequence[str] | None) -> bytes | None:
    """The authorities to trust: the file in SHUNTER_CA_FILE, or that of the local cluster, if it has TLS. Raises
    Invalid."""
    path = os.environ.get("SHUNTER_CA_FILE")
    if not address and not os.environ.get("SHUNTER_EXTERNAL_GRPC"):
        endpoint = local_endpoint(home_folder())
        path = (path or endpoint.ca_file) if endpoint.tls else ""
    if not path:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        fix = "copy `ca/ca.crt` from the manager's SHUNTER_HOME"
        raise Invalid([Problem("SHUNTER_CA_FILE", f"cannot be read: {error.strerror}", path, fix)]) from error


def _split_addresses(address: str | Sequence[str]) -> list[str]:
    addresses = split_urls(address)
    for each in addresses:
        if not each or not each.isprintable() or " " in each:
            raise Invalid([Problem("address", "is not the address of a manager", each, "write it as HOST:PORT")])
    return addresses


def _translated(error: grpc.RpcError) -> ShunterError:
    code, details = error.code(), error.details() or str(error)
    kind = _ERRORS.get(code, Unavailable)
    return kind(details)
