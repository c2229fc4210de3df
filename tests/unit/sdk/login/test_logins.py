"""Sign-ins from a terminal: the device code, the file with the tokens, and their renewal."""

from __future__ import annotations

import stat
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shunter.sdk.endpoint import finder
from shunter.sdk.errors import Invalid, NotReachable, Unauthorized
from shunter.sdk.login.issuer_client import IssuerClient
from shunter.sdk.login.login_tokens import LoginToken
from shunter.sdk.login.logins import ACCESS, ID, Login, changed_logins, choose_token, load_logins
from tests.fake_issuer import CLIENT_ID, FakeIssuer, running_issuer

CLUSTER = "http://127.0.0.1:7070"


@pytest.fixture
def issuer() -> Iterator[FakeIssuer]:
    with running_issuer() as fake:
        yield fake


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config" / "shunter" / "logins.json"


def sign_in(issuer: FakeIssuer, path: Path) -> Login:
    """As `shunter login` does; the user approves at once."""
    issuer.is_approved = True
    client = IssuerClient(issuer.url, CLIENT_ID)
    answer = client.wait_for_approval(client.begin_device_sign_in(["openid"]), lambda _: None)
    found = choose_token(answer, [CLIENT_ID])
    assert found is not None
    login = Login(issuer.url, CLIENT_ID, found[0], found[1], answer.refresh_token, found[2])
    with changed_logins(path) as logins:
        logins[CLUSTER] = login
    return login


def expire(path: Path, *, in_s: float) -> LoginToken:
    with changed_logins(path) as logins:
        logins[CLUSTER] = replace(logins[CLUSTER], expires_s=time.time() + in_s)
    return LoginToken(path, CLUSTER, load_logins(path)[CLUSTER])


def test_a_device_waits_until_its_user_has_approved(issuer: FakeIssuer) -> None:
    client, pauses = IssuerClient(issuer.url, CLIENT_ID), []
    device = client.begin_device_sign_in(["openid"])

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        issuer.is_approved = len(pauses) == 3

    answer = client.wait_for_approval(device, pause)
    assert pauses == [1.0, 1.0, 1.0] and device.user_code == "ABCD-EFGH"
    assert answer.refresh_token and "token" not in repr(device) + repr(answer).replace("TokenAnswer", "")


def test_a_code_that_nobody_approves_expires(issuer: FakeIssuer) -> None:
    client = IssuerClient(issuer.url, CLIENT_ID)
    with pytest.raises(Unauthorized, match="expired"):
        client.wait_for_approval(client.begin_device_sign_in(["openid"]), lambda _: None)


@pytest.mark.parametrize(("audience", "kind"), [(CLIENT_ID, ACCESS), (["account", CLIENT_ID], ACCESS), ("account", ID)])
def test_the_token_that_is_for_the_cluster_is_chosen(issuer: FakeIssuer, path: Path, audience: str, kind: str) -> None:
    issuer.audience = audience
    assert sign_in(issuer, path).kind == kind


def test_the_file_is_for_its_user_only_and_is_refused_otherwise(issuer: FakeIssuer, path: Path) -> None:
    sign_in(issuer, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.chmod(0o644)
    with pytest.raises(Invalid, match="others may read it"):
        load_logins(path)


@pytest.mark.parametrize("content", ["", "[]", '{"a": 1}', '{"a": {"issuer": "x"}}', "[" * 9000])
def test_a_damaged_file_is_named(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True)
    path.touch(0o600)
    path.write_text(content)
    with pytest.raises(Invalid, match="is damaged"):
        load_logins(path)


def test_a_token_is_renewed_before_it_expires_and_only_once(issuer: FakeIssuer, path: Path) -> None:
    old = sign_in(issuer, path)
    assert LoginToken(path, CLUSTER, old).current() == old.token
    first, second = expire(path, in_s=5), expire(path, in_s=5)
    asked = issuer.asked.count("/realms/main/token")
    renewed = first.current()
    assert renewed != old.token and second.current() == renewed  # another program has renewed it
    assert issuer.asked.count("/realms/main/token") == asked + 1
    assert load_logins(path)[CLUSTER].token == renewed


def test_an_issuer_that_is_away_is_not_needed_until_the_token_expires(issuer: FakeIssuer, path: Path) -> None:
    old = sign_in(issuer, path)
    issuer.stop()
    assert expire(path, in_s=5).current() == old.token
    with pytest.raises(NotReachable, match="does not answer"):
        expire(path, in_s=-1).current()


def test_a_sign_in_that_has_ended_says_what_to_do(issuer: FakeIssuer, path: Path) -> None:
    sign_in(issuer, path)
    issuer.is_disabled = True
    token = expire(path, in_s=-1)
    with pytest.raises(Unauthorized, match=r"account disabled.*shunter login"):
        token.current()
    with changed_logins(path) as logins:
        logins.clear()
    with pytest.raises(Unauthorized, match="signed out"):
        token.current()


def test_a_sign_in_counts_after_a_given_token_and_before_all_others(issuer: FakeIssuer, tmp_path: Path) -> None:
    login = sign_in(issuer, tmp_path / "shunter" / "logins.json")
    environment = {"XDG_CONFIG_HOME": str(tmp_path), "SHUNTER_URL": CLUSTER, "SHUNTER_HOME": str(tmp_path)}
    (tmp_path / "token").write_text("of-the-home")
    assert finder(None, None, environment)().credential() == login.token
    assert finder(None, "given", environment)().credential() == "given"
    assert finder(None, None, {**environment, "SHUNTER_TOKEN": "of-the-shell"})().credential() == "of-the-shell"
    assert finder("http://127.0.0.1:1", None, environment)().credential() == "of-the-home"
