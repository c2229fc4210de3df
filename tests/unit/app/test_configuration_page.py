"""docs/reference/configuration.md matches the code: keys, defaults and the example."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shunter.app.config import TABLES, parse_config
from shunter.app.options import LISTEN_DEFAULT, UpOptions
from shunter.app.storage.stores import STORE_DEFAULT
from shunter.model.schema.problems import Problems
from shunter.planning.planner import POLICIES, POLICY_DEFAULT

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")
KEYS = [f"{table}.{key}" for table, entry in TABLES.items() for key in entry.keys]
# Where the command line and the file are silent, `app.manager` takes these.
TAKEN_LATER = {"cluster.listen": LISTEN_DEFAULT, "cluster.policy": POLICY_DEFAULT, "cluster.store": STORE_DEFAULT}
LISTED = dict(re.findall(r"^\| `(\w+\.\w+)` \| ([^|]*) \|", PAGE, flags=re.MULTILINE))


def test_the_page_lists_every_key() -> None:
    assert list(LISTED) == KEYS


@pytest.mark.parametrize("path", KEYS)
def test_a_default_is_that_of_the_code(path: str) -> None:
    """In code it is a value, as the file would say it; in words it is something that the code finds out."""
    table, _, key = path.partition(".")
    entry = TABLES[table].keys[key]
    default = TAKEN_LATER.get(path, default_of(TABLES[table].settings, entry.attribute))
    if not LISTED[path].startswith("`"):
        assert default in (None, {})
        return
    problems = Problems()
    said = tomllib.loads(f"value = {LISTED[path].strip('`')}")["value"]
    assert entry.field.read(said, path, problems) == default and not problems.found


def default_of(settings: type, attribute: str) -> Any:
    if settings is UpOptions:
        return {each.name: each.default for each in msgspec.structs.fields(UpOptions)}[attribute]
    [found] = [each for each in dataclasses.fields(settings) if each.name == attribute]
    if found.default_factory is not dataclasses.MISSING:
        return found.default_factory()
    return None if found.default is dataclasses.MISSING else found.default


def test_the_example_is_complete_and_accepted() -> None:
    [example] = re.findall(r"^```toml\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    document = tomllib.loads(example)
    assert {f"{table}.{key}" for table, keys in document.items() for key in keys} == set(KEYS)
    config = parse_config(document)
    assert (config.watcher.timeout_s, config.engine.lost_max) == (10.0, 10)
    assert config.worker["log_total_max_bytes"] == 20 * 2**30


def test_every_policy_is_named() -> None:
    [row] = re.findall(r"^\| `cluster\.policy` .*$", PAGE, flags=re.MULTILINE)
    assert all(name in row for name in POLICIES)
