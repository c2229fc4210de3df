"""The runtimes `spark` and `flink`: their tasks are processes, started by a launcher of `shunter.frameworks`. Keepers
run them like any other task. This module tells whether the node has the framework, and builds the process spec."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping

import msgspec

from shunter.frameworks.locations import JAVA_HINT, JAVA_VERSIONS, Framework, Java, Kind, find_framework, find_java
from shunter.log import Log
from shunter.model.job.spec import TaskSpec
from shunter.worker.keeper.work_queue import FRAMEWORK_HOME_VARIABLE
from shunter.worker.runtimes.port import EXIT_NOT_FOUND, Attempt, Launch, NotStarted, Running
from shunter.worker.settings import WorkerSettings

log = Log(__name__)

DETECT_EVERY_S = 5.0  # it may be installed while the worker runs
LOOPBACK = "127.0.0.1"

Attributes = Mapping[str, str]


class FrameworkRuntime:
    """Implements `port.Runtime`; `changed`, if set, is called when the framework comes or goes."""

    def __init__(self, kind: Kind, settings: WorkerSettings) -> None:
        self._kind = kind
        self._address = settings.address or LOOPBACK
        self._framework: Framework | None = None
        self._java: Java | None = None
        self._watching: asyncio.Task[None] | None = None
        self.changed: Callable[[Attributes], None] | None = None

    async def open(self) -> Attributes:
        self._detect()
        self._watching = asyncio.get_running_loop().create_task(self._watch_installation())
        return self._attributes()

    def as_process(self, spec: TaskSpec) -> TaskSpec:
        """The process spec for a keeper; the unchanged spec if the node lacks the framework."""
        if not self._attributes():
            self._detect()
        framework, java = self._framework, self._java
        if framework is None or java is None or not java.is_supported:
            return spec
        command = (sys.executable, "-P", "-m", f"shunter.frameworks.{self._kind.name}", *spec.command)
        framework_env = {
            FRAMEWORK_HOME_VARIABLE: framework.home,
            "SHUNTER_FRAMEWORK_PYTHON": framework.python,
            "SHUNTER_FRAMEWORK_JAVA": java.home,
            "SHUNTER_ADDRESS": self._address,
        }
        return msgspec.structs.replace(spec, runtime="process", command=command, env={**spec.env, **framework_env})

    async def launch(self, launch: Launch) -> Running:  # noqa: ARG002
        """Called only if the node lacks the framework: keepers run the others."""
        raise NotStarted(self._describe_missing(), EXIT_NOT_FOUND)

    async def find(self, launches: Mapping[Attempt, Launch]) -> Mapping[Attempt, Running]:  # noqa: ARG002
        return {}

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()

    def _detect(self) -> None:
        self._framework = find_framework(self._kind)
        self._java = find_java() if self._framework else None

    async def _watch_installation(self) -> None:
        while True:
            await asyncio.sleep(DETECT_EVERY_S)
            before = self._attributes()
            try:
                self._detect()
            except OSError as error:
                log.warning("framework.unknown", framework=self._kind.name, error=error)
                continue
            if self._attributes() != before:
                log.info("framework.changed", framework=self._kind.name, now=self._attributes())
                if self.changed is not None:
                    self.changed(self._attributes())

    def _attributes(self) -> dict[str, str]:
        if self._framework is None or self._java is None or not self._java.is_supported:
            return {}
        return {f"runtime.{self._kind.name}": self._framework.version}

    def _describe_missing(self) -> str:
        if self._framework is None:
            return f"this node has no {self._kind.title}; run on the node: shunter install {self._kind.name}"
        found = "no Java" if self._java is None else f"Java {self._java.version}"
        return (
            f"this node has {found}, but {self._kind.title} needs {' or '.join(map(str, JAVA_VERSIONS))}: {JAVA_HINT}"
        )
