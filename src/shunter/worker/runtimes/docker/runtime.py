"""The Docker runtime: starts attempts as containers, finds containers again after a restart of the worker, and removes
orphans. The worker calls it through `runtimes.port`; `docker.container` handles a single container."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from shunter.log import Log
from shunter.worker.runtimes.docker.container import NOT_FOUND, NOT_RUNNING, Container, needs_address
from shunter.worker.runtimes.docker.container_spec import ATTEMPT_LABEL, HOME_LABEL, container_config, format_attempt
from shunter.worker.runtimes.docker.daemon import Daemon, DaemonError, DaemonUnavailable, Facts
from shunter.worker.runtimes.docker.images import Images
from shunter.worker.runtimes.docker.output import OutputCopier
from shunter.worker.runtimes.port import EXIT_NOT_FOUND, Attempt, Launch, NotStarted, Running, RuntimeGone
from shunter.worker.settings import WorkerSettings

log = Log(__name__)

REMOVALS_MAX = 4  # at once: they are in nobody's way
REMOVE_MAX_S = 10.0  # how long a stopping worker waits for removals; the next process finds the rest
CHECK_EVERY_S = 5.0  # whether the daemon is there
FIND_MAX_S, FIND_EVERY_S = 10.0, 0.5  # for a daemon to come up that has containers of an earlier life
PAYLOAD_MODE = 0o444  # every user in the container may read it; the folder around it keeps others out
CREATE_TRIES_MAX = 5
NAME_LOGGED_MAX = 40
NAME_TAKEN = 409
STATES_NEVER_STARTED = ("created", "configured", "initialized")

T = TypeVar("T")
Attributes = Mapping[str, str]


class DockerRuntime:
    """Implements `port.Runtime`. `changed`, if set, is called when the daemon comes or goes."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._folder = settings.home / "docker"
        self._id_file = self._folder / "id"
        self._node = settings.name
        self._daemon = Daemon(settings.docker_host)
        self._images = Images(self._daemon)
        self._removing = asyncio.Semaphore(REMOVALS_MAX)
        self._facts: Facts | None = None
        self._home_id = ""
        self._starting: set[str] = set()  # names of containers
        self._containers: dict[str, Container] = {}  # by the container's name
        self._abandoned: set[str] = set()  # containers to be removed when the daemon answers
        self._removals: set[asyncio.Task[None]] = set()
        self._watching: asyncio.Task[None] | None = None
        self.changed: Callable[[Attributes], None] | None = None

    # ---- port.Runtime ----

    async def open(self) -> Attributes:
        await self._refresh_facts()
        self._watching = asyncio.get_running_loop().create_task(self._watch_daemon())
        return self._attributes()

    async def launch(self, launch: Launch) -> Running:
        container = launch.spec.container
        name = self._name(launch.attempt)
        self._starting.add(name)
        self._abandoned.discard(name)
        started = None
        try:
            if launch.payload is not None:
                launch.payload.chmod(PAYLOAD_MODE)
            facts = self._facts or await self._daemon.facts()
            config = container_config(launch, self._id(), self._node, facts)
            copier = OutputCopier(launch.log, self._position_file(launch.attempt))
            if container is not None and container.pull == "always":
                await self._images.pull(container.image, copier.write_notice)
            id = await self._create(launch, config, copier)
            started = await self._start(id, launch, copier, facts)
            return started
        except DaemonUnavailable as error:
            self.abandon_container(name)  # the daemon may have created it all the same
            await self._check_daemon()  # otherwise the next attempts would be sent here too, and be lost
            raise RuntimeGone(str(error)) from error
        except OSError as error:
            raise NotStarted(f"runtime docker: {error}") from error
        finally:
            self._starting.discard(name)
            if started is None:
                self._position_file(launch.attempt).unlink(missing_ok=True)

    async def find(self, launches: Mapping[Attempt, Launch]) -> Mapping[Attempt, Running]:
        found: dict[Attempt, Running] = {}
        if not launches and not self._id_file.exists():
            return found  # no container was ever started here
        try:
            for each in await self._list_containers(FIND_MAX_S if launches else 0.0):
                attempt = read_attempt(each["Labels"])
                launch = None if attempt is None else launches.get(attempt)
                if attempt is None or launch is None or each["State"] in STATES_NEVER_STARTED:
                    self._remove_later(self.remove_container(each["Id"]))
                else:
                    found[attempt] = await self._adopt(each["Id"], launch)
        except (DaemonUnavailable, DaemonError) as error:
            if launches:
                raise RuntimeGone(str(error)) from error
        self._remove_stale_positions({self._position_file(attempt) for attempt in found})
        return found

    async def close(self) -> None:
        await asyncio.gather(*(container.detach() for container in self._containers.values()))
        if self._watching is not None:
            self._watching.cancel()
        await self._images.close()
        if self._removals:
            await asyncio.wait(self._removals, timeout=REMOVE_MAX_S)
        await self._daemon.close()

    # ---- starting ----

    async def _create(self, launch: Launch, config: dict[str, Any], copier: OutputCopier) -> str:
        """Create at once, and pull only if the daemon lacks the image: usually it has it."""
        container = launch.spec.container
        assert container is not None
        may_pull = container.pull != "never"
        name = self._name(launch.attempt)
        for _ in range(CREATE_TRIES_MAX):
            try:
                creating = asyncio.ensure_future(self._daemon.create(name, config))
                return await self._remove_if_cancelled(creating, name)
            except DaemonError as error:
                if error.status == NAME_TAKEN and "name" in str(error):
                    await self.remove_container(name)
                elif error.status == NOT_FOUND and "image" in str(error).lower():
                    if not may_pull:
                        raise NotStarted(_why_missing(container.image, container.pull)) from error
                    may_pull = False
                    await self._images.pull(container.image, copier.write_notice)
                else:
                    raise NotStarted(f"image {container.image}: {error}") from error
        raise NotStarted(f"image {container.image}: the container's name {name} is in use and does not become free")

    async def _start(self, id: str, launch: Launch, copier: OutputCopier, facts: Facts) -> Container:
        stream = None
        try:
            if not facts.is_podman:
                stream = await self._remove_if_cancelled(asyncio.ensure_future(self._daemon.attach(id)), id)
            container = Container(self._daemon, id, launch, copier, self, stream)
            await self._remove_if_cancelled(asyncio.ensure_future(self._daemon.start(id)), id)
            if needs_address(launch):
                container.update_from_inspect(await self._daemon.inspect(id))
        except DaemonError as error:
            self._remove_later(self.remove_container(id))
            assert launch.spec.container is not None
            missing = "executable file not found" in str(error) or "no such file or directory" in str(error)
            detail = f"image {launch.spec.container.image}: {error}"
            raise (NotStarted(detail, EXIT_NOT_FOUND) if missing else NotStarted(detail)) from error
        return self._register(container, launch.attempt)

    async def _remove_if_cancelled(self, call: asyncio.Future[T], name: str) -> T:
        """Await a call that creates something. If cancelled, its result is removed once it exists."""
        try:
            return await asyncio.shield(call)
        except asyncio.CancelledError:

            async def undo() -> None:
                await asyncio.gather(call, return_exceptions=True)
                await self.remove_container(name)

            self._remove_later(undo())
            raise

    def _register(self, container: Container, attempt: Attempt) -> Container:
        self._containers = {name: each for name, each in self._containers.items() if each.is_tracked}
        self._containers[self._name(attempt)] = container
        container.watch()
        return container

    # ---- an earlier life ----

    async def _list_containers(self, timeout_s: float = 0.0) -> list[dict[str, Any]]:
        """All containers of this home. A daemon that is just starting is given some time."""
        deadline = monotonic() + timeout_s
        while True:
            try:
                return await self._daemon.list_by_label(f"{HOME_LABEL}={self._id()}")
            except DaemonUnavailable:
                if monotonic() >= deadline:
                    raise
            await asyncio.sleep(FIND_EVERY_S)

    async def _adopt(self, id: str, launch: Launch) -> Container:
        copier = OutputCopier(launch.log, self._position_file(launch.attempt))
        container = Container(self._daemon, id, launch, copier, self, stream=None)
        container.update_from_inspect(await self._daemon.inspect(id))
        log.info("container.found", container=id[:12], job=launch.order.job_name, index=launch.attempt.index)
        return self._register(container, launch.attempt)

    def _remove_stale_positions(self, needed: set[Path]) -> None:
        for note in self._folder.glob("*-*.*"):
            if note not in needed:
                note.unlink(missing_ok=True)

    # ---- running.ContainerOwner ----

    async def remove_container(self, id: str) -> None:
        try:
            async with self._removing:
                await self._daemon.remove(id)
            self._abandoned.discard(id)
        except DaemonError as error:
            if error.status in (NOT_FOUND, NOT_RUNNING):  # gone, or just going
                self._abandoned.discard(id)
            else:
                self._retry_removal_later(id, error)
        except DaemonUnavailable as error:
            self._retry_removal_later(id, error)

    def abandon_container(self, id: str) -> None:
        self._abandoned.add(id)

    def _retry_removal_later(self, id: str, error: Exception) -> None:
        log.warning("container.remove_failed", container=id[:NAME_LOGGED_MAX], error=error)
        self._abandoned.add(id)

    # ---- the daemon coming and going ----

    async def _watch_daemon(self) -> None:
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            await self._check_daemon()
            if self._facts is not None:
                for id in list(self._abandoned):
                    await self.remove_container(id)

    async def _check_daemon(self) -> None:
        was = self._facts
        await self._refresh_facts()
        if was != self._facts:
            log.info("docker.changed", version=self._facts.version if self._facts else "gone")
            if self._facts is not None and self._id_file.exists():
                await self._sweep()
            if self.changed is not None:
                self.changed(self._attributes())

    async def _refresh_facts(self) -> None:
        """Is the daemon there, and is it the same?"""
        try:
            if self._facts is None or await self._daemon.version() != self._facts.version:
                self._facts = await self._daemon.facts()
        except (DaemonUnavailable, DaemonError):
            self._facts = None

    async def _sweep(self) -> None:
        """The daemon is back: remove containers that were abandoned meanwhile."""
        try:
            for each in await self._list_containers():
                known = {container.id for container in self._containers.values() if container.is_tracked}
                names = {name.lstrip("/") for name in each["Names"]}
                if each["Id"] not in known and not names & self._starting:
                    await self.remove_container(each["Id"])
        except (DaemonUnavailable, DaemonError) as error:
            log.warning("docker.cleanup_failed", error=error)

    def _attributes(self) -> Attributes:
        return {} if self._facts is None else {"runtime.docker": self._facts.version}

    # ---- inside ----

    def _id(self) -> str:
        """An id of this home, which no other home at the same path ever had."""
        if not self._home_id:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                self._home_id = self._id_file.read_text().strip()
            except FileNotFoundError:
                self._home_id = uuid.uuid4().hex
                self._id_file.write_text(self._home_id)
        return self._home_id

    def _name(self, attempt: Attempt) -> str:
        return f"shunter-{self._id()[:12]}-{format_attempt(attempt)}"

    def _position_file(self, attempt: Attempt) -> Path:
        return self._folder / f"{format_attempt(attempt)}.json"

    def _remove_later(self, removal: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(removal)
        self._removals.add(task)
        task.add_done_callback(self._removals.discard)


def read_attempt(labels: Mapping[str, str]) -> Attempt | None:
    try:
        return Attempt(*map(int, labels[ATTEMPT_LABEL].split("-")))
    except (KeyError, ValueError, TypeError):
        return None


def _why_missing(image: str, policy: str) -> str:
    if policy == "never":
        return f"image {image} is not on the node, and pull is never; set pull: missing"
    return f"image {image} was pulled but is not on the node"
