"""The addresses of a manager: at which it may listen, and at which others reach it. Called by
`app.manager` and `app.listeners.listeners`."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from ipaddress import ip_address

from shunter.app.options import LISTEN_DEFAULT, UpOptions, format_address, is_loopback, parse_address
from shunter.model.errors import Invalid, Problem


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


def checked_address(options: UpOptions) -> tuple[str, int]:
    return secure_address(options.listen or LISTEN_DEFAULT, "--listen", options)


def checked_external_address(options: UpOptions) -> tuple[str, int] | None:
    listen = options.external_listen
    if listen is None:
        if options.external_open:
            fix = "set one: --external-listen 127.0.0.1:8082, or listen = ... in [external] of config.toml"
            raise Invalid([Problem("--external-open", "needs an address", None, fix)])
        return None
    host, _ = parse_address(listen, "--external-listen")
    if options.external_open and not is_loopback(host):
        fix = "listen on 127.0.0.1, or remove --external-open, so that clients must send the token"
        raise Invalid([Problem("--external-listen", "would give other machines access without a token", listen, fix)])
    return secure_address(listen, "--external-listen", options)


def secure_address(listen: str, option: str, options: UpOptions) -> tuple[str, int]:
    """Raises Invalid for an address that other machines can reach, unless it has TLS or that is allowed."""
    host, port = parse_address(listen, option)
    if not is_loopback(host) and not options.insecure and not options.has_tls:
        fix = (
            "encrypt it: --tls, or enabled = true in [tls] of config.toml; or allow it: --insecure, or insecure = true"
            " in config.toml"
        )
        raise Invalid([Problem(option, "would give other machines access without TLS", listen, fix)])
    return host, port
