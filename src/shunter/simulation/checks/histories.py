"""Checks what clients of several managers were told, by the versions that they saw: answers of a leader are
linearizable, answers of a follower are true at their version and never go back.

`simulation.workload.readers` and `simulation.workload.users` report each call and its answer."""

from __future__ import annotations

from collections import Counter

from shunter.engine.state.fingerprints.fingerprint import fingerprint
from shunter.engine.state.state import State
from shunter.simulation.checks.reference_records import require

FINGERPRINT_EVERY = 10  # reads of the newest version

Digest = tuple[tuple[int, int, int], ...]


def digest_of(state: State) -> Digest:
    """A few facts of every live job, which a reader sees: its id, its state and how many of its tasks have ended."""
    return tuple((job.id, int(job.state), hash(tuple(job.counts()))) for job in state.jobs.values())


class Histories:
    """`shadow` is what replaying the committed rounds gives."""

    def __init__(self, shadow: State, checked: Counter[str]) -> None:
        self._shadow, self._checked = shadow, checked
        self._digests: dict[int, Digest] = {0: ()}

    def on_durable(self) -> None:
        self._digests[self._shadow.version] = digest_of(self._shadow)

    def begin(self) -> int:
        """A call begins: a leader's answer tells of everything that is committed by now."""
        return self._shadow.version

    def on_leader_answer(self, begun_at: int, version: int, who: str) -> None:
        """Called for refused requests, too, and for those that changed nothing: the store fences only commits."""
        require(
            version >= begun_at, f"{who} answered as leader at version {version}, but {begun_at} was committed before"
        )
        self._checked["leader_answer"] += 1

    def on_read(self, state: State, who: str) -> None:
        """What was read is exactly what was committed at its version."""
        expected = self._digests.get(state.version)
        require(expected is not None, f"{who} answered at version {state.version}, which is not committed")
        require(digest_of(state) == expected, f"{who} answered what version {state.version} never was")
        self._checked["read"] += 1
        if state.version == self._shadow.version:
            self._checked["read_of_newest"] += 1
            if self._checked["read_of_newest"] % FINGERPRINT_EVERY == 0:
                is_same = fingerprint(state) == fingerprint(self._shadow)
                require(is_same, f"{who} answered what version {state.version} never was")
                self._checked["read_compared_completely"] += 1

    def on_session_read(self, seen: int, version: int, who: str) -> None:
        require(version >= seen, f"{who} answered at version {version} to a client that had seen {seen}")
