"""Checks what clients of several managers were told, by the versions that they saw: answers of a leader are
linearizable, answers of a follower are true at their version and never go back.

`simulation.workload.readers` and `simulation.workload.users` report each call and its answer."""

from __future__ import annotations

from shunter.engine.state.state import State
from shunter.simulation.checks.reference_records import require

Digest = tuple[tuple[int, int, int], ...]


def digest_of(state: State) -> Digest:
    """A few facts of every live job, which a reader sees: its id, its state and how many of its tasks have ended."""
    return tuple((job.id, int(job.state), hash(tuple(job.counts()))) for job in state.jobs.values())


class Histories:
    def __init__(self) -> None:
        self._acknowledged = 0  # the newest version of which a client was told by a leader
        self._digests: dict[int, Digest] = {}

    def on_durable(self, state: State) -> None:
        self._digests[state.version] = digest_of(state)

    def begin(self) -> int:
        """A call begins: whatever was acknowledged before it must be visible to a leader's answer."""
        return self._acknowledged

    def on_leader_answer(self, begun_at: int, version: int, who: str) -> None:
        require(version >= begun_at, f"{who} answered at version {version}, but {begun_at} was acknowledged before")
        self._acknowledged = max(self._acknowledged, version)

    def on_read(self, state: State, who: str) -> None:
        """What was read is exactly what was committed at its version."""
        expected = self._digests.get(state.version)
        if expected is not None:
            require(digest_of(state) == expected, f"{who} answered what version {state.version} never was")

    def on_session_read(self, seen: int, version: int, who: str) -> None:
        require(version >= seen, f"{who} answered at version {version} to a client that had seen {seen}")
