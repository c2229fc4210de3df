"""Which report an acknowledgement means. Used by the watcher on the way in and on the way out.

A worker's numbers start anew with its process. The engine may still be about to acknowledge report 7 of the life before
when the new life has sent its own report 7, which is not committed yet. So the engine sees numbers of the watcher's,
which never repeat, and an acknowledgement goes only to the connection whose report it is.
"""

from __future__ import annotations

from collections import deque

from shunter.watcher.session import WorkerSession


class Receipts:
    def __init__(self) -> None:
        self._last = 0
        self._open: dict[WorkerSession, deque[tuple[int, int]]] = {}  # (the watcher's number, the worker's)

    def number(self, session: WorkerSession, seq: int) -> int:
        """The watcher's number for this connection's report `seq`."""
        self._last += 1
        self._open.setdefault(session, deque()).append((self._last, seq))
        return self._last

    def acknowledged(self, session: WorkerSession, number: int) -> int | None:
        """The connection's last report up to that number; None if there is none that is not acknowledged already."""
        waiting = self._open.get(session, deque())
        seq = None
        while waiting and waiting[0][0] <= number:
            seq = waiting.popleft()[1]
        return seq

    def forget(self, session: WorkerSession) -> None:
        self._open.pop(session, None)
