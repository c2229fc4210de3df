"""A cluster with something in every registry moves from store to store, and arrives with all of it."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cluster import Cluster, eventually
from tests.e2e.manifests import as_yaml, in_namespace, job, shell
from tests.postgres_server import PostgresServer, running_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

UP = ("--cpu", "2", "--tls", "--workers-listen", "127.0.0.1:0")
OBJECTS = "apis/batchjob.gcr.io/v1alpha1/namespaces/default"
LISTS = (
    "cluster",
    "dead",
    "jobs?namespace=*",
    "jobs?namespace=*&state=succeeded",
    "job-counts",
    "join-tokens",
    "keys",
    "queues",
    "schedulings/past",
    "secrets",
    "templates",
    "tenants",
    "usage",
    "users",
    f"{OBJECTS}/testbeds",
    f"{OBJECTS}/batchjobs",
    "jobs/done",
    "jobs/done/manifest",
    "jobs/done/runs",
    "jobs/done/tasks",
    "jobs/done/usage",
    "audit?limit=500",
)
# Of this process, or of this moment.
VOLATILE = {
    "resourceVersion",
    "since",
    "started_at",
    "epoch",
    "state_version",
    "last_used_at",
    "heartbeat_s",
    "nodes",
    "capacity",
    "reserved",
    "waited_s",
}
GREETING = [{"name": "greeting", "env": "GREETING"}]
OBJECT = "apiVersion: batchjob.gcr.io/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {spec}\n"
TESTBED = OBJECT.format(
    kind="Testbed", name="bench", spec="{slotsPerNode: 1, nodeLabel: bench, resourcesPerSlot: {cpu: 100m}}"
)
BATCH_JOB = OBJECT.format(kind="BatchJob", name="greeting", spec="{commandSpec: {command: [echo, hello]}}")
SCHEDULING = OBJECT.format(
    kind="Scheduling",
    name="greet",
    spec="{slotBased: {mode: strict, jobs: [{name: {name: greeting}, slotIds: [0]}]}, testbed: {name: bench}}",
)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running_server() as own:
        yield own


class Content:
    """What was put into a cluster, and what is seen of it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        shunter = cluster.shunter
        shunter(
            "tenant",
            "create",
            "red",
            "--quota",
            "history=50",
            "--quota",
            "queued=1000",
            "--quota",
            "requests_per_s=500",
        )
        shunter("user", "create", "anna", "--role", "submitter")
        shunter("user", "create", "bob", "--role", "viewer")
        shunter("user", "disable", "bob")
        self.anna = key(cluster, "--user", "anna", "--role", "submitter", "--expires-in", "90d")
        self.red = key(cluster, "--tenant", "red", "--role", "submitter", "--note", "nightly")
        self.revoked = key(cluster, "--user", "anna", "--role", "submitter")
        shunter("key", "revoke", self.revoked.partition("_")[2].partition("_")[0])
        shunter("secret", "set", "greeting", stdin="said in secret")
        self.join_token = shunter("join-token", "create", "node-7").out
        shunter("queue", "set", "night", "--running-max", "3", "--strict")
        shunter("queue", "pause", "night")
        shunter("cluster", "set", "licence/matlab=5", "reserve_after=5m")
        [node] = cluster.items("nodes")
        shunter("node", "label", node["name"], "bench=0")
        shunter("apply", "-f", "-", stdin="---\n".join((TESTBED, BATCH_JOB, SCHEDULING)))
        done = shell("done", "echo $GREETING", count=3, secrets=GREETING)
        cron = job("cron", schedule={"cron": "0 3 1 1 *"})
        shunter(
            "submit",
            "-f",
            "-",
            stdin=as_yaml(
                done,
                job("failed", ["/bin/false"], restart={"policy": "on-failure", "max": 1, "delay": "10ms"}),
                job("held", queue="night"),
                cron,
            ),
        )
        shunter("submit", "-f", "-", stdin=as_yaml(in_namespace("red", job("of-red"))))
        shunter("wait", "done")
        shunter("wait", "failed", code=None)
        shunter("wait", "of-red", "-n", "red")
        shunter("delete", "scheduling", "greet")
        eventually(lambda: get(cluster, "schedulings/past")["items"], "the Scheduling is past")
        self.cookie = sign_in(cluster)
        self.head = cluster.json("audit", "verify")["head"]
        self._seen = self.look()
        assert not [path for path, seen in self._seen.items() if not seen.get("items", True)], "nothing is empty"

    def look(self) -> dict[str, Any]:
        return {path: steady(get(self._cluster, path)) for path in LISTS}

    def expect_all(self) -> None:
        """What was there, in the cluster that runs now."""
        cluster = self._cluster
        for path, seen in self._seen.items():
            found = steady(get(cluster, path))
            if path.startswith("audit"):  # it has grown since
                assert [each for each in found["items"] if each in seen["items"]] == seen["items"]
            else:
                assert found == seen, path
        cluster.shunter("audit", "verify", "--head", self.head)
        assert get(cluster, "me", self.anna)["user"] == "anna"
        assert get(cluster, "me", self.red)["tenant"] == "red"
        assert get(cluster, "me", cookie=self.cookie)["user"] == "admin"
        assert status_of(cluster, self.revoked) == 401

    def expect_secret(self) -> None:
        """A task gets its value: the store has it encrypted, and the key is in the home."""
        later = shell("later", "echo $GREETING", secrets=GREETING)
        self._cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(later))
        assert self._cluster.shunter("logs", "later").out == "said in secret\n"


def key(cluster: Cluster, *options: str) -> str:
    return cluster.shunter("--quiet", "key", "create", *options).out.strip()


def sign_in(cluster: Cluster) -> str:
    with cluster.client() as client:
        code = client.session_code().code
    with ask(cluster, "sessions", body={"code": code}) as answer:
        return str(answer.headers["set-cookie"]).partition(";")[0]


def status_of(cluster: Cluster, token: str) -> int:
    try:
        get(cluster, "me", token)
    except urllib.error.HTTPError as error:
        return error.code
    return 200


def get(cluster: Cluster, path: str, token: str = "", cookie: str = "") -> Any:
    with ask(cluster, path, token, cookie) as answer:
        return json.load(answer)


def ask(cluster: Cluster, path: str, token: str = "", cookie: str = "", body: object = None) -> Any:
    url = cluster.description["url"]
    headers = (
        {"Cookie": cookie, "Origin": url} if cookie or body else {"Authorization": f"Bearer {token or cluster.token}"}
    )
    data = None if body is None else json.dumps(body).encode()
    trust = ssl.create_default_context(cafile=cluster.description["ca"])
    return urllib.request.urlopen(urllib.request.Request(f"{url}/api/v1/{path}", data, headers), context=trust)


def steady(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: steady(each) for name, each in value.items() if name not in VOLATILE}
    return [steady(each) for each in value] if isinstance(value, list) else value


def test_a_cluster_arrives_whole_at_each_store(home: Cluster, server: PostgresServer, tmp_path: Path) -> None:
    home.up(*UP)
    content = Content(home)
    home.down()

    url, scheduled = f"{server.url}?schema=moved", tmp_path / "scheduled"
    home.shunter("store", "copy", "sqlite", url)
    (home.home / "config.toml").write_text(f'[backup]\nevery = "1s"\nkeep = 2\nfolder = "{scheduled}"\n')
    home.up(*UP, "--store", url)
    content.expect_all()
    home.shunter("backup", str(tmp_path / "postgres.db"), "--store", url)
    wait_for_rotation(scheduled)
    home.down()
    (home.home / "config.toml").unlink()
    max(scheduled.glob("shunter-*.db")).rename(tmp_path / "scheduled.db")

    remove_store(home)
    home.shunter("store", "copy", url, "sqlite")
    home.up(*UP)
    content.expect_all()
    home.shunter("backup", str(tmp_path / "sqlite.db"))
    home.down()

    for name in ("postgres", "scheduled", "sqlite"):
        remove_store(home)
        home.shunter("restore", str(tmp_path / f"{name}.db"))
        (home.home / "config.toml").unlink(missing_ok=True)
        home.up(*UP)
        content.expect_all()
        home.down()
        restored = f"{server.url}?schema=of_{name}"
        home.shunter("restore", str(tmp_path / f"{name}.db"), "--store", restored)
        (home.home / "config.toml").unlink(missing_ok=True)
        home.up(*UP, "--store", restored)
        content.expect_all()
        if name != "sqlite":
            home.down()
    content.expect_secret()


def remove_store(home: Cluster) -> None:
    for path in home.home.glob("store.db*"):
        path.unlink()


def wait_for_rotation(folder: Path) -> None:
    def names() -> set[str]:
        return {path.name for path in folder.glob("shunter-*.db")}

    first = eventually(names, "there is a backup")
    eventually(lambda: not first & names() or None, "it was removed again")
    eventually(lambda: len(names()) == 2 or None, "two are left")
