"""The files of a manager's TLS: its key and certificate, and the authorities that it trusts. Read again when they
change, without a restart. Made by `app.tls.setup`; used by all listeners and by connections to other managers."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shunter.log import Log
from shunter.model.errors import Invalid, Problem

CHECK_EVERY_S = 1.0
SIZE_MAX_BYTES = 2**20

if TYPE_CHECKING:
    from shunter.adapters.grpc.channel import ClientTls
    from shunter.adapters.grpc.listen import ServerTls

log = Log(__name__)
Stamp = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class TlsPems:
    """PEM texts. `certificate` has the chain behind it; `authorities` sign the certificates of the others."""

    key: bytes
    certificate: bytes
    authorities: bytes


class TlsFiles:
    """`read` first. `refresh`, if given, runs before each look at the files, and may renew them."""

    def __init__(self, certificate: Path, key: Path, authorities: Path, refresh: Callable[[], None] | None = None):
        self.certificate, self.key, self.authorities = certificate, key, authorities
        self._refresh = refresh
        self._stamp: Stamp = ()
        self._problem = ""
        self._contexts: list[ssl.SSLContext] = []
        self._client_context: ssl.SSLContext | None = None
        self.pems = TlsPems(b"", b"", b"")

    def read(self) -> None:
        """Raises Invalid if a file is missing, or if key and certificate do not belong together."""
        stamp = self._stamp_now()
        pems = TlsPems(*(_read(path) for path in (self.key, self.certificate, self.authorities)))
        self._load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=pems.authorities.decode())
        except (ssl.SSLError, ValueError) as error:
            fix = "name a file with PEM certificates"
            raise Invalid([Problem("tls.ca", f"has no certificates: {error}", str(self.authorities), fix)]) from None
        self.pems, self._stamp, self._client_context = pems, stamp, None

    def server_context(self) -> ssl.SSLContext:
        """For HTTPS listeners: new connections get the certificate of the time."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        context.num_tickets = 0  # clients take bytes on an idle connection for its end
        self._load(context)
        self._contexts.append(context)
        return context

    def client_context(self) -> ssl.SSLContext:
        """For connections to other managers. It knows the authorities of now, so ask again for each connection."""
        if self._client_context is None:
            self._client_context = ssl.create_default_context(cadata=self.pems.authorities.decode())
        return self._client_context

    def for_clients(self) -> ServerTls:
        """The TLS of a gRPC listener whose clients send a token."""
        from shunter.adapters.grpc.listen import ServerTls

        return ServerTls(self.pems.key, self.pems.certificate)

    def for_workers(self) -> ServerTls:
        """The TLS of a gRPC listener whose clients need a certificate."""
        from shunter.adapters.grpc.listen import ServerTls

        return ServerTls(self.pems.key, self.pems.certificate, self.pems.authorities)

    def as_manager(self) -> ClientTls:
        """How this manager presents itself to another one."""
        from shunter.adapters.grpc.channel import ClientTls

        return ClientTls(self.pems.authorities, self.pems.key, self.pems.certificate)

    async def run(self) -> None:
        """Look for changes, until cancelled."""
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            self.check()

    def check(self) -> None:
        """What cannot be read, or does not belong together, waits for the next look: the old files stay in use."""
        try:
            if self._refresh is not None:
                self._refresh()
            if self._stamp_now() == self._stamp:
                return
            self.read()
            for context in self._contexts:
                self._load(context)
        except (Invalid, OSError) as error:
            if self._problem != str(error):
                self._problem = str(error)
                log.warning("tls.not_reloaded", error=error)
            return
        self._problem = ""
        log.info("tls.reloaded", certificate=self.certificate)

    def _load(self, context: ssl.SSLContext) -> None:
        try:
            context.load_cert_chain(self.certificate, self.key)
        except (ssl.SSLError, OSError) as error:
            fix = "name the certificate's own key, unencrypted, both as PEM"
            message = f"does not work with the certificate {self.certificate}: {error}"
            raise Invalid([Problem("tls.key", message, str(self.key), fix)]) from None

    def _stamp_now(self) -> Stamp:
        found = []
        for path in (self.key, self.certificate, self.authorities):
            try:
                status = os.stat(path)  # noqa: PTH116
            except OSError:
                found.append((0, 0, 0))
            else:
                found.append((status.st_ino, status.st_mtime_ns, status.st_size))
        return tuple(found)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(SIZE_MAX_BYTES)
    except OSError as error:
        fix = "name a file that this user can read"
        raise Invalid([Problem("tls", f"{path} cannot be read: {error.strerror}", None, fix)]) from error
