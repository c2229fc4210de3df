"""Where a client looks for its cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shunter.sdk.endpoint import MANAGERS_MAX, finder, home_folder, parse_url
from shunter.sdk.errors import Invalid, NotReachable


def write_cluster(home: Path, port: int, token: str = "secret") -> None:
    home.mkdir(exist_ok=True)
    (home / "cluster.json").write_text(json.dumps({"url": f"http://127.0.0.1:{port}", "pid": 1, "name": "n"}))
    (home / "token").write_text(token + "\n")


def test_the_local_cluster_is_found_in_its_home(tmp_path: Path) -> None:
    write_cluster(tmp_path, 4711)
    endpoint = finder(None, None, {"SHUNTER_HOME": str(tmp_path)})()
    assert (endpoint.url, endpoint.token, endpoint.local) == ("http://127.0.0.1:4711", "secret", True)


def test_a_local_cluster_that_moved_is_found_again(tmp_path: Path) -> None:
    find = finder(None, None, {"SHUNTER_HOME": str(tmp_path)})
    write_cluster(tmp_path, 1)
    assert find().port == 1
    write_cluster(tmp_path, 2)
    assert find().port == 2


@pytest.mark.parametrize("content", [None, "", "{}", "[]", '{"url": ', '{"url": 5}'])
def test_where_no_cluster_runs_the_error_says_how_to_start_one(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "cluster.json").write_text(content)
    with pytest.raises(NotReachable, match="shunter up --detach"):
        finder(None, None, {"SHUNTER_HOME": str(tmp_path)})()


def test_the_environment_overrides_the_home_and_arguments_override_both(tmp_path: Path) -> None:
    write_cluster(tmp_path, 1)
    environment = {"SHUNTER_HOME": str(tmp_path), "SHUNTER_URL": "http://far:2", "SHUNTER_TOKEN": "theirs"}
    assert finder(None, None, environment)().url == "http://far:2"
    assert finder(None, None, environment)().token == "theirs"
    assert finder("http://near:3", "mine", environment)().url == "http://near:3"
    assert finder("http://near:3", "mine", environment)().token == "mine"


def test_a_token_of_the_environment_is_used_with_the_local_address(tmp_path: Path) -> None:
    write_cluster(tmp_path, 1)
    endpoint = finder(None, None, {"SHUNTER_HOME": str(tmp_path), "SHUNTER_TOKEN": "theirs"})()
    assert (endpoint.port, endpoint.token) == (1, "theirs")


def test_the_local_token_stays_on_this_machine(tmp_path: Path) -> None:
    write_cluster(tmp_path, 1)
    environment = {"SHUNTER_HOME": str(tmp_path)}
    assert finder("http://127.0.0.1:2", None, environment)().token == "secret"
    assert finder("http://far:2", None, environment)().token == ""


def test_a_token_is_not_shown_by_accident() -> None:
    assert "secret" not in repr(parse_url("http://h", "secret"))


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"SHUNTER_HOME": "/a", "XDG_STATE_HOME": "/b"}, Path("/a")),
        ({"XDG_STATE_HOME": "/b"}, Path("/b/shunter")),
        ({}, Path.home() / ".local" / "state" / "shunter"),
    ],
)
def test_the_home_follows_the_environment(environment: dict[str, str], folder: Path) -> None:
    assert home_folder(environment) == folder


@pytest.mark.parametrize(
    ("url", "host", "port", "tls", "prefix"),
    [
        ("http://h:1", "h", 1, False, ""),
        ("h:1", "h", 1, False, ""),
        ("https://h", "h", 443, True, ""),
        ("http://[::1]:5/deep/api/v1/", "::1", 5, False, "/deep"),
    ],
)
def test_addresses_are_read(url: str, host: str, port: int, tls: bool, prefix: str) -> None:
    endpoint = parse_url(url, "")
    assert (endpoint.host, endpoint.port, endpoint.tls, endpoint.prefix) == (host, port, tls, prefix)


@pytest.mark.parametrize(
    "url", ["ftp://h", "http://", "http://h:port", "http://h:99999", "http://h\r\nX: y", "http://h o"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="HOST:PORT"):
        parse_url(url, "")


@pytest.mark.parametrize("token", ["a\nb", "a b", "ä"])
def test_a_token_cannot_smuggle_in_headers(token: str) -> None:
    with pytest.raises(Invalid, match="token"):
        parse_url("http://h", token)


@pytest.mark.parametrize("urls", ["http://a:1, http://b:2,http://a:1,https://c", ["http://a:1", "b:2", "https://c"]])
def test_several_managers_are_asked_in_turn(urls: str | list[str]) -> None:
    find = finder(urls, "secret", {})
    found = []
    for _ in range(4):
        found.append((find().url, find().token))
        find.skip(find.position)
    urls_found = ["http://a:1", "http://b:2", "https://c:443", "http://a:1"]
    assert found == [(url, "secret") for url in urls_found]
    assert find.managers == 3


def test_a_manager_that_several_calls_saw_fail_is_skipped_once() -> None:
    find = finder("http://a:1,http://b:2,http://c:3", "secret", {})
    position = find.position
    for _ in range(3):
        find.skip(position)
    assert find().host == "b"


@pytest.mark.parametrize(
    ("urls", "wrong"),
    [("http://a:1,ftp://b:2", "ftp://b:2"), (["http://a:1", "http://b:x"], "http://b:x"), ("http://a:1,", "''")],
)
def test_the_address_that_is_wrong_is_named(urls: str | list[str], wrong: str) -> None:
    with pytest.raises(Invalid, match=wrong) as caught:
        finder(urls, "secret", {})
    assert "http://a:1" not in caught.value.detail


def test_the_number_of_managers_is_limited() -> None:
    urls = [f"http://a:{port}" for port in range(1, MANAGERS_MAX + 2)]
    assert finder(urls[:-1], "", {}).managers == MANAGERS_MAX
    with pytest.raises(Invalid, match=f"more than {MANAGERS_MAX}"):
        finder(urls, "", {})


def test_the_local_token_goes_to_the_managers_on_this_machine_only(tmp_path: Path) -> None:
    write_cluster(tmp_path, 1)
    find = finder("http://127.0.0.1:2,http://far:2", None, {"SHUNTER_HOME": str(tmp_path)})
    assert find().token == "secret"
    find.skip(find.position)
    assert find().token == ""
