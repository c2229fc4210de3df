"""What tasks cannot reach, as users see it: the isolation of nodes, jobs that require one, and modes of files."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.cluster import COMMAND_MAX_S, Cluster, eventually
from tests.e2e.manifests import as_yaml, job, shell
from tests.e2e.remote import RemoteCluster

IS_ROOT = os.geteuid() == 0
CONTEXTS = '{"current": "local", "contexts": {}}'
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def test_a_task_does_not_find_the_secrets_of_its_own_cluster(cluster: Cluster) -> None:
    assert (cluster.home / "token").exists()
    script = f"cat {cluster.home}/token {cluster.home}/worker-token {cluster.home}/store.db; ls {cluster.home}; pwd"
    said = cluster.shunter("run", "--", "sh", "-c", script)
    [node] = cluster.items("nodes")
    if node["isolation"] == "none":
        pytest.skip("this machine allows no mount namespace")
    assert said.out.splitlines()[0] == "worker"
    assert cluster.token not in said.out
    assert said.err.count("No such file") == 3


def test_a_task_finds_no_key_of_its_cluster(home: Cluster, tmp_path: Path) -> None:
    """Whoever reads the key of the authority can sign certificates of workers and managers."""
    config = home.home / "config.toml"
    config.write_text('[backup]\nevery = "1s"\n')
    home.up("--tls")
    home.shunter("secret", "set", "password", stdin="value")
    eventually(lambda: list((home.home / "backups").glob("*.db")), "a backup is written")
    home.down()
    for name in ("manager.crt", "manager.key"):
        shutil.copy(home.home / "tls" / name, tmp_path / name)
    config.write_text(f'[tls]\ncert = "{tmp_path}/manager.crt"\nkey = "{tmp_path}/manager.key"\n')
    home.up()
    assert (home.home / "ca" / "issuer.pem").exists()
    [node] = home.items("nodes")
    if node["isolation"] == "none":
        pytest.skip("this machine allows no mount namespace")
    script = (
        f"ls {home.home}; cat {home.home}/*/*.pem {home.home}/*/*.key {home.home}/secrets.key {tmp_path}/manager.key"
    )
    assert home.shunter("run", "--", "sh", "-c", script, code=1).out == "worker\n"
    home.down()


def test_a_task_does_not_find_the_secrets_of_a_manager_that_was_down(make_home: Callable[[], Cluster]) -> None:
    """The worker starts while no manager runs in the home that its token file is in."""
    remote = RemoteCluster(make_home, timeout="10s")
    remote.start_manager()
    worker = remote.make_worker("w1", make_home(), ("--cpu", "1"))
    words = worker.command()[1:]
    remote.manager.down()
    process = worker.home.begin(*words)
    eventually((worker.home.home / "worker" / "keepers").exists, "the worker has started")
    remote.start_manager()
    remote.until("w1", "ready")
    if remote.node("w1")["isolation"] != "none":  # type: ignore[index]
        remote.manager.shunter("run", "--", "cat", str(remote.manager.home / "store.db"), code=1)
    remote.manager.down("--cluster", "--yes")
    process.communicate(timeout=COMMAND_MAX_S)


def test_what_commands_write_is_for_their_user_alone(cluster: Cluster, tmp_path: Path) -> None:
    for words in (("flight", "export"), ("audit", "export"), ("backup",), ("debug", "bundle")):
        file = tmp_path / "-".join(words)
        writing = cluster.begin(*words, str(file), umask=0)
        writing.communicate(timeout=COMMAND_MAX_S)
        assert (writing.returncode, stat.S_IMODE(file.stat().st_mode)) == (0, 0o600), words


def test_a_task_finds_no_sign_in_of_its_user(home: Cluster, tmp_path: Path) -> None:
    """Neither one that was made after the cluster started, nor one that was renewed."""
    folder = tmp_path / "config" / "shunter"
    home.environment["XDG_CONFIG_HOME"] = str(folder.parent)
    home.up()
    [node] = home.items("nodes")
    if node["isolation"] == "none":
        pytest.skip("this machine allows no mount namespace")
    draft = folder / "draft"
    for name, text in (("contexts.json", CONTEXTS), ("logins.json", "{}"), ("logins.json", "{ }")):
        draft.write_text(text)
        draft.chmod(0o600)
        draft.rename(folder / name)
        said = home.shunter("run", "--", "sh", "-c", f"ls -A {folder}; cat {folder}/*", code=1)
        assert said.out == ""
    home.down()


def test_nodes_show_the_isolation_and_a_job_that_no_node_is_fit_for_says_why(cluster: Cluster) -> None:
    [node] = cluster.items("nodes")
    assert node["isolation"] == node["attributes"]["isolation"]
    assert node["isolation"] in (("root",) if IS_ROOT else ("namespace", "none"))
    assert node["isolation"] in cluster.shunter("nodes").out
    lie = cluster.shunter("node", "attribute", node["name"], "isolation=user", code=2)
    assert "is what the worker enforces" in lie.err
    cluster.shunter("run", "--detach", "--name", "wary", "--isolation", "user", "--", "/bin/true")
    why = cluster.shunter("why", "wary").out
    assert "no node offers isolation 'user'" in why
    assert "without isolation: user, it fits" in why
    refused = cluster.shunter("submit", "-f", "-", stdin=as_yaml(job("boxed", isolation="container")), code=None)
    assert refused.code == 2 and "spec.isolation" in refused.err and "add image" in refused.err


@pytest.fixture
def remote(make_home: Callable[[], Cluster]) -> Iterator[RemoteCluster]:
    running = RemoteCluster(make_home, timeout="10s")
    running.start_manager()
    yield running
    running.close()


@pytest.mark.skipif(not IS_ROOT, reason="only root can run tasks as another user")
def test_a_worker_of_root_runs_tasks_as_the_user_that_it_was_given(remote: RemoteCluster) -> None:
    remote.add_worker("w1", "--cpu", "1", "--task-user", "nobody")
    cluster = remote.manager
    assert remote.node("w1")["isolation"] == "user"  # type: ignore[index]
    script = f"id -un; cat {cluster.home}/token"
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(shell("wary", script, isolation="user")))
    cluster.shunter("wait", "wary", code=None)
    assert cluster.shunter("logs", "wary").out == "nobody\n"


@pytest.mark.skipif(not IS_ROOT, reason="only a worker of root needs it")
def test_a_worker_of_root_is_told_to_name_the_user_of_its_tasks(make_home: Callable[[], Cluster]) -> None:
    home = make_home()
    (home.home / "t").write_text("x")
    words = ("worker", "--manager", "127.0.0.1:1", "--token-file", str(home.home / "t"))
    refused = home.shunter(*words, code=2)
    assert "--task-user" in refused.err and "runs as root" in refused.err
    unknown = home.shunter(*words, "--task-user", "nosuchuser", code=2)
    assert "--task-user: no such user on this machine (got 'nosuchuser')" in unknown.err


def test_a_join_token_is_not_used_up_by_a_worker_that_cannot_run_tasks(make_home: Callable[[], Cluster]) -> None:
    refused = make_home().shunter("worker", "--join-token-file", "nowhere", "--task-user", "nosuchuser", code=2)
    assert "--task-user: no such user on this machine" in refused.err


def test_tokens_are_no_options(make_home: Callable[[], Cluster]) -> None:
    refused = make_home().shunter("worker", "--manager", "127.0.0.1:1", "--token", "secret", code=2)
    assert "--token" in refused.err


def test_with_a_umask_of_0_nobody_else_can_write_to_anything(
    make_home: Callable[[], Cluster], tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    home = make_home()
    home.home = home.home / "made" / "by" / "it"
    home.environment["SHUNTER_HOME"] = str(home.home)
    up = home.begin("up", "--detach", umask=0)
    up.communicate()
    assert up.returncode == 0
    script = "umask; echo x > file; stat -c %a . .. file"
    home.shunter("submit", "-f", "-", stdin=as_yaml(shell("writes", script, stdout=f"{outside}/a/b/out")))
    home.shunter("wait", "writes")
    home.shunter("run", "--", "sh", "-c", "echo captured")
    assert (outside / "a/b/out").read_text().split() == ["0000", "700", "700", "666"]
    found = [path for folder in (home.home.parents[1], outside / "a") for path in (folder, *folder.rglob("*"))]
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in found if not path.is_symlink()}
    assert len(modes) > 15
    assert not {path: oct(mode) for path, mode in modes.items() if mode & OTHERS_WRITE}
    private = {path: oct(mode) for path, mode in modes.items() if home.home in (path, *path.parents) and mode & 0o077}
    assert not private
    assert any(path.suffix == ".sock" for path in modes)
    for name in ("token", "worker-token", "store.db", "store.db-wal", "cluster.json", "shunter.log"):
        assert modes[home.home / name] == 0o600, name
