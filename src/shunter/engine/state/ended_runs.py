"""What rounds know of runs that have ended. History has all of them, in the store; memory has those that a round needs.

`engine.engine` looks runs up before a round decides (load, decide, commit), and forgets them after it. The names of
templates and BatchJobs stay, because timers and objects start their runs. `State.apply` adds runs that end meanwhile,
so that what is known stays exact until it is forgotten. This is no part of the committed state: the number of a run is
in the change that starts it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from shunter.model.lifecycles import JobState
from shunter.ports.store import EndedRun, RunKey


class LastRun(NamedTuple):
    """A run that has ended; a run of 0 means that there is none."""

    run: int
    id: int
    state: JobState


NO_RUN = LastRun(0, 0, JobState.PENDING)


class EndedRuns:
    def __init__(self, known: Mapping[RunKey, LastRun] | None = None, *, is_complete: bool = False) -> None:
        """`is_complete`: what is not known does not exist. That is for dry runs, which start runs of any name."""
        self._known = dict(known or {})
        self._is_complete = is_complete

    def __contains__(self, key: RunKey) -> bool:
        return key in self._known

    def newest(self, namespace: str, name: str) -> LastRun:
        return self._find((namespace, name, None))

    def run(self, namespace: str, name: str, run: int) -> LastRun:
        return self._find((namespace, name, run))

    def learn(self, keys: Iterable[RunKey], found: Mapping[RunKey, EndedRun]) -> None:
        """What history has of these keys. Call it when no commit is in flight: then history and memory agree.
        Numbers go on after a run that was purged as long as history has another run of the name."""
        for key in keys:
            ended = found.get(key)
            self._known[key] = NO_RUN if ended is None else max(last_run(ended), self._known.get(key, NO_RUN))

    def add(self, namespace: str, name: str, ended: LastRun) -> None:
        """A run has ended."""
        known = self._known.get((namespace, name, None))
        if known is not None and ended.run > known.run:
            self._known[namespace, name, None] = ended
        if (namespace, name, ended.run) in self._known:
            self._known[namespace, name, ended.run] = ended

    def forget(self, keys: Iterable[RunKey]) -> None:
        for key in keys:
            self._known.pop(key, None)

    def copy(self, also: Mapping[RunKey, EndedRun]) -> EndedRuns:
        """For a dry run."""
        return EndedRuns({**self._known, **{key: last_run(ended) for key, ended in also.items()}}, is_complete=True)

    def _find(self, key: RunKey) -> LastRun:
        found = self._known.get(key)
        if found is None:
            assert self._is_complete, f"the runs of {key} were not looked up before the round"
            return NO_RUN
        return found


def last_run(ended: EndedRun) -> LastRun:
    return LastRun(ended.run, ended.id, JobState[ended.state.upper()])
