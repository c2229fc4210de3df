"""A cluster whose state is in PostgreSQL: kill -9 of the manager and of the server loses nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster, eventually, is_alive
from tests.e2e.manifests import as_yaml, job
from tests.e2e.task_gates import Gate
from tests.postgres_server import PostgresServer, running_server


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running_server() as own:
        yield own


def test_a_killed_manager_and_a_killed_server_lose_nothing(home: Cluster, gate: Gate, server: PostgresServer) -> None:
    up = ("--cpu", "2", "--store", f"{server.url}?schema=killed")
    home.up(*up)
    home.shunter("submit", "-f", "-", stdin=as_yaml(job("array", gate.command, count=30)))
    running = gate.reached(2)
    home.kill_manager()
    home.up(*up)
    assert all(is_alive(arrival.pid) for arrival in running)
    server.kill()
    submitting = home.begin("submit", "-f", "-", stdin=-1)
    assert submitting.stdin is not None
    submitting.stdin.write(as_yaml(job("later", ["/bin/true"])))
    submitting.stdin.close()
    gate.open()  # tasks end while nothing can be committed
    server.start()
    home.shunter("wait", "array")
    assert home.json("job", "array")["counts"] == {"succeeded": 30}
    assert sorted((arrival.index, arrival.attempt) for arrival in gate.arrivals) == [(index, 1) for index in range(30)]
    submitting.wait(60)
    eventually(lambda: home.shunter("run", "--", "/bin/true", code=None).code == 0, "the cluster accepts jobs again")
    assert not (home.home / "store.db").exists()
    home.down()
    home.up(*up)
    assert home.json("job", "array")["counts"] == {"succeeded": 30}


def test_the_url_may_be_in_a_file_and_a_password_in_an_option_is_refused(
    home: Cluster, server: PostgresServer, tmp_path: Path
) -> None:
    secret = server.url.replace("shunter@", "shunter:hunter2@")
    refused = home.shunter("up", "--detach", "--store", secret, code=2)
    assert "has a password" in refused.err and "SHUNTER_STORE_URL_FILE" in refused.err
    assert "hunter2" not in refused.out + refused.err
    (tmp_path / "url").write_text(f"{secret}?schema=from_file\n")
    home.environment["SHUNTER_STORE_URL_FILE"] = str(tmp_path / "url")
    home.up("--cpu", "1")
    said = home.shunter("run", "--", "cat", str(tmp_path / "url"), code=None)  # it is empty, or not there
    [node] = home.items("nodes")
    assert node["isolation"] == "none" or "hunter2" not in said.out  # tasks do not read the password either
    pid = int(home.description["pid"])
    assert b"hunter2" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    written = [path for path in home.home.rglob("*") if path.is_file() and os.access(path, os.R_OK)]
    assert not [path for path in written if b"hunter2" in path.read_bytes()]


def test_a_server_that_is_not_there_is_named(home: Cluster) -> None:
    failed = home.shunter("up", "--detach", "--store", "postgresql://shunter@127.0.0.1:1/shunter", code=1)
    assert "store postgresql://shunter@127.0.0.1:1/shunter: the server cannot be reached" in failed.err


def test_a_cluster_moves_to_postgresql_and_is_verified_and_backed_up_there(
    home: Cluster, server: PostgresServer, tmp_path: Path
) -> None:
    url = f"{server.url}?schema=moved"
    home.up("--cpu", "1")
    home.shunter("run", "--name", "known", "--", "/bin/true")
    home.down()
    assert "1 finished job" in home.shunter("store", "copy", "sqlite", url).out
    home.up("--cpu", "1", "--store", url)
    assert home.json("job", "known")["state"] == "succeeded"
    home.shunter("run", "--name", "later", "--", "/bin/true")
    for command in (["store", "verify"], ["backup", str(tmp_path / "old.db")]):  # not of the store that was left
        assert f"runs with {url}; add --store {url}" in home.shunter(*command, code=2).err
    assert "2 finished" in home.shunter("store", "verify", "--store", url).out
    home.shunter("backup", str(tmp_path / "copy.db"), "--store", url)
    home.down()
    refused = home.shunter("store", "copy", "sqlite", url, code=None)
    assert refused.code != 0 and "already has a store" in refused.err
    for path in home.home.glob("store.db*"):
        path.unlink()
    home.shunter("restore", str(tmp_path / "copy.db"))
    home.up("--cpu", "1")
    assert {job["name"] for job in home.items("jobs")} == {"known", "later"}
