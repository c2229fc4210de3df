"""What is said if the cluster cannot be reached, or refuses the token: where the address and the token come from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shunter.model.identity.oidc import TOKEN_SIZE_MAX

from ..sdk.scripted_server import answer, job_document
from ..sdk.test_clients import CLUSTER
from .conftest import Cluster, Shunter, page

REFUSED = answer(401, {"detail": "the token is missing or wrong (header `Authorization: Bearer TOKEN`)"})


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A user with an empty configuration."""
    for variable in ("SHUNTER_URL", "SHUNTER_TOKEN", "SHUNTER_CONTEXT", "SHUNTER_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def write_context(folder: Path, url: str, token: str) -> None:
    path = folder / "config" / "shunter" / "contexts.json"
    path.parent.mkdir(parents=True)
    path.touch(mode=0o600)
    path.write_text(json.dumps({"current": "prod", "contexts": {"prod": {"url": url, "token": token}}}))


def test_a_refused_token_names_the_variable(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /jobs"] = REFUSED
    said = shunter("jobs")
    assert said.code == 2
    assert said.err == (
        f"shunter: error: the cluster at {cluster.server.url} refused the token from SHUNTER_TOKEN; "
        "copy `token` from the manager's SHUNTER_HOME\n"
    )


def test_a_refused_token_names_the_context(cluster: Cluster, user: Path, shunter: Shunter) -> None:
    cluster.answers["GET /jobs"] = REFUSED
    write_context(user, cluster.server.url, "wrong")
    assert f"{cluster.server.url} refused the token from the context prod; " in shunter("jobs").err


def test_a_refused_token_names_the_file(cluster: Cluster, user: Path, shunter: Shunter) -> None:
    cluster.answers["GET /jobs"] = REFUSED
    home = user / "state" / "shunter"
    home.mkdir(parents=True)
    (home / "cluster.json").write_text(json.dumps({"url": cluster.server.url}))
    (home / "token").write_text("old")
    assert f"refused the token from {home}/token; " in shunter("jobs").err


@pytest.mark.usefixtures("user")
def test_a_missing_token_is_called_missing(cluster: Cluster, shunter: Shunter, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.answers["GET /jobs"] = REFUSED
    monkeypatch.delenv("SHUNTER_TOKEN", raising=False)
    monkeypatch.setenv("SHUNTER_URL", cluster.server.url)
    assert shunter("jobs").err == (
        f"shunter: error: the cluster at {cluster.server.url} needs a token, and none is given; "
        "set SHUNTER_TOKEN to the text of `token` in the manager's SHUNTER_HOME\n"
    )


def test_an_unreachable_context_is_named(user: Path, shunter: Shunter) -> None:
    write_context(user, "http://127.0.0.1:9", "secret")
    said = shunter("wait", "x")
    assert said.code == 3
    assert said.err.endswith("(Connection refused); check the context prod, or start one there\n")


def test_several_addresses_name_managers_of_one_cluster(
    cluster: Cluster, shunter: Shunter, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.answers["GET /jobs"] = page(job_document())
    monkeypatch.setenv("SHUNTER_URL", f"http://127.0.0.1:9,{cluster.server.url}")
    said = shunter("jobs", "--output", "json")
    assert (said.code, said.err) == (0, "")
    assert "render" in said.out


def test_addresses_where_nobody_answers_are_all_named(shunter: Shunter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHUNTER_URL", "http://127.0.0.1:9,http://127.0.0.1:10")
    said = shunter("jobs")
    assert said.code == 3
    assert said.err == (
        "shunter: error: no manager of the cluster can be reached: http://127.0.0.1:10 (Connection refused), "
        "http://127.0.0.1:9 (Connection refused); check SHUNTER_URL\n"
    )


def test_a_wrong_address_among_several_is_named(shunter: Shunter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHUNTER_URL", "http://127.0.0.1:9,ftp://b")
    said = shunter("jobs")
    assert said.code == 2
    assert "(got 'ftp://b'); write it as http://HOST:PORT" in said.err


def test_waiting_for_a_leader_is_told_once(cluster: Cluster, shunter: Shunter, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = answer(503, {"title": "not the leader", "detail": "nobody leads"}, retry_after="1")
    refusals = iter([refused] * 6)  # three times by both managers
    cluster.answers["GET /jobs"] = lambda _: next(refusals, page(job_document()))
    monkeypatch.setenv("SHUNTER_URL", f"{cluster.server.url},{cluster.server.url}/")
    monkeypatch.setattr("shunter.cli.connection.NOTICE_AFTER_TOTAL_S", 0.05)
    said = shunter("jobs", "--output", "json")
    assert (said.code, said.err) == (0, "shunter: nobody leads; retrying for up to 30 s\n")


def test_a_context_may_have_several_addresses(cluster: Cluster, user: Path, shunter: Shunter) -> None:
    cluster.answers["GET /cluster"] = answer(200, CLUSTER)
    cluster.answers["GET /jobs"] = page(job_document())
    (user / "token").write_text("secret")
    given = f"http://127.0.0.1:9, {cluster.server.url}"
    stored = given.replace(" ", "")
    said = shunter("context", "add", "prod", given, "--token-file", str(user / "token"))
    assert (said.code, said.err) == (0, "")
    assert shunter("context", "use", "prod").out == f"using context prod: {stored}\n"
    assert stored in shunter("context", "list").out
    assert {"name": "prod", "url": stored, "current": True} in json.loads(
        shunter("context", "list", "--output", "json").out
    )["items"]
    assert "render" in shunter("jobs", "--output", "json").out


def test_a_file_may_have_the_token_of_an_issuer_but_no_longer_one(
    cluster: Cluster, user: Path, shunter: Shunter
) -> None:
    cluster.answers["GET /cluster"] = answer(200, CLUSTER)
    (user / "token").write_text("e" * TOKEN_SIZE_MAX + "\n")
    said = shunter("context", "add", "prod", cluster.server.url, "--token-file", str(user / "token"))
    assert (said.code, said.err) == (0, "")
    assert "e" * TOKEN_SIZE_MAX in (user / "config" / "shunter" / "contexts.json").read_text()
    (user / "token").write_text("e" * (TOKEN_SIZE_MAX + 3))
    said = shunter("context", "add", "more", cluster.server.url, "--token-file", str(user / "token"))
    assert said.code == 2 and "--token-file: does not look like a token" in said.err


def test_a_wrong_address_of_a_new_context_is_named(user: Path, shunter: Shunter) -> None:
    (user / "token").write_text("secret")
    said = shunter("context", "add", "x", "http://127.0.0.1:9,http://b:x", "--token-file", str(user / "token"))
    assert said.code == 2
    assert "(got 'http://b:x')" in said.err


def test_an_unreachable_address_of_a_new_context_is_named(user: Path, shunter: Shunter) -> None:
    (user / "token").write_text("secret")
    said = shunter("context", "add", "dead", "http://127.0.0.1:9", "--token-file", str(user / "token"))
    assert said.code == 3
    assert said.err == (
        "shunter: error: no cluster answers at http://127.0.0.1:9 (Connection refused); check the URL argument\n"
    )


@pytest.mark.parametrize("text", ["two words", "", "é"])
def test_a_file_without_a_token_is_named(user: Path, shunter: Shunter, text: str) -> None:
    (user / "token").write_text(text)
    said = shunter("context", "add", "x", "http://127.0.0.1:9", "--token-file", str(user / "token"))
    assert said.code == 2
    assert said.err == (
        f"shunter: error: --token-file: does not look like a token (got '{user}/token'); "
        "copy `token` from the manager's SHUNTER_HOME\n"
    )


@pytest.mark.parametrize("content", [b"two words", b"", b"a\nb", "\u00e9".encode(), b"\xff\xfe"])
def test_a_file_without_a_token_of_a_worker_is_named(user: Path, shunter: Shunter, content: bytes) -> None:
    (user / "token").write_bytes(content)
    said = shunter("worker", "--manager", "127.0.0.1:9", "--token-file", str(user / "token"), "--task-user", "root")
    assert said.code == 2
    assert said.err == (
        f"shunter: error: --token-file: does not look like a token (got '{user}/token'); "
        "copy `worker-token` from the manager's SHUNTER_HOME\n"
    )


@pytest.mark.usefixtures("user")
def test_a_worker_without_a_token_is_told_of_both_kinds(shunter: Shunter) -> None:
    said = shunter("worker", "--manager", "127.0.0.1:9", "--task-user", "root")
    assert said.code == 2
    assert "--token-file: is missing; copy `worker-token`" in said.err and "--join-token-file" in said.err


def test_a_variable_without_a_token_of_a_worker_is_named(shunter: Shunter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHUNTER_WORKER_TOKEN", "two words")
    said = shunter("worker", "--manager", "127.0.0.1:9", "--task-user", "root")
    assert said.code == 2
    assert said.err == (
        "shunter: error: SHUNTER_WORKER_TOKEN: does not look like a token; "
        "copy `worker-token` from the manager's SHUNTER_HOME\n"
    )


def test_a_wrong_token_of_a_new_context_is_named(cluster: Cluster, user: Path, shunter: Shunter) -> None:
    cluster.answers["GET /cluster"] = REFUSED
    (user / "token").write_text("wrong")
    said = shunter("context", "add", "x", cluster.server.url, "--token-file", str(user / "token"))
    assert said.code == 2
    assert said.err == (
        f"shunter: error: --token-file: the cluster at {cluster.server.url} refused this token "
        f"(got '{user}/token'); copy `token` from the manager's SHUNTER_HOME\n"
    )


def test_whoever_names_another_cluster_must_not_change_this_machines(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shunter: Shunter
) -> None:
    monkeypatch.setenv("SHUNTER_URL", "http://other.example:7070")
    monkeypatch.delenv("SHUNTER_HOME", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    said = shunter("token", "reset")
    assert said.code == 2
    assert said.err.startswith("shunter: error: SHUNTER_URL: names the cluster at http://other.example:7070, but this")
    assert list(tmp_path.iterdir()) == []
