"""Tasks as users see them: exit codes, variables, folders, output, and tasks that cannot start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.services.worker_harness import open_harness

pytestmark = pytest.mark.services


async def test_a_range_runs_every_index_once_and_reports_each_exit_code(tmp_path: Path) -> None:
    async with open_harness(tmp_path, warm_keepers=2) as harness:
        harness.order("/bin/sh", "-c", "exit $((SHUNTER_TASK_INDEX % 3))", last=99, width=2, count=100)
        codes = await harness.all_ended(100)
        assert codes == {index: index % 3 for index in range(100)}
        assert sum(len(ended.ended_ms) for ended in harness.ended) == 100


async def test_a_task_knows_who_it_is_and_gets_no_other_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_WORKER", "x")
    async with open_harness(tmp_path) as harness:
        ended = await harness.run(
            "/usr/bin/env", job=5, first=3, count=9, attempt=2, env={"QUALITY": "high"}, job_name="render",
            group_name="frames", namespace="film",
        )  # fmt: skip
        lines = dict(line.split("=", 1) for line in (await harness.read(ended)).data.decode().splitlines())
        mark = lines.pop("SHUNTER_MARK")
        assert len(mark) > 16 and str(harness.home) not in mark
        assert set(lines) - {"PATH", "HOME", "LANG"} == {
            "QUALITY", "SHUNTER_JOB", "SHUNTER_NAMESPACE", "SHUNTER_GROUP", "SHUNTER_TASK_INDEX", "SHUNTER_TASK_COUNT",
            "SHUNTER_ATTEMPT", "SHUNTER_NODE",
        }  # fmt: skip
        assert [lines[f"SHUNTER_{key}"] for key in ("JOB", "NAMESPACE", "GROUP", "TASK_INDEX", "TASK_COUNT")] == [
            "render", "film", "frames", "3", "9",
        ]  # fmt: skip
        assert (lines["SHUNTER_ATTEMPT"], lines["SHUNTER_NODE"], lines["QUALITY"]) == ("2", "stage", "high")


async def test_a_task_runs_in_the_folder_that_it_names_else_in_an_empty_one_of_its_own(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        mess = "mkdir -p d/e; echo x > d/e/f; ln -s /etc loop; chmod 000 d; pwd"
        first = await harness.run("/bin/sh", "-c", mess)
        own = Path((await harness.read(first)).data.decode().strip())
        assert own.is_relative_to(harness.home / "work")
        second = await harness.run("/bin/sh", "-c", "ls -A; pwd", first=1)
        assert (await harness.read(second)).data.decode().strip() == str(own)
        third = await harness.run("/bin/pwd", first=2, dir=str(tmp_path))
        assert (await harness.read(third)).data.decode().strip() == str(tmp_path)
        fourth = await harness.run("/bin/sh", "-c", "rmdir $PWD", first=3)
        fifth = await harness.run("/bin/sh", "-c", "ls -A; pwd", first=4)
        assert (fourth.exits, (await harness.read(fifth)).data.decode().strip()) == ([], str(own))


@pytest.mark.parametrize(
    ("command", "spec", "code", "words"),
    [
        (("/no/such/program",), {}, 127, "/no/such/program: No such file or directory"),
        (("no-such-program",), {}, 127, "not found on the PATH"),
        (("/etc/passwd",), {}, 126, "/etc/passwd: Permission denied"),
        (("/bin/true",), {"dir": "/no/such/folder"}, 127, "working directory /no/such/folder: No such file"),
    ],
)
async def test_what_cannot_be_started_says_why(
    tmp_path: Path, command: tuple[str, ...], spec: dict[str, str], code: int, words: str
) -> None:
    async with open_harness(tmp_path) as harness:
        ended = await harness.run(*command, **spec)
        assert (ended.how, ended.exits) == ("error", [code])
        assert words in ended.detail
        assert (await harness.run("/bin/true", first=1)).exits == []


async def test_a_task_of_a_framework_that_fails_is_explained_by_its_last_lines(tmp_path: Path) -> None:
    program = "echo 1; echo 2; echo 3; echo the cause; printf 'Exception\\n\\tat A.b\\n' >&2; exit $0"
    async with open_harness(tmp_path) as harness:
        env = {"SHUNTER_FRAMEWORK_HOME": "/opt/spark"}
        failed = await harness.run("/bin/sh", "-c", program, "4", env=env)
        succeeded = await harness.run("/bin/sh", "-c", program, "0", env=env, job=2)
        other = await harness.run("/bin/sh", "-c", program, "4", job=3)
    explanation = "exit code 4; last output: 2 | 3 | the cause | Exception"
    assert (failed.exits, failed.how, failed.detail) == ([4], "", explanation)
    assert (succeeded.exits, succeeded.detail) == ([], "")
    assert (other.exits, other.detail) == ([4], "")


async def test_a_script_without_its_interpreter_is_told_apart_from_a_missing_file(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    async with open_harness(tmp_path) as harness:
        ended = await harness.run(str(script))
        assert (ended.exits, ended.detail) == ([127], f"{script}: its interpreter was not found")


async def test_a_signal_ends_a_task_with_128_and_its_number(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        ended = await harness.run("/bin/sh", "-c", "kill -SEGV $$")
        assert (ended.how, ended.exits) == ("", [128 + 11])


async def test_signals_have_their_usual_effect_on_tasks(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        ended = await harness.run("/bin/sh", "-c", "grep -E 'Sig(Ign|Blk)' /proc/self/status")
        lines = (await harness.read(ended)).data.decode().split()
        usual = 2**31 - 1  # the C library keeps two numbers beyond them to itself
        assert [int(lines[1], 16) & usual, int(lines[3], 16) & usual] == [0, 0]


async def test_a_task_inherits_its_three_streams_and_nothing_else(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        ended = await harness.run(
            sys.executable, "-c", "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))"
        )
        assert (await harness.read(ended)).data == b"[0, 1, 2, 3]\n"  # 3 is the listing itself


async def test_a_task_that_runs_on_is_reported_as_started_and_its_output_can_be_followed(tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    async with open_harness(tmp_path) as harness:
        harness.order("/bin/sh", "-c", f"echo one; until [ -e {go_on} ]; do sleep 0.01; done; echo two")
        started = (await harness.until(lambda: harness.started))[0]
        log = await harness.read(started)
        while not log.data:
            log = await harness.read(started)
        assert (log.data, log.eof) == (b"one\n", False)
        go_on.touch()
        await harness.all_ended(1)
        rest = await harness.read(started, offset=log.next)
        assert (rest.data, rest.eof) == (b"two\n", True)


async def test_every_task_has_its_own_slices_of_the_lane_s_output(tmp_path: Path) -> None:
    async with open_harness(tmp_path, warm_keepers=2) as harness:
        script = "i=$SHUNTER_TASK_INDEX; echo out $i; [ $((i % 2)) = 0 ] && echo err $i >&2; exit 0"
        harness.order("/bin/sh", "-c", script, last=59, width=2)
        await harness.all_ended(60)
        for run in harness.ended:
            for place in range(len(run.ended_ms)):
                index = run.first + place
                out, err = await harness.read(run, "stdout", 0, place), await harness.read(run, "stderr", 0, place)
                assert (out.data, out.eof) == (f"out {index}\n".encode(), True)
                assert err.data == (f"err {index}\n".encode() if index % 2 == 0 else b"")


async def test_a_task_that_opens_its_standard_output_anew_leaves_other_tasks_output_alone(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        first = await harness.run("/bin/echo", "first")
        second = await harness.run("/bin/sh", "-c", "echo second > /dev/stdout", first=1)
        assert (await harness.read(first)).data == b"first\n"
        assert (await harness.read(second)).data == b"second\n"


async def test_folders_nested_deeper_than_a_path_can_tell_are_removed(tmp_path: Path) -> None:
    script = "import os\nfor i in range(3000):\n    os.mkdir('deep'); os.chdir('deep')\nopen('file', 'w').close()"
    async with open_harness(tmp_path) as harness:
        assert (await harness.run(sys.executable, "-c", script)).exits == []
        ended = await harness.run("/bin/sh", "-c", "ls -A", first=1)
        assert (ended.exits, (await harness.read(ended)).data) == ([], b"")


async def test_a_command_that_cannot_be_passed_on_is_an_error_and_not_the_end_of_the_keeper(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        ended = await harness.run("/bin/echo", "a\0b")
        assert (ended.how, ended.exits) == ("error", [126])
        assert "null byte" in ended.detail
        assert (await harness.run("/bin/true", first=1)).exits == []
