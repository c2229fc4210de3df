"""Contexts: names for clusters, in the user's configuration."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster


@pytest.fixture
def elsewhere(cluster: Cluster, tmp_path: Path) -> Cluster:
    """A user without a cluster of their own; the shared one is reached by its address and token."""
    user = Cluster(tmp_path / "home")
    del user.environment["SHUNTER_HOME"]
    user.environment |= {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_STATE_HOME": str(tmp_path / "state")}
    (tmp_path / "token").write_text(cluster.token + "\n")
    return user


def test_a_context_is_added_used_listed_and_removed(cluster: Cluster, elsewhere: Cluster, tmp_path: Path) -> None:
    url = cluster.description["url"]
    added = elsewhere.shunter("context", "add", "prod", url, "--token-file", str(tmp_path / "token"))
    assert added.out.startswith("context prod added: cluster ")
    assert "start one with" in elsewhere.shunter("jobs", code=None).err
    assert elsewhere.shunter("--context", "prod", "run", "--", "echo", "once").out == "once\n"
    assert elsewhere.shunter("context", "use", "prod").out == f"using context prod: {url}\n"
    assert elsewhere.shunter("run", "--", "echo", "hello").out == "hello\n"
    listed = elsewhere.shunter("context", "list", "-o", "json").out
    assert cluster.token not in listed
    assert [(each["name"], each["current"]) for each in json.loads(listed)["items"]] == [
        ("local", False),
        ("prod", True),
    ]
    assert "using context local" in elsewhere.shunter("context", "remove", "prod").out
    assert "start one with" in elsewhere.shunter("jobs", code=None).err


def test_a_wrong_token_is_found_when_the_context_is_added(cluster: Cluster, elsewhere: Cluster, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("wrong")
    refused = elsewhere.shunter(
        "context", "add", "prod", cluster.description["url"], "--token-file", str(tmp_path / "token"), code=2
    )
    assert "token" in refused.err
    assert [each["name"] for each in elsewhere.items("context", "list")] == ["local"]


def test_a_token_cannot_be_given_on_the_command_line(cluster: Cluster, elsewhere: Cluster) -> None:
    refused = elsewhere.shunter("context", "add", "prod", cluster.description["url"], code=2)
    assert refused.err == (
        "shunter: error: --token-file: is missing; give the file with the token, or set SHUNTER_TOKEN\n"
    )
