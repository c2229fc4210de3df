"""The Docker runtime on the socket of podman."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from shunter.worker.runtimes.port import Attempt
from tests.machine_limits import NO_PODMAN_SERVICE, NO_ROOT
from tests.services.docker_daemon import UP_MAX_S, TestDaemon, end, root_files
from tests.services.docker_harness import open_docker_harness, until

pytestmark = pytest.mark.services

IMAGE = "localhost/shunter-test:1"
# The usual limits are more than a small machine may set.
SETTINGS = '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n'


@pytest.fixture(scope="module")
def podman() -> Iterator[TestDaemon]:
    if os.geteuid() != 0:
        pytest.skip(f"{NO_ROOT}: podman's service")
    if missing := [name for name in ("podman", "busybox") if shutil.which(name) is None]:
        pytest.skip(f"{', '.join(missing)} not found: scripts/setup_docker.sh installs them")
    folder = Path(tempfile.mkdtemp(prefix="shunter-podman-", dir="/tmp"))
    (folder / "containers.conf").write_text(SETTINGS)
    words = ["podman", "--root", f"{folder}/root", "--runroot", f"{folder}/run", "--cgroup-manager", "cgroupfs"]
    serve = ["system", "service", "--time", "0", f"unix://{folder}/docker.sock"]
    with open(folder / "log", "wb") as log:
        environment = {**os.environ, "CONTAINERS_CONF": f"{folder}/containers.conf"}
        process = subprocess.Popen([*words, *serve], stdout=log, stderr=log, env=environment, start_new_session=True)
    daemon = TestDaemon(folder, process.pid, bridge=False)
    try:
        deadline = time.monotonic() + UP_MAX_S
        while not is_up(daemon):
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.skip(f"{NO_PODMAN_SERVICE}: {(folder / 'log').read_text()[-200:]}")
            time.sleep(0.05)
        made = daemon.call("POST", "images/create", root_files(), fromSrc="-", repo="shunter-test")
        daemon.call("POST", f"images/{made['id'].removeprefix('sha256:')}/tag", repo=IMAGE[:-2], tag="1")
        yield daemon
    finally:
        end(daemon)


def is_up(daemon: TestDaemon) -> bool:
    try:
        daemon.call("GET", "_ping")
    except (aiohttp.ClientError, OSError, AssertionError):
        return False
    return True


async def test_podman_runs_stops_and_finds_containers_again(tmp_path: Path, podman: TestDaemon) -> None:
    async with open_docker_harness(tmp_path, podman) as harness:
        assert harness.attributes["runtime.docker"]
        outcome, out, err = await harness.run("/bin/sh", "-c", "echo out; echo err >&2; exit 5", image=IMAGE)
        assert (outcome.exit_code, out, err) == (5, b"out\n", b"err\n")
        script = "trap 'exit 7' TERM; echo up; while :; do sleep 0.1; done"
        running = await harness.launch("/bin/sh", "-c", script, image=IMAGE)
        await until(lambda: harness.read() == b"up\n")
        assert await running.execute(["/bin/echo", "beside"], 30.0) == (0, "beside")
        assert (await running.usage()) is not None
        found = await harness.restart()
        assert set(found) == {Attempt(1, 0, 0, 1), Attempt(1, 0, 1, 1)}
        await found[Attempt(1, 0, 1, 1)].signal(signal.SIGTERM)
        assert (await found[Attempt(1, 0, 1, 1)].ended()).exit_code == 7
        assert harness.read() == b"up\n"
