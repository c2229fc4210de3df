"""The image of deploy/compose installs what Shunter needs, and nothing else of the lock file."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from scripts.runtime_requirements import find_needed, read_entries

REPOSITORY = Path(__file__).parents[2]
LOCK = dict(read_entries((REPOSITORY / "requirements.lock").read_text("utf-8")))


def declared(group: list[str]) -> set[str]:
    names = (re.match(r"[A-Za-z0-9._-]+", each) for each in group)
    return {found[0].lower() for found in names if found is not None}


def test_all_declared_dependencies_are_found_and_no_tool_of_developers() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    needed, wanted = find_needed(LOCK, "shunter"), declared(project["project"]["dependencies"])
    assert wanted <= needed
    assert not needed & (declared(project["dependency-groups"]["dev"]) - wanted)
    assert "yarl" in needed, "what a dependency needs is needed, too"


def test_a_package_comes_with_what_it_needs_and_with_hashes() -> None:
    needed = find_needed(LOCK, "hatchling")
    assert {"hatchling", "pluggy"} <= needed
    assert all("--hash=sha256:" in LOCK[name] for name in needed)
