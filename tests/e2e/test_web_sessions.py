"""The web UI as a browser meets it: signed in by `shunter ui`, directly and behind a reverse proxy under a sub-path."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from shunter.app.listeners import listeners
from tests.e2e.cluster import Cluster

PREFIX = b"/lab/shunter"
UI = next((folder for folder in listeners.UI_FOLDERS if (folder / "index.html").is_file()), None)


class Browser:
    """What a browser does for a page: it keeps cookies and sends the page's origin."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.origin, self.prefix = f"http://{parts.netloc}", parts.path.rstrip("/")
        self._address = parts.hostname or "", parts.port or 80
        self.cookie = ""

    def send(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(*self._address, timeout=30)
        try:
            sent = {"Origin": self.origin, "Cookie": self.cookie, "Accept": "text/html", **headers}
            connection.request(method, f"{self.prefix}{path}", json.dumps(body) if body is not None else None, sent)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            if cookie := found.get("set-cookie"):
                self.cookie = cookie.partition(";")[0]
            return response.status, found, response.read()
        finally:
            connection.close()

    def sign_in(self, code: str) -> dict[str, str]:
        status, headers, _ = self.send("POST", "/api/v1/sessions", {"code": code})
        assert status == 201
        return headers


def one_time_url(cluster: Cluster) -> tuple[str, str]:
    """The address of the manager, and the code."""
    out = cluster.shunter("--quiet", "ui", "--print", code=None)
    found = re.fullmatch(r"(http://[^/]+)/ui/#code=([A-Za-z0-9_-]{43})\n", out.out)
    if found is None:  # not built here: the command says so, and the API works all the same
        assert "serves no web UI" in out.err
        assert "make web" in out.err
        with cluster.client(token=cluster.environment.get("SHUNTER_TOKEN")) as client:
            return json.loads((cluster.home / "cluster.json").read_text())["url"], client.session_code().code
    return found[1], found[2]


def test_a_code_signs_a_browser_in_once(cluster: Cluster) -> None:
    url, code = one_time_url(cluster)
    browser = Browser(url)
    cookie = browser.sign_in(code)["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert browser.send("POST", "/api/v1/sessions", {"code": code})[0] == 401
    status, _, body = browser.send("GET", "/api/v1/me")
    assert (status, json.loads(body)["user"]) == (200, "admin")
    assert browser.send("PATCH", "/api/v1/queues/night", {"running_max": 3})[0] == 200
    assert browser.send("PATCH", "/api/v1/queues/night", {"running_max": 4}, Origin="http://evil.example")[0] == 403
    assert browser.send("DELETE", "/api/v1/sessions/current")[0] == 204
    assert browser.send("GET", "/api/v1/me")[0] == 401
    assert code not in cluster.log()


def test_a_stream_ends_with_the_session_and_a_session_with_its_key(cluster: Cluster) -> None:
    key = cluster.shunter("key", "create", "--role", "viewer", "--quiet").out.strip()
    anna = Cluster(cluster.home)
    anna.environment |= {"SHUNTER_TOKEN": key}
    url, code = one_time_url(anna)
    browser = Browser(url)
    browser.sign_in(code)
    address = urlsplit(url)
    stream = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
    stream.request("GET", "/api/v1/events?follow=true", headers={"Cookie": browser.cookie})
    response = stream.getresponse()
    assert response.status == 200
    cluster.shunter("key", "revoke", key.split("_")[1])
    while response.read1():
        pass
    stream.close()
    assert browser.send("GET", "/api/v1/me")[0] == 401


def test_huge_headers_are_refused(cluster: Cluster) -> None:
    url, _ = one_time_url(cluster)
    assert Browser(url).send("GET", "/ui/", Cookie="a" * 1_000_000)[0] == 431


async def test_it_works_behind_a_proxy_under_a_sub_path(cluster: Cluster) -> None:
    url, code = one_time_url(cluster)
    async with proxy(url) as outside:
        browser = Browser(outside)
        headers = await asyncio.to_thread(browser.sign_in, code)
        assert "Path=/lab/shunter;" in headers["set-cookie"]
        status, _, body = await asyncio.to_thread(browser.send, "GET", "/api/v1/me")
        assert (status, json.loads(body)["user"]) == (200, "admin")
        changed = await asyncio.to_thread(browser.send, "PATCH", "/api/v1/queues/night", {"running_max": 3})
        assert changed[0] == 200
        status, headers, _ = await asyncio.to_thread(browser.send, "GET", "/")
        assert (status, headers["location"]) == (307, "ui/")
        if UI is None:
            pytest.skip("the web UI is not built: make web")
        status, _, page = await asyncio.to_thread(browser.send, "GET", "/ui/jobs/render@3")
        assert status == 200
        assert b'<base href="../">' in page
        assert not re.search(rb'(src|href)="/', page), "every link is relative"
        for name in re.findall(rb'(?:src|href)="\./(assets/[^"]+)"', page):
            assert (await asyncio.to_thread(browser.send, "GET", f"/ui/{name.decode()}"))[0] == 200


@asynccontextmanager
async def proxy(target: str) -> AsyncIterator[str]:
    """A reverse proxy below a path: it takes its path away from requests, and says what it did."""
    address = urlsplit(target)

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            request, _, rest = head.partition(b"\r\n")
            method, path, version = request.split(b" ")
            assert path.startswith(PREFIX + b"/")
            to_us, to_them = await asyncio.open_connection(address.hostname, address.port)
            headers = [each for each in rest.split(b"\r\n") if each and not each.lower().startswith(b"host:")]
            outer_host = next(each for each in rest.split(b"\r\n") if each.lower().startswith(b"host:"))[5:].strip()
            headers += [b"Host: " + address.netloc.encode(), b"X-Forwarded-Host: " + outer_host]
            headers += [b"X-Forwarded-Prefix: " + PREFIX, b"Connection: close"]
            to_them.write(b" ".join((method, path.removeprefix(PREFIX), version)) + b"\r\n")
            to_them.write(b"\r\n".join([*headers, b"", b""]))
            back = asyncio.create_task(pump(to_us, writer))
            await pump(reader, to_them, is_last=False)
            await back
            to_them.close()
        finally:
            writer.close()

    server = await asyncio.start_server(relay, "127.0.0.1")
    port: Any = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}{PREFIX.decode()}"
    finally:
        server.close()


async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, is_last: bool = True) -> None:
    while data := await source.read(65536):
        sink.write(data)
        await sink.drain()
    if is_last:
        sink.close()


def test_the_folders_of_the_ui_are_those_of_a_wheel_and_of_a_checkout() -> None:
    package, checkout = listeners.UI_FOLDERS
    assert package == Path(listeners.__file__).parents[2] / "ui_dist"
    assert (checkout.parts[-2:], (checkout.parents[1] / "pyproject.toml").is_file()) == (("web", "dist"), True)
