"""A private Docker daemon for tests: own data, own socket, own bridge, and a small image built on the spot. All xdist
workers of a run share it; the last one stops it. Needs root, dockerd and a static busybox; else the tests are
skipped."""

from __future__ import annotations

import asyncio
import fcntl
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from tests.machine_limits import NO_ROOT

IMAGE = "shunter-test:1"
UP_MAX_S = 60.0
END_MAX_S = 30.0
APPLETS = (
    "cat", "dd", "echo", "env", "false", "head", "httpd", "id", "kill", "ls", "mkdir", "nc", "printf", "ps", "pwd",
    "rm", "seq", "sh", "sleep", "stat", "tail", "test", "touch", "true", "wc", "wget", "yes",
)  # fmt: skip
# A command that exceeds a memory limit of 32 MiB. The container outlives the process that is killed: on cgroup v1,
# containerd misses the kill if the cgroup is gone when it looks.
EXCEED_MEMORY = ("/bin/sh", "-c", "dd if=/dev/zero of=/dev/null bs=200M; code=$?; sleep 2; exit $code")
PASSWD = b"root:x:0:0:root:/:/bin/sh\nworker:x:1000:1000::/:/bin/sh\n"


@dataclass(frozen=True, slots=True)
class TestDaemon:
    """`bridge` is False where the machine lets nobody make one: then containers have no network but the host's."""

    __test__ = False

    folder: Path
    pid: int
    bridge: bool

    @property
    def host(self) -> str:
        return f"unix://{self.folder}/docker.sock"

    def call(self, method: str, path: str, body: Any = None, **params: str) -> Any:
        """One call of its API, beside the code under test."""
        return asyncio.run(self.ask(method, path, body, **params))

    async def ask(self, method: str, path: str, body: Any = None, **params: str) -> Any:
        connector = aiohttp.UnixConnector(f"{self.folder}/docker.sock")
        async with aiohttp.ClientSession(connector=connector) as session:
            data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            headers = {"Content-Type": "application/json"} if not isinstance(body, bytes) else {}
            url = f"http://docker/{path}"
            async with session.request(method, url, params=params, data=data, headers=headers) as response:
                text = await response.text()
                assert response.status < 400, f"{method} {path}: {response.status} {text}"
        return json.loads(text) if text.startswith(("{", "[")) and "\n{" not in text else text


def skip_reason() -> str:
    """What is missing for a daemon of our own; empty if nothing is."""
    if os.geteuid() != 0:
        return f"{NO_ROOT}: a private Docker daemon"
    missing = [name for name in ("dockerd", "containerd", "runc", "busybox") if shutil.which(name) is None]
    return f"{', '.join(missing)} not found: scripts/setup_docker.sh installs them" if missing else ""


@contextmanager
def shared_daemon(folder: Path) -> Iterator[TestDaemon]:
    """The daemon of all that name the same folder. Started by the first; ended by the last."""
    daemon = _join(folder)
    try:
        yield daemon
    finally:
        _leave(folder)


def _join(folder: Path) -> TestDaemon:
    with _locked(folder) as state:
        if not state.get("users"):
            daemon = start()
            state.update(users=0, folder=str(daemon.folder), pid=daemon.pid, bridge=daemon.bridge)
        state["users"] += 1
        return TestDaemon(Path(state["folder"]), state["pid"], state["bridge"])


def _leave(folder: Path) -> None:
    with _locked(folder) as state:
        state["users"] -= 1
        if not state["users"]:
            end(TestDaemon(Path(state["folder"]), state["pid"], state["bridge"]))


@contextmanager
def _locked(folder: Path) -> Iterator[dict[str, Any]]:
    """Who uses the daemon, changed by one process at a time."""
    with open(folder / "docker.json", "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        state: dict[str, Any] = json.loads(file.read() or "{}")
        try:
            yield state
        finally:
            file.seek(0)
            file.truncate()
            file.write(json.dumps(state))


def start() -> TestDaemon:
    """Raises RuntimeError with the end of the daemon's log where it does not come up."""
    folder = Path(tempfile.mkdtemp(prefix="shunter-docker-", dir="/tmp"))
    (folder / "daemon.json").write_text("{}")
    daemon = start_again(TestDaemon(folder, 0, _make_bridge(folder)))
    repository, _, tag = IMAGE.partition(":")
    daemon.call("POST", "images/create", root_files(), fromSrc="-", repo=repository, tag=tag)
    return daemon


def start_again(daemon: TestDaemon) -> TestDaemon:
    """The next life of a daemon, in the same folder; returns when it answers. It gives its containerd 15 s, and ends
    itself where a busy machine needs longer: then it is started once more."""
    folder = daemon.folder
    words = [
        "dockerd", "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid",
        "--host", f"unix://{folder}/docker.sock", "--config-file", f"{folder}/daemon.json",
        "--iptables=false", "--ip-masq=false", "--ip-forward=false",
        "--bridge", _bridge(folder) if daemon.bridge else "none",
    ]  # fmt: skip
    deadline = time.monotonic() + UP_MAX_S
    process = _launch(folder, words)
    while True:
        started = TestDaemon(folder, process.pid, daemon.bridge)
        try:
            started.call("GET", "_ping")
            return started
        except (aiohttp.ClientError, OSError, AssertionError) as error:
            is_slow = "timeout waiting for containerd" in _last_words(folder)
            if time.monotonic() > deadline or (process.poll() is not None and not is_slow):
                words = _last_words(folder).splitlines()
                end(started)
                raise RuntimeError(f"dockerd did not come up: {words}") from error
            if process.poll() is not None:
                process = _launch(folder, words)
            time.sleep(0.05)


def _launch(folder: Path, words: list[str]) -> subprocess.Popen[bytes]:
    """A killed daemon leaves the process number of its containerd, which ends with it. The next daemon would wait 15 s
    for that containerd."""
    for path in (folder / "pid", folder / "exec" / "containerd" / "containerd.pid"):
        path.unlink(missing_ok=True)
    with open(folder / "log", "ab") as log:
        return subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)


def _last_words(folder: Path) -> str:
    return "\n".join((folder / "log").read_text().splitlines()[-3:])


def end(daemon: TestDaemon) -> None:
    """End the daemon and whatever it ran; nothing of it stays."""
    with suppress(ProcessLookupError):
        os.kill(daemon.pid, signal.SIGTERM)
        deadline = time.monotonic() + END_MAX_S
        while _is_alive(daemon.pid):
            if time.monotonic() > deadline:
                os.kill(daemon.pid, signal.SIGKILL)
            time.sleep(0.02)
    for pid in _pids_of(daemon.folder):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for line in reversed(Path("/proc/mounts").read_text().splitlines()):
        if (place := line.split()[1]).startswith(f"{daemon.folder}/"):
            subprocess.run(["umount", "-l", place], check=False, capture_output=True)
    if daemon.bridge:
        subprocess.run(["ip", "link", "delete", _bridge(daemon.folder)], check=False, capture_output=True)
    shutil.rmtree(daemon.folder, ignore_errors=True)


def root_files() -> bytes:
    """The image's files as a tar: a static busybox and a second user. Nothing is fetched from anywhere."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path in ("bin", "etc", "tmp"):
            folder = tarfile.TarInfo(path)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if path == "tmp" else 0o755
            tar.addfile(folder)
        _add(tar, "bin/busybox", Path(shutil.which("busybox") or "").read_bytes(), 0o755)
        _add(tar, "etc/passwd", PASSWD, 0o644)
        for applet in APPLETS:
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
    return packed.getvalue()


def _add(tar: tarfile.TarFile, path: str, content: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode = len(content), mode
    tar.addfile(entry, io.BytesIO(content))


def _bridge(folder: Path) -> str:
    return f"sh{folder.name[-8:]}"


def _make_bridge(folder: Path) -> bool:
    """A bridge of our own, so that no other daemon of the machine is touched."""
    name, number = _bridge(folder), sum(folder.name.encode()) % 256
    steps = (
        f"link add name {name} type bridge",
        f"addr add 10.213.{number}.1/24 dev {name}",
        f"link set {name} up",
    )
    if shutil.which("ip") is None:
        return False
    return all(subprocess.run(["ip", *step.split()], capture_output=True).returncode == 0 for step in steps)


def _pids_of(folder: Path) -> list[int]:
    """What a daemon that was killed left: its containerd, and what watches over each container."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and f"{folder}/".encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def _is_alive(pid: int) -> bool:
    """Also collects it where it is a child of ours: a zombie is not alive."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
