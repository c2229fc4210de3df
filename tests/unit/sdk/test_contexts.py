"""Named clusters: which one a client uses, and who may read the file with their tokens."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from shunter.sdk.contexts import LOCAL, Context, check_name, contexts_path, load_contexts
from shunter.sdk.endpoint import finder
from shunter.sdk.errors import Invalid, NotFound


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Two contexts, of which `prod` is the current one."""
    found = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_STATE_HOME": str(tmp_path / "state")}
    contexts = load_contexts(found)
    contexts.by_name = {"prod": Context("https://prod:7070", "p"), "test": Context("http://test:7070", "t")}
    contexts.current = "prod"
    contexts.save()
    return found


def test_the_current_context_is_used(environment: dict[str, str]) -> None:
    endpoint = finder(None, None, environment)()
    assert (endpoint.url, endpoint.token) == ("https://prod:7070", "p")


def test_what_is_more_specific_overrides_the_current_context(environment: dict[str, str], tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "cluster.json").write_text(json.dumps({"url": "http://127.0.0.1:1"}))
    at_home = {**environment, "SHUNTER_HOME": str(home)}
    assert finder(None, None, at_home)().port == 1
    named = {**at_home, "SHUNTER_CONTEXT": "test"}
    assert (finder(None, None, named)().url, finder(None, None, named)().token) == ("http://test:7070", "t")
    assert finder(None, None, {**named, "SHUNTER_URL": "http://url:2"})().url == "http://url:2"
    assert finder("http://argument:3", "mine", {**named, "SHUNTER_URL": "http://url:2"})().url == "http://argument:3"
    assert finder(None, None, {**at_home, "SHUNTER_CONTEXT": LOCAL})().port == 1


def test_a_context_that_does_not_exist_is_named(environment: dict[str, str]) -> None:
    with pytest.raises(NotFound, match="context 'nosuch' does not exist"):
        finder(None, None, {**environment, "SHUNTER_CONTEXT": "nosuch"})


def test_only_its_owner_may_read_the_file(environment: dict[str, str]) -> None:
    path = contexts_path(environment)
    before = os.umask(0)
    try:
        load_contexts(environment).save()
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) & 0o022 == 0
    path.chmod(0o644)
    with pytest.raises(Invalid, match="chmod 600"):
        load_contexts(environment)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"current": "a", "contexts": []}', '{"contexts": {"a": {}}}', "\0"]
)
def test_a_damaged_file_is_named(environment: dict[str, str], content: str) -> None:
    contexts_path(environment).write_text(content)
    with pytest.raises(Invalid, match=r"contexts\.json: is damaged"):
        load_contexts(environment)


def test_tokens_are_not_shown(environment: dict[str, str]) -> None:
    assert "'p'" not in repr(load_contexts(environment))


@pytest.mark.parametrize("name", ["local", "", "Prod", "a b", "../x", "a" * 64])
def test_a_bad_name_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match=r"^name: "):
        check_name(name)
