"""Per-task options: index, entry, files, payload, user, devices, ports."""

from __future__ import annotations

import os
import pwd
import signal
import sys
from pathlib import Path

import pytest

from shunter.model.job.spec import Port, TaskSpec
from shunter.model.protocol.worker_messages import Ended, Recall, Started, Stop, StopRange
from tests.machine_limits import NO_ROOT
from tests.services.worker_harness import Harness, open_harness

pytestmark = pytest.mark.services

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason=f"{NO_ROOT}: tasks run as another user")


async def output(harness: Harness, task: Ended | Started, place: int = 0) -> str:
    return (await harness.read(task, place=place)).data.decode()


async def outputs(harness: Harness) -> dict[int, str]:
    return {
        run.first + place: (await output(harness, run, place)).strip()
        for run in harness.ended
        for place in range(len(run.ended_ms))
    }


async def test_a_stop_leaves_a_newer_attempt_alone(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sleep", "60", attempt=3, last=1)
        await harness.until(lambda: harness.started)
        harness.worker.received(Stop(1, [StopRange(1, 0, 0, 1, 5.0, attempt=2)]))
        assert (await harness.run("/bin/true", job=2, reservation=2)).job == 2
        assert not harness.returned
        harness.worker.received(Stop(1, [StopRange(1, 0, 0, 1, 5.0, attempt=3)]))
        await harness.until(lambda: len(harness.ended) == 2 and harness.returned)
        assert (harness.ended[1].attempt, harness.ended[1].how, harness.ended[1].first) == (3, "stopped", 0)


async def test_a_stop_may_name_the_first_signal(tmp_path: Path) -> None:
    script = "trap 'echo usr1; exit 7' USR1; trap 'echo term; exit 8' TERM; echo ready; while :; do sleep 0.01; done"
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sh", "-c", script)
        started = (await harness.until(lambda: harness.started))[0]
        while "ready" not in await output(harness, started):
            pass
        harness.worker.received(Stop(1, [StopRange(1, 0, 0, 0, 20.0, signal=signal.SIGUSR1)]))
        await harness.all_ended(1)
        assert (harness.ended[0].exits, harness.ended[0].how) == ([7], "stopped")
        assert await output(harness, harness.ended[0]) == "ready\nusr1\n"


async def test_each_task_sees_its_own_index_and_entry_over_lanes_and_restarts(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    script = f"until [ -e {gate} ]; do sleep 0.01; done; echo $SHUNTER_TASK_INDEX $SHUNTER_ENTRY"
    indexes = range(10, 50)
    async with open_harness(tmp_path, warm_keepers=2) as harness:
        columns = {"shown": [3 * index for index in indexes], "entries": [f"line {index}" for index in indexes]}
        harness.order("/bin/sh", "-c", script, first=10, last=49, width=2, **columns)
        await harness.until(lambda: len(harness.started) == 2)
        await harness.restart()
        held = {index for each in harness.inventories[0].held for index in range(each.first, each.last + 1)}
        assert held < set(indexes)  # what waited in the worker itself is ordered again
        harness.order("/bin/sh", "-c", script, first=10, last=49, width=2, **columns)
        gate.touch()
        await harness.all_ended(40)
        assert await outputs(harness) == {index: f"{3 * index} line {index}" for index in indexes}


async def test_what_is_recalled_and_ordered_again_keeps_its_entries(tmp_path: Path) -> None:
    script = "echo $SHUNTER_TASK_INDEX $SHUNTER_ENTRY"
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sleep", "60")
        await harness.until(lambda: harness.started)
        harness.order("/bin/sh", "-c", script, job=2, first=4, last=6, shown=[1, 2, 3], entries=["a", "b", "c"])
        harness.worker.received(Recall(1, [1]))
        await harness.until(lambda: sum(each.last - each.first + 1 for each in harness.returned) == 3)
        harness.worker.received(Stop(1, [StopRange(1, 0, 0, 0, 0.0)]))
        await harness.all_ended(1)
        harness.forget()
        harness.order("/bin/sh", "-c", script, job=2, first=5, last=6, attempt=2, shown=[2, 3], entries=["b", "c"])
        await harness.all_ended(2)
        assert await outputs(harness) == {5: "2 b", 6: "3 c"}


async def test_streams_go_to_files_named_by_job_group_index_and_attempt(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "out").mkdir()
    (work / "out" / "job-main-6-2.txt").write_text("of an older attempt, and longer")
    async with open_harness(tmp_path) as harness:
        harness.order(
            "/bin/sh", "-c", "echo out; echo err >&2", dir=str(work), attempt=2, first=3, shown=[6],
            stdout="out/%j-%g-%i-%a.txt", stderr=f"{tmp_path}/new/folder/100%%.txt",
        )  # fmt: skip
        await harness.all_ended(1)
        assert (work / "out" / "job-main-6-2.txt").read_text() == "out\n"
        assert (tmp_path / "new" / "folder" / "100%.txt").read_text() == "err\n"
        for stream in ("stdout", "stderr"):
            log = await harness.read(harness.ended[0], stream)
            assert (log.data, log.eof) == (b"", True)
        assert (await harness.run("/bin/pwd", job=2)).exits == []
        assert (await output(harness, harness.ended[1])).strip().endswith("scratch")


async def test_both_streams_may_share_a_file(tmp_path: Path) -> None:
    target = str(tmp_path / "both")
    async with open_harness(tmp_path) as harness:
        await harness.run("/bin/sh", "-c", "echo 1; echo 2 >&2; echo 3", stdout=target, stderr=target)
        assert Path(target).read_text() == "1\n2\n3\n"


async def test_a_file_that_cannot_be_opened_ends_the_task_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    async with open_harness(tmp_path) as harness:
        ended = await harness.run("/bin/true", stdout=f"{tmp_path}/file/below")
        assert (ended.how, ended.exits) == ("error", [126])
        assert ended.detail == f"stdout cannot be written to {tmp_path}/file/below: Not a directory"
        assert (await harness.run("/bin/true", job=2)).how == ""


async def test_a_stream_does_not_follow_a_symbolic_link(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        (tmp_path / "precious").write_text("precious")
        (tmp_path / "link").symlink_to(tmp_path / "precious")
        ended = await harness.run("/bin/echo", "overwritten", stdout=f"{tmp_path}/link")
        assert ended.detail == f"stdout cannot be written to {tmp_path}/link: it is a symbolic link"
        assert (tmp_path / "precious").read_text() == "precious"


async def test_a_payload_arrives_byte_for_byte(tmp_path: Path) -> None:
    full = bytes(range(256)) * 1000 + b"\0\n"
    async with open_harness(tmp_path) as harness:
        for job, payload, place in ((1, full, {}), (2, full, {"dir": str(tmp_path)}), (5, b"", {})):
            script = f"cat $SHUNTER_PAYLOAD > {tmp_path}/copy; echo spoilt >> $SHUNTER_PAYLOAD; echo $SHUNTER_PAYLOAD"
            ended = await harness.run("/bin/sh", "-c", script, job=job, payload=payload, **place)
            assert ended.how == ""
            assert (tmp_path / "copy").read_bytes() == payload
        path = Path((await output(harness, harness.ended[-1])).strip())
        assert path.is_relative_to(harness.home)
        await harness.run("/bin/true", job=3)
        assert not path.exists()
        assert (await harness.run("/bin/sh", "-c", 'test -z "$SHUNTER_PAYLOAD"', job=4)).exits == []


async def test_a_task_reads_its_standard_input_byte_for_byte(tmp_path: Path) -> None:
    full = bytes(range(256)) * 4096
    script = f'cat > {tmp_path}/copy; test -z "$SHUNTER_PAYLOAD"'
    async with open_harness(tmp_path) as harness:
        for job, data in ((1, full), (2, b"")):
            ended = await harness.run("/bin/sh", "-c", script, job=job, payload=data, payload_is_stdin=True)
            assert (ended.how, ended.exits) == ("", [])
            assert (tmp_path / "copy").read_bytes() == data
        await harness.run("/bin/sh", "-c", script, job=3)
        assert (tmp_path / "copy").read_bytes() == b""


@AS_ROOT
async def test_a_task_of_another_user_reads_its_standard_input_twice(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        script = "id -un; cat /dev/stdin; cat"
        ended = await harness.run("/bin/sh", "-c", script, user="nobody", payload=b"data\n", payload_is_stdin=True)
        assert await output(harness, ended) == "nobody\ndata\ndata\n"


@AS_ROOT
async def test_a_task_runs_as_the_user_that_it_names(tmp_path: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    script = "id -un; id -g; echo $HOME; pwd; touch mine && cat $SHUNTER_PAYLOAD; ls -ln mine; cat /etc/shadow"
    async with open_harness(tmp_path) as harness:
        ended = await harness.run("/bin/sh", "-c", script, user="nobody", payload=b"for nobody\n")
        assert ended.exits == [1]  # /etc/shadow
        name, gid, home, folder, payload, mine = (await output(harness, ended)).splitlines()
        assert (name, int(gid), home, payload) == ("nobody", nobody.pw_gid, nobody.pw_dir, "for nobody")
        assert mine.split()[2] == str(nobody.pw_uid)
        assert not Path(folder).exists()
        after = await harness.run("/bin/sh", "-c", "id -u; pwd", job=2)
        assert (await output(harness, after)).split()[0] == "0"
        assert (await output(harness, after)).strip().endswith("scratch")


@AS_ROOT
async def test_a_user_writes_only_where_the_user_may(tmp_path: Path) -> None:
    tmp_path.chmod(0o711)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    async with open_harness(tmp_path) as harness:
        ended = await harness.run("/bin/true", user="nobody", stdout=str(closed / "out"))
        assert ended.how == "error"
        assert not (closed / "out").exists()
        ended = await harness.run("/bin/true", user="65534:65533", job=2, dir=str(closed))
        assert (ended.how, ended.exits) == ("error", [126])
        assert str(closed) in ended.detail


@AS_ROOT
async def test_a_user_s_task_is_stopped_and_limited_like_any_other(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sh", "-c", "sleep 60 & sleep 60", user="nobody", memory_bytes=64 * 2**20)
        await harness.until(lambda: harness.started)
        harness.worker.received(Stop(1, [StopRange(1, 0, 0, 0, 0.0)]))
        await harness.all_ended(1)
        assert harness.ended[0].how == "stopped"


@pytest.mark.parametrize(
    ("user", "words"), [("no-such-user", "no user no-such-user"), ("root:nogrp", "no group nogrp")]
)
async def test_an_unknown_user_ends_the_task_with_the_reason(tmp_path: Path, user: str, words: str) -> None:
    async with open_harness(tmp_path) as harness:
        ended = await harness.run("/bin/true", user=user)
        assert (ended.how, ended.exits) == ("error", [126])
        assert words in ended.detail


async def test_running_tasks_never_share_a_device_not_even_after_a_restart(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    script = f"echo $SHUNTER_DEVICES_GPU $CUDA_VISIBLE_DEVICES; until [ -e {gate} ]; do sleep 0.01; done"
    async with open_harness(tmp_path, devices={"gpu": ["0", "1", "2", "3"]}) as harness:
        assert harness.hello.capacity["gpu"] == 4
        harness.order("/bin/sh", "-c", script, devices={"gpu": 1})
        harness.order("/bin/sh", "-c", script, job=2, reservation=2, devices={"gpu": 2})
        first, second = await harness.until(lambda: harness.started if len(harness.started) == 2 else None)
        while not (await output(harness, first)) or not (await output(harness, second)):
            pass
        await harness.restart()
        harness.order("/bin/sh", "-c", script, job=3, reservation=3, devices={"gpu": 2})  # one too many, for now
        harness.order("/bin/sh", "-c", script, job=4, reservation=4, devices={"gpu": 1})
        fourth = (await harness.until(lambda: harness.started))[0]
        assert fourth.job == 4
        while not await output(harness, fourth):
            pass
        told = [(await output(harness, each)).split() for each in (first, second, fourth)]
        assert all(shunter == cuda for shunter, cuda in told)
        assert sorted(",".join(shunter for shunter, _ in told).split(",")) == ["0", "1", "2", "3"]
        gate.touch()
        await harness.until(lambda: {ended.job for ended in harness.ended} == {1, 2, 3, 4})
        third = next(ended for ended in harness.ended if ended.job == 3)
        assert len((await output(harness, third)).split()[0].split(",")) == 2
        plain = await harness.run("/bin/sh", "-c", 'test -z "$SHUNTER_DEVICES_GPU$CUDA_VISIBLE_DEVICES"', job=5)
        assert plain.exits == []


async def test_ports_are_told_reported_and_never_shared_while_in_use(tmp_path: Path) -> None:
    ports = (Port("web-ui", 80), Port("admin", 0, host_port=31_001))
    script = "echo $SHUNTER_PORT_WEB_UI $SHUNTER_PORT_ADMIN; sleep 60"
    async with open_harness(tmp_path, ports_first=31_010, ports_last=31_012) as harness:
        harness.order("/bin/sh", "-c", script, ports=ports)
        harness.order("/bin/sh", "-c", script, job=2, reservation=2, ports=ports[:1])
        await harness.until(lambda: len(harness.started) == 2)
        by_job = {started.job: started for started in harness.started}
        while not await output(harness, by_job[1]):
            pass
        told = (await output(harness, by_job[1])).split()
        assert by_job[1].ports == {"web-ui": int(told[0]), "admin": 31_001}
        assert told[1] == "31001"
        await harness.restart()
        held = {held.job: held.ports for held in harness.inventories[0].held}
        assert held == {job: started.ports for job, started in by_job.items()}
        harness.order("/bin/sh", "-c", script, job=3, reservation=3, ports=ports[:1])
        third = (await harness.until(lambda: harness.started))[0]
        chosen = {third.ports["web-ui"], *(held["web-ui"] for held in held.values())}
        assert chosen == {31_010, 31_011, 31_012}
        full = await harness.run("/bin/true", job=4, reservation=4, ports=ports[:1])
        assert (full.how, full.detail) == ("error", "no host port is free on this node")
        harness.worker.received(Stop(1, [StopRange(3, 0, 0, 0, 0.0)]))
        await harness.until(lambda: any(ended.job == 3 for ended in harness.ended))
        harness.order("/bin/sh", "-c", script, job=5, reservation=5, ports=ports[:1])
        await harness.until(lambda: harness.started[-1].job == 5)
        assert harness.started[-1].ports == third.ports


async def test_a_task_with_ports_is_reported_as_started_however_short_it_is(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        await harness.run("/bin/true", ports=(Port("web", 0),))
        assert [list(started.ports) for started in harness.started] == [["web"]]


def test_a_plain_spec_costs_a_keeper_nothing() -> None:
    from shunter.worker.keeper.work_queue import Spec

    fields = {name: getattr(TaskSpec(("true",)), name) for name in TaskSpec.__struct_fields__}
    spec = Spec(fields, {})
    assert spec.is_plain and not spec.is_watched and spec.fields is None


async def test_a_named_pipe_that_nobody_reads_does_not_hold_up_the_keeper(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    async with open_harness(tmp_path) as harness:
        ended = await harness.run("/bin/echo", "unread", stdout=str(pipe))
        assert ended.detail == f"stdout cannot be written to {pipe}: it is a named pipe that nobody reads, or a socket"
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        script = "import os; print(os.get_blocking(1))"
        assert (await harness.run(sys.executable, "-c", script, job=2, stdout=str(pipe))).how == ""
        assert os.read(reader, 100) == b"True\n"
        os.close(reader)
