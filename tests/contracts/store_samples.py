"""Samples for the claims about stores: rounds, jobs, and a retention that keeps everything."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeAlias

from msgspec.structs import replace

from shunter.ports.store import Commit, FinishedJob, Retention, Store

OpenStore: TypeAlias = Callable[[], Coroutine[Any, Any, Store]]
Claim: TypeAlias = Callable[[OpenStore], Coroutine[Any, Any, None]]

FOREVER = Retention(finished_age_s=1e12, finished_max=10**9, rounds_age_s=1e12, rounds_max=10**9)


def collector(claims: list[Claim]) -> Callable[[Claim], Claim]:
    """A decorator that adds a claim to the list."""

    def claim(promise: Claim) -> Claim:
        claims.append(promise)
        return promise

    return claim


async def write(store: Store, epoch: int, version: int, finished: Iterable[FinishedJob] = (), at: float = 0.0) -> None:
    await store.commit(Commit(epoch, version, at, b"round", list(finished)))


def finished_job(id: int, name: str | None = None, run: int = 1, **fields: Any) -> FinishedJob:
    job = FinishedJob(id, "default", name or f"job-{id}", run, "succeeded", 1.0, 2.0, {}, b"summary %d" % id, [])
    return replace(job, **fields)


def without_tasks(job: FinishedJob) -> FinishedJob:
    """As every answer but finished_tasks has it."""
    return replace(job, tasks=[])
