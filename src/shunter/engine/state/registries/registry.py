"""The interface of every registry. `engine.state.state` and `engine.state.snapshots` need nothing else of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol


class Registry(Protocol):
    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        """The function that applies each of its changes, live and in recovery."""
        ...

    def dump(self) -> Any:
        """The whole registry, in plain values that msgpack can hold: two equal registries have equal dumps."""
        ...

    def load(self, dump: Any) -> None:
        """Load a dump into an empty registry; it went through msgpack, so tuples may be lists."""
        ...
