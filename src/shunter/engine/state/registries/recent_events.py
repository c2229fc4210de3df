"""Recent changes of objects, from which watches resume: bounded by number and bytes. Owned by the object registry."""

from __future__ import annotations

from collections import deque

from shunter.model.objects.objects import ObjectEvent

EVENTS_MAX = 4_096
BYTES_MAX = 32 * 2**20  # of the objects in the events, as they are encoded; the newest event always stays


class RecentEvents:
    """Every event holds a version of its whole object, and counts as that much, although versions may share parts."""

    def __init__(self) -> None:
        self.bytes = 0
        self._events: deque[tuple[ObjectEvent, int]] = deque()
        self._spec_sizes: dict[int, int] = {}  # by uid
        self._status_sizes: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._events)

    def __getitem__(self, position: int) -> ObjectEvent:
        return self._events[position][0]

    def set_spec_size(self, uid: int, size: int) -> None:
        self._spec_sizes[uid] = size

    def set_status_size(self, uid: int, size: int) -> None:
        self._status_sizes[uid] = size

    def append(self, event: ObjectEvent, *, is_last: bool) -> None:
        """`is_last`: the object does not exist any more."""
        uid = event.object.meta.uid
        size = self._spec_sizes.get(uid, 0) + self._status_sizes.get(uid, 0)
        if is_last:
            self._spec_sizes.pop(uid, None)
            self._status_sizes.pop(uid, None)
        self._events.append((event, size))
        self.bytes += size
        while len(self._events) > EVENTS_MAX or (self.bytes > BYTES_MAX and len(self._events) > 1):
            self.bytes -= self._events.popleft()[1]
