"""Entity tags: a client that polls learns that nothing has changed, and no page is rendered. Used by `api.http.app`.

A tag names the version of the committed state, so it is the same for all paths and costs nothing to make. Three things
change what a version shows: retention drops history, so a tag expires soon; a restore or an upgrade begins with a new
process, so each process has its own tags; and each caller sees something else, so a browser that somebody else signs in
at must not show what it has stored. See ADR 15 for what was measured."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable

from shunter.ports.managers import Replication
from shunter.ports.principals import Principal

AGE_MAX_S = 60  # history is purged as often, so a list shows what was dropped for at most twice this time
_TAG = re.compile(r'W/"([0-9a-f]{8}-[0-9a-f]{16})\.([0-9]{1,18})\.([0-9]{1,18})"')


class EntityTags:
    def __init__(self, replication: Replication, now_s: Callable[[], float] = time.monotonic) -> None:
        self._replication, self._now_s = replication, now_s
        self._process = secrets.token_hex(4)

    def issue(self, caller: Principal) -> bytes:
        """For an answer that is rendered from now on: it shows this version at least."""
        return f'W/"{self._name_of(caller)}.{self._replication.version}.{int(self._now_s())}"'.encode()

    def is_current(self, tag: str, caller: Principal) -> bool:
        found = _TAG.fullmatch(tag)
        if found is None or found[1] != self._name_of(caller) or int(found[2]) != self._replication.version:
            return False
        return self._now_s() - int(found[3]) < AGE_MAX_S + 1

    def find_current(self, if_none_match: str, caller: Principal) -> str | None:
        """The tag of the header that is still right."""
        return next((tag for tag in map(str.strip, if_none_match.split(",")) if self.is_current(tag, caller)), None)

    def _name_of(self, caller: Principal) -> str:
        """A name of this process and the caller. Hashes of texts differ from process to process."""
        return f"{self._process}-{hash(caller) & 0xFFFF_FFFF_FFFF_FFFF:016x}"
