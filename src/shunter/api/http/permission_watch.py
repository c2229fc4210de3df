"""Ends open streams whose caller is no longer permitted: its key was revoked, rotated or has expired, its user was
disabled, or the admin token was reset. Used by `api.http.app` and `api.http.streams`.

One timer checks all streams of a listener, each token once, while there are any."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from shunter.model.errors import ShunterError
from shunter.ports.principals import Principal

CHECK_EVERY_S = 1.0

Stream = asyncio.Task[object]


class PermissionWatch:
    def __init__(self, authenticate: Callable[[str], Principal | None]) -> None:
        self._authenticate = authenticate
        self._streams: dict[tuple[str, Principal], set[Stream]] = {}
        self._timer: asyncio.TimerHandle | None = None  # while there are streams

    def of(self, token: str, caller: Principal) -> Permission:
        return Permission(self, (token, caller))

    def add(self, grant: tuple[str, Principal], stream: Stream) -> None:
        self._streams.setdefault(grant, set()).add(stream)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(CHECK_EVERY_S, self._check)

    def remove(self, grant: tuple[str, Principal], stream: Stream) -> None:
        streams = self._streams.get(grant, set())
        streams.discard(stream)
        if not streams:
            self._streams.pop(grant, None)
        if not self._streams and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        for (token, caller), streams in list(self._streams.items()):
            if not self._is_permitted(token, caller):
                for stream in list(streams):
                    stream.cancel()
        self._timer = asyncio.get_running_loop().call_later(CHECK_EVERY_S, self._check)

    def _is_permitted(self, token: str, caller: Principal) -> bool:
        try:
            return self._authenticate(token) == caller
        except ShunterError:
            return True  # nobody knows just now: the next check will tell


@dataclass(frozen=True, slots=True)
class Permission:
    """The token of one request, and the caller that it identified."""

    _watch: PermissionWatch
    _grant: tuple[str, Principal] = field(repr=False)

    def watch(self, stream: Stream) -> None:
        self._watch.add(self._grant, stream)

    def leave(self, stream: Stream) -> None:
        self._watch.remove(self._grant, stream)
