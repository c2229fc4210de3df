"""A restarted worker finds its containers, running or ended, and every byte of their output. Nothing else stays."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from shunter.model.job.spec import Mount
from shunter.worker.runtimes.docker.container_spec import ATTEMPT_LABEL, HOME_LABEL
from shunter.worker.runtimes.docker.daemon import Daemon, DaemonUnavailable
from shunter.worker.runtimes.port import Attempt, RuntimeGone
from tests.services import docker_daemon
from tests.services.docker_daemon import IMAGE, TestDaemon
from tests.services.docker_harness import open_docker_harness, until

pytestmark = pytest.mark.services

# Says what it is told, line after line, until it is told to end.
ECHO = """
n=1
while :; do
    if [ -e /gate/$n ]; then cat /gate/$n; n=$((n+1)); elif [ -e /gate/end ]; then exit 9; else sleep 0.02; fi
done
"""


async def test_a_running_container_is_found_again_and_ends_as_if_nothing_had_happened(
    tmp_path: Path, docker: TestDaemon
) -> None:
    gate = tmp_path / "gate"
    gate.mkdir()
    async with open_docker_harness(tmp_path, docker) as harness:
        first = await harness.launch("/bin/sh", "-c", ECHO, mounts=(Mount(str(gate), "/gate"),))
        tell(gate, 1, "one\n")
        await until(lambda: harness.read() == b"one\n")
        found = await harness.restart()
        again = found[Attempt(1, 0, 0, 1)]
        assert abs(again.started_ms - first.started_ms) < 5000
        tell(gate, 2, "two\n")
        (gate / "end").touch()
        assert (await again.ended()).exit_code == 9
        assert harness.read() == b"one\ntwo\n"


@pytest.mark.parametrize("noted", ["never", "before the last output", "at the end"])
async def test_no_output_is_lost_or_doubled_when_the_worker_is_killed(
    tmp_path: Path, docker: TestDaemon, noted: str
) -> None:
    gate = tmp_path / "gate"
    gate.mkdir()
    async with open_docker_harness(tmp_path, docker) as harness:
        await harness.launch("/bin/sh", "-c", ECHO, mounts=(Mount(str(gate), "/gate"),))
        tell(gate, 1, "same\n" * 500)
        await until(lambda: len(harness.read()) == 2500)
        found = await harness.restart()
        note = harness.settings.home / "docker" / "1-0-0-1.json"
        earlier = note.read_bytes()
        tell(gate, 2, "same\n" * 300 + "no newline")  # which the daemon keeps until the line ends
        await until(lambda: len(harness.read()) == 4000)
        await harness.runtime.close()
        if noted == "never":
            note.unlink()
        elif noted == "before the last output":
            note.write_bytes(earlier)
        found = await harness.restart()
        tell(gate, 3, "\nsame\n")
        (gate / "end").touch()
        await found[Attempt(1, 0, 0, 1)].ended()
        assert harness.read() == b"same\n" * 800 + b"no newline\nsame\n"


async def test_a_container_that_ended_meanwhile_is_found_with_its_result_and_its_output(
    tmp_path: Path, docker: TestDaemon
) -> None:
    async with open_docker_harness(tmp_path, docker) as harness:
        running = await harness.launch("/bin/sh", "-c", "echo done; exit 3")
        await running.ended()
        await harness.launch("/bin/sh", "-c", "echo later; sleep 0.3; echo last; exit 4")
        await harness.runtime.close()

        async def all_ended() -> bool:
            return all(found["State"] == "exited" for found in await harness.containers())

        await until(all_ended)
        found = await harness.restart()
        outcomes = {attempt.index: (await each.ended()).exit_code for attempt, each in found.items()}
        assert outcomes == {0: 3, 1: 4}
        assert harness.read() == b"later\nlast\n"


async def test_containers_that_belong_to_nobody_are_removed_and_those_of_others_are_not(
    tmp_path: Path, docker: TestDaemon
) -> None:
    async with (
        open_docker_harness(tmp_path, docker) as harness,
        open_docker_harness(tmp_path / "other", docker) as other,
    ):
        await other.launch("/bin/sleep", "60")
        await harness.launch("/bin/sleep", "60")
        await harness.launch("/bin/sleep", "60")
        home_id = (harness.settings.home / "docker" / "id").read_text()
        labels = {HOME_LABEL: home_id, ATTEMPT_LABEL: "1-0-1-1"}
        await harness.daemon.create(
            f"never-started-{home_id}", {"Image": IMAGE, "Cmd": ["/bin/true"], "Labels": labels}
        )
        del harness.launches[Attempt(1, 0, 0, 1)]
        found = await harness.restart()
        assert set(found) == {Attempt(1, 0, 1, 1)}

        async def one_is_left() -> bool:
            return [each["State"] for each in await harness.containers()] == ["running"]

        await until(one_is_left)
        assert [each["State"] for each in await other.containers()] == ["running"]


async def test_a_container_that_somebody_removes_is_lost(tmp_path: Path, docker: TestDaemon) -> None:
    async with open_docker_harness(tmp_path, docker) as harness:
        running = await harness.launch("/bin/sleep", "60")
        await harness.daemon.remove((await harness.inspect())["Id"])
        outcome = await asyncio.gather(running.ended(), return_exceptions=True)
        # Removal kills it first: whoever is quicker, it is not taken for a success.
        assert isinstance(outcome[0], RuntimeGone) or outcome[0].exit_code == 137  # type: ignore[union-attr]


async def test_the_name_of_an_attempt_that_is_ordered_again_is_free(tmp_path: Path, docker: TestDaemon) -> None:
    async with open_docker_harness(tmp_path, docker) as harness:
        launch = harness.prepare("/bin/true")
        harness.running.append(await harness.runtime.launch(launch))
        harness.running.append(await harness.runtime.launch(launch))
        assert (await harness.running[-1].ended()).exit_code == 0
        assert len(await harness.containers()) == 1


async def test_without_a_daemon_there_is_no_attribute_and_what_is_launched_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shunter.worker.runtimes.docker.runtime.FIND_MAX_S", 0.0)
    async with open_docker_harness(tmp_path, TestDaemon(tmp_path / "nowhere", 0, False)) as harness:
        assert harness.attributes == {}
        with pytest.raises(RuntimeGone, match="no Docker daemon was found"):
            await harness.launch("/bin/true")
        with pytest.raises(RuntimeGone, match="no Docker daemon was found"):
            await harness.runtime.find(harness.launches)
        assert await harness.runtime.find({}) == {}


async def test_what_could_not_be_removed_is_removed_when_the_daemon_answers_again(
    tmp_path: Path, docker: TestDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shunter.worker.runtimes.docker.runtime.CHECK_EVERY_S", 0.05)
    answer = Daemon.remove
    tries = 0

    async def remove(self: Daemon, id: str) -> None:
        nonlocal tries
        tries += 1
        if tries <= 2:
            raise DaemonUnavailable("not now")
        await answer(self, id)

    async with open_docker_harness(tmp_path, docker) as harness:
        running = await harness.launch("/bin/true")
        await running.ended()
        monkeypatch.setattr(Daemon, "remove", remove)
        await running.remove()
        assert len(await harness.containers()) == 1

        async def it_is_gone() -> bool:
            return not await harness.containers()

        await until(it_is_gone)
        assert tries == 3
        harness.running.clear()


async def test_a_daemon_that_goes_and_comes_back_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := docker_daemon.skip_reason():
        pytest.skip(reason)
    monkeypatch.setattr("shunter.worker.runtimes.docker.runtime.CHECK_EVERY_S", 0.05)
    daemon = await asyncio.to_thread(docker_daemon.start)
    try:
        async with open_docker_harness(tmp_path, daemon) as harness:
            heard: list[dict[str, str]] = []
            harness.runtime.changed = lambda attributes: heard.append(dict(attributes))
            running = await harness.launch("/bin/sleep", "60")
            os.kill(daemon.pid, signal.SIGTERM)
            await until(lambda: heard == [{}])
            daemon = await asyncio.to_thread(docker_daemon.start_again, daemon)
            await until(lambda: len(heard) == 2)
            assert heard[1] == harness.attributes
            outcome = await asyncio.wait_for(running.ended(), 60)
            assert outcome.exit_code != 0  # a daemon that ends takes its containers along
    finally:
        await asyncio.to_thread(docker_daemon.end, daemon)


async def test_the_first_call_in_vain_tells_that_the_daemon_is_gone(tmp_path: Path) -> None:
    """Or the next attempts would be sent here too, and be lost one after the other."""
    if reason := docker_daemon.skip_reason():
        pytest.skip(reason)
    daemon = await asyncio.to_thread(docker_daemon.start)
    try:
        async with open_docker_harness(tmp_path, daemon) as harness:
            heard: list[dict[str, str]] = []
            harness.runtime.changed = lambda attributes: heard.append(dict(attributes))
            running = await harness.launch("/bin/sleep", "60")
            os.kill(daemon.pid, signal.SIGKILL)
            for _ in range(2):
                with pytest.raises(RuntimeGone):
                    await harness.launch("/bin/true")
            with pytest.raises(RuntimeGone):
                await running.execute(["/bin/true"], 5.0)
            assert heard == [{}]
            daemon = await asyncio.to_thread(docker_daemon.start_again, daemon)
            await until(lambda: len(heard) == 2)
    finally:
        await asyncio.to_thread(docker_daemon.end, daemon)


def tell(gate: Path, number: int, text: str) -> None:
    """Hand the container a text; it appears whole or not at all."""
    (gate / "new").write_text(text)
    (gate / "new").rename(gate / str(number))
