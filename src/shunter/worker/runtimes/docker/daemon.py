"""The connection to a Docker daemon, or to podman with the same API: the calls that the runtime needs, with translated
errors. Only this module knows aiodocker, and it loads it at the first call."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from shunter.worker.runtimes.docker import probe

if TYPE_CHECKING:
    import aiodocker
    import aiohttp

SOCKETS = ("/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock")
PODMAN_INITS = ("/usr/libexec/podman/catatonit", "/usr/lib/podman/catatonit", "/usr/bin/catatonit")
UNIX = "unix://"
CALL_MAX_S = 120.0  # for calls that do not wait for a task: a loaded daemon is slow
CHECK_MAX_S = 5.0
OUTPUT_TAIL_BYTES = 4096  # for a command that runs next to the task
CONNECTION_FAILED = 900  # aiodocker's own status


class Facts(msgspec.Struct, frozen=True):
    """What the runtime must know of a daemon before it creates a container."""

    version: str
    cpus: int = 0  # 0: unknown
    is_podman: bool = False
    has_init: bool = True
    has_nvidia: bool = False


class DaemonUnavailable(Exception):
    """The daemon does not answer, or stopped answering."""


class DaemonError(Exception):
    """The daemon answered with an error. `status` is that of HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def find_host(wanted: str = "") -> str:
    """The address of the daemon: as wanted, by DOCKER_HOST, or the first of the usual sockets that is there. May be
    empty."""
    if wanted or (wanted := os.environ.get("DOCKER_HOST", "")):
        return wanted if "://" in wanted else UNIX + wanted
    runtime_dir = os.environ.get("XDG_RUNTIME_DIR")
    sockets = (*SOCKETS, f"{runtime_dir}/docker.sock", f"{runtime_dir}/podman/podman.sock") if runtime_dir else SOCKETS
    return next((UNIX + path for path in sockets if Path(path).is_socket()), "")


class Stream:
    """The output of a container as it comes. While it is not read, the container blocks once the buffers are full."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def read(self) -> bytes:
        """The next piece; empty at the end, or when the daemon ended."""
        with translate_errors():
            return await self._response.content.readany()

    def close(self) -> None:
        self._response.close()


class Daemon:
    """Every call raises DaemonUnavailable or DaemonError. Until the daemon has answered once, each call looks for its
    socket again."""

    def __init__(self, host: str = "") -> None:
        self._configured_host = host
        self._docker: aiodocker.Docker | None = None

    async def version(self) -> str:
        """Its version if it answers."""
        return str((await self._get("version")).get("Version", "unknown"))

    async def facts(self) -> Facts:
        """Ask the daemon who it is."""
        version, info = await self._get("version"), await self._get("info")
        parts = [str(part.get("Name", "")) for part in version.get("Components") or ()]
        is_podman = any("podman" in part.lower() for part in parts)
        return Facts(
            version=str(version.get("Version", "unknown")),
            cpus=int(info.get("NCPU") or 0),
            is_podman=is_podman,
            has_init=not is_podman or any(Path(path).exists() for path in PODMAN_INITS),
            has_nvidia="nvidia" in (info.get("Runtimes") or ()),
        )

    async def close(self) -> None:
        docker, self._docker = self._docker, None
        if docker is not None:
            await docker.session.close()

    # ---- containers ----

    async def create(self, name: str, config: Mapping[str, Any]) -> str:
        """Returns the container's id."""
        return str((await self._call("POST", "containers/create", {"name": name}, config))["Id"])

    async def start(self, id: str) -> None:
        await self._call("POST", f"containers/{id}/start")

    async def inspect(self, id: str, with_size: bool = False) -> dict[str, Any]:
        found: dict[str, Any] = await self._call("GET", f"containers/{id}/json", {"size": "1"} if with_size else None)
        return found

    async def wait(self, id: str) -> dict[str, Any]:
        """Wait until it has ended."""
        ended: dict[str, Any] = await self._call("POST", f"containers/{id}/wait", timeout_s=None)
        return ended

    async def kill(self, id: str, signal_name: str) -> None:
        await self._call("POST", f"containers/{id}/kill", {"signal": signal_name})

    async def remove(self, id: str) -> None:
        """Remove it in any state, with its anonymous volumes."""
        await self._call("DELETE", f"containers/{id}", {"force": "1", "v": "1"})

    async def stats(self, id: str) -> dict[str, Any]:
        found: dict[str, Any] = await self._call("GET", f"containers/{id}/stats", {"stream": "0", "one-shot": "1"})
        return found

    async def list_by_label(self, label: str) -> list[dict[str, Any]]:
        """All containers with a label, ended ones too."""
        filters = msgspec.json.encode({"label": [label]}).decode()
        found: list[dict[str, Any]] = await self._call("GET", "containers/json", {"all": "1", "filters": filters})
        return found

    async def output(self, id: str, since: str, follow: bool) -> AsyncGenerator[bytes, None]:
        """Both streams as the daemon multiplexes them, with times: raw pieces, cut anywhere."""
        wanted = {"stdout": "1", "stderr": "1", "timestamps": "1", "since": since, "follow": "1" if follow else "0"}
        docker = await self._connected_client()
        with translate_errors():
            async with _request(docker, "GET", f"containers/{id}/logs", wanted) as response:
                await _raise_for_status(response)
                while chunk := await response.content.readany():
                    yield chunk

    async def attach(self, id: str) -> Stream:
        """Both streams as they are written; complete where the container has not started yet."""
        docker = await self._connected_client()
        url = f"{docker.docker_host}/{docker.api_version}/containers/{id}/attach?stream=1&stdout=1&stderr=1"
        with translate_errors():
            response = await docker.session.post(url)
            await _raise_for_status(response)
        return Stream(response)

    async def execute(self, id: str, command: Sequence[str]) -> tuple[int, str]:
        """Run a command inside; its exit code and the end of its output. Cancelled, it kills the command."""
        docker = await self._connected_client()
        with translate_errors():
            exec_process = await docker.containers.container(id).exec(list(command), stdin=False)
            tail = b""
            try:
                async with exec_process.start(detach=False) as stream:
                    while (message := await stream.read_out()) is not None:
                        tail = (tail + message.data)[-OUTPUT_TAIL_BYTES:]
            except asyncio.CancelledError:
                await _kill_process(int((await exec_process.inspect()).get("Pid") or 0))
                raise
            code = (await exec_process.inspect()).get("ExitCode")
        return -1 if code is None else int(code), tail.decode(errors="replace").strip()

    # ---- images ----

    async def pull(self, image: str, auth: Mapping[str, str] | None) -> AsyncIterator[dict[str, Any]]:
        """The daemon's progress, one item at a time."""
        docker = await self._connected_client()
        with translate_errors():
            async for item in docker.images.pull(image, auth=dict(auth) if auth else None, stream=True):
                if "error" in item:
                    raise DaemonError(500, str(item["error"]))
                yield item

    # ---- inside ----

    async def _get(self, path: str) -> dict[str, Any]:
        """A question that needs no library, where the daemon has a socket."""
        host = self._resolve_host()
        if not host.startswith(UNIX):
            answer: dict[str, Any] = await self._call("GET", path, timeout_s=CHECK_MAX_S)
            return answer
        try:
            async with asyncio.timeout(CHECK_MAX_S):
                return dict(await probe.get_json(host.removeprefix(UNIX), path))
        except (OSError, TypeError, ValueError) as error:  # among the first: that it took too long
            raise DaemonUnavailable(f"the Docker daemon at {host} does not answer: {error}") from error

    def _resolve_host(self) -> str:
        host = find_host(self._configured_host)
        if not host:
            raise DaemonUnavailable("no Docker daemon was found; start one, or set DOCKER_HOST to its socket")
        if host.startswith(UNIX) and not Path(host.removeprefix(UNIX)).is_socket():
            raise DaemonUnavailable(f"no Docker daemon was found at {host}")
        return host

    async def _connect(self) -> aiodocker.Docker:
        if self._docker is None:
            host = self._resolve_host()
            await asyncio.to_thread(_load)
            import aiodocker
            import aiohttp

            # Each running container holds two connections: the usual limit of a hundred would be met soon.
            session = None
            if host.startswith(UNIX):
                connector = aiohttp.UnixConnector(host.removeprefix(UNIX), limit=0)
                session = aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout())
            client = aiodocker.Docker(host, session=session)
            if self._docker is None:
                self._docker = client
            else:  # somebody else was here meanwhile
                await client.session.close()
        return self._docker

    async def _connected_client(self) -> aiodocker.Docker:
        docker = await self._connect()
        if docker.api_version == "auto":
            with translate_errors():
                await docker.version()  # which settles the version that both speak
        return docker

    async def _call(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None = None,
        body: Any = None,
        timeout_s: float | None = CALL_MAX_S,
    ) -> Any:
        docker = await self._connected_client()
        with translate_errors():
            async with asyncio.timeout(timeout_s), _request(docker, method, path, params, body) as response:
                await _raise_for_status(response)
                content = await response.read()
        return msgspec.json.decode(content) if content else None


def _request(
    docker: aiodocker.Docker, method: str, path: str, params: Mapping[str, str] | None, body: Any = None
) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
    data = None if body is None else msgspec.json.encode(body)
    url = f"{docker.docker_host}/{docker.api_version}/{path}"
    return docker.session.request(method, url, params=params, data=data, headers={"Content-Type": "application/json"})


def _load() -> None:
    """The library takes a large part of a second to load: in a thread, not in the worker's loop."""
    import aiodocker  # noqa: F401


@contextlib.contextmanager
def translate_errors() -> Iterator[None]:
    """Errors of the library and of the connection, in our own words."""
    import aiohttp
    from aiodocker.exceptions import DockerError

    try:
        yield
    except DockerError as error:
        if error.status == CONNECTION_FAILED:
            raise DaemonUnavailable(error.message) from error
        raise DaemonError(error.status, error.message) from error
    except TimeoutError as error:
        raise DaemonUnavailable("the Docker daemon did not answer in time") from error
    except (aiohttp.ClientError, OSError, EOFError) as error:
        raise DaemonUnavailable(f"the Docker daemon does not answer: {error}") from error


async def _raise_for_status(response: aiohttp.ClientResponse) -> None:
    """Raises the error of a response."""
    if response.status < 400:
        return
    content = await response.read()
    try:
        message = str(msgspec.json.decode(content)["message"])
    except (msgspec.MsgspecError, KeyError, TypeError):
        message = content.decode(errors="replace").strip() or f"HTTP status {response.status}"
    raise DaemonError(response.status, message)


async def _kill_process(pid: int) -> None:
    """A command that ran too long: the API has no way to end it, but it is a process of this machine."""
    if pid > 0:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
