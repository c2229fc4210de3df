"""The addresses of a manager: at which it may listen, and at which others reach it. Called by `app.manager`."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from ipaddress import ip_address

from shunter.app.options import format_address, is_loopback, parse_address


@dataclass(frozen=True, slots=True)
class Advertised:
    """`listen` is the address of the API, and `host` the one that the user wants others to use, if any."""

    listen: str
    host: str | None

    def address_of(self, listener: str) -> str:
        """Where others reach this listener; empty if there is none."""
        if not listener:
            return ""
        host, port = parse_address(listener, "listener")
        return format_address(self.host or self._reachable(host), port)

    def _reachable(self, host: str) -> str:
        """The host of the listener. One that listens on all addresses is also reached at that of the API, unless only
        this machine can use that; else by the name of the machine."""
        if not _is_any(host):
            return host
        api_host = parse_address(self.listen, "--listen")[0]
        return platform.node() if _is_any(api_host) or is_loopback(api_host) else api_host


def _is_any(host: str) -> bool:
    """Whether it means all addresses of this machine."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False
