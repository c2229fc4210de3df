"""Users of an OpenID Connect issuer on a real cluster. `tests/identity` does the same with Keycloak."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import HTTPCookieProcessor, Request, build_opener

import pytest

from tests.e2e.cluster import Cluster, eventually
from tests.fake_issuer import CLIENT_ID, FakeIssuer, running_issuer


@pytest.fixture
def issuer() -> Iterator[FakeIssuer]:
    with running_issuer() as running:
        yield running


def options_of(issuer: FakeIssuer) -> list[str]:
    grants = ["--oidc-role-map=team=submitter", "--oidc-role-map=red=operator@red"]
    return ["--oidc-issuer", issuer.url, "--oidc-client-id", CLIENT_ID, *grants]


def with_token(cluster: Cluster, token: str) -> Cluster:
    user = Cluster(cluster.home)
    user.environment |= {"SHUNTER_TOKEN": token}
    return user


def test_a_user_does_what_its_groups_may(home: Cluster, issuer: FakeIssuer) -> None:
    home.up(*options_of(issuer))
    anna = with_token(home, issuer.token())
    me = anna.json("whoami")
    assert (me["user"], me["roles"], me["authority"], me["key"]) == ("anna", ["submitter"], "oidc", None)
    assert anna.shunter("run", "--name", "hers", "--", "echo", "hello").out == "hello\n"
    assert home.json("job", "hers")["user"] == "anna"
    assert "needs the role admin" in anna.shunter("key", "list", code=2).err
    home.shunter("tenant", "create", "red")
    rosa = with_token(home, issuer.token(groups=["red"], preferred_username="rosa"))
    assert rosa.json("whoami")["tenant"] == "red"
    assert rosa.items("jobs") == []
    stranger = with_token(home, issuer.token(groups=[]))
    assert "no group of user 'anna'" in stranger.shunter("jobs", code=2).err
    late = with_token(home, issuer.token(exp=int(time.time()) - 100))
    assert "the token has expired" in late.shunter("jobs", code=2).err
    home.shunter("user", "create", "anna", "--role", "viewer")
    home.shunter("user", "disable", "anna")
    assert "disabled in this cluster" in anna.shunter("jobs", code=2).err


def test_a_manager_starts_while_its_issuer_is_away(home: Cluster, issuer: FakeIssuer) -> None:
    issuer.stop()
    home.up(*options_of(issuer))
    assert home.json("whoami")["user"] == "admin"
    waiting = with_token(home, issuer.token()).begin("whoami")
    eventually(lambda: "oidc.unreachable" in home.log(), "the log says so")
    issuer.start()
    out, err = waiting.communicate(timeout=60)
    assert "user anna (oidc)" in out, err


def test_a_stream_ends_with_its_token(home: Cluster, issuer: FakeIssuer) -> None:
    home.home.mkdir(parents=True, exist_ok=True)
    (home.home / "config.toml").write_text('[oidc]\nclock_skew = "0s"\n')
    home.up(*options_of(issuer))
    followed = with_token(home, issuer.token(exp=int(time.time()) + 5)).begin("events", "--follow")
    _, err = followed.communicate(timeout=60)
    assert followed.returncode == 2 and "the token has expired" in err


def test_a_terminal_signs_in_and_out(home: Cluster, issuer: FakeIssuer, tmp_path: Path) -> None:
    home.up(*options_of(issuer))
    home.environment["XDG_CONFIG_HOME"] = str(tmp_path)
    login = home.begin("login", stderr=subprocess.STDOUT)
    assert login.stdout is not None and "approve the code ABCD-EFGH" in login.stdout.readline()
    issuer.is_approved = True
    assert login.wait(60) == 0 and "signed in as anna" in login.stdout.read()
    assert home.json("whoami")["user"] == "anna"
    assert (tmp_path / "shunter" / "logins.json").stat().st_mode & 0o777 == 0o600
    home.shunter("logout")
    assert home.json("whoami")["user"] == "admin"


def test_a_browser_signs_in(home: Cluster, issuer: FakeIssuer) -> None:
    home.up(*options_of(issuer))
    url = json.loads((home.home / "cluster.json").read_text())["url"]
    browser = build_opener(HTTPCookieProcessor())
    with browser.open(Request(f"{url}/api/v1/sessions/oidc"), timeout=30) as answer:
        assert answer.url == f"{url}/ui/"
    with browser.open(f"{url}/api/v1/me", timeout=30) as answer:
        assert json.load(answer)["authority"] == "oidc"
