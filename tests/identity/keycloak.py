"""A real Keycloak on a port of this machine, with a realm for tests, and a browser without a screen for its pages."""

from __future__ import annotations

import html
import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.cookiejar import Cookie, CookieJar
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urljoin
from urllib.request import HTTPCookieProcessor, HTTPRedirectHandler, Request, build_opener, urlopen

FOLDER = Path(__file__).parents[2] / ".versions" / "keycloak"
START_MAX_S = 240.0
ADMIN, PASSWORD = "admin", "admin-of-the-test"
REALM, CLIENT_ID = "main", "shunter"
ACCESS_TOKEN_S = 60


class Keycloak:
    def __init__(self, url: str, log: Path) -> None:
        self.url, self._log = url, log
        self._token = ("", 0.0)

    @property
    def issuer(self) -> str:
        return f"{self.url}/realms/{REALM}"

    def admin(self, method: str, path: str, body: object = None) -> Any:
        """Ask its admin API; a new object is answered with its id."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {self._admin_token()}", "content-type": "application/json"}
        with urlopen(Request(f"{self.url}/admin{path}", data, headers, method=method), timeout=60) as answer:
            location = answer.headers.get("location")
            text = answer.read()
            return location.rpartition("/")[2] if location else json.loads(text) if text else None

    def _admin_token(self) -> str:
        token, until_s = self._token
        if time.monotonic() > until_s:
            form = {"grant_type": "password", "client_id": "admin-cli", "username": ADMIN, "password": PASSWORD}
            url = f"{self.url}/realms/master/protocol/openid-connect/token"
            with urlopen(Request(url, urlencode(form).encode()), timeout=60) as answer:
                token = json.load(answer)["access_token"]
            self._token = token, time.monotonic() + 30
        return token

    def create_realm(self, redirect_uri: str) -> None:
        """With the users anna (team), rosa (red) and nina (no group)."""
        users = {"anna": ["/team"], "rosa": ["/red"], "nina": []}
        self.admin("POST", "/realms", _realm(redirect_uri, users))

    def allow_redirects_to(self, redirect_uri: str) -> None:
        [client] = self.admin("GET", f"/realms/{REALM}/clients?clientId={CLIENT_ID}")
        self.admin("PUT", f"/realms/{REALM}/clients/{client['id']}", {**client, "redirectUris": [redirect_uri]})

    def user(self, name: str, **changes: object) -> None:
        [user] = self.admin("GET", f"/realms/{REALM}/users?exact=true&username={name}")
        self.admin("PUT", f"/realms/{REALM}/users/{user['id']}", {**user, **changes})

    def rotate_keys(self) -> None:
        """A new key signs; the old one is published no longer."""
        realm = self.admin("GET", f"/realms/{REALM}")["id"]
        query = "type=org.keycloak.keys.KeyProvider"
        old = self.admin("GET", f"/realms/{REALM}/components?{query}")
        config = {"priority": ["1000"], "enabled": ["true"], "active": ["true"], "keySize": ["2048"]}
        new = {"name": "next", "providerId": "rsa-generated", "providerType": "org.keycloak.keys.KeyProvider"}
        self.admin("POST", f"/realms/{REALM}/components", {**new, "parentId": realm, "config": config})
        for each in old:
            if each["providerId"] == "rsa-generated":
                self.admin("DELETE", f"/realms/{REALM}/components/{each['id']}")


def _realm(redirect_uri: str, users: dict[str, list[str]]) -> dict[str, Any]:
    def mapper(name: str, kind: str, **config: str) -> dict[str, Any]:
        return {"name": name, "protocol": "openid-connect", "protocolMapper": kind, "config": config}

    groups = {"claim.name": "groups", "full.path": "false", "access.token.claim": "true", "id.token.claim": "true"}
    audience = {"included.client.audience": CLIENT_ID, "access.token.claim": "true", "id.token.claim": "false"}
    return {
        "realm": REALM,
        "enabled": True,
        "sslRequired": "none",
        "accessTokenLifespan": ACCESS_TOKEN_S,
        "oauth2DevicePollingInterval": 1,
        "groups": [{"name": "team"}, {"name": "red"}],
        "clients": [
            {
                "clientId": CLIENT_ID,
                "publicClient": True,
                "standardFlowEnabled": True,
                "directAccessGrantsEnabled": False,
                "redirectUris": [redirect_uri],
                "attributes": {
                    "oauth2.device.authorization.grant.enabled": "true",
                    "pkce.code.challenge.method": "S256",
                },
                "protocolMappers": [
                    mapper("groups", "oidc-group-membership-mapper", **groups),
                    mapper("audience", "oidc-audience-mapper", **audience),
                ],
            }
        ],
        "users": [
            {
                "username": name,
                "enabled": True,
                "emailVerified": True,
                "firstName": name,
                "lastName": "Test",
                "email": f"{name}@example.org",
                "groups": groups_of_user,
                "credentials": [{"type": "password", "value": f"password of {name}", "temporary": False}],
            }
            for name, groups_of_user in users.items()
        ],
    }


class Browser:
    """Follows links and sends forms, with the cookies of one user."""

    def __init__(self) -> None:
        self.cookies = _Cookies()
        self._opener = build_opener(HTTPCookieProcessor(self.cookies), _Redirects)
        self.url, self.page = "", ""

    def open(self, url: str, form: dict[str, str] | None = None) -> str:
        data = None if form is None else urlencode(form).encode()
        try:
            with self._opener.open(Request(url, data), timeout=60) as answer:
                self.url, self.page = answer.url, answer.read().decode()
        except HTTPError as error:
            self.url, self.page = error.url, error.read().decode()
        return self.page

    def send_form(self, **fields: str) -> str:
        """The first form of the page, with the fields that are hidden in it."""
        found = re.search(r"<form[^>]*action=\"([^\"]*)\".*?</form>", self.page, re.DOTALL)
        assert found is not None, self.page
        hidden = dict(re.findall(r'<input type="hidden"[^>]*name="([^"]*)"[^>]*value="([^"]*)"', found[0]))
        return self.open(urljoin(self.url, html.unescape(found[1])), {**hidden, **fields})

    def sign_in(self, user: str) -> str:
        return self.send_form(username=user, password=f"password of {user}")


class _Cookies(CookieJar):
    """Browsers send secure cookies to addresses of their own machine also without TLS; Python does not."""

    def set_cookie(self, cookie: Cookie) -> None:
        cookie.secure = False
        super().set_cookie(cookie)


class _Redirects(HTTPRedirectHandler):
    max_redirections = 20


@contextmanager
def running_keycloak(folder: Path) -> Iterator[Keycloak]:
    """With all its data in memory. `folder` gets its log."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "KC_BOOTSTRAP_ADMIN_USERNAME": ADMIN,
        "KC_BOOTSTRAP_ADMIN_PASSWORD": PASSWORD,
        "JAVA_OPTS_APPEND": "-Xmx512m",
    }
    command = [str(FOLDER / "bin" / "kc.sh"), "start-dev", "--db=dev-mem", "--cache=local"]
    command += ["--http-host=127.0.0.1", f"--http-port={port}"]
    log = folder / "keycloak.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment, start_new_session=True)
    try:
        keycloak = Keycloak(f"http://127.0.0.1:{port}", log)
        _wait_until_ready(keycloak, process, log)
        yield keycloak
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


def _wait_until_ready(keycloak: Keycloak, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_MAX_S
    while True:
        try:
            with urlopen(f"{keycloak.url}/realms/master", timeout=5):
                return
        except (URLError, OSError):
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()[-3000:]
            time.sleep(0.25)
