"""TLS of both transports: whom a client trusts, and what is wrong if it does not. Loaded for HTTPS only, because the
module `ssl` costs a command some milliseconds."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from shunter.sdk.endpoint import Endpoint
from shunter.sdk.errors import Invalid, NotTrusted, Problem, Rejected

PROBE_TIMEOUT_S = 2.0
HOW_TO_TRUST = "name the file `ca/ca.crt` of the manager's SHUNTER_HOME with --ca-file or SHUNTER_CA_FILE"

_contexts: dict[tuple[str, int, int], ssl.SSLContext] = {}


def client_context(endpoint: Endpoint) -> ssl.SSLContext:
    """It trusts what the file says now, or the authorities of the system. Raises Invalid."""
    path = endpoint.ca_file
    if not path:
        return _remembered(("", 0, 0), None)
    try:
        status = Path(path).stat()
        return _remembered((path, status.st_ino, status.st_mtime_ns), path)
    except ssl.SSLError as error:
        fix = "name a file with PEM certificates"
        raise Invalid([Problem("ca_file", "has no certificates", path, fix)]) from error
    except OSError as error:
        raise Invalid([Problem("ca_file", f"cannot be read: {error.strerror}", path, HOW_TO_TRUST)]) from error


def check_trust(endpoint: Endpoint, error: OSError) -> None:
    """Raises Rejected for a failure that no retry mends."""
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = error.verify_message or str(error)
        fix = "" if "not valid for" in reason or "mismatch" in reason or "expired" in reason else f"; {HOW_TO_TRUST}"
        raise NotTrusted(f"the certificate of {endpoint.url} is not trusted: {reason.rstrip('.')}{fix}") from error
    if isinstance(error, ssl.SSLError) and error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
        url = endpoint.url.replace("https://", "http://", 1)
        raise Rejected(f"{endpoint.url} does not speak HTTPS; if it speaks HTTP, write the address as {url}") from error


def speaks_tls(host: str, port: int) -> bool:
    """Whether a server takes part in a handshake there. Nothing is sent to it, so nobody needs to be trusted."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with (
            socket.create_connection((host, port), PROBE_TIMEOUT_S) as plain,
            context.wrap_socket(plain, server_hostname=host),
        ):
            return True
    except OSError:
        return False


def _remembered(key: tuple[str, int, int], path: str | None) -> ssl.SSLContext:
    found = _contexts.get(key)
    if found is None:
        for old in [each for each in _contexts if each[0] == key[0]]:
            del _contexts[old]
        found = _contexts[key] = ssl.create_default_context(cafile=path)
    return found
