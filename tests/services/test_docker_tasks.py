"""Inputs and results of containers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shunter.model.job.spec import Mount
from shunter.worker.runtimes.port import NotStarted
from tests.services.docker_daemon import IMAGE, TestDaemon, root_files
from tests.services.docker_harness import open_docker_harness, until

pytestmark = pytest.mark.services


async def test_a_container_runs_its_command_and_both_streams_are_kept(tmp_path: Path, docker: TestDaemon) -> None:
    async with open_docker_harness(tmp_path, docker) as harness:
        assert harness.attributes["runtime.docker"]
        outcome, out, err = await harness.run("/bin/sh", "-c", "echo out; echo err >&2; printf last; exit 5")
        assert (outcome.exit_code, outcome.how, out, err) == (5, "", b"out\nlast", b"err\n")
        assert outcome.ended_ms >= harness.running[0].started_ms > 0


async def test_output_is_kept_byte_for_byte(tmp_path: Path, docker: TestDaemon) -> None:
    async with open_docker_harness(tmp_path, docker) as harness:
        every_byte = "".join(f"\\{byte:03o}" for byte in range(256))
        _, out, _ = await harness.run("/bin/printf", every_byte)
        assert out == bytes(range(256))
        _, out, _ = await harness.run("/bin/sh", "-c", "seq 1 30000; head -c 200000 /dev/zero")
        assert out == b"".join(b"%d\n" % n for n in range(1, 30001)) + bytes(200_000)


async def test_output_is_seen_while_it_comes_also_without_a_line_break(tmp_path: Path, docker: TestDaemon) -> None:
    async with open_docker_harness(tmp_path, docker) as harness:
        await harness.launch("/bin/sh", "-c", "printf 'name? '; exec sleep 60")
        await until(lambda: harness.read() == b"name? ")


async def test_output_beyond_the_limit_is_cut_in_the_middle(tmp_path: Path, docker: TestDaemon) -> None:
    async with open_docker_harness(tmp_path, docker) as harness:
        await harness.run("/bin/seq", "1", "200000", log_max_bytes=80_000)
        list(harness.launches.values())[-1].log.end()
        log = harness.read_log()
        assert log.truncated
        assert log.data.startswith(b"1\n2\n")
        assert log.data.endswith(b"\n200000\n")
        assert len(log.data) < 81_000


async def test_a_container_gets_variables_folder_user_and_arguments(tmp_path: Path, docker: TestDaemon) -> None:
    async with open_docker_harness(tmp_path, docker) as harness:
        script = 'echo "$GREETING $SHUNTER_TASK_INDEX $(pwd) $(id -u) $0 $1"'
        fields = {"env": {"GREETING": "hello world"}, "dir": "/tmp", "user": "worker", "args": ("one", "two")}
        _, out, _ = await harness.run("/bin/sh", "-c", script, **fields)
        assert out == b"hello world 0 /tmp 1000 one two\n"


async def test_a_payload_arrives_byte_for_byte(tmp_path: Path, docker: TestDaemon) -> None:
    payload = tmp_path / "payload"
    payload.write_bytes(bytes(range(256)))
    payload.chmod(0o600)
    async with open_docker_harness(tmp_path, docker) as harness:
        _, out, err = await harness.run("/bin/sh", "-c", "cat $SHUNTER_PAYLOAD", payload=payload, user="worker")
        assert (out, err) == (bytes(range(256)), b"")


async def test_folders_and_volumes_are_mounted(tmp_path: Path, docker: TestDaemon) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    mounts = (Mount(str(shared), "/shared"), Mount(str(shared), "/fixed", read_only=True), Mount("kept", "/kept"))
    async with open_docker_harness(tmp_path, docker) as harness:
        script = "echo here > /shared/file; echo kept > /kept/file; echo no > /fixed/other"
        outcome, _, err = await harness.run("/bin/sh", "-c", script, mounts=mounts)
        assert (shared / "file").read_text() == "here\n"
        assert (outcome.exit_code, b"Read-only" in err) == (1, True)
        _, out, _ = await harness.run("/bin/cat", "/kept/file", mounts=mounts[2:])
        assert out == b"kept\n"


async def test_a_container_can_do_little_unless_it_is_allowed_to(tmp_path: Path, docker: TestDaemon) -> None:
    async with open_docker_harness(tmp_path, docker) as harness:
        _, out, _ = await harness.run("/bin/sh", "-c", "cat /proc/self/status")
        status = dict(line.split(":\t", 1) for line in out.decode().splitlines() if ":\t" in line)
        assert (status["CapEff"], status["CapBnd"], status["NoNewPrivs"]) == ("0" * 16, "0" * 16, "1")
        _, out, _ = await harness.run("/bin/cat", "/proc/self/status", cap_add=("NET_RAW",))
        assert b"CapEff:\t0000000000002000" in out
        outcome, _, err = await harness.run("/bin/touch", "/file", read_only=True)
        assert (outcome.exit_code, b"Read-only" in err) == (1, True)


async def test_a_container_knows_its_job_by_labels(tmp_path: Path, docker: TestDaemon) -> None:
    async with open_docker_harness(tmp_path, docker) as harness:
        await harness.launch("/bin/sleep", "60")
        labels = (await harness.inspect())["Config"]["Labels"]
        found = {key.removeprefix("shunter."): value for key, value in labels.items()}
        assert {**found, "home": "", "segment": ""} == {
            "home": "", "segment": "", "attempt.id": "1-0-0-1", "node": "stage", "namespace": "default", "job": "job",
            "group": "main", "index": "0", "attempt": "1",
        }  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "words", "exit_code"),
    [
        ({"image": "shunter-missing:1", "pull": "never"}, "image shunter-missing:1 is not on the node", 126),
        ({"image": "Not An Image"}, "image Not An Image: ", 126),
        ({"network": "shunter-nowhere"}, "network shunter-nowhere not found", 126),
        ({"memory_bytes": 4096}, f"image {IMAGE}: Minimum memory limit", 126),
        ({"dir": "relative"}, "working directory", 126),
        ({"mounts": (Mount("/not/there", "/x"),)}, "/not/there", 126),
        ({"user": "nobody-here"}, "nobody-here", 126),
    ],
    ids=["missing", "invalid", "network", "memory", "dir", "mount", "user"],
)
async def test_what_cannot_be_started_says_why(
    tmp_path: Path, docker: TestDaemon, fields: dict[str, object], words: str, exit_code: int
) -> None:
    async with open_docker_harness(tmp_path, docker) as harness:
        with pytest.raises(NotStarted) as caught:
            await harness.launch("/bin/true", **fields)
        assert words in str(caught.value)
        assert caught.value.exit_code == exit_code


async def test_a_command_that_is_not_in_the_image_ends_with_127(tmp_path: Path, docker: TestDaemon) -> None:
    async with open_docker_harness(tmp_path, docker) as harness:
        outcome, _, err = await harness.run("/bin/nothing-of-this-name")
        assert outcome.exit_code == 127
        assert b"nothing-of-this-name" in err


async def test_without_a_command_the_image_s_own_entry_point_gets_the_arguments(
    tmp_path: Path, docker: TestDaemon
) -> None:
    source = {"fromSrc": "-", "repo": "shunter-entry", "tag": "1", "changes": 'ENTRYPOINT ["/bin/echo", "image:"]'}
    await docker.ask("POST", "images/create", root_files(), **source)
    async with open_docker_harness(tmp_path, docker) as harness:
        assert (await harness.run(image="shunter-entry:1", args=("hello",)))[1] == b"image: hello\n"
        assert (await harness.run("/bin/echo", image="shunter-entry:1", args=("bare",)))[1] == b"bare\n"


def test_a_worker_that_only_looks_for_a_daemon_loads_no_client(tmp_path: Path, docker: TestDaemon) -> None:
    program = f"""
import asyncio, pathlib, sys
from shunter.worker.runtimes.docker import DockerRuntime
from shunter.worker.settings import WorkerSettings

async def look():
    runtime = DockerRuntime(WorkerSettings(home=pathlib.Path({str(tmp_path)!r}), name="x", docker_host={docker.host!r}))
    print(await runtime.open(), await runtime.find({{}}), "aiodocker" in sys.modules)
    await runtime.close()

asyncio.run(look())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("{'runtime.docker': '")
    assert done.stdout.endswith("{} False\n")
