"""etcd's refusals in our errors. Called by the client.

A call that fails for another reason than the caller's is repeated at the next member, so few of etcd's codes matter."""

from __future__ import annotations

import grpc
import grpc.aio

from shunter.model.errors import Unauthorized, Unavailable


class EtcdUnavailable(Unavailable):
    """No member answered, or none can commit."""

    title = "etcd unavailable"


class EtcdSilent(EtcdUnavailable):
    """A member took a call and did not answer it in time."""


class LeaseNotFound(Exception):
    """The lease has expired or was revoked."""


class TokenExpired(Exception):
    """The call needs a new token: the member forgot the old one, or users were changed or enabled."""


class NoAuthentication(Exception):
    """The server has no users: calls need no token."""


_OLD_TOKEN = ("invalid auth token", "revision of auth store is old", "user name is empty")


def translate(error: grpc.aio.AioRpcError, endpoint: str) -> Exception:
    details = error.details() or ""
    if any(text in details for text in _OLD_TOKEN):
        return TokenExpired(details)
    match error.code():
        case grpc.StatusCode.NOT_FOUND if "lease" in details:
            return LeaseNotFound(details)
        case grpc.StatusCode.FAILED_PRECONDITION if "authentication is not enabled" in details:
            return NoAuthentication(details)
        case grpc.StatusCode.PERMISSION_DENIED | grpc.StatusCode.UNAUTHENTICATED:
            return Unauthorized(f"etcd at {endpoint}: {details}")
        case grpc.StatusCode.INVALID_ARGUMENT if "authentication failed" in details:
            return Unauthorized(f"etcd at {endpoint}: {details}")
    kind = EtcdSilent if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED else EtcdUnavailable
    return kind(f"etcd at {endpoint}: {error.code().name.lower()}: {details}")
