"""The interface of a runtime: it starts single attempts of tasks in its own way (a container, a plugin's executor).

Plain processes do not use it: `worker.process.lanes` gives them to keepers. `worker.runtimes.attempts` calls it and
does what all runtimes share: the queue, time limits, stopping, health checks, host ports, device ids, the payload's
file, records that survive a restart of the worker, and results until they are acknowledged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.worker_messages import Order
from shunter.worker.runtimes.task_log import TaskLog
from shunter.worker.settings import WorkerSettings

EXIT_NOT_FOUND, EXIT_NOT_STARTED = 127, 126


@dataclass(frozen=True, slots=True, order=True)
class Attempt:
    """The name of one attempt, unique in the cluster."""

    job: int
    group: int
    index: int
    number: int


@dataclass(frozen=True, slots=True)
class Launch:
    """Everything needed to start one attempt. A restarted worker has the same values."""

    attempt: Attempt
    order: Order  # for the names: namespace, job_name, group_name
    spec: TaskSpec
    env: Mapping[str, str]  # of the spec, with all SHUNTER_* variables but SHUNTER_PAYLOAD
    log: TaskLog  # takes the output
    ports: Mapping[str, int] = field(default_factory=dict)  # name -> host port, also where the node chose it
    devices: Mapping[str, Sequence[str]] = field(default_factory=dict)  # kind -> ids
    payload: Path | None = None  # its file on the node; the runtime offers it, and says where in SHUNTER_PAYLOAD
    secrets: Path | None = None  # a folder with the files of its secrets; likewise, in SHUNTER_SECRETS


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended. `how` is "" for a plain exit, or memory, disk, error; an exit code of -1 means none."""

    exit_code: int
    ended_ms: int
    how: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    cpu_s: float
    memory_bytes: int
    processes: int
    read_bytes: int = 0
    written_bytes: int = 0


class NotStarted(Exception):
    """The attempt could not be started: it ends with `how` error, this exit code, and the message as its detail."""

    def __init__(self, detail: str, exit_code: int = EXIT_NOT_STARTED) -> None:
        super().__init__(detail)
        self.exit_code = exit_code


class RuntimeGone(Exception):
    """The runtime's backend does not answer any longer, and the state of the attempt is unknown: it is lost."""


class Running(Protocol):
    """One attempt that was started, running or ended."""

    @property
    def started_ms(self) -> int: ...

    async def ended(self) -> Outcome:
        """Wait until it has ended, all its output is in the log, and none of its processes runs. Returns at once if it
        has ended. May be cancelled and called again. Raises RuntimeGone."""
        ...

    async def signal(self, number: int) -> None:
        """Hand a signal to the task; nothing happens where it has ended. After the grace, `number` is SIGKILL: then
        nothing of it may be left running."""
        ...

    async def execute(self, command: Sequence[str], timeout_s: float) -> tuple[int, str]:
        """Run a command next to the task, where it sees what the task sees; returns its exit code and the end of its
        output. Raises TimeoutError when it takes longer (and stops it, as far as possible), OSError if it cannot run,
        RuntimeGone if the backend does not answer: then a check says nothing about the task."""
        ...

    def address(self, port: str) -> tuple[str, int]:
        """Where the worker reaches a port of the task, by the port's name or number. Raises LookupError."""
        ...

    async def usage(self) -> Usage | None:
        """None if it is unknown now."""
        ...

    async def remove(self) -> None:
        """Its result is recorded: remove everything of it, without hurry. Never raises; what stays is an orphan that a
        later `find` removes."""
        ...


class Runtime(Protocol):
    """One kind of runtime on one worker. If it has an attribute `changed`, the worker sets it to a function. The
    runtime calls it with its attributes when they differ from those that `open` returned."""

    async def open(self) -> Mapping[str, str]:
        """Called once, first. Returns the node's attributes of this runtime (`runtime.docker`: its version); none if it
        cannot be used now. Must not take long, import much, or raise if its backend is absent."""
        ...

    async def launch(self, launch: Launch) -> Running:
        """Start one attempt; returns when it runs. Raises NotStarted, or RuntimeGone if the backend does not answer:
        then the attempt is lost, not failed. When cancelled (the attempt was stopped first), it leaves nothing
        running."""
        ...

    async def find(self, launches: Mapping[Attempt, Launch]) -> Mapping[Attempt, Running]:
        """Called once, after `open`, unless that returned no attributes and there are no launches. Returns the attempts
        of an earlier worker process that were started, running or ended. Everything else of this home is an orphan and
        is removed. Raises RuntimeGone: all of them are lost."""
        ...

    async def close(self) -> None:
        """The worker stops; running attempts continue."""
        ...


RuntimeFactory = Callable[[WorkerSettings], Runtime]  # what a plugin's entry point names
