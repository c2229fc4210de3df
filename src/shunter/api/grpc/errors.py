"""Ends a gRPC call with an error: its status, its text, and the details that clients of gRPC know (`google.rpc`). Used
by `api.grpc.calls`."""

from __future__ import annotations

from typing import Any, NoReturn

import grpc
import grpc.aio

from shunter.model.errors import (
    Busy,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    ShunterError,
    TooLarge,
    Unauthorized,
    Unavailable,
)

STATUS: tuple[tuple[type[ShunterError], grpc.StatusCode], ...] = (
    (Unauthorized, grpc.StatusCode.UNAUTHENTICATED),
    (Forbidden, grpc.StatusCode.PERMISSION_DENIED),
    (Invalid, grpc.StatusCode.INVALID_ARGUMENT),
    (TooLarge, grpc.StatusCode.INVALID_ARGUMENT),
    (NotFound, grpc.StatusCode.NOT_FOUND),
    (Conflict, grpc.StatusCode.FAILED_PRECONDITION),
    (Gone, grpc.StatusCode.OUT_OF_RANGE),
    (Busy, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (Unavailable, grpc.StatusCode.UNAVAILABLE),
)
TEXT_MAX = 1000  # clients refuse metadata of more than 8 KiB
DETAIL_BYTES_MAX = 4096
RETRY_AFTER = "retry-after-ms"  # as for external schedulers
DETAILS = "grpc-status-details-bin"

Context = grpc.aio.ServicerContext[bytes, bytes]


async def abort(context: Context, error: ShunterError) -> NoReturn:
    code = next((code for kind, code in STATUS if isinstance(error, kind)), grpc.StatusCode.INTERNAL)
    text = error.detail if len(error.detail) <= TEXT_MAX else error.detail[: TEXT_MAX - 3] + "..."
    metadata: list[tuple[str, Any]] = []
    if isinstance(error, Unavailable):
        metadata.append((RETRY_AFTER, str(int(error.retry_after_s * 1000))))
    if details := _details(code, text, error):
        metadata.append((DETAILS, details))
    await context.abort(code, text, tuple(metadata))
    raise AssertionError("abort raises")


def _details(code: grpc.StatusCode, text: str, error: ShunterError) -> bytes:
    """A `google.rpc.Status`: which fields are wrong, and when to try again. Of very many fields, the first."""
    if not error.problems and not isinstance(error, Unavailable):
        return b""
    from google.rpc import error_details_pb2, status_pb2

    number: int = code.value[0]
    status = status_pb2.Status(code=number, message=text)
    if isinstance(error, Unavailable):
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.FromMilliseconds(int(error.retry_after_s * 1000))
        status.details.add().Pack(retry)
    if error.problems:
        fields, size = error_details_pb2.BadRequest(), 0
        for problem in error.problems:
            found = str(problem).removeprefix(f"{problem.field}: ")
            size += len(found.encode()) + len(problem.field.encode()) + 8
            if size > DETAIL_BYTES_MAX:
                break
            fields.field_violations.add(field=problem.field, description=found)
        status.details.add().Pack(fields)
    data: bytes = status.SerializeToString()
    return data
