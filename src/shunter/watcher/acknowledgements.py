"""Maps acknowledgements to the reports they belong to. Each session has one; the watcher calls it in both directions.

A worker's report numbers restart with its process. The engine may still be about to acknowledge report 7 of the old
process when the new one has sent its own report 7, which is not committed yet. So the engine sees numbers of the
watcher, which never repeat, and an acknowledgement goes only to the connection that sent the report."""

from __future__ import annotations

from collections import deque


class Acknowledgements:
    def __init__(self) -> None:
        self._outstanding: deque[tuple[int, int]] = deque()  # (the watcher's number, the worker's)

    def track(self, number: int, seq: int) -> None:
        """The connection's report `seq` goes to the engine under this number, which is higher than all before."""
        self._outstanding.append((number, seq))

    def worker_seq_of(self, number: int) -> int | None:
        """The connection's last report up to that number; None if all are already acknowledged."""
        seq = None
        while self._outstanding and self._outstanding[0][0] <= number:
            seq = self._outstanding.popleft()[1]
        return seq
