"""What tasks cannot reach: the cluster's secrets, the files of a worker of root, more processes than their limit."""

from __future__ import annotations

import grp
import json
import os
import pwd
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from shunter.model.job.spec import HealthCheck
from shunter.worker.isolation import MASKED_EXEC
from shunter.worker.keeper.task_setup import user_folder
from tests.machine_limits import NO_CGROUPS
from tests.services.worker_harness import Harness, marked_pids, open_harness, wait_gone

pytestmark = pytest.mark.services

IS_ROOT = os.geteuid() == 0
AS_ROOT = pytest.mark.skipif(not IS_ROOT, reason="only root can run tasks as another user")
NOBODY = "nobody"
PYTHON = [os.path.realpath(sys.executable), "-I", "-S", "-E", "-X", "utf8"]
SECRETS = ("token", "worker-token", "store.db", "store.db-wal")
SECRET_FOLDERS = ("backups", "ca", "flight", "rollups", "tls")


def make_cluster_home(folder: Path) -> Path:
    """A home with secrets; the harness makes the worker's own home in it."""
    folder.mkdir(mode=0o755)
    for name in SECRETS:
        (folder / name).write_text("secret")
    for name in SECRET_FOLDERS:
        (folder / name).mkdir()
        (folder / name / "1").write_text("secret")
    return folder


def can_hide(home: Path) -> bool:
    masks = json.dumps({"homes": [str(home)], "files": [], "folders": [], "worker": str(home / "worker")})
    return subprocess.run([*PYTHON, MASKED_EXEC, masks], capture_output=True, check=False).returncode == 0


def public_python() -> str:
    """A Python that every user can run; the one of these tests may be in a closed folder."""
    for candidate in (PYTHON[0], "/usr/bin/python3"):
        try:
            subprocess.run([candidate, "-c", ""], user=NOBODY, group="nogroup", extra_groups=[], check=True, cwd="/")
        except (OSError, subprocess.CalledProcessError):
            continue
        return candidate
    pytest.skip("another user than root can run no Python here")


async def output(harness: Harness, *command: str, **fields: object) -> str:
    ended = await harness.run(*command, **fields)
    streams = [(await harness.read(ended, stream)).data.decode() for stream in ("stdout", "stderr")]
    return "".join(streams)


async def test_a_task_finds_none_of_the_files_in_the_home_of_its_cluster(tmp_path: Path) -> None:
    home, outside = make_cluster_home(tmp_path / "cluster"), tmp_path / "token-file"
    outside.write_text("secret")
    if not can_hide(home):
        pytest.skip("this machine allows no mount namespace")
    settings = {"cluster_homes": (home,), "secret_files": (outside,)}
    async with open_harness(home, **settings) as harness:
        script = f"cat {outside} {home}/* {home}/*/1; ls {home}; echo x > {home}/new; echo mine > file; ls"
        said = await output(harness, "sh", "-c", script)
        assert "secret" not in said
        assert said.splitlines()[:2] == ["home", "file"]
        await harness.restart()
        later = await output(harness, "sh", "-c", f"cat {home}/token", first=1)
        assert "No such file" in later
    assert (home / "token").read_text() == outside.read_text() == "secret"
    assert not (home / "new").exists()


async def test_a_file_in_a_private_folder_stays_hidden_when_another_one_replaces_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home, folder = make_cluster_home(tmp_path / "cluster"), tmp_path / "keys"
    if not can_hide(home):
        pytest.skip("this machine allows no mount namespace")
    folder.mkdir(mode=0o700)
    key = folder / "key"
    key.write_text("secret")
    async with open_harness(home, cluster_homes=(home,), secret_files=(key,)) as harness:
        for first in range(3):
            (folder / "draft").write_text("secret")
            (folder / "draft").rename(key)
            assert "secret" not in await output(harness, "sh", "-c", f"ls {folder}; cat {folder}/*", first=first)
    assert "secrets.replaceable" not in caplog.text


@pytest.mark.parametrize("why", ["others may read the folder", "it has folders", "tasks work there", "a link"])
async def test_of_a_file_whose_folder_is_not_private_a_warning_says_what_to_do(
    tmp_path: Path, why: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    home, folder = make_cluster_home(tmp_path / "cluster"), tmp_path / "keys"
    if not can_hide(home):
        pytest.skip("this machine allows no mount namespace")
    folder.mkdir(mode=0o755 if why == "others may read the folder" else 0o700)
    key = folder / "key"
    if why == "a link":
        (tmp_path / "target").write_text("secret")
        key.symlink_to(tmp_path / "target")
    else:
        key.write_text("secret")
    (folder / "mine").write_text("mine")
    if why == "it has folders":
        (folder / "work").mkdir()
    if why == "tasks work there":
        monkeypatch.chdir(folder)
    async with open_harness(home, cluster_homes=(home,), secret_files=(key,)) as harness:
        assert await output(harness, "cat", f"{folder}/mine", str(key)) == "mine"
    [warning] = [each.message for each in caplog.records if "secrets.replaceable" in each.message]
    assert str(key) in warning and "mode 0700" in warning


async def test_a_setting_leaves_the_files_visible(tmp_path: Path) -> None:
    home = make_cluster_home(tmp_path / "cluster")
    async with open_harness(home, cluster_homes=(home,), hide_secrets=False) as harness:
        assert await output(harness, "cat", f"{home}/token") == "secret"
        assert harness.hello.attributes["isolation"] == ("root" if IS_ROOT else "none")


async def test_a_home_that_is_deleted_ends_keepers_that_hide_it(tmp_path: Path) -> None:
    home = make_cluster_home(tmp_path / "cluster")
    async with open_harness(home, cluster_homes=(home,), keeper_alone_max_s=0.2) as harness:
        await harness.run("/bin/true")
        keepers = harness.keeper_pids()
        subprocess.run(["rm", "-r", str(home)], check=True)
        for pid in keepers:
            await wait_gone(pid)
        home.mkdir()
        harness.home.mkdir()
        (harness.home / "keepers").mkdir()


@AS_ROOT
def test_another_user_than_root_hides_secrets_in_a_namespace_that_it_cannot_leave(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == 0 and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    home = make_cluster_home(tmp_path / "cluster")
    for path in (home, *home.iterdir()):
        os.chown(path, pwd.getpwnam(NOBODY).pw_uid, -1)
    masks = json.dumps({"homes": [str(home)], "files": [], "folders": [], "worker": str(home / "worker")})
    script = (
        f"cat {home}/token; cat /proc/$PPID/root{home}/token; umount {home}; unshare -Urm umount {home};"
        f"cat {home}/token; cat /proc/$OUTSIDE/root{home}/token; cat /proc/$OUTSIDE/environ; id -un"
    )
    outside = subprocess.Popen(
        ["sleep", "60"],
        user=NOBODY,
        group="nogroup",
        extra_groups=[],
        env={"TOKEN": "secret", "PATH": os.environ["PATH"]},
    )
    try:
        done = subprocess.run(
            [public_python(), *PYTHON[1:], MASKED_EXEC, masks, "sh", "-c", script],
            user=NOBODY, group="nogroup", extra_groups=[], capture_output=True, text=True, check=False, cwd="/",
            env={"PATH": os.environ["PATH"], "OUTSIDE": str(outside.pid)},
        )  # fmt: skip
    finally:
        outside.kill()
        outside.wait()
    if done.returncode in (125, 126, 127):
        pytest.skip(f"this machine allows no user namespace: {done.stderr}")
    assert "secret" not in done.stdout
    assert done.stdout == f"{NOBODY}\n"


@AS_ROOT
async def test_tasks_of_two_workers_on_one_machine_share_no_folder(tmp_path: Path) -> None:
    homes = make_cluster_home(tmp_path / "first"), make_cluster_home(tmp_path / "second")
    if not can_hide(homes[0]):
        pytest.skip("this machine allows no mount namespace")
    folders = []
    for home in homes:
        async with open_harness(home, cluster_homes=(home,), task_user=NOBODY) as harness:
            folders.append((await output(harness, "pwd")).strip())
            assert Path(folders[-1]) == Path(user_folder(str(harness.home), 1)) / "scratch"
    assert folders[0] != folders[1]


@AS_ROOT
async def test_tasks_of_a_task_user_have_its_rights_and_no_others(tmp_path: Path) -> None:
    nobody = pwd.getpwnam(NOBODY)
    async with open_harness(tmp_path, task_user=NOBODY) as harness:
        assert harness.hello.attributes["isolation"] == "user"
        script = (
            "ls -A | wc -l; id -u; id -g; id -G; echo $HOME $USER $LOGNAME;"
            "grep -c 'Cap[IPEA].*0000000000000000' /proc/self/status;"
            f"echo mine > file && stat -c %U file; cat {harness.home}/mark; ls {harness.home}; kill -9 $PPID; pwd"
        )
        for cases in ({}, {"memory_bytes": 2**28}, {"payload": b"x"}, {"user": NOBODY}):
            said = await output(harness, "sh", "-c", script, **cases)
            groups = " ".join(map(str, os.getgrouplist(NOBODY, nobody.pw_gid)))
            home, name = nobody.pw_dir, NOBODY
            assert said.splitlines()[:7] == [
                "0", str(nobody.pw_uid), str(nobody.pw_gid), groups, f"{home} {name} {name}", "4", name,
            ]  # fmt: skip
            assert said.splitlines()[7].endswith("/scratch")
            assert said.count("Permission denied") == 2 and said.count("not permitted") == 1
            harness.forget()
        assert await output(harness, "sh", "-c", "cat $SHUNTER_PAYLOAD", payload=b"for it") == "for it"


@AS_ROOT
@pytest.mark.parametrize("user", ["root", "0", "root:root", "0:0", f"root:{grp.getgrgid(1).gr_name}"])
async def test_a_task_user_with_the_number_of_root_is_root(tmp_path: Path, user: str) -> None:
    async with open_harness(tmp_path, task_user=user) as harness:
        assert harness.hello.attributes["isolation"] == "root"
        group = "1" if user.endswith(grp.getgrgid(1).gr_name) else "0"
        assert (await output(harness, "sh", "-c", "id -u; id -g")).split() == ["0", group]


@AS_ROOT
async def test_a_task_user_enters_folders_and_opens_streams_with_its_own_rights(tmp_path: Path) -> None:
    open_folder, closed = tmp_path / "open", tmp_path / "closed"
    open_folder.mkdir()
    os.chown(open_folder, pwd.getpwnam(NOBODY).pw_uid, -1)
    closed.mkdir(mode=0o700)
    for folder in (tmp_path, *tmp_path.parents):
        if not folder.stat().st_mode & 0o001:  # pytest's own folders, whose number depends on how it runs
            folder.chmod(0o755)
    async with open_harness(tmp_path, task_user=NOBODY) as harness:
        ended = await harness.run("sh", "-c", "pwd; touch made", dir=str(open_folder), stdout=str(open_folder / "out"))
        assert ended.exits == []
        assert (open_folder / "out").read_text() == f"{open_folder}\n"
        assert {path.owner() for path in open_folder.iterdir()} == {NOBODY}
        for fields in ({"dir": str(closed)}, {"stdout": str(closed / "out")}):
            refused = await harness.run("/bin/true", first=2, **fields)
            assert refused.how == "error" and "Permission denied" in refused.detail
            harness.forget()
        other = await harness.run("/bin/true", user="root", first=3)
        assert other.detail == "user root: this node runs tasks only as nobody (--task-user)"


@AS_ROOT
async def test_health_checks_run_as_the_task_user(tmp_path: Path) -> None:
    check = HealthCheck(
        "command", command=("sh", "-c", "test $(id -un) = nobody && test $USER = nobody"), interval_s=0.05
    )
    async with open_harness(tmp_path, task_user=NOBODY) as harness:
        harness.order("sleep", "60", health=(check,))
        await harness.until(lambda: any(each.is_healthy for m in harness.messages for each in getattr(m, "health", ())))


@AS_ROOT
async def test_a_keeper_with_another_isolation_finishes_its_task_and_gets_no_more(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    async with open_harness(tmp_path) as harness:
        harness.order("sh", "-c", f"read line < {fifo}; id -un")
        await harness.until(lambda: harness.started)
        [old] = harness.keeper_pids()
        harness.settings = replace(harness.settings, task_user=NOBODY)
        await harness.restart()
        harness.order("id", "-un", job=2)
        fifo.write_text("go\n")
        await harness.all_ended(2)
        by_job = {ended.job: (await harness.read(ended)).data for ended in harness.ended}
        assert by_job == {1: b"root\n", 2: b"nobody\n"}
        await wait_gone(old)


FORKS = 200  # the bomb is bounded, in case that nothing contains it
BOMB = f"""
import os, time
failures = 0
for _ in range({FORKS}):
    try:
        if os.fork() == 0:
            time.sleep(600)
    except BlockingIOError:
        failures += 1
print({FORKS} - failures, flush=True)
"""


async def test_a_fork_bomb_ends_at_the_limit_and_leaves_nothing(tmp_path: Path) -> None:
    async with open_harness(tmp_path, task_pids_max=64) as harness:
        if harness.hello.attributes["limits"] == "rlimits":
            pytest.skip(NO_CGROUPS)
        ended = await harness.run(sys.executable, "-S", "-c", BOMB)
        assert int((await harness.read(ended)).data) == 63  # and the task itself
        harness.forget()
        again = await harness.run("sh", "-c", "echo $(echo fine)", first=1)  # in the same lane
        assert (await harness.read(again)).data == b"fine\n"


async def test_a_fork_bomb_that_does_not_end_by_itself_can_be_stopped(tmp_path: Path) -> None:
    async with open_harness(tmp_path, task_pids_max=64) as harness:
        if harness.hello.attributes["limits"] == "rlimits":
            pytest.skip(NO_CGROUPS)
        harness.order(sys.executable, "-S", "-c", f"{BOMB}\ntime.sleep(600)", run_timeout_s=0.3, stop_grace_s=0.1)
        await harness.all_ended(1)
        assert harness.ended[0].how == "timeout"


ENDLESS_BOMB = """
import os, signal
os.kill(os.getppid(), signal.SIGKILL)
while True:
    try:
        if os.fork() == 0:
            os.setsid()
    except BlockingIOError:
        pass
"""


async def test_a_fork_bomb_that_kills_its_keeper_leaves_nothing(tmp_path: Path) -> None:
    async with open_harness(tmp_path, task_pids_max=64) as harness:
        if harness.hello.attributes["limits"] == "rlimits":
            pytest.skip(NO_CGROUPS)
        harness.order(sys.executable, "-S", "-c", ENDLESS_BOMB)
        await harness.until(lambda: harness.lost)
        assert set(marked_pids(harness.home)) <= set(harness.keeper_pids())


SIGNAL_PROBE = """
import os, sys
reached, keeper = 0, int(sys.argv[1])
os.set_blocking(0, False)
while True:
    for _ in range(200):
        try:
            os.kill(keeper, 0)
            reached += 1
        except PermissionError:
            pass
    try:
        if not os.read(0, 1):
            break
    except BlockingIOError:
        pass
print(reached)
"""


@AS_ROOT
async def test_tasks_of_another_user_cannot_signal_a_keeper_not_even_while_it_starts_tasks(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    python = public_python()
    async with open_harness(tmp_path, task_user=NOBODY) as harness:
        await harness.run("/bin/true")
        [keeper] = harness.keeper_pids()
        with subprocess.Popen(
            [python, "-c", SIGNAL_PROBE, str(keeper)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
            user=NOBODY,
            group="nogroup",
            extra_groups=[],
        ) as probe:
            harness.order("/bin/true", first=1, last=200)
            await harness.all_ended(201)
            said, _ = probe.communicate()
        assert int(said) == 0
        assert harness.keeper_pids() == [keeper]


@AS_ROOT
async def test_a_program_that_cannot_be_run_as_another_user_is_an_error_with_its_reason(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    program = tmp_path / "closed"
    program.write_text("#!/bin/sh")
    program.chmod(0o700)
    async with open_harness(tmp_path, task_user=NOBODY) as harness:
        ended = await harness.run(str(program))
        assert (ended.how, ended.exits) == ("error", [126])
        assert "Permission denied" in ended.detail
