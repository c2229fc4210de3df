"""Plugins are found by entry points, and broken ones are reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.plugins import FILTERS, POLICIES, find_plugins


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def install(site: Path, package: str, **entries: str) -> None:
    folder = site / f"{package}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = "\n".join(f"{name} = {target}" for name, target in entries.items())
    (folder / "entry_points.txt").write_text(f"[{POLICIES}]\n{lines}\n")


def test_a_plugin_is_loaded_and_named_with_its_package(site: Path) -> None:
    install(site, "good", ordered="collections:OrderedDict")
    [found] = [plugin for plugin in find_plugins(POLICIES) if plugin.name == "ordered"]
    assert (found.source, found.target.__name__, found.error) == ("good 1.0", "OrderedDict", "")
    assert "ordered" not in {plugin.name for plugin in find_plugins(FILTERS)}


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("no_such_module:X", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("collections:Nothing", "AttributeError"),
        ("explodes:X", "ZeroDivisionError"),
        ("leaves:X", "SystemExit"),
    ],
)
def test_a_plugin_that_cannot_be_loaded_is_told_with_its_error(site: Path, target: str, error: str) -> None:
    (site / "explodes.py").write_text("1 / 0\n")
    (site / "leaves.py").write_text("raise SystemExit(3)\n")
    install(site, "mixed", bad=target, good="collections:OrderedDict")
    found = {plugin.name: plugin for plugin in find_plugins(POLICIES)}
    assert error in found["bad"].error and found["bad"].target is None
    assert found["good"].error == ""


def test_a_name_belongs_to_the_first_package_that_offers_it(site: Path) -> None:
    install(site, "second", twice="collections:Counter")
    install(site, "first", twice="collections:OrderedDict")
    one, other = [plugin for plugin in find_plugins(POLICIES) if plugin.name == "twice"]
    assert (one.source, one.error) == ("first 1.0", "")
    assert (other.source, other.error) == ("second 1.0", "first 1.0 already uses this name")
