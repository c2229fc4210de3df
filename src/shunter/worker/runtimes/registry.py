"""The runtimes of this worker by name: the built-in ones and those of plugins. Used by `worker.runtimes.attempts`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from shunter.frameworks.locations import KINDS
from shunter.log import Log
from shunter.model.job.spec import TaskSpec
from shunter.plugins import RUNTIMES, find_plugins
from shunter.worker.runtimes.port import Runtime, RuntimeFactory
from shunter.worker.settings import WorkerSettings

log = Log(__name__)

PROCESS = "process"  # which keepers run


class RuntimeRegistry:
    """`changed` is called when the attributes that runtimes give to the node have changed. `factories` are all runtimes
    of a worker that has none of the usual ones."""

    def __init__(
        self,
        settings: WorkerSettings,
        changed: Callable[[], None],
        factories: Mapping[str, RuntimeFactory] | None = None,
    ) -> None:
        self._settings = settings
        self._given = factories
        self._changed = changed
        self._runtimes: dict[str, Runtime] = {}
        self._attributes: dict[str, Mapping[str, str]] = {}

    @property
    def attributes(self) -> dict[str, str]:
        return {key: value for each in self._attributes.values() for key, value in each.items()}

    async def open(self) -> None:
        """Create and open all runtimes. One that fails is reported, and the others still work."""
        for name, factory in (self._given or self._factories()).items():
            try:
                runtime = factory(self._settings)
                self._attributes[name] = await runtime.open()
            except (Exception, SystemExit) as error:  # any error of a plugin's runtime
                log.error("runtime.not_opened", runtime=name, error=repr(error))
                continue
            self._runtimes[name] = runtime
            if hasattr(runtime, "changed"):
                runtime.changed = self._change_callback(name)

    def __getitem__(self, name: str) -> Runtime:
        """Raises LookupError."""
        runtime = self._runtimes.get(name)
        if runtime is None:
            known = ", ".join(sorted({PROCESS, *self._runtimes}))
            raise LookupError(f"runtime {name} does not exist on this node; it has {known}")
        return runtime

    def as_processes(self, specs: Mapping[int, TaskSpec]) -> Mapping[int, TaskSpec]:
        """Convert specs of frameworks that this node has to processes, which keepers run."""
        if all(spec.runtime not in KINDS for spec in specs.values()):
            return specs
        return {key: self._as_process(spec) for key, spec in specs.items()}

    def is_usable(self, name: str) -> bool:
        """Whether it has announced itself: a runtime without attributes has no backend at present."""
        return bool(self._attributes.get(name))

    def items(self) -> list[tuple[str, Runtime]]:
        return list(self._runtimes.items())

    async def close(self) -> None:
        for name, runtime in self._runtimes.items():
            try:
                await runtime.close()
            except Exception as error:
                log.error("runtime.not_closed", runtime=name, error=repr(error))

    def _as_process(self, spec: TaskSpec) -> TaskSpec:
        from shunter.worker.runtimes.frameworks import FrameworkRuntime

        runtime = self._runtimes.get(spec.runtime)
        return runtime.as_process(spec) if isinstance(runtime, FrameworkRuntime) else spec

    def _factories(self) -> dict[str, RuntimeFactory]:
        from shunter.worker.runtimes.docker import DockerRuntime
        from shunter.worker.runtimes.frameworks import FrameworkRuntime

        factories: dict[str, RuntimeFactory] = {"docker": DockerRuntime}
        factories |= {name: partial(FrameworkRuntime, kind) for name, kind in KINDS.items()}
        for plugin in find_plugins(RUNTIMES):
            if plugin.error or plugin.name == PROCESS:
                log.error(
                    "plugin.broken", group=plugin.group, name=plugin.name, error=plugin.error or "a built-in name"
                )
            else:
                factories.setdefault(plugin.name, plugin.target)
        return factories

    def _change_callback(self, name: str) -> Callable[[Mapping[str, str]], None]:
        def changed(attributes: Mapping[str, str]) -> None:
            if attributes != self._attributes.get(name):
                self._attributes[name] = attributes
                self._changed()

        return changed
