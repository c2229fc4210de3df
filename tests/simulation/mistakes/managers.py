"""Mistakes that show with several managers: leases, terms, fences and versions."""

from __future__ import annotations

import asyncio

import pytest

from shunter.adapters.memory.store import MemoryStore
from shunter.engine.engine import Engine
from shunter.model.errors import StoreFailed
from shunter.ports.store import Commit
from shunter.simulation.runtime import coordination
from shunter.simulation.world import MANAGERS_FROM

Patch = pytest.MonkeyPatch


def answer_without_a_lease(patch: Patch) -> None:
    """A leader that was paused answers reads and requests that change nothing until a commit is refused."""

    async def careless(self: Engine, _min_version: int = 0) -> None:
        await self._wait_for_commit()

    patch.setattr(Engine, "wait_committed", careless)
    patch.setattr(Engine, "_check_lead", lambda _self: None)


def trust_drifting_clocks(patch: Patch) -> None:
    patch.setattr(coordination, "MARGIN_S", -0.2)


def fence_before_the_commit(patch: Patch) -> None:
    """The store looks at the epoch first and writes a moment later."""
    commit = MemoryStore.commit

    async def racy(self: MemoryStore, written: Commit) -> None:
        self._check_epoch(written.epoch)
        await asyncio.sleep(0.02)
        if written.version != self._last_version() + 1:
            raise StoreFailed("a gap")
        epoch, self._epoch = self._epoch, written.epoch
        try:
            await commit(self, written)
        finally:
            self._epoch = epoch

    patch.setattr(MemoryStore, "commit", racy)


def take_the_lead_back(patch: Patch) -> None:
    """A manager that reloads begins an epoch, whoever leads by now."""
    begin = MemoryStore.begin_epoch

    async def lax(self: MemoryStore, term: int = 0) -> int:
        self._term = min(self._term, term)
        return await begin(self, term)

    patch.setattr(MemoryStore, "begin_epoch", lax)
    patch.setattr(Engine, "_check_lead", lambda _self: None)


def ignore_the_version_that_a_client_has_seen(patch: Patch) -> None:
    async def hasty(_self: Engine, _version: int) -> None:
        return None

    patch.setattr(Engine, "_wait_for_version", hasty)


MISTAKES = (
    (answer_without_a_lease, "have a lease at the same time|was acknowledged before", MANAGERS_FROM),
    (trust_drifting_clocks, "have a lease at the same time|was acknowledged before", MANAGERS_FROM),
    (fence_before_the_commit, "wrote after epoch|is not what the committed rounds give", MANAGERS_FROM),
    (take_the_lead_back, "have a lease at the same time|was acknowledged before", MANAGERS_FROM),
    (ignore_the_version_that_a_client_has_seen, "to a client that had seen", MANAGERS_FROM),
)
