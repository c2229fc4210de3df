"""The interface of every registry. `engine.state.state` and `engine.state.snapshots` need nothing else of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol


class Registry(Protocol):
    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        """How each of its changes is applied; live and in recovery alike."""
        ...

    def dump(self) -> Any:
        """All of it, in plain values that msgpack can hold: two equal registries have equal dumps."""
        ...

    def load(self, dump: Any) -> None:
        """Take a dump into a fresh registry; it went through msgpack, so tuples may be lists."""
        ...
