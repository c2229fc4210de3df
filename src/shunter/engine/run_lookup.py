"""Looks up ended runs in history, for rounds that have to know them. Owned by `engine.engine`."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from shunter.engine.inbox import Command
from shunter.engine.jobs.run_keys import keys_of_due_templates, permanent_keys
from shunter.engine.leadership import Leadership
from shunter.engine.state.state import State
from shunter.engine.timers import Timers
from shunter.ports.store import EndedRun, RunKey, Store


class RunLookup:
    def __init__(self, store: Store, leadership: Leadership) -> None:
        self._store, self._leadership = store, leadership
        self._purged_names: set[tuple[str, str]] = set()  # since the last round: of which history has no run left

    def on_purged(self, names: Iterable[tuple[str, str]]) -> None:
        self._purged_names.update(names)

    async def learn_permanent(self, state: State) -> None:
        """Look up the ended runs that every round may need, after the state was loaded."""
        await self._learn(state, list(permanent_keys(state)))

    async def learn_needed(
        self, state: State, commands: Iterable[Command], timers: Timers, now_ms: int
    ) -> list[RunKey]:
        """Look up the ended runs that a round has to know; returns what was learnt for it. No commit is in flight, so
        history and memory agree, and no run ends before the round decides. What is purged meanwhile was there."""
        purged = set(self._purged_names)
        keys = {key for command in commands if command.runs is not None for key in command.runs(state)}
        keys.update(keys_of_due_templates(state, timers, now_ms))
        missing = [key for key in keys if key not in state.ended_runs]
        missing += [(*name, None) for name in purged if (*name, None) in state.ended_runs]
        await self._learn(state, missing)
        self._purged_names -= purged
        return missing

    async def look_up(self, keys: Collection[RunKey]) -> dict[RunKey, EndedRun]:
        """The runs among these that history has."""
        return await self._store.ended_runs(list(keys)) if keys else {}

    async def _learn(self, state: State, keys: list[RunKey]) -> None:
        if keys:
            found = await self._leadership.ask_store(self._store.ended_runs(keys))
            state.ended_runs.learn(keys, found)
