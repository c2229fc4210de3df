"""Users of a real Keycloak: device flow, PKCE flow, groups, rotated keys, disabled users."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cluster import SHUNTER, Cluster, Finished, eventually
from tests.identity.keycloak import ACCESS_TOKEN_S, CLIENT_ID, Browser, Keycloak

pytestmark = [pytest.mark.slow, pytest.mark.services, pytest.mark.timeout(600)]
COMMAND_MAX_S = 60


class SignOnCluster:
    """A cluster whose issuer is the Keycloak, and terminals of several users."""

    def __init__(self, cluster: Cluster, keycloak: Keycloak, folder: Path) -> None:
        self.cluster, self.keycloak, self._folder = cluster, keycloak, folder
        self.url = _url(cluster)

    def terminal(self, user: str) -> dict[str, str]:
        """The environment of a user, who has no token but that of `shunter login`."""
        environment = {key: value for key, value in self.cluster.environment.items() if key != "SHUNTER_HOME"}
        home = self._folder / user
        home.mkdir(exist_ok=True)
        return {**environment, "SHUNTER_URL": self.url, "SHUNTER_HOME": str(home), "XDG_CONFIG_HOME": str(home)}

    def run(self, user: str, *words: str) -> Finished:
        done = subprocess.run(
            [SHUNTER, *words], env=self.terminal(user), capture_output=True, text=True, timeout=COMMAND_MAX_S
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def log_in(self, user: str) -> Finished:
        """`shunter login`, approved in the user's browser."""
        process = subprocess.Popen(
            [SHUNTER, "login"], env=self.terminal(user), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        found = re.search(r"open (\S+) in a browser", process.stdout.readline())
        assert found is not None, process.stderr
        browser = Browser()
        browser.open(found[1])
        browser.sign_in(user)
        browser.send_form(accept="Yes")
        out, err = process.communicate(timeout=COMMAND_MAX_S)
        return Finished(process.returncode, out, err)


def _url(cluster: Cluster) -> str:
    url: str = json.loads((cluster.home / "cluster.json").read_text())["url"]
    return url


@contextmanager
def _running(home: Path, keycloak: Keycloak) -> Iterator[Cluster]:
    cluster = Cluster(home)
    grants = [f"--oidc-role-map={grant}" for grant in ("team=submitter", "red=operator@red")]
    cluster.up("--oidc-issuer", keycloak.issuer, "--oidc-client-id", CLIENT_ID, *grants)
    try:
        yield cluster
    finally:
        cluster.down()


@pytest.fixture(scope="module")
def signed(keycloak: Keycloak, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SignOnCluster]:
    keycloak.create_realm("http://127.0.0.1:1/none")
    with _running(tmp_path_factory.mktemp("home"), keycloak) as cluster:
        keycloak.allow_redirects_to(f"{_url(cluster)}/api/v1/sessions/oidc/callback")
        cluster.shunter("tenant", "create", "red")
        yield SignOnCluster(cluster, keycloak, tmp_path_factory.mktemp("users"))


@pytest.mark.smoke
def test_a_user_signs_in_from_a_terminal_and_does_what_its_group_may(signed: SignOnCluster) -> None:
    assert "needs a token" in signed.run("anna", "whoami").err
    done = signed.log_in("anna")
    assert done.code == 0 and "signed in as anna, roles: submitter" in done.out, done
    assert "user anna (oidc), roles: submitter" in signed.run("anna", "whoami").out
    assert signed.run("anna", "run", "--name", "hello", "--", "echo", "hi").out.startswith("hi")
    assert signed.cluster.json("job", "hello")["user"] == "anna"
    assert "needs the role admin" in signed.run("anna", "user", "list").err
    signed.run("anna", "logout")
    assert "needs a token" in signed.run("anna", "whoami").err


@pytest.mark.smoke
def test_groups_lead_into_tenants_and_no_group_leads_nowhere(signed: SignOnCluster) -> None:
    assert signed.log_in("rosa").code == 0
    assert "tenant red, sees namespaces red" in signed.run("rosa", "whoami").out
    refused = signed.log_in("nina")
    assert refused.code == 2 and "no group of user 'nina'" in refused.err


@pytest.mark.smoke
def test_a_browser_signs_in_and_gets_an_ordinary_session(signed: SignOnCluster) -> None:
    browser = Browser()
    browser.open(f"{signed.url}/api/v1/sessions/oidc")
    assert browser.url.startswith(signed.keycloak.issuer)
    browser.sign_in("anna")
    assert browser.url.startswith(f"{signed.url}/ui/") and "error" not in browser.url
    me: dict[str, Any] = json.loads(browser.open(f"{signed.url}/api/v1/me"))
    assert (me["user"], me["roles"], me["authority"]) == ("anna", ["submitter"], "oidc")
    [session] = [each for each in browser.cookies if each.name.startswith("shunter-session")]
    assert session.has_nonstandard_attr("HttpOnly")


@pytest.mark.smoke
def test_a_rotated_key_is_learnt_and_the_old_one_is_refused(signed: SignOnCluster) -> None:
    assert signed.log_in("anna").code == 0
    [logins] = (signed._folder / "anna").glob("shunter/logins.json")
    [stored] = json.loads(logins.read_text()).values()
    signed.keycloak.rotate_keys()
    assert signed.log_in("anna").code == 0  # with a token of the new key
    refused = signed.cluster
    refused.environment["SHUNTER_TOKEN"] = stored["token"]
    try:
        eventually(
            lambda: "does not publish" in refused.shunter("whoami", code=None).err,
            "the old key is refused",
            within_s=30,
        )
    finally:
        del refused.environment["SHUNTER_TOKEN"]


def test_tokens_are_renewed_until_the_user_is_disabled(signed: SignOnCluster) -> None:
    assert signed.log_in("rosa").code == 0
    begun = time.monotonic()
    eventually(lambda: time.monotonic() - begun > ACCESS_TOKEN_S + 35, "the token has expired", within_s=120)
    assert "user rosa (oidc)" in signed.run("rosa", "whoami").out
    signed.keycloak.user("rosa", enabled=False)
    try:
        eventually(
            lambda: "sign-in has ended" in signed.run("rosa", "whoami").err,
            "the disabled user is refused",
            within_s=120,
        )
        browser = Browser()
        browser.open(f"{signed.url}/api/v1/sessions/oidc")
        assert "disabled" in browser.sign_in("rosa")
    finally:
        signed.keycloak.user("rosa", enabled=True)
