"""The web UI below /ui/: which file a path gets, in which encoding, and with which headers."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from shunter.api.browser import ui_files
from shunter.api.browser.ui_files import UiFiles
from shunter.api.browser.ui_pages import UiPages
from shunter.api.http.app import ApiSettings, build_app
from tests.unit.api.asgi_client import Client, Response
from tests.unit.api.fake_gateway import FakeGateway

INDEX = b'<!doctype html><html><head><meta property="csp-nonce" nonce="__CSP_NONCE__"></head><body></body></html>'
SCRIPT = b"console.log('hello')"
ASSET = "assets/app-Ab3_x9-Z.js"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_bytes(INDEX)
    (folder / "favicon.svg").write_bytes(b"<svg/>")
    (folder / ASSET).write_bytes(SCRIPT)
    (folder / f"{ASSET}.gz").write_bytes(gzip.compress(SCRIPT, mtime=0))
    (folder / f"{ASSET}.br").write_bytes(b"brotli")
    (tmp_path / "secret.txt").write_bytes(b"secret")
    return folder


@pytest.fixture
def browser(gateway: FakeGateway, folder: Path) -> Client:
    return Client(build_app(gateway, ui=UiPages(UiFiles([folder.parent / "none", folder]))))


async def get(browser: Client, path: str, **headers: str) -> Response:
    return await browser.get(path, headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize(
    ("accepted", "encoding", "body"),
    [
        ("gzip, deflate, br", "br", b"brotli"),
        ("gzip", "gzip", gzip.compress(SCRIPT, mtime=0)),
        ("br;q=0, gzip;q=0.5", "gzip", gzip.compress(SCRIPT, mtime=0)),
        ("br; q=0.0", None, SCRIPT),
        ("", None, SCRIPT),
    ],
)
async def test_a_compressed_variant_is_sent_to_who_accepts_it(
    browser: Client, accepted: str, encoding: str | None, body: bytes
) -> None:
    response = await get(browser, f"/ui/{ASSET}", accept_encoding=accepted)
    assert response.status == 200
    assert response.headers.get("content-encoding") == encoding
    assert response.headers["content-length"] == str(len(response.body))
    assert response.headers["content-type"] == "text/javascript; charset=utf-8"
    assert response.headers["vary"] == "accept-encoding"
    if encoding == "gzip":
        assert gzip.decompress(response.body) == SCRIPT
    else:
        assert response.body == body


async def test_a_name_with_a_hash_is_kept_forever_and_others_are_asked_for_again(browser: Client) -> None:
    assert (await get(browser, f"/ui/{ASSET}")).headers["cache-control"] == "public, max-age=31536000, immutable"
    icon = await get(browser, "/ui/favicon.svg")
    assert icon.headers["cache-control"] == "no-cache"
    assert (await get(browser, "/ui/favicon.svg", if_none_match=icon.headers["etag"])).status == 304


@pytest.mark.parametrize(
    ("path", "base"), [("/ui/", "./"), ("/ui/jobs", "./"), ("/ui/jobs/render@3", "../"), ("/ui/a/b.c/d", "../../")]
)
async def test_paths_of_the_application_get_the_index_with_a_base_that_leads_back(
    browser: Client, path: str, base: str
) -> None:
    response = await get(browser, path)
    assert response.status == 200
    assert f'<head><base href="{base}">'.encode() in response.body
    assert response.headers["cache-control"] == "no-cache"
    assert (await get(browser, path, if_none_match=response.headers["etag"])).status == 304


async def test_the_policy_allows_no_inline_script_and_names_the_nonce_of_the_page(browser: Client) -> None:
    first, second = await get(browser, "/ui/"), await get(browser, "/ui/")
    policy = first.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    found = re.search(rb'nonce="([^"]{22})"', first.body)
    assert found is not None
    assert f"'nonce-{found[1].decode()}'" in policy
    assert policy != second.headers["content-security-policy"]
    assert first.headers["etag"] == second.headers["etag"]
    known = await get(browser, "/ui/", if_none_match=first.headers["etag"])
    assert "content-security-policy" not in known.headers  # the browser's copy has the older nonce


@pytest.mark.parametrize("path", ["/ui/", f"/ui/{ASSET}", "/ui/favicon.svg"])
async def test_every_answer_forbids_guesses_and_frames(browser: Client, path: str) -> None:
    headers = (await get(browser, path)).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path",
    [
        "/ui/../secret.txt",
        "/ui/..%2fsecret.txt",
        "/ui/%2e%2e/secret.txt",
        "/ui/assets/..%2f..%2fsecret.txt",
        "/ui//etc/hosts.txt",
        "/ui/.hidden.txt",
        "/ui/%00.txt",
        "/ui/assets/nothing-Ab3_x9-Z.js",
        "/ui/nothing.png",
        f"/ui/{ASSET}.br",
        "/ui/assets/" + "a" * 300 + ".js",
        "/ui/link.txt",
        "/ui/" + "a/" * 20,
    ],
)
async def test_what_is_not_a_file_of_the_build_is_not_found(browser: Client, folder: Path, path: str) -> None:
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    (folder / ".hidden.txt").write_bytes(b"hidden")
    response = await get(browser, path)
    assert response.status == 404
    assert b"secret" not in response.body.replace(b"secret.txt", b"")


async def test_too_large_a_file_is_not_read(browser: Client, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ui_files, "FILE_SIZE_MAX", 10)
    (folder / "large.txt").write_bytes(b"x" * 11)
    assert (await get(browser, "/ui/large.txt")).status == 404


async def test_memory_for_files_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ui_files, "CACHED_BYTES_MAX", 250)
    files = UiFiles([folder])
    for number in range(5):
        (folder / f"file{number}.txt").write_bytes(b"x" * 100)
        assert await files.find(f"file{number}.txt") is not None
    assert files._cached_bytes == 200


async def test_a_new_build_is_served_without_a_restart(browser: Client, folder: Path) -> None:
    before = await get(browser, "/ui/")
    (folder / "index.html").write_bytes(INDEX.replace(b"<body>", b"<body>new"))
    after = await get(browser, "/ui/", if_none_match=before.headers["etag"])
    assert after.status == 200
    assert b"new" in after.body


async def test_browsers_are_sent_from_the_root_to_the_ui_by_a_relative_link(browser: Client) -> None:
    for path in ("/", "/ui"):
        response = await get(browser, path, accept="text/html,*/*")
        assert (response.status, response.headers["location"]) == (307, "ui/")
    assert (await get(browser, "/", accept="*/*")).status == 404


async def test_only_reading_is_possible(browser: Client) -> None:
    assert (await browser.call("POST", "/ui/", headers={})).status == 405
    head = await browser.call("HEAD", "/ui/", headers={})
    assert head.status == 200


async def test_without_a_build_the_answer_says_how_to_get_one(gateway: FakeGateway, tmp_path: Path) -> None:
    browser = Client(build_app(gateway, ui=UiPages(UiFiles([tmp_path]))))
    response = await get(browser, "/ui/")
    assert response.status == 404
    assert "shunter ui" in response.json["detail"]


async def test_a_manager_that_serves_no_clients_serves_no_ui(gateway: FakeGateway, folder: Path) -> None:
    browser = Client(build_app(gateway, ApiSettings(serves_clients=False), ui=UiPages(UiFiles([folder]))))
    assert (await get(browser, "/ui/")).status != 200
