"""How a container ended: what the daemon says of it, which may come late."""

from __future__ import annotations

import signal
from types import SimpleNamespace
from typing import Any

import pytest

from shunter.model.job.spec import TaskSpec
from shunter.worker.runtimes.docker import container as module
from shunter.worker.runtimes.docker.container import KILLED, Container


class Daemon:
    """Knows after some questions that memory ran out."""

    def __init__(self, oom_after: int) -> None:
        self.asked = 0
        self._oom_after = oom_after

    async def inspect(self, _id: str) -> dict[str, Any]:
        self.asked += 1
        is_known = self.asked > self._oom_after
        return {"State": {"OOMKilled": is_known, "FinishedAt": "2026-01-01T00:00:00Z"}, "Config": {}}

    async def kill(self, _id: str, _signal: str) -> None: ...


def make_container(daemon: Daemon, memory_bytes: int = 2**25) -> Container:
    launch: Any = SimpleNamespace(spec=TaskSpec(("dd",), memory_bytes=memory_bytes))
    nothing: Any = None
    return Container(daemon, "id", launch, nothing, nothing, None)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OOM_EVENT_POLL_S", 0)


async def test_a_container_that_ran_out_of_memory_is_recognised_even_if_the_daemon_knows_it_late() -> None:
    outcome = await make_container(Daemon(oom_after=5))._classify_exit(KILLED)
    assert (outcome.how, outcome.detail) == ("memory", "memory limit of 32Mi")


@pytest.mark.parametrize("code", [1, 143])
async def test_other_exits_are_known_at_once(code: int) -> None:
    daemon = Daemon(oom_after=5)
    assert (await make_container(daemon)._classify_exit(code)).how == ""
    assert daemon.asked == 1


async def test_a_container_that_we_killed_or_that_has_no_limit_is_not_waited_for() -> None:
    ours, unlimited = Daemon(oom_after=5), Daemon(oom_after=5)
    killed = make_container(ours)
    await killed.signal(signal.SIGKILL)
    assert (await killed._classify_exit(KILLED)).how == ""
    assert (await make_container(unlimited, memory_bytes=0)._classify_exit(KILLED)).how == ""
    assert (ours.asked, unlimited.asked) == (1, 1)
